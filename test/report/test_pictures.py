# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Lines, dots and labels in pictures of an arm's frames; the inertia ellipsoid of a body."""

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import JointVectorError
from franka_dynamics.report.bodies import ellipsoid_axes
from franka_dynamics.report.frames import frames_figure

pytest.importorskip('matplotlib', reason='the [replay] extra is not installed')


@pytest.mark.parametrize('name', ['fer', 'rpr'])
def test_lines_and_dots_are_the_models_origins_axes_and_centers(name):
    arm = load(name, hand='none')
    q = np.random.default_rng(0).uniform(-0.3, 0.3, arm.n)
    (axes,) = frames_figure(arm, q).axes
    poses = np.concatenate([arm.base[None], PinocchioModel(arm).frames(q)])
    joined, *others = (np.array(line.get_data_3d()).T for line in axes.lines)
    np.testing.assert_allclose(joined, poses[:, :3, 3], rtol=0.0, atol=1e-12)
    ways = [line[1] - line[0] for line in others if len(line) == 2]
    directions = np.array(ways) / np.linalg.norm(ways, axis=1)[:, None]
    expected = np.concatenate([poses[:, :3, axis] for axis in range(3)])
    np.testing.assert_allclose(directions, expected, rtol=0.0, atol=1e-12)
    (dots,) = axes.collections
    masses = np.array([link.mass for link in arm.links])
    mean = masses @ np.array(dots._offsets3d).T / masses.sum()
    np.testing.assert_allclose(mean, PinocchioModel(arm).center_of_mass(q), rtol=0.0, atol=1e-12)


def test_frames_at_one_place_share_a_label():
    (axes,) = frames_figure(load('fer'), np.zeros(7)).axes
    labels = [text.get_text().strip() for text in axes.texts]
    assert labels == ['{0}', '{1}, {2}', '{3}', '{4}', '{5}, {6}', '{7}', 'flange']


def test_a_pose_of_another_arm_is_refused():
    with pytest.raises(JointVectorError, match=r'q has shape \(3,\), expected'):
        frames_figure(load('fer'), np.zeros(3))


def test_a_solid_ellipsoids_own_half_axes_come_back():
    a, b, c = 0.3, 0.2, 0.1
    moments = 0.2 * 2.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    body = LinkInertia.from_center_of_mass(2.0, (0.1, 0.2, 0.3), np.diag(moments))
    half_axes, directions = ellipsoid_axes(body)
    np.testing.assert_allclose(half_axes, [a, b, c], rtol=1e-12, atol=0.0)
    np.testing.assert_allclose(np.abs(directions), np.eye(3), rtol=0.0, atol=1e-12)
