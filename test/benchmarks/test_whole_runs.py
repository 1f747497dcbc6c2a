# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whole runs that take minutes: `make test-long`."""

from pathlib import Path
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco')

pytestmark = pytest.mark.long
BENCHMARKS = Path(__file__).resolve().parents[2] / 'benchmarks'


def run(script, *arguments):
    """Run a benchmark; require that it ends well, and return what it printed."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / script), *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_memory_does_not_grow_in_a_minute_at_a_kilohertz():
    assert 'replies' in run('soak.py', '--seconds', '60')


def test_a_killed_sender_leaves_no_torque_and_no_step():
    said = run('receivers.py', '--events', 'kill', '--targets', 'mujoco')
    assert said.endswith('\n0 of 1 events missed a bound\n')
