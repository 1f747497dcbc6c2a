# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Launch files under ROS's own launch, for the tests of this folder."""

import subprocess
import sys

import pytest

from franka_dynamics.resources import share_directory
from franka_dynamics.ros.parameter_tables import table

from . import launching
from ..processes import TIMEOUT_S

LAUNCH = share_directory() / 'launch'
OF_ROS = {'use_sim_time', 'start_type_description_service'}


@pytest.fixture
def launched(monkeypatch, tmp_path):
    """
    Return a function: what a launch file starts, by executable; of two alike the last.

    Its attribute `all` is a function that returns all that is started, in order.
    """
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(launching.ament_prefix(tmp_path)))
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path))

    def launch_all(name, **given):
        found = launching.started(LAUNCH / f'{name}.launch.py', monkeypatch, **given)
        for one in found:
            if one.executable.removesuffix('_node') in ('feedforward', 'simulator'):
                declared = {spec.name for spec in table(one.executable.removesuffix('_node'))}
                assert set(one.values) <= declared | OF_ROS
        return found

    def launch(name, **given):
        return {one.executable: one for one in launch_all(name, **given)}

    launch.all = launch_all
    return launch


@pytest.fixture
def ros2_launch(tmp_path):
    """Return a function: what `ros2 launch` says of a file and arguments, and its status."""
    pytest.importorskip('ros2launch', reason="ROS's own ros2cli and ros2launch are not installed")
    environment = launching.environment(launching.ament_prefix(tmp_path))
    program = 'from ros2cli.cli import main; exit(main())'

    def run(*words):
        command = [sys.executable, '-c', program, 'launch', *words]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
        )
        return done.returncode, done.stdout + done.stderr

    return run
