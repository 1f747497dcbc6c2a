# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages matched by their stamps, in any order and with any losses."""

from types import SimpleNamespace

import pytest
from sensor_msgs.msg import JointState

from franka_dynamics.ros.messages import stamp_from_seconds

from ..scripts import loaded, ROOT

with loaded(ROOT / 'examples' / 'stamp_matcher.py') as module:
    StampMatcher = module.StampMatcher


@pytest.fixture
def matched():
    """Return a matcher of the topics a, b and c, and the list of matched stamps."""
    found = []
    matcher = StampMatcher(
        SimpleNamespace(create_subscription=lambda *_: None),
        {name: (JointState, f'topic_{name}') for name in 'abc'},
        lambda stamp, messages: found.append((round(1e3 * stamp), ''.join(sorted(messages)))),
    )
    return matcher, found


def play(matcher, text):
    """Pass messages to the matcher, written as `a1 b1`: name and stamp [ms]."""
    for word in text.split():
        message = JointState()
        message.header.stamp = stamp_from_seconds(1e-3 * int(word[1:]))
        matcher.add(word[0], message)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('a1 b1 c1 a2 b2 c2', [1, 2]),
        ('c1 a1 b1 b2 c2 a2', [1, 2]),  # in any order of topics
        ('a1 b1 a2 b2 c2', [2]),  # a lost message
        ('a1 b1 a2 b2 c2 c1', [2]),  # later than a newer complete stamp
        ('a1 b1 a2 b2 c1 c2', [1, 2]),  # late, but still in time
        ('a1 a1 b1 c1', [1]),  # a repeated message
        ('a1 b1 c1 a1 b1 c1', [1]),
        ('a9000 b9000 c9000 a5 b5 c5', [9000, 5]),  # a reset simulation
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
    play(matcher, 'c999')  # the newest stamps are kept
    assert found == [(999, 'abc')]
