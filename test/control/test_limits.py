# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torque, torque-rate and speed limits against hand-worked cases."""

import numpy as np
import pytest

from franka_dynamics.control.limits import TorqueLimiter
from franka_dynamics.control.speed_watcher import SpeedWatcher
from franka_dynamics.control.terms import StateTerms
from franka_dynamics.control.trajectory import ReferencePoint
from franka_dynamics.control.watcher import Cycle

from .closed_loop import core, FER, HOME, STILL

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


@pytest.mark.parametrize('moves', [False, True])
@pytest.mark.parametrize(
    ('left', 'speed', 'gain', 'exceeds'),
    [
        (1.0, 1.5, 0.0, False),  # 0.6 of 2.61 rad/s are 1.57
        (1.0, 1.5, 0.1, True),
        (0.10, 1.0, 0.0, False),  # 1 / 60 rad of braking and 0.05 s of delay
        (0.06, 1.0, 0.0, True),
        (0.0, 0.45, 0.0, False),
    ],
)
def test_a_joint_that_no_reference_moves_may_be_as_fast_as_it_can_be_stopped(
    left, speed, gain, exceeds, moves
):
    controller, joint = core(), np.eye(7)[5]
    limit = SpeedWatcher(FER, controller.disturbances)
    q = HOME + (FER.limit('upper') - HOME - left) * joint
    reference = ReferencePoint(q, speed * joint, STILL) if moves else None
    for k in range(5):
        state = StateTerms(1e-3 * k, q, speed * joint, STILL, STILL, STILL)
        cycle = Cycle(state, controller.acting, reference, controller.asked, 1e-3, STILL)
        said = limit.exceeded(cycle, gain * joint)
    assert bool(said) is (exceeds and not moves)
