# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A process that commands 80 N m is killed by SIGKILL, and its torque goes."""

from pathlib import Path
import subprocess
import sys

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / 'benchmarks'


@pytest.mark.parametrize('options', [[], ['--no-beacon']])
def test_sigkill_at_80_newton_metres_then_none_is_left(options):
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / 'keeper.py'), '--kills', '2', *options],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'zero was reached 2 times of 2' in done.stdout
