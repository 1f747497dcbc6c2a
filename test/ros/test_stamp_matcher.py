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
        # While a topic is silent, the newest stamps are kept.
        (' '.join(f'a{ms} b{ms}' for ms in range(1, 1000)) + ' c1 c999', [999]),
    ],
)
def test_each_complete_stamp_is_handed_over_once(text, expected):
    found = []
    matcher = StampMatcher(
        SimpleNamespace(create_subscription=lambda *_: None),
        {name: (JointState, f'topic_{name}') for name in 'abc'},
        lambda stamp, messages: found.append((round(1e3 * stamp), ''.join(sorted(messages)))),
    )
    for word in text.split():  # a name and a stamp [ms]
        message = JointState()
        message.header.stamp = stamp_from_seconds(1e-3 * int(word[1:]))
        matcher.add(word[0], message)
        assert len(matcher._pending) <= 11
    assert found == [(stamp, 'abc') for stamp in expected]
