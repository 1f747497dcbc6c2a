# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The values that libfranka's own tests expect of its model.

Source: libfranka (Apache-2.0, Franka Robotics GmbH), test/robot_model_tests.cpp at commit
348ed88 and test/fr3.urdf at commit f2388d4. The masses and centres of mass of that URDF are those
of the inertial set here, its tensors are older ones. The load is 0.73 kg at (0.01, 0, 0.03) of
the flange.
"""

from dataclasses import replace

import numpy as np

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

PRINTED = 1e-5  # libfranka's own bound on its six printed digits (kEps)
# Its bounds where the expected values came from a robot's model, not from the URDF.
ROBOT_GRAVITY_NM, ROBOT_CORIOLIS_NM, ROBOT_INERTIA_KGM2 = 0.2, 0.2, 0.1
TENSORS = (
    (0.0186029651, 1.3296e-05, -0.0001140944, 0.0181195421, 5.33017e-05, 0.0053883661),
    (0.0248426123, 0.0012852153, 0.0047668011, 0.0200510561, -0.0077993576, 0.0448935091),
    (0.0206960046, 0.0006503378, -0.0086867454, 0.0129617222, -0.0046382675, 0.0083748603),
    (0.0189656777, 0.0087442604, 0.0154882253, 0.021260554, -0.0050592943, 0.0216050853),
    (0.0274316356, -0.0054626383, -0.0045776221, 0.0250087792, 0.0072115131, 0.0024232492),
    (0.000724256, 0.0021884556, 0.0004615138, 0.0072530249, -0.0006002451, 0.0065288729),
    (4.039e-07, 1.875e-07, -1.593e-07, 2.351e-07, -2.084e-07, 2.838e-07),
)
LOAD = LinkInertia.from_center_of_mass(0.73, (0.01, 0.0, 0.03), np.diag((0.001, 0.0025, 0.0017)))
ZERO, ONES = np.zeros(7), np.ones(7)


def symmetric(upper):
    """Fill a 7 by 7 matrix from the text of its upper triangle, row by row."""
    matrix = np.zeros((7, 7))
    matrix[np.triu_indices(7)] = [float(number) for number in upper.split()]
    return matrix + np.triu(matrix, 1).T


def libfranka_arm(*, loaded):
    arm = load('fr3')
    arm = replace(
        arm,
        links=tuple(
            LinkInertia.from_center_of_mass(link.mass, link.center_of_mass, tensor)
            for link, tensor in zip(arm.links, TENSORS)
        ),
    )
    return arm.with_payload(LOAD) if loaded else arm


def test_libfrankas_urdf_at_zero_has_libfrankas_values():
    bare, loaded = (NewtonEulerModel(libfranka_arm(loaded=one)) for one in (False, True))
    upper = """
        0.0962242 -0.0405634 0.0695652 0.0122244 0.0324671 -0.00144562 -0.00272477
        2.90398 -0.0464397 -1.20732 -0.0415206 0.0702861 -0.00387413
        0.0695652 0.0122244 0.0324671 -0.00144562 -0.00272477
        0.63918 0.0158788 -0.0379682 0.00216462
        0.0324671 -0.00144562 -0.00272477
        0.0448116 8.72329e-05
        0.00183278
    """
    coriolis = (0.223409, -2.07416, 0.224134, 1.05834, 0.0876554, -0.222425, -0.00102552)
    for actual, expected in (
        (bare.gravity(ZERO), (0.0, -3.52387, 0.0, -3.44254, 0.0, 1.63362, 0.0)),
        (loaded.gravity(ZERO), (0.0, -4.22568, 0.0, -3.33154, 0.0, 2.33543, 0.0)),
        (loaded.coriolis(ZERO, ONES), coriolis),
        (loaded.mass_matrix(ZERO), symmetric(upper)),
    ):
        np.testing.assert_allclose(actual, expected, rtol=0.0, atol=PRINTED)


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
        (model.coriolis(q, ONES), coriolis, ROBOT_CORIOLIS_NM),
        (model.mass_matrix(q), symmetric(upper), ROBOT_INERTIA_KGM2),
    ):
        np.testing.assert_allclose(actual, expected, rtol=0.0, atol=atol)
