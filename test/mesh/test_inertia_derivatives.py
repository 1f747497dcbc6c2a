# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of inertia by vertices and by a rigid motion against finite differences."""

import numpy as np
import pytest

from franka_dynamics.mesh.mesh import (
    DIAGONAL_FIRST,
    in_parameter_order,
    mesh_inertia,
    motion_derivative,
    TriangleMesh,
    vertex_derivatives,
)
from franka_dynamics.spatial import exp6

from .meshes import bumpy_cuboid
from ..agreement import differences
from ..dynamics.trees import random_link

DENSITY = 1240.0
# Relative to the largest entry of a row; measured 8e-13 with fourth-order central differences.
RTOL = 3e-11
# 6e-12 measured for entries up to 11.
ATOL = 1e-10


@pytest.mark.parametrize('seed', range(3))
def test_vertex_derivatives_hold_equations_18_21_23_and_27(seed):
    mesh = bumpy_cuboid(seed)

    def parameters(change):
        vertices = mesh.vertices + change.reshape(-1, 3)
        return mesh_inertia(TriangleMesh(vertices, mesh.faces), DENSITY).parameters()

    # m; the parameters are polynomials of degree 5 in 6 cm, so truncation is h^2 / L^2
    expected = differences(parameters, mesh.vertices.size, 1e-4)
    actual = in_parameter_order(vertex_derivatives(mesh, DENSITY)).reshape(10, -1)
    scale = np.abs(expected).max(axis=1, keepdims=True)
    np.testing.assert_allclose(actual / scale, expected / scale, rtol=0.0, atol=RTOL)


@pytest.mark.parametrize('seed', range(3))
def test_the_ten_by_six_matrix_is_the_slope_of_a_moved_body(seed):
    inertia = random_link(np.random.default_rng(seed))

    def moved(change):  # (omega, v), as Kwon has them
        return inertia.expressed_in(exp6(np.roll(change, 3))).parameters()

    expected, actual = differences(moved, 6, 1e-3), motion_derivative(inertia)
    np.testing.assert_allclose(in_parameter_order(actual), expected, rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(actual, expected[list(DIAGONAL_FIRST)], rtol=0.0, atol=ATOL)
