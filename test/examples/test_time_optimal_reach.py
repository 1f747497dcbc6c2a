# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The fastest reach keeps every limit, and MuJoCo's arm ends where it was planned to."""

from itertools import pairwise

import numpy as np
import pytest

from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

# With 30 intervals instead of 40. A plan that ignores Coriolis terms or the load ends hundreds of
# mrad away.
INTERVALS, NEAR_RAD = 30, 0.01
ROUNDING = 1e-6  # of a limit


@pytest.fixture(scope='module')
def planned(time_optimal_reach):
    """Return an arm whose velocity limits depend on position, its states at knots, a duration."""
    time_optimal_reach.K = INTERVALS
    arm = time_optimal_reach.loaded_arm(2.0)
    return arm, *time_optimal_reach.fastest(arm)


def test_a_solved_reach_keeps_every_limit(time_optimal_reach, planned):
    arm, (q, dq, ddq), duration = planned
    np.testing.assert_allclose(
        q[[0, -1]], [time_optimal_reach.START, time_optimal_reach.GOAL], atol=1e-7
    )
    np.testing.assert_allclose(dq[[0, -1]], 0.0, atol=1e-6)
    # Torques by another formulation than the one that planned.
    tau = NewtonEulerModel(arm).inverse_dynamics(q, dq, ddq)
    low, high = arm.velocity_bounds(q)
    share = time_optimal_reach.SHARE * (1.0 + ROUNDING)
    assert ((q >= arm.limit('lower')) & (q <= arm.limit('upper'))).all()
    assert ((dq >= share * low - 1e-6) & (dq <= share * high + 1e-6)).all()
    rates = np.diff(tau, axis=0) * INTERVALS / duration
    for values, limit in ((tau, 'effort'), (rates, 'effort_rate'), (ddq, 'acceleration')):
        assert (np.abs(values) <= share * arm.limit(limit)).all()
    # Between the knots too positions and velocities are integrals; differences round the kinks.
    times = np.linspace(0.0, duration, 2001)
    fine = time_optimal_reach.at(planned[1], duration, times)
    for values, slopes in pairwise(fine):
        rates = np.gradient(values, times, axis=0)[1:-1]
        np.testing.assert_allclose(rates, slopes[1:-1], rtol=0.0, atol=0.05)
    # Fast: one joint at the full speed allowed needs nearly as long.
    alone = np.abs(time_optimal_reach.GOAL - time_optimal_reach.START) / (
        time_optimal_reach.SHARE * arm.limit('velocity')
    )
    assert alone.max() < duration < 1.5 * alone.max()


def test_a_plan_played_to_mujoco_ends_there(time_optimal_reach, planned):
    arm, states, duration = planned
    middles = (np.arange(10_000) + 0.5) * duration / 10_000
    torques = NewtonEulerModel(arm).inverse_dynamics(
        *time_optimal_reach.at(states, duration, middles)
    )
    goal = time_optimal_reach.GOAL
    assert np.abs(time_optimal_reach.play(arm, torques, duration) - goal).max() < NEAR_RAD
    # MuJoCo does not merely repeat the plan: without the load the arm ends elsewhere.
    bare = time_optimal_reach.loaded_arm(1e-9)
    assert np.abs(time_optimal_reach.play(bare, torques, duration) - goal).max() > 10.0 * NEAR_RAD
