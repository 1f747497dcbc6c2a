# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fourier trajectories: derivatives and rest at both ends."""

import numpy as np
import pytest

from franka_dynamics.errors import IdentificationError
from franka_dynamics.identification.excitation import FourierTrajectory

START = np.array([0.1, -0.2, 0.3])


def trajectory():
    rng = np.random.default_rng(0)
    return FourierTrajectory(START, 8.0, rng.standard_normal((3, 8)))


def test_any_coefficients_rest_at_the_start_after_a_period():
    for time in (0.0, 8.0, 16.0):
        position, velocity, acceleration = trajectory().at(time)
        np.testing.assert_allclose(position, START, rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(velocity, 0.0, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(acceleration, 0.0, rtol=0.0, atol=1e-11)


def test_velocity_and_acceleration_are_the_derivatives():
    one, time, step = trajectory(), np.linspace(0.3, 7.0, 11), 1e-4
    before, here, after = (one.at(time + shift) for shift in (-step, 0.0, step))
    # Central differences: the error is the third derivative (some 50 rad/s^3) times h^2 / 6.
    for lower, upper in ((0, 1), (1, 2)):
        np.testing.assert_allclose(
            (after[lower] - before[lower]) / (2.0 * step), here[upper], rtol=0.0, atol=1e-6
        )


def test_no_period_is_refused():
    with pytest.raises(IdentificationError, match=r'period is 0\.0 s; it must be positive'):
        FourierTrajectory(START, 0.0, np.zeros((3, 8)))
