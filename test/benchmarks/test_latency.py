# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of a joint state's round trip runs to its end; its figures decide nothing."""

import json
from pathlib import Path
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

LATENCY = Path(__file__).resolve().parents[2] / 'benchmarks' / 'latency.py'


def test_the_node_still_answers_after_many_rounds(tmp_path):
    # One round more than the stops in a minute that hold a node off by default.
    report = tmp_path / 'report.json'
    arguments = ['--rounds', '7', '--seconds', '0.1', '--warm-up', '0.1', '--json', str(report)]
    done = subprocess.run(
        [sys.executable, str(LATENCY), *arguments], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(report.read_text())['figures']
    assert figures['node at 1000 Hz']['lost_share'] < 1.0
