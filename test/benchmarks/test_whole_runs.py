# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whole runs of benchmarks, in `make test-long`."""

import pytest

from ..processes import printed, ROOT

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco')

pytestmark = pytest.mark.long
BENCHMARKS = ROOT / 'benchmarks'


def test_memory_does_not_grow_in_a_minute_at_a_kilohertz():
    assert 'replies' in printed(BENCHMARKS / 'soak.py', '--seconds', '60')


def test_a_killed_sender_leaves_no_torque_and_no_step():
    said = printed(BENCHMARKS / 'receivers.py', '--events', 'kill', '--targets', 'mujoco')
    assert said.splitlines()[-1].split()[:3] == ['0', 'of', '1']
