# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How long `record` records, where little of its time is recorded."""

import time

import pytest

from franka_dynamics.cli.main import main

pytest.importorskip('rclpy', reason='ROS 2 is not installed')


@pytest.mark.parametrize(
    ('progress', 'goes_on'),
    [
        ({'seconds': 0.2}, True),
        ({'seconds': 4.5}, True),
        ({'seconds': 5.5}, False),
        ({'seconds': 5.5, 'span': 1.0, 'states': 100}, True),
        ({'seconds': 4.1, 'span': 4.1, 'states': 4000}, False),
        ({'seconds': 81.0, 'span': 1.0, 'states': 100}, False),
    ],
    ids=['no state yet', 'found late', 'nobody', 'slow clock', 'enough', 'too slow'],
)
def test_the_time_that_starting_takes_is_not_recorded(progress, goes_on, monkeypatch, tmp_path):
    from franka_dynamics.ros import recording_session

    answers = []

    def record(*arguments):
        # It took a busy machine so long to start.
        monkeypatch.setattr(time, 'monotonic', lambda now=time.monotonic: now() + 100.0)
        answers.append(arguments[-1](recording_session.Progress(**progress)))
        return recording_session.Progress()

    monkeypatch.setattr(recording_session, 'record', record)
    assert main(['record', '--output', str(tmp_path / 'bag'), '--duration', '4']) == 1
    assert answers == [goes_on]
