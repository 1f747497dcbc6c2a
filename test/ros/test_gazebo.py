# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm in Gazebo, driven both ways: `make gazebo-check` in a short form."""

import os
from pathlib import Path
import shutil

import pytest

from ..launch_files import launching
from ..processes import background, ROOT
from ..ros2_control_prefix import PREFIXES

pytestmark = pytest.mark.skipif(
    shutil.which('gz') is None
    or not any((Path(one) / 'share/ros_gz_sim').exists() for one in PREFIXES.split(os.pathsep)),
    reason='there is no gz, or FRANKA_DYNAMICS_ROS2_CONTROL names no prefix with ros_gz_sim',
)
LONGEST_S = 400.0  # the checks wait for simulated time
CHECKS = {
    'direct': ('hold', 'pause', 'reset', 'silence'),
    'ros2_control': ('hold', 'pause'),
}


@pytest.mark.parametrize('control', CHECKS)
def test_an_arm_is_held_follows_and_survives(control, tmp_path):
    environment = launching.environment(launching.own_prefix(tmp_path / 'prefix'))
    # Gazebo's physics waits for no torque, so slower time for a busy machine.
    slow = '--seconds', '1.5', '--real-time-factor', '0.3'
    words = '--control', control, *slow, '--checks', *CHECKS[control]
    with background(ROOT / 'benchmarks/gazebo_check.py', *words, environment=environment) as check:
        output, errors = check.communicate(timeout=LONGEST_S)
    print(output)
    assert check.returncode == 0, errors
