# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The end of the node by signals, transitions, kills, and in an executor beside other nodes."""

import os
import signal
import subprocess
import sys
from threading import Event, Thread
import time

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
import pytest
from rclpy.exceptions import InvalidHandle
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.control.terms import MAX_REST_SPEED_RAD_S
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.ros.node import feedforward_node
from franka_dynamics.ros.node.feedforward_node import FeedforwardNode
from franka_dynamics.ros.rclpy_private import Executor
from franka_dynamics.ros.receivers.receiver_kinds import ReceiverKind
from franka_dynamics.ros.trajectory_messages import reference_message

from .conftest import COMMAND, FER, FER_GRAVITY, HELD_RAD, INCLINED
from ..processes import PYTHONPATH

ZERO = np.zeros(7)
NODE = 'feedforward'
STATUS = 'feedforward: Command'


def settled(commands):
    """Return whether a torque is sent that has risen to its full value."""
    return len(commands) > 1 and any(commands[-1].data) and commands[-1].data == commands[-2].data


@pytest.mark.parametrize(
    ('signals', 'target', 'parameters', 'resting'),
    [
        # A terminal that closes signals every process of its group; launch signals each again.
        ((signal.SIGHUP, signal.SIGINT), 'fci', INCLINED, ZERO),
        ((signal.SIGTERM,), 'mujoco', {}, FER_GRAVITY),
    ],
)
def test_signals_end_at_the_resting_torque_and_exit_zero(
    arm, probe, start_node, commands, signals, target, parameters, resting
):
    node = start_node(target=target, **parameters)
    arm.until(lambda: settled(commands), 'torques')
    full = np.array(commands[-1].data)
    count = len(commands)
    node.send(signals[0])

    def ended():
        for number in signals[1:]:
            node.send(number)
        return not node.running

    probe.until(ended, 'the end of the node')
    node.wait()
    probe.until(lambda: np.allclose(commands[-1].data, resting, rtol=0, atol=1e-12), 'its rest')
    # Some may be lost, but all are on the way there.
    low, high = np.sort([full, resting], axis=0) + [[-1e-9], [1e-9]]
    assert all((low <= one.data).all() and (one.data <= high).all() for one in commands[count:])


@pytest.mark.parametrize('by', ['signal', 'transition'])
def test_a_moving_arm_is_at_rest_when_its_node_has_stopped(probe, start_arm, start_node, by):
    # After a signal the control thread stops the node, at a transition the service thread, which
    # then does not receive simulated time.
    simulated = by == 'transition'
    states = probe.collect(JointState, 'joint_states')
    start_arm(gravity_compensation=not simulated, publish_clock=simulated)
    node = start_node(
        target='mujoco' if simulated else 'fci',
        use_sim_time=simulated,
        kp='[60.0,60.0,60.0,60.0,15.0,15.0,10.0]',
        kd='[6.0,6.0,6.0,6.0,1.0,1.0,0.5]',
    )
    probe.until_status('simulator', held='True')
    reference = probe.create_publisher(JointTrajectory, 'feedforward/reference', 10)
    change = probe.create_client(ChangeState, 'feedforward/change_state')
    probe.until(reference.get_subscription_count, 'the node')
    probe.until(change.service_is_ready, 'its service')
    reference.publish(reference_message(multisine(FER, 8.0, 0.4)))
    probe.until(lambda: states and np.abs(states[-1].velocity).max() > 0.4, 'motion')
    if simulated:
        request = ChangeState.Request()
        request.transition.id = Transition.TRANSITION_DEACTIVATE
        change.call_async(request)  # whose answer may be lost
        probe.until(lambda: probe.client.lifecycle_state() == 'inactive', 'the transition')
        assert node.running
    else:
        node.send(signal.SIGINT)
        probe.until(lambda: not node.running, 'the end of the node')
        node.wait()

    # The arm comes to rest, and does not coast at 0.4 rad/s, which is 20 times
    # MAX_REST_SPEED_RAD_S. States of the motion may still wait for a probe that was kept waiting.
    def rests():
        return np.abs([state.velocity for state in states[-5:]]).max() < 3.0 * MAX_REST_SPEED_RAD_S

    probe.until(rests, 'the arm at rest')


def test_transitions_begin_stop_and_bring_back(arm, probe, start_node, commands):
    node = start_node(target='fci', autostart=False, **INCLINED)

    def transit(transition, state):
        assert probe.client.trigger_transition(transition) == state

    assert probe.client.lifecycle_state() == 'unconfigured'
    transit('configure', 'inactive')
    probe.until_says(STATUS, 'not activated')
    transit('activate', 'active')
    probe.until_says('feedforward: Joint states', 'no joint state on /joint_states for')
    assert not commands
    arm.until(lambda: settled(commands), 'commands')
    transit('deactivate', 'inactive')
    probe.until(lambda: np.array_equal(commands[-1].data, ZERO), 'zero torque')
    count = len(commands)
    arm.send(100)
    assert not any(np.any(message.data) for message in commands[count:])
    probe.until_says(STATUS, 'deactivated')
    probe.until(lambda: 'activate the node' in node.text, 'how torques begin again')
    probe.until_says('feedforward: Joint states', 'reads no joint states')
    transit('cleanup', 'unconfigured')
    transit('configure', 'inactive')
    transit('activate', 'active')
    count = len(commands)
    arm.until(lambda: len(commands) > count + 50, 'commands after cleanup')
    transit('shutdown', 'finalized')
    node.end()


LOCKSTEP_TIMEOUT_S = 0.3


class CarriedArm:
    """A simulated arm in lockstep, whose brakes are open because a node carries it."""

    def __init__(self, probe, start_arm, start_node) -> None:
        self.probe = probe
        self.states = probe.collect(JointState, 'joint_states')
        start_arm(lockstep_timeout=LOCKSTEP_TIMEOUT_S)
        self.node = start_node(target='mujoco', kp=[-1.0])
        probe.until_status('simulator', held='True')
        probe.until(self.is_carried, 'carried')
        probe.until_says('simulator: Simulated arm', 'the brakes are open')

    def is_carried(self) -> bool:
        return np.allclose(self.states[-1].effort, FER_GRAVITY, rtol=0, atol=1e-9)

    def missed_count(self) -> int:
        """Return how many steps went on without a new torque."""
        return int(self.probe.told('simulator: Simulated arm', 'steps without a new command'))

    def answered_count(self) -> int:
        """Return how many steps had a new torque."""
        step_count = int(self.probe.told('simulator: Simulated arm', 'steps commanded'))
        return step_count - self.missed_count()


@pytest.fixture
def carried_arm(probe, start_arm, start_node):
    return CarriedArm(probe, start_arm, start_node)


def test_a_node_that_stalled_is_followed_again(probe, carried_arm):
    before = carried_arm.missed_count()
    # A short stall: after 20 s without a word DDS would take the node for gone.
    os.kill(carried_arm.node.pid, signal.SIGSTOP)
    probe.until(lambda: carried_arm.missed_count() > before, 'a step without a torque')
    os.kill(carried_arm.node.pid, signal.SIGCONT)
    count = carried_arm.answered_count()
    probe.until(lambda: carried_arm.answered_count() > count + 100, 'the node is followed again')


def test_an_arm_is_held_when_its_node_was_killed(probe, carried_arm):
    before = carried_arm.missed_count()
    killed = time.monotonic()
    carried_arm.node.kill()
    # At 0.3 s per step, these steps would exceed the time-out of the test.
    probe.until(lambda: carried_arm.missed_count() > before + 1000, 'time goes on without a node')
    assert time.monotonic() - killed > 5.0 * LOCKSTEP_TIMEOUT_S, 'the first steps did not wait'
    probe.until_status('simulator', state='holding', held='True')


def test_a_held_arm_follows_the_next_node(probe, carried_arm, start_node):
    states = carried_arm.states
    carried_arm.node.kill()
    probe.until_status('simulator', state='holding', held='True')
    # DDS still lists the dead node for 20 s.
    start_node(target='mujoco', kp=[-1.0])
    probe.forget()
    probe.until_status('simulator', state='following')
    probe.until_status(NODE, state='running')
    probe.until(lambda: probe.status(STATUS), 'diagnostics')
    assert probe.told(STATUS, 'faults latched') == '0'
    count = len(states)
    probe.until(lambda: len(states) > count + 200, 'two hundred states')
    np.testing.assert_allclose(states[-1].position, FER.home, rtol=0, atol=HELD_RAD)


GIVEN = {'robot_type': 'fer', 'target': 'mujoco', 'period': 2.5, 'max_state_age': 0.0}


@pytest.mark.parametrize('kind', [SingleThreadedExecutor, MultiThreadedExecutor, Executor])
def test_any_executor_runs_the_node_until_it_is_destroyed(kind, probe, arm, commands, make_node):
    words = [word for name, value in GIVEN.items() for word in ('-p', f'{name}:={value}')]
    node = make_node(FeedforwardNode, *words, '-r', f'feedforward/command:={COMMAND}')
    probe.declare(ReceiverKind.SIMULATED_ARM)
    executor = kind(context=node.context)
    ended = []
    executor.add_node(node)

    def spin():
        while not ended:
            executor.spin_once(timeout_sec=0.05)

    thread = Thread(target=spin)
    thread.start()
    try:
        arm.until(lambda: len(commands) > 30, 'commands')
        assert probe.client.lifecycle_state() == 'active'  # its services are served, too
        np.testing.assert_allclose(commands[-1].data, FER_GRAVITY, rtol=0.0, atol=1e-9)
    finally:
        ended.append(True)
        thread.join()
        executor.shutdown()
    node.destroy_node()  # the stop sequence ends at the torque that holds the arm
    assert not node.active


def test_a_late_callback_uses_no_destroyed_node(
    make_node,
):
    node = make_node(FeedforwardNode, '-p', 'robot_type:=fer', '-p', 'autostart:=false')
    begun = Event()
    over = Event()
    wrong = []

    def tasks() -> float:
        begun.set()
        time.sleep(0.5)
        try:
            node.command_publisher.get_subscription_count()
        except InvalidHandle as error:
            wrong.append(error)
        over.set()
        return 0.0

    node.run_background_tasks = tasks
    executor = MultiThreadedExecutor(2, context=node.context)
    executor.add_node(node)
    while not begun.is_set():
        executor.spin_once(timeout_sec=0.05)
    executor.shutdown(timeout_sec=0.0)
    node.destroy_node()
    assert over.wait(5.0) and not wrong


def test_a_node_begins_and_ends_to_answer_states_between_cycles(make_node, monkeypatch):
    node = make_node(FeedforwardNode, '-p', 'robot_type:=fer', '-p', 'autostart:=false')
    node.trigger_configure()

    def ends_during_a_cycle(change) -> bool:
        active = node.active
        thread = Thread(target=change)
        with node.cycle.lock:  # as another thread's cycle holds it
            thread.start()
            thread.join(1.0)
            kept = node.active is active
        thread.join()
        assert node.active is not active
        return not kept

    assert not ends_during_a_cycle(node.trigger_activate)
    monkeypatch.setattr(node.context, 'ok', lambda: False)  # ROS was shut down before the node
    assert not ends_during_a_cycle(node.destroy_node)


def test_a_running_node_destroys_nothing_that_is_waited_for(
    make_node,
):
    # A MultiThreadedExecutor goes on waiting for what another thread destroys.
    node = make_node(FeedforwardNode, '-p', 'robot_type:=fer', '-p', 'autostart:=false')
    node.trigger_configure()
    node.trigger_activate()  # it listens for other senders of torques until it is deactivated
    waited_for = list(node.waitables)
    node.trigger_deactivate()
    for one in waited_for:
        with one:
            assert one.get_num_entities()


def test_a_node_without_time_to_end_its_torque_says_so(make_node, monkeypatch, capfd):
    handled = lambda: SignalHandlerOptions.ALL  # noqa: E731
    monkeypatch.setattr(feedforward_node, 'get_current_signal_handlers_options', handled)
    node = make_node(FeedforwardNode, '-p', 'robot_type:=fer', '-p', 'autostart:=false')
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    node.trigger_configure()
    node.trigger_activate()
    assert 'signal_handler_options=SignalHandlerOptions.NO' in capfd.readouterr().err
    executor.shutdown()
    node.context.shutdown()
    node.destroy_node()
    said = capfd.readouterr().err
    # From Kilted on rclpy destroys nodes before it shuts down.
    assert 'destroy_node() before rclpy.shutdown()' in said or 'silent: shut down' in said


# Prints the threads that are left when a node that is refused has ended.
THREADS_LEFT = """
import os, sys
from franka_dynamics.ros.node import feedforward_node
try:
    status = feedforward_node.main()
except SystemExit as end:
    status = end.code
tasks = '/proc/self/task'
names = [open(f'{tasks}/{task}/comm').read().strip() for task in os.listdir(tasks)]
print('status', status, *names, sep=',')
"""


@pytest.mark.parametrize('public', ['', '1'])
def test_no_thread_of_the_middleware_outlives_its_node(public):
    # Fast DDS's threads have names that begin with dds; one of them crashed a node that ended.
    parameters = ['-p', 'target:=fci', '-p', 'gravity_vector:=[9.81,0.0,0.0]']
    ended = subprocess.run(
        [sys.executable, '-c', THREADS_LEFT, '--ros-args', *parameters],
        env={**os.environ, 'PYTHONPATH': PYTHONPATH, 'FRANKA_DYNAMICS_PUBLIC_RCLPY': public},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    names = ended.stdout.split(',')
    assert names[:2] == ['status', '1']
    assert not [name for name in names if name.startswith('dds')]
