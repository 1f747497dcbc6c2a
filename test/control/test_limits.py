# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torque and torque-rate saturation against hand-worked cases."""

import numpy as np
import pytest

from franka_dynamics.control.limits import TorqueLimiter

EFFORT, RATE = np.array([87.0, 12.0]), np.array([1000.0, 1000.0])


INFINITE = np.full(2, np.inf)


def test_without_a_previous_torque_only_the_torque_limit_cuts():
    limited = TorqueLimiter(EFFORT, RATE).limit(np.array([50.0, -40.0]), None, 0.0)
    np.testing.assert_array_equal(limited, [50.0, -12.0])


@pytest.mark.parametrize(
    ('elapsed', 'step'),
    [(-1.0, 0.0), (np.nan, 0.0), (0.0, 0.0), (0.4e-3, 0.4), (1e-3, 1.0), (5e-3, 1.0), (1e3, 1.0)],
)
@pytest.mark.parametrize(
    ('limits', 'torque'),
    [((EFFORT, RATE), [80.0, -10.0]), ((INFINITE, INFINITE), [500.0, -500.0])],
)
def test_a_torque_step_passes_at_most_one_ms_of_a_finite_rate(limits, torque, elapsed, step):
    limited = TorqueLimiter(*limits).limit(np.array(torque), np.zeros(2), elapsed)
    np.testing.assert_allclose(limited, [step, -step], rtol=0.0, atol=1e-14)
