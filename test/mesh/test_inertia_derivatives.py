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
