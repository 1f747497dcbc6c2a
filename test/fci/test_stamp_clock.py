# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The robot's time as stamps: increasing, smooth, and never far from this machine's clock."""

import numpy as np

from franka_dynamics.fci.connection import StampClock

CYCLE_S = 1e-3
EPOCH_S = 1.8e9  # as of system clocks; a double resolves 2.4e-7 s there
RESOLUTION_S = 1e-6


def stamps(times, arrivals):
    clock = StampClock()
    return np.array([clock.stamp(time, now) for time, now in zip(times, arrivals)])


def test_given_jitter_when_stamped_then_the_steps_are_the_robots():
    rng = np.random.default_rng(0)
    times = CYCLE_S * np.arange(5000)
    given = stamps(times, EPOCH_S + times + rng.exponential(3e-4, len(times)))
    steps = np.diff(given[1000:])
    assert (steps > 0.0).all()
    # Jitter of 0.3 ms goes in; what remains is the allowance for drift.
    np.testing.assert_allclose(steps, CYCLE_S, rtol=0.0, atol=5e-6)


def test_stamps_keep_to_this_machines_clock_as_clocks_part():
    times = 0.04 * np.arange(90_000)
    arrivals = EPOCH_S + times * (1.0 + 5e-5)  # 180 ms in an hour
    given = stamps(times, arrivals)
    np.testing.assert_allclose(given, arrivals, rtol=0.0, atol=1e-4)


def test_given_lost_packets_when_stamped_then_the_gap_is_kept():
    times = CYCLE_S * np.array([0, 1, 2, 9, 10])
    given = stamps(times, EPOCH_S + times)
    np.testing.assert_allclose(np.diff(given), np.diff(times), rtol=0.0, atol=RESOLUTION_S)


def test_a_restarted_robot_has_its_offset_taken_anew():
    times = np.array([100.0, 100.001, 0.001, 0.002])
    arrivals = EPOCH_S + np.array([0.0, 0.001, 5.0, 5.001])
    np.testing.assert_allclose(stamps(times, arrivals), arrivals, rtol=0.0, atol=RESOLUTION_S)


def test_the_same_state_twice_does_not_advance_the_stamp():
    given = stamps([1.0, 1.0], [EPOCH_S, EPOCH_S + 0.002])
    assert given[0] == given[1]
