# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Interpolation against SciPy's Bernstein polynomials; references and their events."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import BPoly

from franka_dynamics.control.reference import (
    ReferencePoint,
    ReferenceSource,
    STREAM_TIMEOUT_S,
    Trajectory,
)

N, POINTS = 3, 6
# Polynomials of degree five with values of order one. The second derivative divides rounding
# errors by the square of a duration of 0.1 to 1 s.
ATOL = 1e-7


@pytest.fixture
def points():
    rng = np.random.default_rng(3)
    times = 100.0 + np.cumsum(rng.uniform(0.1, 1.0, POINTS))
    rows = rng.uniform(-1.0, 1.0, (3, POINTS, N))
    rows[1, -1] = 0.0
    return times, *rows


def test_segments_are_the_quintics_of_their_ends(points):
    times, *rows = points
    trajectory = Trajectory(*points)
    polynomial = BPoly.from_derivatives(times, np.stack(rows, axis=1))
    sampled, states = trajectory.sample_many(40)
    assert len(sampled) == 40 * (POINTS - 1) + 1
    for order, many in enumerate(states):
        expected = polynomial.derivative(order)(sampled)
        if order == 2:
            expected[-1] = 0.0  # after its last point a trajectory rests
        np.testing.assert_allclose(many, expected, rtol=0.0, atol=ATOL)
        single = [trajectory.sample(time)[order] for time in sampled]
        np.testing.assert_allclose(single, expected, rtol=0.0, atol=ATOL)


def test_outside_its_times_a_trajectory_holds_its_ends_at_rest(points):
    times, positions, *_ = points
    for time, row in ((times[0] - 1.0, 0), (times[-1] + 1.0, -1)):
        expected = positions[row], np.zeros(N), np.zeros(N)
        np.testing.assert_array_equal(Trajectory(*points).sample(time), expected)


def test_a_stream_that_stops_is_held_at_its_last_position():
    source = ReferenceSource()
    point = ReferencePoint(np.ones(N), np.full(N, 0.5), np.full(N, 2.0))
    source.follow(point, 10.0)
    assert source.sample(10.0 + 0.9 * STREAM_TIMEOUT_S) is point
    held = source.sample(10.0 + 1.1 * STREAM_TIMEOUT_S)
    np.testing.assert_array_equal(held, (point.q, np.zeros(N), np.zeros(N)))
    assert not source.active


@pytest.mark.parametrize('after_its_end', [False, True])
def test_a_trajectory_stamped_ahead_lets_the_current_one_go_on(points, after_its_end):
    times, positions, *rates = points
    first = Trajectory(*points)
    shift = 1.0 + times[-1 if after_its_end else 1] - times[0]
    later = Trajectory(times + shift, positions + 5.0, *rates)
    source = ReferenceSource()
    source.follow(first, times[0])
    source.follow(later, times[0])
    for before in later.times[0] - [0.5, 1e-6]:  # `first` may have ended, and rests
        np.testing.assert_array_equal(source.sample(before), first.sample(before))
    np.testing.assert_array_equal(source.at(later.times[1]).q, later.sample(later.times[1]).q)
    np.testing.assert_array_equal(source.sample(later.times[0]).q, positions[0] + 5.0)
    assert source.active


STILL = np.zeros((2, 2))
MOTION = Trajectory(np.array([1.0, 3.0]), np.array([[0.0, 0.0], [0.5, -0.2]]), STILL, STILL)


def told(source):
    """Return the number, state and mark of each event since the last call."""
    events = [source.events.popleft() for _ in range(len(source.events))]
    return [(event.number, event.state.value, event.mark) for event in events]


def test_a_followed_motion_tells_each_event_once():
    source = ReferenceSource()
    source.follow(MOTION, 0.5, 'a')
    source.sample(0.9)
    assert told(source) == [(1, 'accepted', 'a')]
    source.sample(1.0)
    assert source.events[0].remaining == 2.0
    source.sample(2.0)
    assert told(source) == [(1, 'following', 'a')]
    source.sample(3.0)
    np.testing.assert_array_equal(source.events[0].goal, [0.5, -0.2])
    source.clear(4.0, 'silence')
    assert told(source) == [(1, 'finished', 'a')]


def test_a_stop_drops_a_motion_and_the_next_with_its_reason_and_the_time_left():
    source = ReferenceSource()
    source.follow(MOTION, 1.0)
    source.follow(replace(MOTION, times=MOTION.times + 2.0), 1.5)
    source.clear(2.0, 'stale')
    found = [(one.number, one.reason, one.remaining) for one in list(source.events)[-2:]]
    assert found == [(1, 'stale', 1.0), (2, 'stale', 3.0)]
    assert told(source)[-2:] == [(1, 'interrupted', ''), (2, 'interrupted', '')]
    assert source.sample(3.5) is None


def test_a_stream_of_points_counts_as_one_reference():
    source = ReferenceSource()
    for k in range(50):
        source.follow(ReferencePoint.at_rest(np.zeros(2)), 1e-3 * k)
        source.sample(1e-3 * k)
    source.sample(0.2)
    assert told(source) == [(1, 'accepted', ''), (1, 'following', ''), (1, 'finished', '')]
    assert sum(source.counts.values()) == 3


def test_each_event_has_the_mark_of_its_own_reference():
    source = ReferenceSource()
    source.follow(MOTION, 1.0, 'a')
    source.refuse(1.5, 'too far', 'b')
    source.follow(MOTION, 2.0, 'c')
    source.follow(replace(MOTION, times=MOTION.times + 2.0), 2.5, 'd')
    source.sample(3.5)  # the state at 3 s, at which one motion ends and the next begins, was lost
    events = [f'{number} {state} {mark}' for number, state, mark in told(source)]
    assert events[:4] == ['1 accepted a', '1 following a', '2 refused b', '3 accepted c']
    assert events[4:7] == ['1 interrupted a', '3 following c', '4 accepted d']
    assert events[7:] == ['3 finished c', '4 following d']


def test_holding_leaves_a_motion_that_is_to_come():
    source = ReferenceSource()
    source.follow(MOTION, 0.5)
    source.hold(np.ones(2))
    np.testing.assert_array_equal(source.sample(0.9).q, np.ones(2))
    source.hold(None)
    assert source.sample(0.95) is None
    np.testing.assert_array_equal(source.sample(2.0).q, [0.25, -0.1])
