# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Unexpected exceptions in transitions, callbacks and threads: the arm is stopped first."""

import signal
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.exceptions import InvalidHandle
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from rclpy.time import Time
from sensor_msgs.msg import JointState

from franka_dynamics.control.feedforward import State, Stop
from franka_dynamics.errors import StartRefusedError
from franka_dynamics.ros.node import control_cycle
from franka_dynamics.ros.node.feedforward_node import FeedforwardNode
from franka_dynamics.ros.node_process import run_lifecycle_node, run_node, STOP_SIGNALS
from franka_dynamics.ros.rclpy_private import RCLError
from franka_dynamics.ros.receivers.receivers import TorquePermission

from .conftest import FER

# An inclined base, so that with the target fci a torque is commanded.
OVERRIDES = [
    Parameter('gravity_vector', value=[4.0, 0.0, -8.9]),
    Parameter('mount_tilt_compensated_by', value='node'),
    Parameter('max_state_age', value=0.0),
    Parameter('period', value=2.5),  # a busy machine pauses
]


@pytest.fixture(autouse=True)
def process_as_before():
    """Restore signal handlers and switch interval after a node ran in this process."""
    interval = sys.getswitchinterval()
    handlers = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield
    sys.setswitchinterval(interval)
    for number, handler in handlers.items():
        signal.signal(number, handler)


class RecordingNode(FeedforwardNode):
    """Records its commands, and can command without an arm."""

    def __init__(self, **options):
        super().__init__(parameter_overrides=OVERRIDES, **options)
        self.published = []
        publish = self.cycle.publish_torque

        def record(torque):
            self.published.append(np.array(torque))
            publish(torque)

        self.cycle.publish_torque = record

    def clear(self):
        """Let torques begin; no joint state comes to listen by."""
        self.receivers.close()
        self.receivers.permission = TorquePermission.GRANTED
        self.receivers.reason = ''
        self.check_receivers(self.controller)
        self.cycle.controller.start()

    def command(self):
        self.clear()
        for k in range(300):
            now = time.monotonic()
            self.cycle.controller.step(FER.home, np.zeros(7), 100.0 + 1e-3 * k, now=now)
        assert np.abs(self.published[-1]).max() > 1.0


@pytest.fixture
def commanding(make_node):
    """Return a function that makes an active node, which commands."""

    def make(kind=RecordingNode, *arguments):
        node = make_node(kind, *arguments)
        node.trigger_configure()
        node.trigger_activate()
        node.command()
        return node

    return make


def assert_stopped_in_steps(published):
    np.testing.assert_array_equal(published[-1], np.zeros(7))
    assert np.abs(np.diff(published, axis=0)).max() <= 1.0 + 1e-12


def test_an_exception_in_a_transition_stops_the_arm(commanding, monkeypatch):
    class Broken(RecordingNode):
        def on_deactivate(self, state):
            raise RuntimeError('nobody foresaw this')

    node = commanding(Broken)
    sent = []
    wait = lambda _: sent.append(len(node.published))  # noqa: E731
    monkeypatch.setattr(node.command_publisher, 'wait_for_all_acked', wait)
    assert node.trigger_deactivate() is TransitionCallbackReturn.ERROR
    assert_stopped_in_steps(node.published)
    assert sent == [len(node.published)]  # a slow receiver has time for the last torque
    # The node is unconfigured and can be configured again.
    assert node.trigger_configure() is TransitionCallbackReturn.SUCCESS


@pytest.mark.parametrize(
    ('tolerance', 'said'),
    [
        # No two recursions agree to less than rounding.
        (1e-20, 'not configured: The models of fr3'),
        (None, 'TypeError'),  # which nobody foresaw
    ],
)
def test_a_node_that_cannot_be_configured_ends_and_logs_why(tolerance, said, monkeypatch, capfd):
    monkeypatch.setattr('franka_dynamics.validation.crosscheck.MAX_RELATIVE_DIFFERENCE', tolerance)
    monkeypatch.setattr('sys.argv', ['node'])
    assert run_node(RecordingNode, run_lifecycle_node) == 1
    assert said in ''.join(capfd.readouterr())


def test_a_simulator_without_velocities_is_controlled(make_node):
    node = make_node(RecordingNode)
    simulated = {'target': 'mujoco', 'mount_tilt_compensated_by': ''}
    node.set_parameters([Parameter(name, value=value) for name, value in simulated.items()])
    node.trigger_configure()
    node.trigger_activate()
    node.clear()
    state = JointState(name=node.cycle.controller.joint_names, position=FER.home)
    for k in range(400):
        state.header.stamp = Time(seconds=100 + 1e-3 * k).to_msg()
        node.cycle.on_joint_state(serialize_message(state))
    gravity = node.cycle.controller.requested_law.terms.gravity(FER.home)
    np.testing.assert_allclose(node.published[-1], gravity, rtol=0.0, atol=1e-9)


def test_a_slow_clocks_rate_is_counted_from_its_second_step(make_node, monkeypatch):
    node = make_node(RecordingNode)
    now = SimpleNamespace(steady=1e5, clock=50.0)
    node.trigger_configure()
    node.trigger_activate()
    steady = SimpleNamespace(monotonic=lambda: now.steady, perf_counter=time.perf_counter)
    monkeypatch.setattr(control_cycle, 'time', steady)
    monkeypatch.setattr(node.cycle, 'node_time', lambda: now.clock)
    names = node.cycle.controller.joint_names
    state = JointState(name=names, position=FER.home, velocity=np.zeros(7))
    rates = []
    for k in range(25):  # a clock of 10 Hz, states of 100 Hz
        now.steady += 0.01
        now.clock += 0.1 * (k % 10 == 0)
        state.header.stamp = Time(seconds=50 + 0.01 * k).to_msg()
        node.cycle.on_joint_state(serialize_message(state))
        rates.append(node.cycle.clock_rate_hz)
    assert min(rates) > 9.9 and rates[-1] < 10.1


def test_a_refused_configuration_leaves_a_usable_node(make_node, capfd):
    node = make_node(RecordingNode)
    before = node.get_parameter('frame')
    assert node.trigger_configure() is TransitionCallbackReturn.SUCCESS
    assert node.set_parameters([Parameter('frame', value='99')])[0].successful
    for _ in range(2):
        assert node.trigger_activate() is TransitionCallbackReturn.FAILURE
        said = capfd.readouterr().err
        assert 'frame' in said and '99' in said
    assert node.set_parameters([before])[0].successful
    assert node.trigger_activate() is TransitionCallbackReturn.SUCCESS
    node.command()


def test_a_fault_cleared_while_listening_brings_no_torque(
    make_node,
):
    node = make_node(RecordingNode)
    node.trigger_configure()
    node.trigger_activate()
    node.cycle.controller.reject_state('an impossible state', 100.0, faulty=True)
    node.clear_fault()
    assert not node.cycle.controller.faulty
    assert 'wait' in node.diagnostics.status_log.status().remedy
    for k in range(100):
        node.cycle.controller.step(FER.home, np.zeros(7), 100.0 + 1e-3 * k)
    assert not node.published
    node.command()


@pytest.mark.parametrize('found', ['update_permission', 'check_sequence_number'])
def test_torques_of_a_held_arm_end_at_a_new_receiver_or_source(found, commanding, monkeypatch):
    node = commanding()
    node.cycle.controller.stop('something touches the arm', Stop.HOLD)
    assert node.cycle.controller.state is State.BRAKING and node.cycle.controller.faulty
    said = lambda *_, **__: 'there is another'  # noqa: E731
    monkeypatch.setattr(node.state_sources, 'check_sequence_number', said)
    names = node.cycle.controller.joint_names
    state = JointState(name=names, position=FER.home, velocity=[0.0] * 7)
    for k in range(2):
        state.header.stamp = Time(seconds=100.3 + 1e-3 * k).to_msg()
        if found == 'update_permission':
            node.receivers.permission = TorquePermission.REFUSED
            node.receivers.reason = 'there is another'
            node.check_receivers(node.controller)
        else:
            node.cycle.on_joint_state(serialize_message(state))
    assert node.cycle.controller.state is State.STOPPING
    assert node.cycle.controller.why.endswith('arm; there is another')
    assert node.cycle.controller.counts['faults'] == 2  # which diagnostics show
    node.trigger_deactivate()
    assert_stopped_in_steps(node.published)


def test_the_second_source_of_an_impossible_state_is_named(commanding, monkeypatch):
    node = commanding()
    # As with Cyclone DDS: messages have no numbers, and publishers are counted.
    two = SimpleNamespace(get_publisher_count=lambda: 2)
    monkeypatch.setattr(node.state_sources, 'subscription', two)
    state = JointState(name=node.controller.joint_names, velocity=[0.0] * 7)
    for k, position in enumerate((FER.home + 5.0, FER.home)):
        state.header.stamp = Time(seconds=100.3 + 1e-3 * k).to_msg()
        state.position = position
        node.cycle.on_joint_state(serialize_message(state))
    assert node.controller.counts['faults'] == 1  # which diagnostics show
    why = node.diagnostics.status_log.status().why
    assert node.controller.joint_names[0] in why and 'a second node publishes' in why
    node.clear_fault()
    assert 'a second node' not in node.diagnostics.status_log.status().why


def test_no_fault_is_cleared_while_the_torque_goes_to_zero(commanding):
    # The check of receivers begins anew then, and would take the node's torques for another's.
    node = commanding()
    node.receivers.permission = TorquePermission.REFUSED
    node.receivers.reason = 'there is another'
    node.check_receivers(node.controller)
    assert node.controller.state is State.STOPPING
    with pytest.raises(StartRefusedError):
        node.clear_fault()
    while node.controller.state is not State.SILENT:
        node.cycle.controller.tick(time.monotonic())
    node.clear_fault()
    assert node.receivers.permission is TorquePermission.CHECKING


def test_settings_of_another_model_stop_the_arm(commanding, monkeypatch):
    node = commanding()
    # No two recursions agree to less than rounding.
    monkeypatch.setattr('franka_dynamics.validation.crosscheck.MAX_RELATIVE_DIFFERENCE', 1e-20)
    load = [1.0, 0.0, 0.0, 0.05, *[0.0] * 6]
    assert node.set_parameters([Parameter('payload', value=load)])[0].successful
    node.run_background_tasks()
    assert node.cycle.controller.status.faulty
    assert 'cross-check' in node.cycle.controller.status.why
    with pytest.raises(StartRefusedError):
        node.cycle.controller.start()
    node.trigger_deactivate()
    assert_stopped_in_steps(node.published)
    monkeypatch.undo()
    node.trigger_cleanup()
    node.trigger_configure()
    assert not node.cycle.controller.faulty


@pytest.mark.parametrize(
    ('simulated', 'set_back', 'state'),
    [
        (True, 0.0, State.RUNNING),
        (True, 20.0, State.STOPPING),
        (False, 0.0, State.STOPPING),
    ],
)
def test_states_that_cease_stop_the_arm_unless_time_stands(simulated, set_back, state, commanding):
    node = commanding(RecordingNode, '-p', f'use_sim_time:={str(simulated).lower()}')
    node.cycle.controller.states.arrival_time -= 20.0  # as after a pause of 20 s
    node.cycle.arrival_clock_time = set_back  # the clock, unpublished here, stands at zero
    node.cycle.has_new_state = True  # one look is left out after a state, and no more
    # A gripper's states on the same topic are none of the arm's.
    gripper = JointState(name=['finger_joint1'], position=[0.01], velocity=[0.0])
    node.cycle.on_joint_state(serialize_message(gripper))
    node.cycle.run_timed_tasks()
    assert node.cycle.controller.state is State.RUNNING
    node.cycle.on_joint_state(serialize_message(gripper))
    node.cycle.run_timed_tasks()
    assert node.cycle.controller.state is state


def test_a_fault_of_a_callback_stops_arm_and_node():
    # rclpy raises an RCLError from the executor for a transition that there is not; and an
    # InvalidHandle if the control thread destroys an entity that has a queued event.
    made = []
    raised = [ValueError('a fault'), InvalidHandle('gone'), RCLError('unreadable')]

    class Broken(RecordingNode):
        def __init__(self):
            super().__init__()
            made.append(self)
            self.create_timer(0.02, self.fail)

        def fail(self):
            assert sys.getswitchinterval() <= 1e-3  # with more, torques were seen to be late
            error = raised.pop()
            if not raised:
                self.command()
            raise error

    with pytest.raises(ValueError, match='a fault'):
        run_node(Broken, run_lifecycle_node, [])
    assert not raised
    assert_stopped_in_steps(made[0].published)
