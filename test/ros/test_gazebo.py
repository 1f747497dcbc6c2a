# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm in Gazebo, driven both ways: `make gazebo-check` in a short form."""

import os
from pathlib import Path
import shutil

import pytest

from ..launch_files import launching
from ..processes import ROOT, run_python
from ..ros2_control_prefix import PREFIXES

pytestmark = pytest.mark.skipif(
    shutil.which('gz') is None
    or not any((Path(one) / 'share/ros_gz_sim').exists() for one in PREFIXES.split(os.pathsep)),
    reason='there is no gz, or FRANKA_DYNAMICS_ROS2_CONTROL names no prefix with ros_gz_sim',
)
CHECKS = {
    'direct': ('hold', 'pause', 'reset', 'silence'),
    'ros2_control': ('hold', 'pause'),
}


@pytest.mark.parametrize('control', CHECKS)
def test_an_arm_is_held_follows_and_survives(control, tmp_path):
    environment = launching.environment(launching.own_prefix(tmp_path / 'prefix'))
    words = '--control', control, '--seconds', '2', '--checks', *CHECKS[control]
    status, output, errors = run_python(ROOT / 'benchmarks/gazebo_check.py', *words, **environment)
    print(output)
    assert status == 0, errors
