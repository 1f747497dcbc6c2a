# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The fastest reach keeps every limit, and MuJoCo's arm ends where it was planned to."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.urdf.writer import save

# With 30 intervals instead of 40. A plan that ignores Coriolis terms or the load ends hundreds of
# mrad away.
NEAR_RAD = 0.01
ROUNDING = 1e-6  # of a limit


@pytest.fixture(scope='module')
def solved(time_optimal_reach):
    """Return a reach of an arm whose velocity limits depend on position, with its plan."""
    reach = time_optimal_reach.Reach(time_optimal_reach.loaded_arm('fr3'), 30)
    return reach, reach.solve()


def test_a_solved_reach_keeps_every_limit(time_optimal_reach, solved):
    reach, plan = solved
    arm = reach.arm
    q, dq, ddq = plan.knots
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
    rates = np.diff(tau, axis=0) * reach.intervals / plan.duration
    for values, limit in ((tau, 'effort'), (rates, 'effort_rate'), (ddq, 'acceleration')):
        assert (np.abs(values) <= share * arm.limit(limit)).all()
    # Between the knots too positions and velocities are integrals; differences round the kinks.
    times = np.linspace(0.0, plan.duration, 2001)
    fine = plan.at(times)
    for values, slopes in pairwise(fine):
        rates = np.gradient(values, times, axis=0)[1:-1]
        np.testing.assert_allclose(rates, slopes[1:-1], rtol=0.0, atol=0.05)
    # Fast: one joint at the full speed allowed needs nearly as long.
    alone = np.abs(time_optimal_reach.GOAL - time_optimal_reach.START) / (
        time_optimal_reach.SHARE * arm.limit('velocity')
    )
    assert alone.max() < plan.duration < 1.5 * alone.max()


def test_a_plan_played_to_mujoco_ends_there(time_optimal_reach, solved):
    reach, plan = solved
    end = time_optimal_reach.play(reach.arm, reach.arm, plan)
    assert np.abs(end.off_position).max() < NEAR_RAD
    assert (np.abs(end.tau) <= reach.arm.limit('effort')).all()
    assert (np.abs(end.dq) <= reach.arm.limit('velocity')).all()
    # MuJoCo does not merely repeat the plan: without the load the arm ends elsewhere.
    bare = time_optimal_reach.loaded_arm(reach.arm.name, 1e-9)
    assert (
        np.abs(time_optimal_reach.play(bare, reach.arm, plan).off_position).max() > 10.0 * NEAR_RAD
    )


def test_an_arm_file_is_played_as_its_arm_was_planned(time_optimal_reach, solved, tmp_path):
    save(replace(load('fr3'), name='mine'), tmp_path / 'mine.yaml')
    mine = time_optimal_reach.loaded_arm(str(tmp_path / 'mine.yaml'))
    assert np.abs(time_optimal_reach.play(mine, mine, solved[1]).off_position).max() < NEAR_RAD
