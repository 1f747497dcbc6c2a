# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The launch file for franka_ros2 under ROS's own launch, with a node that is killed.

The feedforward node and its keeper are real. Of ros2_control there are stand-ins: a controller
that holds the last command, as forward controllers do, and a spawner and an unspawner that
activate and deactivate it by a service.
"""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('launch_ros', reason="ROS's own launch and launch_ros are not installed")

from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from franka_dynamics.arm import load
from franka_dynamics.resources import share_directory

from .conftest import COMMAND

SWITCH = 'effort_controller/activate'
LAUNCH = """
import sys
from launch import LaunchService
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.actions import IncludeLaunchDescription
from launch import LaunchDescription
service = LaunchService()
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(
    PythonLaunchDescriptionSource(sys.argv[1]),
    launch_arguments=[('params_file', sys.argv[2])])]))
sys.exit(service.run())
"""
SPAWNER = """
import sys
import rclpy
from std_srvs.srv import SetBool
rclpy.init(args=sys.argv)
node = rclpy.create_node('switch')
client = node.create_client(SetBool, '{switch}')
client.wait_for_service()
print('arguments:', rclpy.utilities.remove_ros_args(sys.argv)[1:], flush=True)
future = client.call_async(SetBool.Request(data={active}))
rclpy.spin_until_future_complete(node, future)
"""
PARAMETERS = """
/**:
  ros__parameters:
    gravity_vector: [4.0, 0.0, -8.9]
    max_state_age: 0.0
    state_timeout: 2.0
"""


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!{sys.executable}\n{text}')
    path.chmod(0o755)


@pytest.fixture
def prefix(tmp_path):
    """Return an ament prefix with this package and the stand-ins for controller_manager."""
    for package in ('franka_dynamics', 'controller_manager'):
        marker = tmp_path / 'share/ament_index/resource_index/packages' / package
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
    (tmp_path / 'share/franka_dynamics').symlink_to(share_directory())
    for node in ('feedforward_node', 'keeper_node'):
        executable(
            tmp_path / 'lib/franka_dynamics' / node,
            f'import sys\nfrom franka_dynamics.ros.{node} import main\nsys.exit(main())\n',
        )
    for name, active in (('spawner', True), ('unspawner', False)):
        executable(
            tmp_path / 'lib/controller_manager' / name,
            SPAWNER.format(switch=SWITCH, active=active),
        )
    return tmp_path


class HoldingController:
    """Holds the last command for as long as it is active, and writes zeros afterwards."""

    def __init__(self, probe):
        self.torque, self.switched = np.zeros(7), []
        self._active = False
        probe.create_subscription(Float64MultiArray, COMMAND, self._on_command, 1)
        probe.create_service(SetBool, SWITCH, self._on_switch)

    def _on_command(self, message):
        if self._active:
            self.torque = np.array(message.data)

    def _on_switch(self, request, answer):
        self._active = answer.success = request.data
        self.switched.append((request.data, self.torque.copy()))
        self.torque = np.zeros(7)
        return answer


def test_a_killed_node_then_its_controller_is_deactivated(prefix, probe, make_arm, tmp_path):
    parameters = tmp_path / 'own.yaml'
    parameters.write_text(PARAMETERS)
    fr3 = load('fr3')
    arm = make_arm(fr3.joint_names, fr3.home, 'franka/joint_states')
    controller = HoldingController(probe)
    log = tmp_path / 'launch.log'
    with log.open('wb') as output:
        launch = subprocess.Popen(
            [
                sys.executable,
                '-c',
                LAUNCH,
                str(share_directory() / 'launch' / 'franka_ros2.launch.py'),
                str(parameters),
            ],
            stdout=output,
            stderr=output,
            env={
                **os.environ,
                'AMENT_PREFIX_PATH': str(prefix),
                'PYTHONPATH': os.pathsep.join(filter(None, sys.path)),
            },
        )
    try:
        arm.until(
            lambda: (
                np.abs(controller.torque).max() > 10.0 and log.read_text().count('is watched') > 0
            ),
            'a torque',
        )
        assert [active for active, _ in controller.switched] == [True]
        pid = re.search(
            r'feedforward_node-\d+\]: process started with pid \[(\d+)\]', log.read_text()
        )
        os.kill(int(pid[1]), signal.SIGKILL)
        probe.until(lambda: len(controller.switched) > 1, 'deactivation')
        active, torque = controller.switched[-1]
        assert not active
        np.testing.assert_allclose(torque, 0.0, rtol=0.0, atol=0.0)  # the keeper was earlier
        assert (
            "arguments: ['effort_controller', '--controller-manager', "
            "'/controller_manager']" in log.read_text()
        )
        probe.until(lambda: launch.poll() is not None, 'the end of the launch')
    finally:
        if launch.poll() is None:
            launch.send_signal(signal.SIGINT)
            launch.wait()
