# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torque and torque-rate saturation against hand-worked cases."""

import numpy as np
import pytest

from franka_dynamics.control.limits import CommandOutput, TorqueLimiter

EFFORT, RATE = np.array([87.0, 12.0]), np.array([1000.0, 1000.0])


INFINITE = np.full(2, np.inf)


def test_without_a_previous_torque_only_the_torque_limit_cuts():
    limited = TorqueLimiter(EFFORT, RATE).limit(np.array([50.0, -40.0]), None, 0.0)
    np.testing.assert_array_equal(limited.torque, [50.0, -12.0])
    np.testing.assert_array_equal(limited.cut_by_limit, [False, True])


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
    np.testing.assert_allclose(limited.torque, [step, -step], rtol=0.0, atol=1e-14)
    assert limited.cut_by_rate.all()


@pytest.mark.parametrize(
    ('stamp', 'step'), [(None, 0.0), (1.0, 0.0), (1.0 + 0.25e-3, 0.25), (1.0 + 2e-3, 1.0)]
)
def test_a_command_changes_by_the_rate_times_the_time_since_the_last_state(stamp, step):
    output = CommandOutput(EFFORT, RATE)
    if stamp is None:  # no state yet had a command, as where a torque acted before the first one
        output.last = np.zeros(2)
    else:
        output.take(np.zeros(2), 1.0)
    torque = output.limited(stamp or 1.0, np.full(2, 10.0)).torque
    # The difference of stamps near 1 s is rounded to 1e-16 s, which passes 1e-13 N m.
    np.testing.assert_allclose(torque, step, rtol=0.0, atol=1e-12)


def test_a_stop_sequence_keeps_the_torque_rate():
    output = CommandOutput(EFFORT, RATE)
    output.take(np.full(2, 10.0), 0.0)
    steps = [output.step(np.zeros(2), 1e-3) for _ in range(2)]
    np.testing.assert_allclose(steps, [[9.0, 9.0], [8.0, 8.0]], rtol=0.0, atol=1e-12)


def test_a_second_change_within_the_ramp_makes_no_step_either():
    # The desired torque is 10 N m, 20 from 0.1 s on, and 5 from 0.2 s on, each change ramped for
    # 0.4 s. The second ramp starts while the first one lasts.
    output = CommandOutput(EFFORT, RATE)
    output.take(np.full(2, 10.0), 0.0)
    given, before = [output.last], output.last
    for stamp in 1e-3 * np.arange(1, 1000):
        wanted = np.full(2, 10.0 if stamp < 0.1 else 20.0 if stamp < 0.2 else 5.0)
        changed = None if (wanted == before).all() else before
        given.append(output.glide(stamp, wanted, 0.4, changed))
        before = wanted
    # In a millisecond of the steepest ramp, which covers at most 15 N m in 0.4 s.
    assert np.abs(np.diff(given, axis=0)).max() < 1.5 * 15.0 / 400.0
    np.testing.assert_array_equal(given[-1], 5.0)
