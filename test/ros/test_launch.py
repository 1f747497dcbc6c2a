# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Launch files under ROS's own launch, with the processes that they start."""

from functools import partial
import os
from pathlib import Path
import re
import signal
import subprocess

import numpy as np
import pytest

pytest.importorskip('ros2launch', reason="ROS's own ros2cli and ros2launch are not installed")

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from franka_dynamics.arm import load
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.files import share_directory
from franka_dynamics.ros.clients.node_client import NodeClient
from franka_dynamics.ros.topics import DESCRIPTION_QOS
from franka_dynamics.ros.trajectory_messages import reference_message

from .conftest import ArmStream, COMMAND, HELD_RAD
from ..launch_files import launching
from ..processes import background, start_python, TIMEOUT_S
from ..ros2_control_prefix import environment, in_prefixes, PREFIXES
from ..scripts import loaded

MUJOCO = 'lib/mujoco_ros2_control/ros2_control_node'
NODE_STARTED = r'feedforward_node-\d+\]: process started with pid \[(\d+)\]'
SPAWNER_STARTED = NODE_STARTED.replace('feedforward_node', 'spawner')
# The robot compensates gravity, so a torque is commanded only for an inclined base.
PARAMETERS = """
/**:
  ros__parameters:
    max_state_age: 0.0
    period: 0.5
    gravity_vector: [4.0, 0.0, -8.9]
    mount_tilt_compensated_by: node
"""


def running_launch_files(folder):
    """Yield a function that runs a launch file, with a log in a folder; it ends with this."""
    prefix = launching.own_prefix(folder / 'prefix')
    running = []

    def launch(name, *arguments):
        log = folder / f'launch{len(running)}.log'
        file = name if '/' in name else share_directory() / 'launch' / f'{name}.launch.py'
        with log.open('wb') as output:
            words = ['-c', launching.ROS2, 'launch', file, *arguments]
            given = {'environment': launching.environment(prefix), 'stderr': output}
            running.append(start_python(*words, **given, stdout=output))
        return running[-1], log

    try:
        yield launch
    finally:
        for process in running:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(TIMEOUT_S)


@pytest.fixture
def launched(tmp_path):
    """Return a function that runs a launch file; its processes end with the test."""
    yield from running_launch_files(tmp_path)


def controller_states(probe):
    """Return a real controller manager's controllers and their states."""
    messages = pytest.importorskip('controller_manager_msgs.srv')
    with NodeClient('controller_manager', timeout=TIMEOUT_S, on_wait=probe.spin) as client:
        answer = client.call_service(messages.ListControllers, 'list_controllers')
    return {one.name: one.state for one in answer.controller}


@pytest.fixture
def controllers(probe):
    """Return a function that returns a real controller manager's controllers and their states."""
    pytest.importorskip('controller_manager_msgs')
    return partial(controller_states, probe)


class LaunchedFranka:
    """franka_ros2.launch.py with its node and controller, and a torque that is sent."""

    def __init__(self, probe, launched, controllers, parameters, manager) -> None:
        self.probe = probe
        self.manager = manager
        self.torques = probe.collect(Float64MultiArray, COMMAND)
        self.words = ('franka_ros2', f'params_file:={parameters}', 'receiver:=effort_controller')
        fr3 = load('fr3')
        arm = ArmStream(probe, fr3.joint_names, fr3.home, 'franka/joint_states')
        self.process, log = launched(*self.words)
        # The first torques reach this probe alone, for as long as the controller takes to start.
        active = {'effort_controller': 'active'}
        probe.until(lambda: controllers() == active, 'the active controller')
        self.torques.clear()
        arm.until(self.sends_a_torque, 'a torque')
        text = log.read_text()
        self.node_pid = int(re.search(NODE_STARTED, text)[1])
        self.spawner_pid = int(re.search(SPAWNER_STARTED, text)[1])

    def sends_a_torque(self) -> bool:
        return bool(self.torques) and np.abs(self.torques[-1].data).max() > 10.0

    def wait(self) -> None:
        """Wait until the launch has ended."""
        self.probe.until(lambda: self.process.poll() is not None, 'the end of the launch')


@pytest.fixture
def launched_franka(probe, launched, tmp_path, controllers, run_manager):
    """Run a controller manager, and beside it franka_ros2.launch.py."""
    parameters = tmp_path / 'own.yaml'
    parameters.write_text(PARAMETERS)
    manager = run_manager(load('fr3'))
    assert controllers() == {}
    return LaunchedFranka(probe, launched, controllers, parameters, manager)


def test_the_launch_unloads_the_controller_of_a_killed_node(launched_franka, controllers):
    # The node leaves its torque to the controller.
    os.kill(launched_franka.node_pid, signal.SIGKILL)
    launched_franka.wait()
    assert controllers() == {}


def test_ctrl_c_ends_the_torque_and_unloads_the_controller(launched_franka, controllers):
    launched_franka.process.send_signal(signal.SIGINT)
    launched_franka.wait()
    assert launched_franka.process.returncode == 0
    assert controllers() == {}
    np.testing.assert_array_equal(launched_franka.torques[-1].data, np.zeros(7))


def test_ctrl_c_unloads_a_controller_that_is_inactive(launched_franka, controllers):
    # As a reflex leaves it.
    launched_franka.manager.switch((), ['effort_controller'])
    launched_franka.process.send_signal(signal.SIGINT)
    launched_franka.wait()
    assert launched_franka.process.returncode == 0
    assert controllers() == {}


def test_ctrl_c_after_the_end_of_the_manager_has_nothing_to_unload(launched_franka):
    launched_franka.manager.interrupt()
    launched_franka.process.send_signal(signal.SIGINT)
    launched_franka.wait()
    assert launched_franka.process.returncode == 0


def test_a_killed_launchs_controller_is_named_and_unloaded(
    probe, launched, launched_franka, controllers
):
    first = launched_franka
    for one in (first.process.pid, first.node_pid, first.spawner_pid):
        os.kill(one, signal.SIGKILL)
    first.process.wait()
    assert controllers() == {'effort_controller': 'active'}
    second, log = launched(*first.words)
    probe.until(lambda: second.poll() is not None, 'the end of the second launch')
    assert second.returncode == 1
    assert 'the spawner of effort_controller ended with exit status 1' in log.read_text()
    # The command of docs/howto/drivers.md.
    unspawner = in_prefixes('lib/controller_manager/unspawner')
    subprocess.run([unspawner, 'effort_controller'], env=environment(), check=True)
    assert controllers() == {}


OTHER = """
/controller_manager:
  ros__parameters:
    other.type: forward_command_controller/ForwardCommandController
/other:
  ros__parameters:
    interface_name: effort
    joints: {joints}
"""


def test_a_failed_start_names_who_has_the_efforts(
    probe, launched, tmp_path, controllers, run_manager
):
    fr3 = load('fr3')
    file = tmp_path / 'other.yaml'
    file.write_text(OTHER.format(joints=list(fr3.joint_names)))
    manager = run_manager(fr3, '--params-file', file)
    manager.load('other')
    manager.switch(['other'])
    launch, log = launched('franka_ros2', 'receiver:=effort_controller')
    probe.until(lambda: launch.poll() is not None, 'the end of the launch')
    assert launch.returncode == 1
    said = log.read_text()
    assert re.search(r'other has fr3_joint1/effort.*, which effort_controller needs', said), said
    assert controllers() == {'other': 'active'}
    manager.switch((), ['other'])
    launched('franka_ros2', 'receiver:=effort_controller')
    expected = {'other': 'inactive', 'effort_controller': 'active'}
    probe.until(lambda: controllers() == expected, 'the second start')


# On a busy machine joint states pause.
PATIENT = """
/**:
  ros__parameters:
    max_state_age: 0.0
    period: 2.5
"""


@pytest.mark.skipif(
    not any((Path(one) / MUJOCO).exists() for one in PREFIXES.split(os.pathsep)),
    reason='FRANKA_DYNAMICS_ROS2_CONTROL names no prefix with mujoco_ros2_control',
)
def test_an_arm_in_mujoco_ros2_control_is_held(probe, launched, tmp_path):
    file = tmp_path / 'patient.yaml'
    file.write_text(PATIENT)
    arm = load('fr3', hand='franka_hand')
    given = f'robot_type:={arm.name}', f'hand:={arm.hand}', 'headless:=true', 'namespace:=/'
    launch, log = launched('mujoco_ros2_control', *given, f'params_file:={file}')
    states = probe.collect(JointState, 'joint_states')
    commanding = 'commanding (target mujoco)'
    # Each may take long on a busy machine.
    for stage in ('physics thread', 'activated joint_state_broadcaster', commanding):
        probe.until(lambda stage=stage: stage in log.read_text(), stage)
    count = len(states)
    probe.until(lambda: len(states) > count + 200, 'states')
    for state in states:
        position = dict(zip(state.name, state.position))
        q = [position[name] for name in arm.joint_names]
        np.testing.assert_allclose(q, arm.home, rtol=0, atol=HELD_RAD)
    # Who receives is known before the first torque: it is said once, and no torque ends.
    said = log.read_text()
    assert said.count(commanding) == 1
    assert 'torques ended' not in said and 'nobody receives' not in said
    launch.send_signal(signal.SIGINT)
    assert launch.wait(TIMEOUT_S) == 0


def test_a_motion_reaches_its_goal_and_ctrl_c_ends_both_nodes(probe, launched):
    arm = load('fr3v2')
    launch, log = launched('simulation', f'robot_type:={arm.name}', 'namespace:=/')
    probe.until_says('simulator: Simulated arm', 'False')
    states = probe.collect(JointState, 'joint_states')
    with NodeClient('feedforward') as client:
        motion = reference_message(multisine(arm, 2.0, 0.3), 2.0)
        assert client.follow_trajectory(motion) == 'finished'
    # MoveIt plans from there only if it is this near. Without its friction known the arm rests up
    # to 0.07 rad away.
    error = lambda: np.abs(np.array(states[-1].position) - arm.home).max()  # noqa: E731
    probe.until(lambda: states and error() < 0.01, 'the arm where the motion ends')
    launch.send_signal(signal.SIGINT)
    assert launch.wait(TIMEOUT_S) == 0
    assert len(re.findall('process has finished cleanly', log.read_text())) == 2


def test_gazebo_is_resumed_once_the_arm_is_held(probe):
    pytest.importorskip('ros2topic', reason="ROS's own ros2topic is not installed")
    with loaded(share_directory() / 'launch' / 'gazebo.launch.py') as module:
        _, *words = module.wait_command('/gazebo_direct')
    status = probe.create_publisher(DiagnosticStatus, 'gazebo_direct/status', DESCRIPTION_QOS)

    def say(held):
        status.publish(DiagnosticStatus(values=[KeyValue(key='held', value=f'{held}')]))

    with background('-c', launching.ROS2, *words) as waiting:
        listens = status.get_subscription_count
        probe.until(lambda: waiting.poll() is not None or listens(), 'it listens')
        assert waiting.poll() is None, waiting.communicate()
        for _ in range(50):
            say(held=False)
            probe.spin()
        assert waiting.poll() is None
        say(held=True)
        probe.until(lambda: waiting.poll() is not None, 'its end')
    assert waiting.returncode == 0


def test_a_tilt_that_nobody_compensates_ends_the_launch(probe, launched, tmp_path):
    tilt = '/**:\n  ros__parameters:\n    gravity_vector: [9.81, 0.0, 0.0]\n'
    (tmp_path / 'own.yaml').write_text(tilt)
    launch, log = launched('feedforward', 'target:=fci', f'params_file:={tmp_path}/own.yaml')
    probe.until(lambda: launch.poll() is not None, 'the end of the launch')
    assert launch.returncode == 1 and 'mount_tilt_compensated_by' in log.read_text()
