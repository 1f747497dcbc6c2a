# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The inertia of a body that is moved: (29) to (34) against finite differences and each other."""

import numpy as np
import pytest
from scipy.linalg import expm

from franka_dynamics.arm import LinkInertia
from franka_dynamics.mesh.mesh import DIAGONAL_FIRST, in_parameter_order, motion_derivative

STEP = 1e-3
# Central differences of fourth order; 6e-12 measured for entries up to 11.
ATOL = 1e-10


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0.0]])


def body(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    return LinkInertia.from_center_of_mass(
        1.3, rng.normal(size=3), np.trace(root @ root.T) * np.eye(3) - root @ root.T
    )


def pose(omega, v):
    twist = np.zeros((4, 4))
    twist[:3, :3], twist[:3, 3] = skew(omega), v
    return expm(twist)


def spatial(inertia):
    """Return G of (31): [[I, [h]], [[h]^T, m 1]] in the order (omega, v)."""
    h = skew(inertia.first_moment)
    return np.block([[inertia.inertia, h], [h.T, inertia.mass * np.eye(3)]])


@pytest.mark.parametrize('seed', range(3))
def test_the_ten_by_six_matrix_is_the_slope_of_a_moved_body(seed):
    inertia = body(seed)
    expected = np.empty((10, 6))
    for column, unit in enumerate(np.eye(6)):
        values = [
            inertia.expressed_in(pose(k * STEP * unit[:3], k * STEP * unit[3:])).parameters()
            for k in (-2, -1, 1, 2)
        ]
        expected[:, column] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * STEP)
    actual = motion_derivative(inertia)
    np.testing.assert_allclose(in_parameter_order(actual), expected, rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(actual, expected[list(DIAGONAL_FIRST)], rtol=0.0, atol=ATOL)


def test_equation_29_moves_a_body_by_a_rigid_motion():
    inertia, motion = body(4), pose([0.3, -0.5, 0.9], [0.2, 0.1, -0.4])
    rotation, origin = motion[:3, :3], motion[:3, 3]
    adjoint = np.block([[rotation, np.zeros((3, 3))], [skew(origin) @ rotation, rotation]])
    back = np.linalg.inv(adjoint)
    np.testing.assert_allclose(
        spatial(inertia.expressed_in(motion)),
        back.T @ spatial(inertia) @ back,
        rtol=0.0,
        atol=1e-13,
    )


def test_equation_30_agrees_with_the_matrixs_columns():
    inertia = body(5)
    omega, v = np.array([0.4, -0.2, 0.7]), np.array([-0.3, 0.6, 0.1])
    ad = np.block([[skew(omega), np.zeros((3, 3))], [skew(v), skew(omega)]])
    expected = -ad.T @ spatial(inertia) - spatial(inertia) @ ad
    change = in_parameter_order(motion_derivative(inertia)) @ np.concatenate((omega, v))
    np.testing.assert_allclose(
        spatial(LinkInertia.from_parameters(change)), expected, rtol=0.0, atol=1e-13
    )
