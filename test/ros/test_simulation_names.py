# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm speaks to no real arm's controller in the same ROS domain."""

import pytest
from std_msgs.msg import Float64MultiArray

from franka_dynamics.resources import share_directory
from franka_dynamics.ros.node_group import NodeGroup

from .conftest import COMMAND
from ..launch_files import launching

REAL = f'/{COMMAND}'  # where franka_ros2's forward controller takes torques


def words(command):
    """Return a launched node's ROS arguments."""
    return command[command.index('--ros-args') + 1 :]


@pytest.mark.parametrize('way', ['simulation', 'two_arms', 'sim'])
def test_torques_of_a_simulation_reach_no_stand_in_of_a_real_arms_controller(
    way, probe, launch, monkeypatch, tmp_path
):
    torques = probe.collect(Float64MultiArray, REAL, reliable=True)
    space = 'simulation/left' if way == 'two_arms' else 'simulation'
    held = f'{space}/simulator: Simulated arm'
    if way == 'sim':
        with NodeGroup(tmp_path) as nodes:
            nodes.start_arm_and_node({}, {'target': 'mujoco'}, lockstep_rate=1000.0)

            def arm_held():
                nodes.require_all()
                return probe.says(held, 'the brakes are open')

            probe.until(arm_held, 'the arm is held')
            probe.spin(0.5)
            assert not torques
        return
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(launching.ament_prefix(tmp_path / 'prefix')))
    file = share_directory() / 'launch' / f'{way}.launch.py'
    for one in launching.started(file, monkeypatch):
        launch(one.executable, words=words(one.command))
    probe.until_says(held, 'the brakes are open')
    probe.spin(0.5)
    assert not torques
