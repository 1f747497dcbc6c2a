# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages matched by their stamps, in whatever order and with whatever losses they come."""

from builtin_interfaces.msg import Time
import pytest
from sensor_msgs.msg import JointState

from franka_dynamics.ros.stamp_matcher import StampMatcher


class NoNode:
    """Counts subscriptions; the test hands the messages over itself."""

    def __init__(self):
        self.topics = []

    def create_subscription(self, kind, topic, callback, qos):
        self.topics.append((kind, topic))


def message(ms):
    found = JointState()
    found.header.stamp = Time(sec=ms // 1000, nanosec=ms % 1000 * 10**6)
    return found


@pytest.fixture
def matched():
    """Return a matcher of a, b and c, and the list of what it handed over."""
    found = []
    matcher = StampMatcher(
        NoNode(),
        {name: (JointState, f'topic_{name}') for name in 'abc'},
        lambda stamp, messages: found.append((round(1e3 * stamp), ''.join(sorted(messages)))),
    )
    return matcher, found


def play(matcher, text):
    """Hand over messages written as `a1 b1`: name and stamp [ms]."""
    for word in text.split():
        matcher.add(word[0], message(int(word[1:])))


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('a1 b1 c1 a2 b2 c2', [1, 2]),
        ('c1 a1 b1 b2 c2 a2', [1, 2]),  # in any order of topics
        ('a1 b1 a2 b2 c2', [2]),  # one lost
        ('a1 b1 a2 b2 c2 c1', [2]),  # one so late that a newer one is out
        ('a1 b1 a2 b2 c1 c2', [1, 2]),  # late, but still in time
        ('a1 a1 b1 c1', [1]),  # twice the same
        ('a1 b1 c1 a1 b1 c1', [1]),
        ('a9000 b9000 c9000 a5 b5 c5', [9000, 5]),  # a simulation that was reset
    ],
)
def test_each_complete_stamp_is_handed_over_once(matched, text, expected):
    matcher, found = matched
    play(matcher, text)
    assert found == [(stamp, 'abc') for stamp in expected]


def test_memory_does_not_grow_while_a_topic_is_silent(matched):
    matcher, found = matched
    play(matcher, ' '.join(f'a{ms} b{ms}' for ms in range(1, 1000)))
    assert not found
    assert len(matcher._pending) <= 11
