# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limits of shipped arms against franka_description 2.8.0's files of joint limits."""

import numpy as np
import pytest

from franka_dynamics.arm import load

# lower, upper [rad], velocity [rad/s], effort [N m], velocity_offset [rad/s] and
# deceleration_limit [rad/s^2] of robots/fr3v2_1/joint_limits.yaml; robots/fr3v2 has the same.
FR3V2_1 = [
    [-2.9007400166666666, 2.9007400166666666, 2.62, 87.0, 0.6520000381679385, 6.0],
    [-1.8360900166666667, 1.8360900166666667, 2.62, 87.0, 0.2499685851463105, 2.585],
    [-2.9007400166666666, 2.9007400166666666, 2.62, 87.0, 0.20053055661577582, 3.5],
    [-3.077020016666667, -0.11693708333333333, 2.62, 87.0, 0.3542181933842238, 4.0],
    [-2.87630335, 2.87630335, 5.26, 12.0, 0.5738321197718637, 17.0],
    [0.43982265, 4.62163335, 4.18, 12.0, 0.4884649342105264, 5.5],
    [-3.05083335, 3.05083335, 5.26, 12.0, 0.4591952376425851, 17.0],
]


@pytest.mark.parametrize('name', ['fr3v2', 'fr3v2_1'])
def test_limits_are_those_of_frankas_own_file(name):
    limits = [joint.limits for joint in load(name).joints]
    found = [
        [
            one.lower,
            one.upper,
            one.velocity,
            one.effort,
            one.velocity_offset,
            one.velocity_deceleration,
        ]
        for one in limits
    ]
    np.testing.assert_array_equal(found, FR3V2_1)
