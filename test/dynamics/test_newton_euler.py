# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The recursion in DH frames: regrouped parameters, and wrong input."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import FrameError, JointVectorError


def test_a_link_with_a_first_moment_but_no_mass_is_computed():
    arm, nothing = load('fer'), LinkInertia.zero()
    link = LinkInertia(0.0, (0.1, 0.2, 0.3), np.eye(3))

    def gravity(*links):
        return NewtonEulerModel(replace(arm, links=links)).gravity(arm.home)

    # Torques are linear in the parameters: the link's share is the torque of that link alone.
    alone, rest = gravity(*[nothing] * 6, link), gravity(*arm.links[:-1], nothing)
    assert np.abs(alone).max() > 0.1
    np.testing.assert_allclose(gravity(*arm.links[:-1], link), alone + rest, rtol=0.0, atol=1e-13)


FOURTH = np.where(np.arange(7) == 3, [[0.0], [1.0]], 0.0)


@pytest.mark.parametrize(
    ('q', 'dq', 'said'),
    [
        (np.zeros(6), np.zeros(7), r'q has shape \(6,\), expected \(..., 7\).*fer_joint1, fer_'),
        *(
            (given, np.zeros(7), r'q cannot be read as numbers .* fer_joint1, fer_')
            for given in (['a'] * 7, [None, 'b'], [[0.0] * 7, [0.0]], {})
        ),
        (np.zeros((2, 7)), np.where(FOURTH, np.nan, 0.0), 'dq of joint fer_joint4 is nan'),
        (np.zeros((2, 7)), np.where(FOURTH, np.inf, 0.0), 'dq of joint fer_joint4 is inf'),
    ],
)
def test_joint_vectors_at_fault_are_refused_with_their_joints(q, dq, said):
    with pytest.raises(JointVectorError, match=said):
        NewtonEulerModel(load('fer')).coriolis(q, dq)


@pytest.mark.parametrize(
    ('frame', 'said'),
    [
        ((0,), r"frames are 1\.\.7 \(joints\) and 8 or 'flange'"),
        (('hand',), r"frames are 1\.\.7 \(joints\) and 8 or 'flange'"),
        ((1, 'BODY'), 'LOCAL, WORLD, LOCAL_WORLD_ALIGNED'),
    ],
)
def test_an_unknown_frame_lists_the_choices(frame, said):
    with pytest.raises(FrameError, match=said):
        NewtonEulerModel(load('fer')).jacobian(np.zeros(7), *frame)


@pytest.mark.parametrize('gravity', [(0.0, 9.81), (0.0, 0.0, np.nan)])
def test_a_malformed_gravity_vector_is_refused(gravity):
    with pytest.raises(JointVectorError, match=r'gravity vector .* must be finite numbers'):
        NewtonEulerModel(load('fer'), gravity)
