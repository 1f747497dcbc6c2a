# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm in Gazebo, driven both ways: `make gazebo-check` in a short form."""

import os
from pathlib import Path
import shutil

import pytest

from ..processes import ROOT, run_python
from ..ros2_control_prefix import PREFIXES

PACKAGES = 'ros_gz_sim', 'franka_dynamics'  # this one is launched as it is installed


def is_installed(package):
    return any((Path(one) / 'share' / package).exists() for one in PREFIXES.split(os.pathsep))


pytestmark = pytest.mark.skipif(
    shutil.which('gz') is None or not all(map(is_installed, PACKAGES)),
    reason='there is no gz, or no prefix has ros_gz_sim and this package, built by colcon',
)
CHECKS = {
    'direct': ('hold', 'pause', 'reset', 'silence'),
    'ros2_control': ('hold', 'pause'),
}


@pytest.mark.parametrize('control', CHECKS)
def test_an_arm_is_held_follows_and_survives(control):
    words = '--control', control, '--seconds', '2', '--checks', *CHECKS[control]
    status, output, errors = run_python(ROOT / 'benchmarks/gazebo_check.py', *words)
    print(output)
    assert status == 0, errors
