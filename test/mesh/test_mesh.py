# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The inertia of a mesh against closed forms and trimesh, and its derivatives."""

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia
from franka_dynamics.errors import MeshError
from franka_dynamics.mesh.mesh import (
    mesh_inertia,
    mesh_volume,
    motion_derivative,
    TriangleMesh,
    vertex_derivatives,
)
from franka_dynamics.spatial import exp6, pose_from_xyz_rpy

from .meshes import bumpy_cuboid, cuboid
from ..agreement import differences, refuses
from ..dynamics.trees import random_link

DENSITY = 2700.0  # kg/m^3, aluminium
# Relative to the largest entry. Sums of a few dozen products: 3e-16 measured.
RTOL = 2e-14
# Sums of a million terms in another order than trimesh's: 2e-15 measured.
RTOL_LARGE = 1e-13


def assert_inertias_close(actual, expected, rtol):
    for name in ('mass', 'first_moment', 'inertia'):
        named = np.asarray(getattr(expected, name))
        np.testing.assert_allclose(
            getattr(actual, name), named, rtol=0.0, atol=rtol * np.abs(named).max()
        )


def test_a_corner_tetrahedron_has_the_integrals_products():
    # Given the tetrahedron x, y, z >= 0, x + y + z <= 1, for which the integral of x y is 1/120,
    # of x^2 1/60, of x 1/24 and of 1 is 1/6.
    mesh = TriangleMesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    )
    actual = mesh_inertia(mesh, 1.0)
    expected = LinkInertia(
        1 / 6, np.full(3, 1 / 24), np.full((3, 3), -1 / 120) + np.eye(3) * (2 / 60 + 1 / 120)
    )
    assert_inertias_close(actual, expected, RTOL)


def test_many_faces_agree_with_trimesh():
    trimesh = pytest.importorskip('trimesh')
    ball = trimesh.creation.icosphere(6)
    ball.apply_scale((0.1, 0.2, 0.05))
    ball.apply_translation((0.1, -0.2, 0.3))
    ball.density = DENSITY
    actual = mesh_inertia(TriangleMesh(ball.vertices, ball.faces), DENSITY)
    expected = LinkInertia.from_center_of_mass(
        ball.mass_properties.mass, ball.center_mass, ball.moment_inertia
    )
    assert_inertias_close(actual, expected, RTOL_LARGE)


def test_a_mesh_far_away_keeps_its_central_inertias_digits():
    # Given a 6 cm part described 13 m from its frame's origin, as CAD exports sometimes are.
    near, offset = bumpy_cuboid(1), (3.0, 4.0, 12.0)
    far = near.moved(pose_from_xyz_rpy(offset, np.zeros(3)))
    actual, expected = (mesh_inertia(mesh, DENSITY) for mesh in (far, near))
    center = expected.center_of_mass + offset
    np.testing.assert_allclose(actual.center_of_mass, center, rtol=0.0, atol=1e-13)
    # Then only the parallel-axis term of 169 m^2 against 4e-4 m^2 takes digits: 2e-11 measured;
    # sums about the far origin lose 4e-10.
    np.testing.assert_allclose(
        actual.inertia_at_center_of_mass,
        expected.inertia_at_center_of_mass,
        rtol=0.0,
        atol=1e-10 * np.abs(expected.inertia).max(),
    )


@pytest.mark.parametrize(
    ('step', 'density', 'names'),
    [(-1, DENSITY, ['-0.001', 'inwards']), (1, -1.0, ['-1.0']), (1, np.nan, ['nan'])],
)
def test_normals_inwards_or_an_impossible_density_are_refused(step, density, names):
    box = cuboid((0.1, 0.1, 0.1))
    mesh = TriangleMesh(box.vertices, box.faces[:, ::step])
    np.testing.assert_allclose(mesh_volume(mesh), step * 1e-3, rtol=RTOL, atol=0.0)
    with refuses(MeshError, *names):
        mesh_inertia(mesh, density)


@pytest.mark.parametrize(
    ('vertices', 'faces', 'names'),
    [
        (np.zeros((3, 2)), [[0, 1, 2]], ['vertices', '(k, 3)']),
        (np.zeros((3, 3)), np.zeros((0, 3), int), ['faces', '(0, 3)']),
        (np.zeros((3, 3)), [[0.0, 1.0, 2.0]], ['faces', 'float64']),
        (np.zeros((3, 3)), [[0, 1, 3]], ['vertex 3', '0..2']),
        ([[0, 0, 0], [1, np.nan, 0], [0, 1, 0]], [[0, 1, 2]], ['nan at [1, 1]']),
    ],
)
def test_malformed_mesh_arrays_are_refused_by_name(vertices, faces, names):
    with refuses(MeshError, *names):
        TriangleMesh(vertices, faces)


@pytest.mark.parametrize('seed', range(3))
def test_vertex_derivatives_hold_equations_18_21_23_and_27(seed):
    mesh = bumpy_cuboid(seed)

    def parameters(change):
        vertices = mesh.vertices + change.reshape(-1, 3)
        return mesh_inertia(TriangleMesh(vertices, mesh.faces), DENSITY).parameters()

    # m; the parameters are polynomials of degree 5 in 6 cm, so truncation is h^2 / L^2
    expected = differences(parameters, mesh.vertices.size, 1e-4)
    actual = vertex_derivatives(mesh, DENSITY).reshape(10, -1)
    scale = np.abs(expected).max(axis=1, keepdims=True)
    # 8e-13 measured
    np.testing.assert_allclose(actual / scale, expected / scale, rtol=0.0, atol=3e-11)


@pytest.mark.parametrize('seed', range(3))
def test_the_ten_by_six_matrix_is_the_slope_of_a_moved_body(seed):
    inertia = random_link(np.random.default_rng(seed))

    def moved(change):
        return inertia.expressed_in(exp6(change)).parameters()

    expected, actual = differences(moved, 6, 1e-3), motion_derivative(inertia)
    # 6e-12 measured for entries up to 11.
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=1e-10)
