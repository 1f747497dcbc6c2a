# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""LinkInertia against point masses and MuJoCo; consistency."""

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.bodies import Box, Cylinder
from franka_dynamics.errors import InertiaError
from franka_dynamics.spatial import pose_from_xyz_rpy
from franka_dynamics.urdf.xacro_writer import robot_text

from ..agreement import refuses
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


BOX = (1.0 - np.eye(3)) / 12.0  # of a mass and squared sides


@pytest.mark.parametrize('axis', range(3))
def test_solids_have_the_textbooks_inertias(axis):
    radius, length, density = 0.03, 0.2, 2710.0
    given = {'center': (center := (0.1, 0.2, -0.3)), 'density': density}
    solid = Cylinder(radius=radius, length=length, axis='xyz'[axis], **given)
    mass = density * np.pi * radius**2 * length
    moments = np.full(3, mass * (3.0 * radius**2 + length**2) / 12.0)
    moments[axis] = 0.5 * mass * radius**2
    size = np.roll((0.3, 0.05, 0.06), axis)
    box, heavy = Box(size=size, **given), density * size.prod()
    for found, expected in (
        (solid, LinkInertia.from_center_of_mass(mass, center, np.diag(moments))),
        (box, LinkInertia.from_center_of_mass(heavy, center, np.diag(BOX @ size**2) * heavy)),
    ):
        parameters = found.link_inertia().parameters()
        np.testing.assert_allclose(parameters, expected.parameters(), rtol=1e-12, atol=1e-14)


def test_only_link_2_of_the_table_has_a_margin_below_zero():
    links = load('fer', 'ledezma2021').links
    assert [link.is_physical() for link in links] == [True, False, True, True, True, True, True]
    np.testing.assert_allclose(links[1].consistency_margin(), -1.8e-5, rtol=0.0, atol=5e-7)


def test_a_table_that_no_body_can_have_is_not_written():
    with refuses(InertiaError, 'fer_joint2', 'another set'):
        robot_text(load('fer', 'ledezma2021'), 'urdf')
