# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The launch file and the page for franka_ros2 beside franka_ros2 itself, on franka-sim."""

from contextlib import closing, contextmanager, ExitStack
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
from franka_dynamics.ros.clients.node_client import NodeClient, NodeClientError

from .conftest import Probe
from .test_launch import controller_states, NODE_STARTED, running_launch_files
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
ACTIVE = {'joint_state_broadcaster': 'active', 'effort_controller': 'active'}
AWAY = np.array([0.1, 0.05, -0.1, 0.1, 0.1, -0.1, 0.2])  # where a motion goes from the start [rad]
REST_NM = 1e-9  # C dq + M ddq_d and the gains at an arm that franka-sim holds still
REACHED_RAD = 1e-3
REFLEX_S = 0.1  # in which the robot misses 100 packets; 20 in a row are a reflex


def command(*words):
    """Run a command of ROS's own ros2."""
    words = [sys.executable, '-c', ROS2, *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr


def recovery():
    """Return the commands of the page that recover from a reflex, as words after ros2."""
    page = (ROOT / 'docs/howto/drivers.md').read_text('utf-8')
    (block,) = (own for own in re.findall(r'```sh\n(.*?)```', page, re.S) if 'recovery' in own)
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


class World:
    """franka_ros2 with a simulated robot, and this package's launch file for it beside it."""

    def __init__(self, probe, robot, launch, folder):
        self.probe = probe
        self.robot = robot
        self._launch_file = launch
        self._parameters = folder / 'parameters.yaml'
        self._parameters.write_text(PARAMETERS)
        self.bringup, self.bringup_log = launch(
            str(in_prefixes(BRINGUP)),
            'robot_type:=fr3',
            f'robot_ip:={robot.address}',
            'load_franka_robot_state_broadcaster:=false',
        )
        self.states = probe.collect(JointState, 'franka/joint_states')
        probe.until(lambda: self.states, 'a joint state of franka_ros2')
        self.launch = None

    def start(self):
        """Start this package's launch file unless it runs; recover before from a reflex."""
        is_running = self.launch is not None and self.launch.poll() is None
        if self.is_stopped:
            self.recover()
        if not is_running:
            words = 'receiver:=effort_controller', f'params_file:={self._parameters}'
            self.launch, self.log = self._launch_file('franka_ros2', *words)
        # The node runs before its controller is loaded.
        self.probe.until(lambda: self.controllers == ACTIVE, 'both controllers, active')
        self.probe.until_status('feedforward', state='running')

    def stop_robot(self):
        """Pause the manager, so that the robot stops by a reflex."""
        manager = int(re.search(MANAGER_STARTED, self.bringup_log.read_text())[1])
        os.kill(manager, signal.SIGSTOP)
        time.sleep(REFLEX_S)
        os.kill(manager, signal.SIGCONT)
        self.probe.until(lambda: self.is_stopped, 'the reflex')

    @property
    def controllers(self):
        return controller_states(self.probe)

    @property
    def is_stopped(self):
        """Whether the robot has stopped by a reflex: all controllers are inactive then."""
        return set(self.controllers.values()) == {'inactive'}

    def position(self):
        before = len(self.states)
        self.probe.until(lambda: len(self.states) > before, 'a joint state')
        row = dict(zip(self.states[-1].name, self.states[-1].position))
        return np.array([row[name] for name in FR3.joint_names])

    def recover(self):
        """Run what the page says of a reflex, for the controllers that are loaded."""
        loaded = [name for name in self.controllers if name == 'effort_controller']
        for words in recovery():
            taken = [loaded if word == 'receiver' else [word] for word in words]
            command(*(word for group in taken for word in group))
        if loaded:
            self.probe.until_status('feedforward', state='running')
        assert set(self.controllers.values()) == {'active'}

    def undisturbed(self, done):
        """Do something; again, if a busy machine lost 20 packets meanwhile, after a recovery."""
        for _ in range(3):
            try:
                return done()
            except (AssertionError, NodeClientError):
                if not self.is_stopped:
                    raise
                self.recover()
        return done()


@pytest.fixture(scope='module')
def shared_world(tmp_path_factory):
    """Make the world that the tests below share."""
    folder = tmp_path_factory.mktemp('beside')
    # A simulated robot that stops, as a real one, after 20 lost packets in a row.
    robot = FrankaSim(folder, measured=True, FRANKA_SIM_ENFORCE_COMM_CONSTRAINTS='1')
    with ExitStack() as ends:
        ends.callback(robot.kill)
        # Manager and robot are preferred to other processes; so is the node, as by default.
        robot.prefer()
        ends.enter_context(pytest.MonkeyPatch.context()).delenv('FRANKA_DYNAMICS_REALTIME')
        probe = ends.enter_context(closing(Probe()))
        ends.callback(command, 'daemon', 'stop')
        launch = ends.enter_context(contextmanager(running_launch_files)(folder))
        yield World(probe, robot, launch, folder)


@pytest.fixture
def world(shared_world):
    """Return the shared world, whose node commands."""
    shared_world.start()
    return shared_world


def test_a_resting_robot_gets_no_torque(world):
    # The robot compensates gravity.
    robot = world.robot

    def rest():
        first = robot.cycles
        begun = time.monotonic()
        world.probe.until(
            lambda: robot.cycles > first + 500 or time.monotonic() > begun + 5.0,
            'torques',
        )
        assert robot.cycles > first + 500
        assert np.abs(robot.torques()[first:]).max() < REST_NM

    assert world.controllers == ACTIVE
    world.undisturbed(rest)


def test_a_motion_ends_at_its_goal(world):
    def motion():
        with NodeClient('feedforward', TIMEOUT_S, world.probe.spin) as client:
            goal = world.position() + AWAY
            assert client.follow_trajectory(slow_motion(goal - AWAY, goal)) == 'finished'
            # What a busy machine's arm lacks when the motion ends it makes good.
            world.probe.until(
                lambda: np.abs(world.position() - goal).max() < REACHED_RAD, 'the goal'
            )

    world.undisturbed(motion)


def test_torques_begin_anew_when_the_controller_is_active_again(world):
    def switched():
        switch = 'control', 'switch_controllers'
        command(*switch, '--deactivate', 'effort_controller')
        world.probe.until_status('feedforward', state='silent')
        command(*switch, '--activate', 'effort_controller')
        world.probe.until_status('feedforward', state='running')

    world.undisturbed(switched)


def test_states_of_a_second_source_are_named(world):
    probe = world.probe
    names = world.states[-1].name

    def second_source():
        """Publish states of another arm beside franka_ros2; then no more, and clear the fault."""
        other = probe.create_publisher(JointState, 'franka/joint_states', 1)

        def is_named():
            other.publish(JointState(name=names, position=7 * [0.5], velocity=7 * [0.0]))
            return probe.says('feedforward', 'second node') and probe.says(
                'feedforward', '/franka/joint_states'
            )

        try:
            probe.until(is_named, 'the node names a second source of joint states')
        finally:
            probe.destroy_publisher(other)
        probe.client.clear_fault()
        probe.until_status('feedforward', state='running')

    world.undisturbed(second_source)


def test_after_a_reflex_the_commands_of_the_page_recover(world):
    world.stop_robot()
    world.probe.until_status('feedforward', state='silent')
    world.recover()
    assert world.controllers == ACTIVE


def test_the_launch_unloads_the_controller_of_a_killed_node(world):
    os.kill(int(re.search(NODE_STARTED, world.log.read_text())[1]), signal.SIGKILL)
    world.probe.until(lambda: world.launch.poll() is not None, 'the end of the launch')
    assert 'effort_controller' not in world.controllers
    assert world.bringup.poll() is None


@pytest.mark.parametrize('is_stopped', [False, True], ids=['commanding', 'after a reflex'])
def test_ctrl_c_unloads_the_controller(world, is_stopped):
    if is_stopped:
        world.stop_robot()
        assert world.controllers['effort_controller'] == 'inactive'
    world.launch.send_signal(signal.SIGINT)
    world.probe.until(lambda: world.launch.poll() is not None, 'the end of the launch')
    assert world.launch.returncode == 0
    assert 'effort_controller' not in world.controllers
    assert world.bringup.poll() is None
