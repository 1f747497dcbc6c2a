# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The values of a robot's own model that libfranka's tests expect.

Source: libfranka (Apache-2.0, Franka Robotics GmbH), test/robot_model_tests.cpp at commit
348ed88. The load is 0.73 kg at (0.01, 0, 0.03) of the flange.
"""

import numpy as np

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

# libfranka's own bounds.
ROBOT_GRAVITY_NM, ROBOT_CORIOLIS_NM, ROBOT_INERTIA_KGM2 = 0.2, 0.2, 0.1
LOAD = LinkInertia.from_center_of_mass(0.73, (0.01, 0.0, 0.03), np.diag((0.001, 0.0025, 0.0017)))


def symmetric(upper):
    """Fill a 7 by 7 matrix from the text of its upper triangle, row by row."""
    matrix = np.zeros((7, 7))
    matrix[np.triu_indices(7)] = [float(number) for number in upper.split()]
    return matrix + np.triu(matrix, 1).T


def test_the_shipped_fr3_at_work_is_near_a_robots():
    # g, C dq at a velocity of one, and M of a robot's own model with the load.
    q = np.array([0.0010, 0.0010, 0.0010, -2.3552, 0.0010, 2.3572, 0.0010])
    gravity = (0.0, -28.2417, 0.0, 20.7531, 0.5095, 2.3446, 0.0)
    coriolis = (3.1468, -0.6225, 3.1439, -3.1063, -0.0658, -0.5416, 0.0089)
    upper = """
        1.1749 -0.0085 1.1660 -0.0247 -0.0261 -0.0033 -0.0057
        1.7281 0.0046 -0.8304 -0.0142 -0.1209 -0.0005
        1.1660 -0.0247 -0.0261 -0.0033 -0.0057
        1.0399 0.0263 0.1526 -0.0023
        0.0112 0.0042 0.0012
        0.0390 -0.0004
        0.0019
    """
    model = NewtonEulerModel(load('fr3').with_payload(LOAD))
    for actual, expected, atol in (
        (model.gravity(q), gravity, ROBOT_GRAVITY_NM),
        (model.coriolis(q, np.ones(7)), coriolis, ROBOT_CORIOLIS_NM),
        (model.mass_matrix(q), symmetric(upper), ROBOT_INERTIA_KGM2),
    ):
        np.testing.assert_allclose(actual, expected, rtol=0.0, atol=atol)
