# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""LinkInertia against clouds of point masses, quadrature over a solid, and MuJoCo's geoms."""

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia
from franka_dynamics.arm.bodies import Box, Cylinder
from franka_dynamics.arm.inertia import six_from_tensor, tensor_from_six
from franka_dynamics.errors import InertiaError

# Sums of some twenty products of numbers near one: measured below 1e-14 of the largest entry.
RTOL, ATOL = 1e-12, 1e-13


def point_masses(seed, count=20):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 2.0, count), rng.uniform(-1.0, 1.0, (count, 3))


def from_points(masses, points):
    """Add up the definition: mass, sum m r, sum m (|r|^2 1 - r r^T)."""
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points))
    return LinkInertia(masses.sum(), masses @ points, inertia)


def random_pose(seed):
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    rotation *= np.sign(np.linalg.det(rotation))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, rng.uniform(-1.0, 1.0, 3)
    return pose


def integrated(points, weights):
    """Return the ten parameters of a solid from a quadrature that is exact for quadratics."""
    second = np.einsum('k,ki,kj->ij', weights, points, points)
    inertia = np.trace(second) * np.eye(3) - second
    return np.concatenate((six_from_tensor(inertia), weights @ points, [weights.sum()]))


@pytest.mark.parametrize('seed', range(5))
def test_parameters_moved_are_those_of_the_moved_point_masses(
    seed,
):
    masses, points = point_masses(seed)
    pose = random_pose(100 + seed)
    moved = from_points(masses, points).expressed_in(pose)
    expected = from_points(masses, points @ pose[:3, :3].T + pose[:3, 3])
    np.testing.assert_allclose(moved.parameters(), expected.parameters(), rtol=RTOL, atol=ATOL)


def test_two_bodies_added_are_their_union():
    masses, points = point_masses(1)
    union = from_points(masses[:8], points[:8]) + from_points(masses[8:], points[8:])
    np.testing.assert_allclose(
        union.parameters(), from_points(masses, points).parameters(), rtol=RTOL, atol=ATOL
    )


def test_a_body_less_one_part_is_the_other():
    masses, points = point_masses(2)
    rest = from_points(masses, points) - from_points(masses[:8], points[:8])
    np.testing.assert_allclose(
        rest.parameters(), from_points(masses[8:], points[8:]).parameters(), rtol=RTOL, atol=1e-12
    )


def test_inertia_at_the_center_of_mass_is_the_central_sum():
    masses, points = point_masses(3)
    body = from_points(masses, points)
    center = masses @ points / masses.sum()
    central = from_points(masses, points - center)
    np.testing.assert_allclose(body.center_of_mass, center, rtol=RTOL, atol=ATOL)
    np.testing.assert_allclose(
        body.inertia_at_center_of_mass, central.inertia, rtol=RTOL, atol=1e-12
    )


def test_a_tensor_at_the_center_of_mass_is_moved_to_the_origin():
    masses, points = point_masses(4)
    body = from_points(masses, points)
    six = six_from_tensor(body.inertia_at_center_of_mass)
    read = LinkInertia.from_center_of_mass(body.mass, body.center_of_mass, six)
    np.testing.assert_allclose(read.parameters(), body.parameters(), rtol=RTOL, atol=ATOL)


def test_pseudo_inertia_is_the_sum_of_homogeneous_squares():
    masses, points = point_masses(5)
    homogeneous = np.column_stack((points, np.ones(len(points))))
    expected = np.einsum('k,ki,kj->ij', masses, homogeneous, homogeneous)
    np.testing.assert_allclose(
        from_points(masses, points).pseudo_inertia(), expected, rtol=RTOL, atol=ATOL
    )


@pytest.mark.parametrize('seed', range(5))
def test_any_positive_masses_are_physical(seed):
    body = from_points(*point_masses(seed, count=4))
    assert body.is_physical()
    assert body.triangle_margin() > 0.0


def test_masses_in_a_plane_are_physical_with_margins_of_zero():
    masses, points = point_masses(6)
    points[:, 2] = 0.0
    body = from_points(masses, points)
    assert body.is_physical()
    np.testing.assert_allclose(body.triangle_margin(), 0.0, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(body.consistency_margin(), 0.0, rtol=0.0, atol=1e-13)


def test_moments_1_2_4_are_of_no_body_and_miss_by_one():
    body = LinkInertia.from_center_of_mass(1.0, (0.3, 0.2, 0.1), (1.0, 0.0, 0.0, 2.0, 0.0, 4.0))
    assert not body.is_physical()
    np.testing.assert_allclose(body.triangle_margin(), -1.0, rtol=0.0, atol=1e-13)
    assert body.consistency_margin() < -0.4  # about half the triangle's margin


def test_nothing_is_physical_and_changes_no_sum():
    body = from_points(*point_masses(8))
    assert LinkInertia.zero().is_physical()
    assert body + LinkInertia.zero() == body
    np.testing.assert_array_equal(LinkInertia.zero().center_of_mass, np.zeros(3))


def test_a_body_is_rebuilt_from_its_parameters():
    body = from_points(*point_masses(9))
    again = LinkInertia.from_parameters(body.parameters())
    assert again == body
    assert hash(again) == hash(body)


def test_arrays_of_a_link_are_read_only():
    body = from_points(*point_masses(10))
    with pytest.raises(ValueError, match='read-only'):
        body.inertia[0, 0] = 1.0
    with pytest.raises(ValueError, match='read-only'):
        body.first_moment[0] = 1.0


@pytest.mark.parametrize('axis', 'xyz')
def test_a_cylinder_agrees_with_the_integral_over_its_volume(axis):
    radius, length, density, center = 0.12, 0.7, 2710.0, np.array([0.3, -0.2, 0.1])
    # Gauss along the axis and in r^2, equal steps around: exact for polynomials of degree 3.
    nodes, weights = np.polynomial.legendre.leggauss(3)
    along, w_along = 0.5 * length * nodes, 0.5 * length * weights
    r, w_r = radius * np.sqrt(0.5 * (nodes + 1.0)), 0.25 * radius**2 * weights
    angle = 2.0 * np.pi * np.arange(6) / 6.0
    s, rr, phi = np.meshgrid(along, r, angle, indexing='ij')
    volume = (w_along[:, None, None] * w_r[None, :, None] * np.full(6, 2.0 * np.pi / 6.0)).ravel()
    local = np.stack((s, rr * np.cos(phi), rr * np.sin(phi)), axis=-1).reshape(-1, 3)
    points = np.roll(local, 'xyz'.index(axis), axis=1) + center
    body = Cylinder(radius=radius, length=length, axis=axis, center=center, density=density).link()
    np.testing.assert_allclose(
        body.parameters(), integrated(points, density * volume), rtol=RTOL, atol=1e-12
    )


def test_a_box_agrees_with_the_integral_over_its_volume():
    size, density, center = np.array([0.3, 0.05, 0.06]), 2710.0, np.array([0.02, 0.1, 0.15])
    nodes, weights = np.polynomial.legendre.leggauss(2)
    axes = [0.5 * side * nodes for side in size]
    points = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, 3) + center
    volume = np.prod(0.5 * size) * np.einsum('i,j,k->ijk', weights, weights, weights).ravel()
    body = Box(size=size, center=center, density=density).link()
    np.testing.assert_allclose(
        body.parameters(), integrated(points, density * volume), rtol=RTOL, atol=1e-12
    )


@pytest.mark.parametrize(
    ('geom', 'body'),
    [
        # MuJoCo's cylinders lie along z and have half lengths; so have its boxes.
        (
            'type="cylinder" size="0.03 0.1" pos="0.1 0.2 -0.3"',
            Cylinder(
                radius=0.03, length=0.2, axis='z', center=(0.1, 0.2, -0.3), density=2710.0
            ).link(),
        ),
        (
            'type="cylinder" size="0.03 0.1" pos="0.1 0 0" euler="0 90 0"',
            Cylinder(radius=0.03, length=0.2, axis='x', center=(0.1, 0, 0), density=2710.0).link(),
        ),
        (
            'type="cylinder" size="0.025 0.2" pos="0 -0.2 0" euler="90 0 0"',
            Cylinder(
                radius=0.025, length=0.4, axis='y', center=(0, -0.2, 0), density=2710.0
            ).link(),
        ),
        (
            'type="box" size="0.15 0.025 0.03" pos="0 0 0.15"',
            Box(size=(0.3, 0.05, 0.06), center=(0, 0, 0.15), density=2710.0).link(),
        ),
    ],
)
def test_a_primitive_agrees_with_mujocos_geom(geom, body):
    mujoco = pytest.importorskip('mujoco', reason='the [sim] extra is not installed')
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><body><freejoint/><geom {geom} density="2710"/></body></worldbody>'
        '</mujoco>'
    )
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, model.body_iquat[1])
    rotation = rotation.reshape(3, 3)
    expected = LinkInertia.from_center_of_mass(
        model.body_mass[1],
        model.body_ipos[1],
        rotation @ np.diag(model.body_inertia[1]) @ rotation.T,
    )
    np.testing.assert_allclose(body.parameters(), expected.parameters(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ('build', 'sentence'),
    [
        (lambda: LinkInertia(np.inf, np.zeros(3), np.eye(3)), 'must be finite'),
        (lambda: LinkInertia(1.0, np.zeros(2), np.eye(3)), r'first moment of shape \(3,\)'),
        (
            lambda: LinkInertia(1.0, np.zeros(3), [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]),
            'must be symmetric',
        ),
        (
            lambda: LinkInertia.from_center_of_mass(1.0, (0.0, 0.0), np.eye(3)),
            'centre of mass needs',
        ),
        (lambda: LinkInertia.from_center_of_mass(1.0, np.zeros(3), np.eye(4)), r'got \(4, 4\)'),
        (lambda: LinkInertia.from_parameters(np.zeros(9)), 'ten inertial parameters'),
        (lambda: tensor_from_six(np.zeros(5)), 'xx, xy, xz, yy, yz, zz'),
        (lambda: LinkInertia.zero().expressed_in(np.eye(3)), r'shape \(4, 4\)'),
        (lambda: LinkInertia.zero().expressed_in(np.diag([1, 1, -1, 1])), 'R a rotation'),
        (lambda: LinkInertia.zero().expressed_in(np.diag([1, 1, 1.001, 1])), 'R a rotation'),
    ],
)
def test_a_malformed_body_is_refused_in_one_sentence(build, sentence):
    with pytest.raises(InertiaError, match=sentence):
        build()


def test_six_numbers_of_a_tensor_are_xx_xy_xz_yy_yz_zz():
    np.testing.assert_array_equal(
        tensor_from_six([1, 2, 3, 4, 5, 6]), [[1, 2, 3], [2, 4, 5], [3, 5, 6]]
    )
