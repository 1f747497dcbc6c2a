# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The node's memory under a few seconds of a kilohertz of joint states."""

from pathlib import Path
import subprocess
import sys

BENCHMARKS = Path(__file__).resolve().parents[2] / 'benchmarks'


def test_memory_does_not_grow_in_five_seconds_at_a_kilohertz():
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / 'soak.py'), '--seconds', '5'],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'replies' in done.stdout
