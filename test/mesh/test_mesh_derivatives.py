# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives by the vertices against finite differences."""

import numpy as np
import pytest

from franka_dynamics.mesh.mesh import (
    in_parameter_order,
    mesh_inertia,
    TriangleMesh,
    vertex_derivatives,
)

from .meshes import bumpy_cuboid

DENSITY = 1240.0
STEP = 1e-4  # m; the parameters are polynomials of degree 5 in 6 cm, so truncation is h^2 / L^2
# Of the largest entry in a row: error of central differences with Richardson, measured 8e-13.
RTOL = 3e-11


def parameters(vertices, faces):
    return mesh_inertia(TriangleMesh(vertices, faces), DENSITY).parameters()


def finite_differences(mesh):
    """Return d parameters / d vertices, (10, V, 3), by central differences of fourth order."""
    out = np.empty((10, *mesh.vertices.shape))
    for index in np.ndindex(mesh.vertices.shape):
        unit = np.zeros(mesh.vertices.shape)
        unit[index] = STEP
        values = [parameters(mesh.vertices + k * unit, mesh.faces) for k in (-2, -1, 1, 2)]
        out[:, *index] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * STEP)
    return out


def row_scale(derivative):
    return np.abs(derivative).max(axis=(1, 2), keepdims=True)


@pytest.mark.parametrize('seed', range(3))
def test_vertex_derivatives_hold_equations_18_21_23_and_27(seed):
    mesh = bumpy_cuboid(seed)
    expected = finite_differences(mesh)
    scale = row_scale(expected)
    actual = in_parameter_order(vertex_derivatives(mesh, DENSITY))
    np.testing.assert_allclose(actual / scale, expected / scale, rtol=0.0, atol=RTOL)
