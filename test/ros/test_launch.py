# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Launch files under ROS's own launch, with the processes that they start.

Of ros2_control there are stand-ins: a controller that holds the last command, as forward
controllers do, and a spawner and an unspawner that activate and deactivate it by a service.
"""

from concurrent.futures import ThreadPoolExecutor
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('launch_ros', reason="ROS's own launch and launch_ros are not installed")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from franka_dynamics.arm import load
from franka_dynamics.control.multisine import multisine
from franka_dynamics.resources import share_directory
from franka_dynamics.ros.messages import request_message
from franka_dynamics.ros.node_client import NodeClient, NodeClientError

from .conftest import COMMAND, TIMEOUT_S
from ..launching import ament_prefix, PACKAGES

# A hiccup of a busy machine moves the last joint of a bare fr3 by a radian, and it comes back.
TOLERANCE_RAD = 0.1
SWITCH = 'effort_controller/activate'
LAUNCH = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService()
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(
    PythonLaunchDescriptionSource(sys.argv[1]),
    launch_arguments=[text.split(':=') for text in sys.argv[2:]])]))
sys.exit(service.run())
"""
NODE = """
import sys
from franka_dynamics.ros.{name} import main
sys.exit(main())
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


@pytest.fixture
def launched(tmp_path):
    """Return a function that launches a file of ours; what it starts ends with the test."""
    ours = PACKAGES['franka_dynamics']
    texts = {name: NODE.format(name=name) for name in ours} | {
        name: SPAWNER.format(switch=SWITCH, active=active)
        for name, active in (('spawner', True), ('unspawner', False))
    }
    prefix = ament_prefix(
        tmp_path,
        {'franka_dynamics': ours, 'controller_manager': ('spawner', 'unspawner')},
        {name: f'#!{sys.executable}\n{text}' for name, text in texts.items()},
    )
    log = tmp_path / 'launch.log'
    running = []

    def launch(name, *arguments):
        file = share_directory() / 'launch' / f'{name}.launch.py'
        with log.open('wb') as output:
            running.append(
                subprocess.Popen(
                    [sys.executable, '-c', LAUNCH, str(file), *arguments],
                    stdout=output,
                    stderr=output,
                    env={
                        **os.environ,
                        'AMENT_PREFIX_PATH': str(prefix),
                        'PYTHONPATH': os.pathsep.join(filter(None, sys.path)),
                    },
                )
            )
        return running[-1], log

    yield launch
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(TIMEOUT_S)


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


def test_a_killed_node_then_its_controller_is_deactivated(probe, make_arm, launched, tmp_path):
    parameters = tmp_path / 'own.yaml'
    parameters.write_text(PARAMETERS)
    fr3 = load('fr3')
    arm = make_arm(fr3.joint_names, fr3.home, 'franka/joint_states')
    controller = HoldingController(probe)
    launch, log = launched('franka_ros2', f'params_file:={parameters}')
    arm.until(
        lambda: np.abs(controller.torque).max() > 10.0,
        'a torque',
    )
    assert [active for active, _ in controller.switched] == [True]
    started = r'feedforward_node-\d+\]: process started with pid \[(\d+)\]'
    os.kill(int(re.search(started, log.read_text())[1]), signal.SIGKILL)
    probe.until(lambda: len(controller.switched) > 1, 'deactivation')
    active, torque = controller.switched[-1]
    assert not active
    # Held since the node was killed: a forward controller has no time-out.
    assert np.abs(torque).max() > 10.0
    assert (
        "arguments: ['effort_controller', '--controller-manager', '/controller_manager']"
        in log.read_text()
    )
    probe.until(lambda: launch.poll() is not None, 'the end of the launch')


def test_arguments_win_over_a_dump_of_the_running_node(probe, launched, tmp_path):
    pytest.importorskip('ros2param', reason="ROS's own ros2cli and ros2param are not installed")
    launch, _ = launched('simulation', 'arm_prefix:=left_')
    probe.until(lambda: probe.says('simulator: Simulated arm', 'False'), 'brakes open')
    dump = tmp_path / 'dump.yaml'
    with dump.open('w') as output:
        command = 'from ros2cli.cli import main; exit(main())'
        words = ['param', 'dump', '/feedforward', '--no-daemon']
        subprocess.run([sys.executable, '-c', command, *words], stdout=output, check=True)
    launch.send_signal(signal.SIGINT)
    assert launch.wait(TIMEOUT_S) == 0
    given = {'target': 'fci', 'robot_type': 'fr3v2', 'arm_prefix': 'right_'}
    arguments = [f'{name}:={value}' for name, value in given.items()]
    launched('feedforward', *arguments, 'use_sim_time:=false', f'params_file:={dump}')
    with NodeClient('feedforward', patience=TIMEOUT_S) as client:
        assert {name: client.get(name) for name in given} == given
        assert client.get('use_sim_time') is False
        assert client.get('default_gains') is True  # of the dump


def test_the_first_commands_end_the_motion_where_it_should_and_a_stop_is_told(probe, launched):
    arm = load('fr3v2')
    launch, log = launched('simulation', f'robot_type:={arm.name}')
    probe.until(lambda: probe.says('simulator: Simulated arm', 'False'), 'brakes open')
    states = probe.collect(JointState, 'joint_states')

    def play(duration):
        with NodeClient('feedforward') as client:
            return client.play(request_message(multisine(arm, duration, 0.3), 2.0))

    assert play(2.0) == 'finished'
    probe.until(lambda: 'finished' in log.read_text(), "the node's own word")
    probe.until(lambda: len(states) > 0, 'a state')
    error = np.abs(np.array(states[-1].position) - arm.home)
    assert error.max() < TOLERANCE_RAD
    # Then a motion of ten seconds, which is stopped in its middle.
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(play, 10.0)
        probe.until(lambda: 'reference 2 following' in log.read_text(), 'the motion is followed')
        assert probe.transition('/feedforward', 4)  # deactivate
        with pytest.raises(NodeClientError, match='the motion was interrupted: '):
            playing.result()
    launch.send_signal(signal.SIGINT)
    assert launch.wait(TIMEOUT_S) == 0
    assert len(re.findall('process has finished cleanly', log.read_text())) == 2
