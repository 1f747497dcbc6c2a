# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Launch files under ROS's own launch, for the tests of this folder."""

import sys

import pytest

from franka_dynamics.files import share_directory
from franka_dynamics.ros.parameter_tables import parameter_specs

from . import launching

LAUNCH = share_directory() / 'launch'
OF_ROS = {'use_sim_time', 'start_type_description_service'}


@pytest.fixture
def all_launched(monkeypatch, tmp_path):
    """Return a function that returns what a launch file starts, in order."""
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(launching.ament_prefix(tmp_path)))
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path))
    monkeypatch.setenv('ROS_HOME', str(tmp_path / 'ros'))

    def launch(name, **given):
        if name in ('simulation', 'two_arms') and 'mujoco' not in sys.modules:
            pytest.importorskip('mujoco')
        found = launching.started(LAUNCH / f'{name}.launch.py', monkeypatch, **given)
        for one in found:
            node = one.executable.removesuffix('_node')
            if node in ('feedforward', 'simulator'):
                assert set(one.values) <= {spec.name for spec in parameter_specs(node)} | OF_ROS
        return found

    return launch


@pytest.fixture
def launched(all_launched):
    """Return a function that returns what a launch file starts first of each executable."""

    def launch(name, **given):
        return {one.executable: one for one in reversed(all_launched(name, **given))}

    return launch
