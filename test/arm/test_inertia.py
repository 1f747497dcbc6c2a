# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""LinkInertia against sums over point masses, and solids against MuJoCo's geoms."""

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia
from franka_dynamics.arm.bodies import Box, Cylinder
from franka_dynamics.spatial import pose_from_xyz_rpy

from ..arms import of_points

# Sums of some twenty products of numbers near one: measured below 1e-14 of the largest entry.
RTOL, ATOL = 1e-12, 1e-13


def point_masses(seed, count=20):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 2.0, count), rng.uniform(-1.0, 1.0, (count, 3))


@pytest.mark.parametrize('seed', range(2))
def test_parameters_moved_are_those_of_the_moved_point_masses(seed):
    masses, points = point_masses(seed)
    pose = pose_from_xyz_rpy(*np.random.default_rng(100 + seed).uniform(-1.0, 1.0, (2, 3)))
    moved = of_points(masses, points).expressed_in(pose)
    expected = of_points(masses, points @ pose[:3, :3].T + pose[:3, 3])
    np.testing.assert_allclose(moved.parameters(), expected.parameters(), rtol=RTOL, atol=ATOL)


def test_inertia_at_the_center_of_mass_and_pseudo_inertia_are_sums():
    masses, points = point_masses(3)
    body, center = of_points(masses, points), masses @ points / masses.sum()
    np.testing.assert_allclose(body.center_of_mass, center, rtol=RTOL, atol=ATOL)
    central = of_points(masses, points - center).inertia
    np.testing.assert_allclose(body.inertia_at_center_of_mass, central, rtol=RTOL, atol=1e-12)
    homogeneous = np.column_stack((points, np.ones(len(points))))
    expected = np.einsum('k,ki,kj->ij', masses, homogeneous, homogeneous)
    np.testing.assert_allclose(body.pseudo_inertia(), expected, rtol=RTOL, atol=ATOL)


def test_masses_in_a_plane_are_physical_with_margins_of_zero():
    masses, points = point_masses(6)
    points[:, 2] = 0.0
    body = of_points(masses, points)
    assert body.is_physical()
    np.testing.assert_allclose(body.triangle_margin(), 0.0, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(body.consistency_margin(), 0.0, rtol=0.0, atol=1e-13)


def test_moments_1_2_4_are_of_no_body_and_miss_by_one():
    body = LinkInertia.from_center_of_mass(1.0, (0.3, 0.2, 0.1), (1.0, 0.0, 0.0, 2.0, 0.0, 4.0))
    assert not body.is_physical()
    np.testing.assert_allclose(body.triangle_margin(), -1.0, rtol=0.0, atol=1e-13)
    assert body.consistency_margin() < -0.4  # about half of triangle_margin()


ALUMINIUM = 2710.0  # kg/m^3


@pytest.mark.parametrize(
    ('geom', 'body'),
    [
        # MuJoCo's cylinders lie along z and have half lengths; so have its boxes.
        (
            'type="cylinder" size="0.03 0.1" pos="0.1 0.2 -0.3"',
            Cylinder(
                radius=0.03, length=0.2, axis='z', center=(0.1, 0.2, -0.3), density=ALUMINIUM
            ),
        ),
        (
            'type="cylinder" size="0.025 0.2" pos="0 -0.2 0" euler="90 0 0"',
            Cylinder(radius=0.025, length=0.4, axis='y', center=(0, -0.2, 0), density=ALUMINIUM),
        ),
        (
            'type="box" size="0.15 0.025 0.03" pos="0 0 0.15"',
            Box(size=(0.3, 0.05, 0.06), center=(0, 0, 0.15), density=ALUMINIUM),
        ),
    ],
)
def test_a_primitive_agrees_with_mujocos_geom(geom, body):
    mujoco = pytest.importorskip('mujoco', reason='the [sim] extra is not installed')
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><body><freejoint/><geom {geom} density="{ALUMINIUM}"/></body>'
        '</worldbody></mujoco>'
    )
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, model.body_iquat[1])
    rotation = rotation.reshape(3, 3)
    tensor = rotation @ np.diag(model.body_inertia[1]) @ rotation.T
    expected = LinkInertia.from_center_of_mass(model.body_mass[1], model.body_ipos[1], tensor)
    found = body.link().parameters()
    np.testing.assert_allclose(found, expected.parameters(), rtol=1e-12, atol=1e-14)
