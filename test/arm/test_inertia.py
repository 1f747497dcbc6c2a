# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""LinkInertia against point masses, MuJoCo and two published tables; consistency and repair."""

from dataclasses import replace
import re

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load, load_hand
from franka_dynamics.arm.arm_file import repaired_arm
from franka_dynamics.arm.bodies import Box, Cylinder
from franka_dynamics.arm.inertia import elements_from_tensor, physical_link
from franka_dynamics.arm_io import save
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.dynamics.space_inertia import space_inertias
from franka_dynamics.errors import InertiaError
from franka_dynamics.names import REPAIR_TO_NEAREST
from franka_dynamics.spatial import pose_from_xyz_rpy
from franka_dynamics.urdf.generated_files import robot_file_text

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


ROUNDING = 5e-5  # half of the table's fourth decimal
KKT = 1e-6  # relative; the solver's tolerance is 1e-8 of the rounding


def test_only_link_2_of_the_table_has_a_margin_below_zero():
    links = load('fer', 'ledezma2021').links
    assert [link.is_physical() for link in links] == [True, False, True, True, True, True, True]
    np.testing.assert_allclose(links[1].consistency_margin(), -1.8e-5, rtol=0.0, atol=5e-7)


def test_the_repair_of_link_2_meets_the_conditions_of_the_nearest_physical_link():
    # Karush, Kuhn and Tucker: the distance's gradient as a symmetric matrix, the multiplier of the
    # pseudo-inertia, has no negative eigenvalue, and vanishes where that is off its bound.
    link = load('fer', 'ledezma2021').links[1]
    moved = physical_link(link, ROUNDING)
    moves = (moved.parameters() - link.parameters()) / ROUNDING
    assert 0.1 < np.abs(moves).max() < 1.0  # another bound, the rounding, does not act
    steps = np.array([LinkInertia.from_parameters(unit).pseudo_inertia() for unit in np.eye(10)])
    upper, multiplier = np.triu_indices(4), np.zeros((4, 4))
    multiplier[upper] = np.linalg.solve(steps[:, *upper], moves)
    multiplier += multiplier.T
    slack = moved.pseudo_inertia() / ROUNDING - 1e-3 * np.eye(4)
    bound = KKT * np.linalg.norm(multiplier)
    assert np.linalg.eigvalsh(multiplier)[0] > -bound
    assert abs(np.tensordot(multiplier, slack)) < bound


@pytest.mark.parametrize('hand', ['as_listed', 'franka_hand'])
def test_the_table_loaded_with_its_repair_says_so_and_is_usable(hand):
    arm = load('fer', 'ledezma2021', hand=hand, repair=REPAIR_TO_NEAREST)
    arm.require_physical('a test')
    printed = load('fer', 'ledezma2021', hand=hand)
    for i, (link, before) in enumerate(zip(arm.links, printed.links)):
        moved = np.abs(link.parameters() - before.parameters()).max()
        assert (0.0 < moved <= ROUNDING) if i == 1 else moved == 0.0
    assert load('fer', 'gaz2019', repair=REPAIR_TO_NEAREST).repairs == ()
    (sentence,) = arm.repairs
    assert re.search(r'fer_joint2 was .* \(eigenvalue -1\.8e-05 .* rounding of 5e-05$', sentence)


def test_the_table_is_written_only_repaired_and_says_so():
    with refuses(InertiaError, 'nearest_within_rounding'):
        robot_file_text(load('fer', 'ledezma2021'), 'urdf')
    text = robot_file_text(load('fer', 'ledezma2021', repair=REPAIR_TO_NEAREST), 'urdf')
    assert 'the link behind fer_joint2 was not physical as printed' in text.split('-->')[0]


def test_a_repair_beyond_the_rounding_is_refused():
    with refuses(InertiaError, 'fer_joint2', '-1.78e-05', 'at most 1e-06 does not fix'):
        repaired_arm(replace(load('fer', 'ledezma2021'), rounding=1e-6))


def test_a_table_of_centres_of_mass_is_not_repaired(tmp_path):
    path = tmp_path / 'own.yaml'
    save(load('fer', 'franka_description'), path)
    text = path.read_text().replace('first_moment:', 'center_of_mass:')
    path.write_text(text.replace('    source:', '    rounding: 1.0e-4\n    source:'))
    with refuses(InertiaError, 'centres of mass'):
        load(path, repair=REPAIR_TO_NEAREST)


PRINTED = 5.1e-5  # of four printed decimals; the largest difference is 4.92e-5
# Of the Exp[licit] derivation: tensors in space axes about the frames' origins at zero, twists.
TENSORS = (
    (0.7470, -0.0002, 0.0086, 0.7503, 0.0201, 0.0092),
    (0.0085, 0.0103, 0.0040, 0.0265, -0.0008, 0.0281),
    (0.0565, -0.0082, -0.0055, 0.0529, -0.0044, 0.0182),
    (0.0677, -0.0039, 0.0277, 0.0776, 0.0016, 0.0324),
    (0.0394, -0.0015, -0.0046, 0.0315, 0.0022, 0.0109),
    (0.0025, 0.0001, 0.0015, 0.0118, -0.0001, 0.0106),
    (0.0308, -0.0004, 0.0007, 0.0284, -0.0005, 0.0067),
)
TWISTS = (
    (0, 0, 0, 0, 0, 1),
    (0.333, 0, 0, 0, -1, 0),
    (0, 0, 0, 0, 0, 1),
    (-0.649, 0, 0.0825, 0, 1, 0),
    (0, 0, 0, 0, 0, 1),
    (-1.033, 0, 0, 0, 1, 0),
    (0, 0.088, 0, 0, 0, -1),
)


def test_gazs_links_and_a_hand_are_those_of_the_table_of_2021():
    gaz, table = load('fer', 'gaz2019', hand='none').links, load('fer', 'ledezma2021').links
    flange = np.eye(4)
    flange[2, 3] = 0.107
    last = gaz[6] + load_hand('hand_ledezma2021').expressed_in(flange)
    for one, other in zip((*gaz[1:6], last), table[1:]):  # of link 1 the tables differ in c_z
        np.testing.assert_allclose(one.parameters(), other.parameters(), rtol=0, atol=PRINTED)


def test_tensors_in_space_and_twists_are_the_published_ones():
    found = space_inertias(load('fer', 'ledezma2021'), np.zeros(7))
    tensors = [elements_from_tensor(link.about_frame_origin) for link in found]
    np.testing.assert_allclose(tensors, TENSORS, rtol=0.0, atol=1e-14)
    # The axes of joints 2, 4 and 6 point the other way there.
    signs = np.array([1, -1, 1, -1, 1, -1, 1])[:, None]
    twists = ExponentialsModel(load('fer')).space_twists
    np.testing.assert_allclose(signs * twists, TWISTS, rtol=0.0, atol=1e-14)
