# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is told of references, step by step."""

import numpy as np
import pytest

from franka_dynamics.control.reference import ReferencePoint, Trajectory
from franka_dynamics.control.reference_progress import ReferenceProgress, ReferenceState

HOME = np.zeros(2)
MOTION = Trajectory(np.array([1.0, 3.0]), np.array([[0.0, 0.0], [0.5, -0.2]]))


class Told(ReferenceProgress):
    """The progress, and what it tells: each call returns that."""

    def __init__(self):
        self.events = []
        super().__init__(self.events.append)

    def call(self, name, *given, **named):
        before = len(self.events)
        getattr(self, name)(*given, **named)
        return self.events[before:]


@pytest.fixture
def progress():
    return Told()


def states(events):
    return [event.state.value for event in events]


def test_a_followed_motion_tells_each_station_once(progress):
    assert states(progress.call('accepted', MOTION, 0.5, HOME)) == ['accepted']
    assert progress.call('update', 0.9, HOME, running=True) == []
    (event,) = progress.call('update', 1.0, HOME, running=True)
    assert (event.state.value, event.remaining, event.number) == ('following', 2.0, 1)
    assert progress.call('update', 2.0, HOME, running=True) == []
    (event,) = progress.call('update', 3.0, np.array([0.49, -0.2]), running=True)
    assert event.state.value == 'finished'
    np.testing.assert_allclose(event.error, [0.01, 0.0], rtol=0, atol=1e-15)
    assert not progress.under_way
    assert progress.call('update', 4.0, HOME, running=False, reason='silence') == []


def test_a_stop_in_motion_tells_its_reason_and_the_time_left(progress):
    progress.call('accepted', MOTION, 1.0, HOME)
    (event,) = progress.call(
        'update', 2.0, HOME, running=False, reason='stale: no new joint state'
    )
    assert event.state.value == 'interrupted'
    assert event.reason == 'stale: no new joint state'
    assert event.remaining == 1.0
    np.testing.assert_array_equal(event.error, [0.5, 0.2])
    assert not progress.under_way


def test_a_stream_of_points_counts_as_one_reference(progress):
    told = []
    for k in range(50):
        told += progress.call('accepted', ReferencePoint.at_rest(HOME), 1e-3 * k, HOME)
        told += progress.call('update', 1e-3 * k, HOME, running=True)
    assert states(told) == ['accepted', 'following']
    assert states(progress.call('update', 0.2, HOME, running=True)) == ['finished']
    assert sum(progress.counts.values()) == 3


def test_each_report_has_the_mark_of_its_own_motion(progress):
    events = [
        *progress.call('accepted', MOTION, 1.0, HOME, mark='a'),
        *progress.call('passed', ReferenceState.REFUSED, 1.5, 'too far', 'b'),
        *progress.call('accepted', MOTION, 2.0, HOME, mark='c'),
        *progress.call('update', 3.0, HOME, running=True),
    ]
    assert [(event.state.value, event.mark) for event in events] == [
        ('accepted', 'a'),
        ('following', 'a'),
        ('refused', 'b'),
        ('interrupted', 'a'),
        ('accepted', 'c'),
        ('following', 'c'),
        ('finished', 'c'),
    ]
