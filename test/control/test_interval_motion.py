# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Means over intervals: the time that passed is the motion's, velocity the links'."""

from itertools import pairwise

import numpy as np
import pytest

from franka_dynamics.control.interval_motion import IntervalMotion

LEAST_S = 0.004
PERIOD_S = 0.001


def positions(time):
    """Return a motion of three joints, shape (N, 3)."""
    return np.column_stack(
        [np.sin(1.3 * time), 0.5 * np.cos(2.1 * time), 0.3 * np.sin(0.7 * time)]
    )


def velocities(time):
    return np.column_stack(
        [1.3 * np.cos(1.3 * time), -1.05 * np.sin(2.1 * time), 0.21 * np.cos(0.7 * time)]
    )


def run(stamps, q, dq, effort=None):
    """Return all intervals, each with the index of the state that ended it."""
    motion = IntervalMotion(q.shape[1], LEAST_S)
    effort = np.zeros_like(q) if effort is None else effort
    return [
        (k, interval)
        for k, state in enumerate(zip(stamps, q, dq, effort))
        if (interval := motion.add(*state)) is not None
    ]


def test_jittering_stamps_do_not_reach_time_or_velocity():
    rng = np.random.default_rng(0)
    time = PERIOD_S * np.arange(5000)
    jitter = np.sort(time + rng.normal(0.0, 2e-4, len(time)))
    # Measured velocity as recordings of a real arm have it: noisy by 7 mrad/s.
    found = run(jitter, positions(time), velocities(time) + rng.normal(0.0, 7e-3, (5000, 3)))
    settled = [(k, one) for k, one in found if time[k] > 2.5]
    assert len(settled) > 550
    errors = []
    for (before, _), (k, one) in pairwise(settled):
        passed = time[k] - time[before]
        assert one.seconds == pytest.approx(passed, abs=1e-9)
        middle = np.array([time[k] - 0.5 * passed])
        np.testing.assert_allclose(one.q, positions(middle)[0], rtol=0.0, atol=1e-5)
        errors.append(one.dq - velocities(middle)[0])
    # Stamps alone would err by 2e-4 * 1.4 / 4e-3 = 7 % of 1.3 rad/s, the measured velocity's mean
    # of four by 3.5 mrad/s rms.
    assert np.abs(errors).max() < 0.01
    assert np.std(errors) < 2e-3


def test_repeated_and_lost_states_are_told_by_the_motion():
    rng = np.random.default_rng(0)
    time = PERIOD_S * np.arange(6000)
    # Given states of which every tenth is sent in place of the next, whose news come one later.
    shown = np.arange(6000)
    shown[200::10] -= 1
    found = run(
        time + rng.normal(0.0, 1e-4, 6000), positions(time[shown]), velocities(time[shown])
    )
    for (before, _), (k, one) in pairwise(found[100:]):
        assert one.seconds == pytest.approx(time[shown[k]] - time[shown[before]], abs=1e-9)


@pytest.mark.parametrize('rate', [30.0, 1000.0])
def test_effort_and_velocity_belong_to_the_same_time(rate):
    # A straight ramp of both: the mean's place in time is seen from its value.
    time = np.arange(0.0, 3.0, 1.0 / rate)
    q = 0.5 * 0.8 * (time**2)[:, None]
    dq, effort = 0.8 * time[:, None], 5.0 * time[:, None]
    found = run(time, q, dq, effort)
    for (before, _), (k, one) in pairwise(found[3:]):
        middle = 0.5 * (time[k] + time[before])
        assert one.dq[0] == pytest.approx(0.8 * middle, abs=1e-9)
        # The effort is the mean from the middle of the interval before to this one's.
        assert one.effort[0] == pytest.approx(5.0 * time[before], abs=1e-9)


@pytest.mark.parametrize(
    ('before', 'after'),
    # An arm that hardly moves once it is pushed; one that is stopped, turned back or thrown.
    [(0.0, 0.0), (0.0, 1e-9), (0.0, 1e-2), (1.0, 0.0), (1.0, -1.0), (1.0, 3.0)],
)
def test_time_passes_for_an_arm_whose_speed_changes_at_once(before, after):
    # Given exact stamps and no noise.
    time, share = PERIOD_S * np.arange(3000), np.array([1.0, -0.5, 0.3])
    speed = np.where(time < 1.5, before, after)[:, None] * share
    found = run(time, np.round(np.ones(3) + PERIOD_S * speed.cumsum(axis=0), 12), speed)
    assert len(found) > 700
    assert sum(one.seconds for _, one in found) == pytest.approx(3.0, abs=0.02)
    assert found[-1][1].dq[0] == pytest.approx(after, abs=1e-6)


@pytest.mark.parametrize('period', [0.003, 0.004, 0.005])
@pytest.mark.parametrize('seed', [5, 33])
def test_stamps_behind_the_time_the_motion_told_are_borne(seed, period):
    # A topic thinned out, an arm that is thrown: positions go ways that stamps do not explain, and
    # the time told by the motion runs ahead of the stamps.
    rng = np.random.default_rng(seed)
    steps, ways = np.ones(600), np.ones(600)
    for values, choices in (
        (ways, [0.0, 2.0, 3.0, 4.0, -4.0, 8.0, 50.0, -50.0]),
        (steps, [0.3, 0.77, 1.0, 2.0, 3.0, 5.0]),
    ):
        hit = np.flatnonzero(rng.random(250) < 0.2) + 150
        hit = hit[hit < 400]
        values[hit] = rng.choice(choices, len(hit))
    stamps = period * np.cumsum(steps)
    q = np.column_stack([0.5 * period * np.cumsum(ways)] * 3)
    found = run(stamps, q, np.full_like(q, 0.5))
    seconds = np.array([one.seconds for _, one in found])
    assert (seconds > 0.0).all()
    # As much time as the stamps', up to what the arm's throws made of it; and none is lost since.
    began = next(k for k, (index, _) in enumerate(found) if index > 500)
    before = found[began - 1][0]
    assert seconds[began:].sum() == pytest.approx(stamps[found[-1][0]] - stamps[before], rel=0.02)


def test_states_kept_back_on_their_way_tell_their_own_time():
    # Given states of which one is 8 ms late, and those behind it come at once after it.
    time = PERIOD_S * np.arange(2000)
    stamps = np.maximum(time, np.where(time > 1.5, 1.508 + 1e-5 * np.arange(-1500, 500), 0.0))
    found = run(stamps, positions(time), velocities(time))
    for (before, _), (k, one) in pairwise(found[100:]):
        assert one.seconds == pytest.approx(time[k] - time[before], abs=1e-9)
