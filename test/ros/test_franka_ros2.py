# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The launch file and the page for franka_ros2 beside franka_ros2 itself, on franka-sim."""

import os
from pathlib import Path
import re
import shlex
import signal
import subprocess
import sys
import time

from builtin_interfaces.msg import Duration
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from franka_dynamics.arm import load
from franka_dynamics.ros.node_client import NodeClient, NodeClientError

from .test_launch import controllers, launched, NODE_STARTED  # noqa: F401
from ..launch_files.launching import ROS2
from ..processes import ROOT, TIMEOUT_S
from ..ros2_control_prefix import in_prefixes, PREFIXES
from ..simulated_robot import FrankaSim

BRINGUP = 'share/franka_bringup/launch/franka.launch.py'
pytestmark = pytest.mark.skipif(
    not any((Path(folder) / BRINGUP).exists() for folder in PREFIXES.split(os.pathsep)),
    reason='FRANKA_DYNAMICS_ROS2_CONTROL names no prefix with franka_bringup',
)
FR3 = load('fr3')
MANAGER_STARTED = r'ros2_control_node-\d+\]: process started with pid \[(\d+)\]'
# For a busy machine, whose processes pause: gains that states of 50 ms age do not make swing.
PARAMETERS = """
/**:
  ros__parameters:
    max_state_age: 0.0
    period: 0.5
    kp: [40.0, 40.0, 40.0, 40.0, 10.0, 10.0, 5.0]
    kd: [6.0, 6.0, 6.0, 6.0, 1.5, 1.5, 0.7]
"""
AWAY = np.array([0.1, 0.05, -0.1, 0.1, 0.1, -0.1, 0.2])  # where a motion goes from the start [rad]
REST_NM = 1e-9  # C dq + M ddq_d and the gains at an arm that franka-sim holds still
REACHED_RAD = 1e-3
REFLEX_S = 0.1  # in which the robot misses 100 packets; 20 in a row are a reflex


@pytest.fixture
def robot(tmp_path):
    """Return a simulated robot that stops, as a real one, after 20 lost packets in a row."""
    robot = FrankaSim(tmp_path, measured=True, FRANKA_SIM_ENFORCE_COMM_CONSTRAINTS='1')
    robot.prefer()
    yield robot
    robot.kill()


def command(*words):
    """Run a command of ROS's own ros2."""
    words = [sys.executable, '-c', ROS2, *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr


def recovery():
    """Return the commands of the page that recover from a reflex, as words after ros2."""
    page = (ROOT / 'docs/howto/drivers.md').read_text('utf-8')
    block = re.search(r'recover, and activate all three:\n\n```sh\n(.*?)```', page, re.S)[1]
    return [shlex.split(line)[1:] for line in block.splitlines()]


def slow_motion(start, goal):
    """Return a motion of 3 s from a start to a goal, at rest at both."""
    motion = JointTrajectory(joint_names=FR3.joint_names)
    for seconds in np.linspace(0.0, 3.0, 61):
        share = 0.5 * (1.0 - np.cos(np.pi * seconds / 3.0))
        point = JointTrajectoryPoint(positions=start + share * (goal - start))
        point.time_from_start = seconds_to_duration(seconds)
        motion.points.append(point)
    return motion


def seconds_to_duration(seconds):
    return Duration(sec=int(seconds), nanosec=round(1e9 * (seconds % 1.0)))


def test_rest_a_motion_a_switch_a_second_source_a_reflex_a_kill(
    probe,
    launched,  # noqa: F811
    robot,
    controllers,  # noqa: F811
    tmp_path,
    monkeypatch,
):
    # The manager and the robot are preferred to other processes; so is the node, as by default.
    monkeypatch.delenv('FRANKA_DYNAMICS_REALTIME')
    (tmp_path / 'parameters.yaml').write_text(PARAMETERS)
    bringup, log = launched(
        str(in_prefixes(BRINGUP)),
        'robot_type:=fr3',
        f'robot_ip:={robot.address}',
        'load_franka_robot_state_broadcaster:=false',
    )
    states = probe.collect(JointState, 'franka/joint_states')
    probe.until(lambda: states, 'a joint state of franka_ros2')

    def position():
        before = len(states)
        probe.until(lambda: len(states) > before, 'a joint state')
        row = dict(zip(states[-1].name, states[-1].position))
        return np.array([row[name] for name in FR3.joint_names])

    receiver = 'receiver:=effort_controller'
    ours, said = launched('franka_ros2', receiver, f'params_file:={tmp_path / "parameters.yaml"}')
    active = {'joint_state_broadcaster': 'active', 'effort_controller': 'active'}

    def stopped():
        """Return whether the robot has stopped by a reflex: all controllers are inactive then."""
        return set(controllers().values()) == {'inactive'}

    def recover():
        for words in recovery():
            command(*('effort_controller' if word == 'receiver' else word for word in words))
        probe.until_status('feedforward', state='running')
        assert controllers() == active

    def rest():
        # The robot compensates gravity, and gets no torque.
        first, begun = robot.cycles, time.monotonic()
        probe.until(
            lambda: robot.cycles > first + 500 or time.monotonic() > begun + 5.0,
            'torques',
        )
        assert robot.cycles > first + 500
        assert np.abs(robot.torques()[first:]).max() < REST_NM

    def motion():
        with NodeClient('feedforward', TIMEOUT_S, probe.spin) as client:
            goal = position() + AWAY
            assert client.follow_trajectory(slow_motion(goal - AWAY, goal)) == 'finished'
            # What a busy machine's arm lacks when the motion ends it makes good.
            probe.until(lambda: np.abs(position() - goal).max() < REACHED_RAD, 'the goal')

    def switched():
        """Switch the controller off and on again: the torques cease, and begin anew."""
        switch = 'control', 'switch_controllers'
        command(*switch, '--deactivate', 'effort_controller')
        probe.until_status('feedforward', state='silent')
        command(*switch, '--activate', 'effort_controller')
        probe.until_status('feedforward', state='running')

    def second_source():
        """Publish states of another arm beside franka_ros2; then no more, and clear the fault."""
        other = probe.create_publisher(JointState, 'franka/joint_states', 1)

        def is_named():
            other.publish(JointState(name=states[-1].name, position=7 * [0.5], velocity=7 * [0.0]))
            return probe.says('feedforward', 'a second node publishes /franka/joint_states')

        try:
            probe.until(is_named, 'the node names a second source of joint states')
        finally:
            probe.destroy_publisher(other)
        probe.client.clear_fault()
        probe.until_status('feedforward', state='running')

    def undisturbed(done):
        """Do something; again, if a busy machine lost 20 packets meanwhile, after a recovery."""
        for _ in range(3):
            try:
                return done()
            except (AssertionError, NodeClientError):
                if not stopped():
                    raise
                recover()
        return done()

    try:
        probe.until_status('feedforward', state='running')
        assert controllers() == active
        undisturbed(rest)
        undisturbed(motion)
        undisturbed(switched)
        undisturbed(second_source)
        # The manager pauses, and the robot stops.
        manager = int(re.search(MANAGER_STARTED, log.read_text())[1])
        os.kill(manager, signal.SIGSTOP)
        time.sleep(REFLEX_S)
        os.kill(manager, signal.SIGCONT)
        probe.until(stopped, 'the reflex')
        probe.until_status('feedforward', state='silent')
        recover()
        # A killed node: launch deactivates and unloads the controller that holds its torque.
        os.kill(int(re.search(NODE_STARTED, said.read_text())[1]), signal.SIGKILL)
        probe.until(lambda: ours.poll() is not None, 'the end of the launch')
        assert 'effort_controller' not in controllers()
        assert bringup.poll() is None
    finally:
        command('daemon', 'stop')
