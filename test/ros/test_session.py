# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sessions with the node, a simulated arm in lockstep, and a node beside plain Gazebo."""

from itertools import cycle
import signal
import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
import pytest
from rclpy.duration import Duration
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.arm import load
from franka_dynamics.control.default_gains import default_gains
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.ros.clients import lead_home
from franka_dynamics.ros.clients.node_client import NodeClient, NodeClientError
from franka_dynamics.ros.messages import seconds_to_stamp
from franka_dynamics.ros.parameter_tables import parameter_specs
from franka_dynamics.ros.status import NodeStatus
from franka_dynamics.ros.topics import DESCRIPTION_QOS
from franka_dynamics.ros.trajectory_messages import (
    trajectory_message,
)
from franka_dynamics.simulation.gazebo import holding_torque
from franka_dynamics.simulation.receiver import COMMAND_TIMEOUT_S

from .conftest import COMMAND, FER, ROOT_NAMES, stamp
from ..agreement import refuses
from ..processes import TIMEOUT_S

NODE = '/feedforward'


@pytest.fixture
def commanding(probe, arm, commands, start_node):
    """Return a function that starts a node, and waits until it commands."""

    def start(**parameters):
        node = start_node(target='mujoco', **parameters)
        arm.wait_for_listener()
        arm.until(lambda: len(commands) > 50, 'commands')
        return node

    return start


def test_an_arm_is_led_home_once_its_node_commands(probe, start_arm, start_node):
    states = probe.collect(JointState, 'joint_states')
    start_node(target='mujoco', kp='[-1.0]')
    start_arm(start=[float(q) for q in FER.home + 0.02])
    home = [f'{name}={q}' for name, q in zip(FER.joint_names, FER.home.tolist())]
    assert lead_home.main([NODE, *home]) == 0
    probe.until(lambda: states, 'a joint state')
    error = lambda: np.abs(np.array(states[-1].position) - FER.home).max()  # noqa: E731
    probe.until(lambda: error() < 1e-4, 'the arm at home')


def test_no_arm_is_led_home_while_nobody_receives_torques(probe, monkeypatch):
    monkeypatch.setattr(lead_home, '_TIMEOUT_S', 1.0)
    monkeypatch.setattr(NodeClient, 'follow_trajectory', lambda *_: pytest.fail('it was led'))
    publisher = probe.create_publisher(DiagnosticStatus, f'{NODE}/status', DESCRIPTION_QOS)
    values = [KeyValue(key='state', value='running')]

    def publish():
        publisher.publish(DiagnosticStatus(level=DiagnosticStatus.WARN, values=values))
        probe.spin()

    with NodeClient(NODE, TIMEOUT_S, publish) as client, refuses(NodeClientError, NODE):
        lead_home.lead_home(client, dict(zip(FER.joint_names, FER.home.tolist())))


def test_default_gains_are_set_and_timeouts_only_while_inactive(probe, arm, commands, commanding):
    node = commanding(kp=[-1.0])
    line = next(x for x in node.text.splitlines() if 'default gains (inertia at home)' in x)
    kp = [float(value) for value in line.split('kp [')[1].split(']')[0].split(',')]
    expected, _ = default_gains(FER.with_armature(), COMMAND_TIMEOUT_S)
    np.testing.assert_allclose(kp, expected, rtol=1e-3)
    assert 'now: kp' not in node.text  # the gains are in the first law, and applied once
    probe.client.set_parameters({'kp': [0.9 * value for value in kp]})
    probe.until(lambda: 'now: kp' in node.text, 'the log of changed gains')
    with refuses(SettingsError, 'only while inactive'):
        probe.client.set_parameters({'period': 0.1})
    # What a dump has is no change, also of what is read at the start alone.
    names = [spec.name for spec in parameter_specs('feedforward')]
    probe.client.set_parameters(dict(zip(names, probe.client.parameter_values(names))))
    assert probe.client.trigger_transition('deactivate') == 'inactive'
    probe.client.set_parameters({'period': 0.1})
    with refuses(SettingsError, 'period'):
        probe.client.set_parameters({'period': -1.0})
    before = node.text.count('agree to')
    assert probe.client.trigger_transition('activate') == 'active'
    assert node.text.count('agree to') == before + 1  # configured anew
    count = len(commands)
    arm.until(lambda: len(commands) > count + 50, 'commands')


NAMES = list(FER.joint_names)
STATES = 'feedforward: Joint states'


def test_every_end_of_torques_is_logged_once_with_its_reason(probe, arm, start_node, commands):
    # Simulated time passes only where this test lets it pass: a busy machine ends no torques.
    node = start_node(target='mujoco', use_sim_time=True)
    clock = probe.create_publisher(Clock, '/clock', 1)
    clock_s = 100.0
    lost_s = 11.0  # beyond four times the period in which states are expected
    last_step = -np.inf

    def has_ended_by_silence(count):
        nonlocal clock_s, last_step
        # A state on its way may come after the step of the clock, which then makes another one.
        if time.monotonic() > last_step + 5.0:
            last_step = time.monotonic()
            clock_s += lost_s
        clock.publish(Clock(clock=seconds_to_stamp(clock_s)))
        return node.text.count('torques ended: no new joint state') == count

    arm.until(lambda: len(commands) > 50, 'commands')
    arm.until(clock.get_subscription_count, 'a listener to the clock')
    for count in (1, 2):
        probe.spin(0.2)
        last_step = -np.inf
        probe.until(lambda count=count: has_ended_by_silence(count), 'silence', every=0.1)
        before = len(commands)
        arm.until(lambda before=before: len(commands) > before + 50, 'commands again')
        later = time.monotonic() + 1.1  # the same reason is not logged twice in a second
        arm.until(lambda later=later: time.monotonic() > later, 'more states')
    node.send(signal.SIGSTOP)
    arm.stamp_ns += int(1e9 * lost_s)
    arm.send(100)
    node.send(signal.SIGCONT)
    arm.until(lambda: 'ms of joint states are missing' in node.text, 'an end by a gap')
    arm.until(lambda: probe.told(COMMANDS, 'stops') == '3', 'three stops')
    assert node.text.count('torques ended: ') == 3, node.text
    assert 'no torque yet' not in node.text.split('commanding')[-1]


def test_faulty_clocks_and_unset_stamps_are_named(probe, arm, start_node):
    start_node(use_sim_time=True, max_state_age=0.1, period=0.05)
    arm.wait_for_listener()
    clock = probe.create_publisher(Clock, '/clock', 1)
    ticked = [0]

    def says(text, *, stamps=True, ticks=True):
        now = time.monotonic_ns()
        if ticks and now > ticked[0] + 0.25e9:
            ticked[0] = now
            clock.publish(Clock(clock=Time(nanoseconds=now).to_msg()))
        arm.stamp_ns = now if stamps else 0
        arm.send(1, step_ns=0)
        return probe.says(STATES, text)

    probe.until(lambda: says('/clock has 4 Hz (/probe)'), 'the rate of the clock')
    probe.until(lambda: says('/clock has 0.', ticks=False), 'that it stands still')
    probe.until(lambda: says('header.stamp of the joint states', stamps=False), 'no stamp')
    probe.create_publisher(Clock, '/clock', 1)
    probe.until(lambda: says('/probe, /probe all publish /clock'), 'both clocks')


def test_efforts_of_references_are_said_to_be_ignored_once(probe, arm, start_node, commands):
    node = start_node(target='mujoco')
    arm.until(lambda: len(commands) > 50, 'commands')
    references = probe.create_publisher(JointTrajectory, '/feedforward/reference', 10)
    arm.until(references.get_subscription_count, 'a listener')
    for _ in range(3):
        references.publish(trajectory_message(NAMES, [1.0], [FER.home], None, None, [np.ones(7)]))
    arm.until(lambda: 'have efforts' in node.text, 'the sentence')
    arm.send(100)
    assert node.text.count('have efforts') == 1


def test_a_motion_that_never_began_is_told_with_its_distance(probe, arm, start_node, commands):
    start_node(target='mujoco')
    arm.until(lambda: len(commands) > 50, 'commands')
    references = probe.create_publisher(JointTrajectory, '/feedforward/reference', 10)
    motion = trajectory_message(NAMES, [0.5], [FER.home + 0.15])
    arm.until(references.get_subscription_count, 'a listener')
    asked = []

    def ended():
        # Once a second until it is answered.
        if not probe.references and len(asked) < time.monotonic() - began:
            asked.append(references.publish(motion))
        return any('finished' in one.message for one in probe.references)

    began = time.monotonic()
    arm.until(ended, 'its end')
    end = probe.references[-1]
    assert end.level == 'WARN' and '0.15 rad' in end.message


pytest.importorskip('mujoco')


def test_a_signal_ends_an_arm_that_waits_for_a_torque(probe, start_arm):
    publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    states = probe.collect(JointState, 'joint_states')
    simulator = start_arm(lockstep_timeout=60.0, gravity_compensation=True)
    probe.until(publisher.get_subscription_count, 'the arm listens')
    publisher.publish(Float64MultiArray(data=[0.0] * 7))
    probe.until_status('simulator', state='following')
    # The state of the step in which it waits may have come before that status.
    before = len(states)
    looks = iter(range(100))
    probe.until(lambda: len(states) > before or next(looks, None) is None, 'a state or none')
    began = time.monotonic()
    simulator.end()
    assert time.monotonic() - began < 30.0  # it does not wait for the torque to the end


def test_an_arm_in_lockstep_steps_no_faster_than_it_is_told(probe, start_arm):
    rate = 100.0  # without the bound, about 2000 steps per second
    publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    start_arm(lockstep_rate=rate, gravity_compensation=True)
    told = []
    arms = set()

    def note(message):
        arms.update(one.hardware_id for one in message.status)
        for one in map(NodeStatus.from_message, message.status):
            # Until the first command the arm runs in real time.
            if one.subject == 'Simulated arm' and int(one.values['steps commanded']):
                told.append((stamp(message), float(one.values['simulated time [s]'])))

    probe.create_subscription(DiagnosticArray, '/diagnostics', note, 10)

    def answered():
        publisher.publish(Float64MultiArray(data=[0.0] * 7))
        return len(told) > 2

    probe.until(answered, 'diagnostics')
    elapsed, simulated = np.subtract(told[-1], told[0])
    assert arms == {'fer'}
    # After a pause of the machine, up to 0.05 s are caught up.
    assert 1 < simulated / 1e-3 <= rate * (elapsed + 0.05) + 2


def test_a_second_sender_is_not_followed_but_named(probe, start_arm):
    first, second = (probe.create_publisher(Float64MultiArray, COMMAND, 1) for _ in range(2))
    states = probe.collect(JointState, 'joint_states')
    arm = start_arm(gravity_compensation=True, brake_release_after=0.0)

    def send(torques, publisher):
        publisher.publish(Float64MultiArray(data=torques))

    def followed():
        send([0.0] * 7, first)
        return probe.told('simulator', 'state') == 'following'

    probe.until(followed, 'the first followed')
    # The message numbers of the second sender begin at 1, far from those of the first.
    before = len(states)
    probe.until(lambda: followed() and len(states) > before + 400, 'many steps')

    def until_refused(torques, publisher, reason):
        # In turn, because an arm that waits for the processor gets the newest torque alone, and
        # does not know its sender again after a hundred lost ones.
        turn = cycle((([0.0] * 7, first), (torques, publisher)))

        def counted():
            send(*next(turn))
            return int(probe.told('simulator', f'refused: {reason}')) > 0

        probe.until(counted, f'refused: {reason}')

    until_refused([10.0] * 7, second, 'other publisher')
    # It is logged before it is counted.
    assert '/probe, /probe\n' in arm.text
    until_refused([1.0] * 6, first, 'wrong size')
    # Of 0 and 10 N m the sensors show none, only the arm's gravity compensation.
    last = states[-1]
    gravity = NewtonEulerModel(FER).gravity(np.array(last.position))
    np.testing.assert_allclose(last.effort - gravity, 0.0, rtol=0, atol=0.5)


class Gazebo:
    """Publishes the state of a model at its start pose, Gazebo's zero; records joint forces."""

    def __init__(self, probe, description) -> None:
        self.names = description.joint_names
        topics = (f'gazebo/{name}/cmd_force' for name in self.names)
        self.forces = [probe.collect(Float64, topic, reliable=True) for topic in topics]
        self._states = probe.create_publisher(JointState, 'gazebo/joint_states', 1)
        self._milliseconds = 0

    def rewind(self) -> None:
        """Set the time back to zero, as a reset of the world does."""
        self._milliseconds = 0

    def publish(self, running=False) -> None:
        """Publish the state, as Gazebo does after every iteration, paused or not."""
        zeros = [0.0] * len(self.names)
        self._milliseconds += running
        message = JointState(name=list(self.names), position=zeros, velocity=zeros, effort=zeros)
        message.header.stamp = seconds_to_stamp(1e-3 * self._milliseconds)
        self._states.publish(message)


def test_gazebos_arm_is_held_until_commanded_within_the_rate(probe, launch):
    description = load('fr3', hand='franka_hand')
    gazebo = Gazebo(probe, description)
    launch('gazebo_direct_node', **ROOT_NAMES, robot_type='fr3', hand='franka_hand')
    states = probe.collect(JointState, 'joint_states')
    probe.until(
        lambda: gazebo.publish() or probe.told('gazebo_direct', 'held') == 'True',
        'held',
    )
    probe.until(lambda: all(gazebo.forces), 'a force on every joint')
    held = holding_torque(description)

    def at(torque):
        return all(abs(force[-1].data - one) < 1e-9 for force, one in zip(gazebo.forces, torque))

    probe.until(lambda: gazebo.publish() or at(held), 'the forces that hold it')
    probe.until(lambda: gazebo.publish() or states, 'joint states')
    assert tuple(states[-1].name) == gazebo.names
    np.testing.assert_array_equal(states[-1].position, description.home)
    publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    probe.until(publisher.get_subscription_count, 'the direct node listening')
    wanted = held + [4.0, -5.0, 6.0, -7.0, 5.0, -4.0, 3.0]

    def sent():
        gazebo.publish(running=True)
        publisher.publish(Float64MultiArray(data=wanted.tolist()))
        return at(wanted)

    probe.until(sent, 'the next command on every joint')
    # Commands that are still under way would take the step of the last state before the pause.
    assert publisher.wait_for_all_acked(Duration(seconds=TIMEOUT_S))
    count = len(states)
    probe.until(lambda: gazebo.publish() or len(states) > count + 5, 'states after them')
    # In a pause Gazebo repeats the last state. The command for that state, which comes later, is
    # applied in the pause, so that the first step after it has its torque.
    count = len(states)
    gazebo.publish(running=True)
    probe.until(lambda: len(states) > count, 'the last state before a pause')
    probe.until(lambda: gazebo.publish() or len(states) > count + 5, 'that state repeated')
    wanted = held + 1.1 * (wanted - held)  # within the rate, 1 N m in a millisecond
    publisher.publish(Float64MultiArray(data=wanted.tolist()))
    probe.until(lambda: gazebo.publish() or at(wanted), 'the command in the pause')
    # Without another command the receiver ends the torque after the time-out.
    probe.until(lambda: gazebo.publish(running=True) or at(held), 'the arm held again')
    probe.until(
        lambda: gazebo.publish(running=True) or int(probe.told('gazebo_direct', 'time-outs')),
        'the time-out in the status',
    )
    for force, one, other in zip(gazebo.forces, held, wanted):
        torques = np.array([message.data for message in force])
        assert min(one, other) - 1e-9 <= torques.min() <= torques.max() <= max(one, other) + 1e-9
        assert len(set(torques.round(9))) > 2  # the torque changed in steps
    # The node drops states of another arm, and passes on the arm's own states that follow.
    names = gazebo.names
    before = len(states)
    for gazebo.names in (tuple(name.replace('fr3', 'fer') for name in names), names):
        gazebo.publish(running=True)
    probe.until(lambda: gazebo.publish(running=True) or len(states) > before + 1, 'its states')
    # A world that was reset and paused has new joint systems: they get the forces again and again.
    probe.until(sent, 'a command once more')
    gazebo.rewind()
    gazebo.publish()
    probe.until(lambda: at(held), 'the arm held at its start')
    count = len(gazebo.forces[0])
    probe.until(
        lambda: gazebo.publish() or len(gazebo.forces[0]) > count + 5,
        'forces in the pause',
    )
    assert at(held)
    assert {tuple(one.name) for one in states} == {names}


# The last of this file, because its node ends with it.
COMMANDS = 'feedforward: Command'
# The required tolerance; both sides compute in double precision from the same doubles.
ATOL_NM = 1e-9
PERIOD_NS = 10**9 // 30  # thirty states per second: enough for terms, and too few for a command
# What each published term is a function of.
TORQUES = {'gravity': ('q',), 'coriolis': ('q', 'dq')}
MATRICES = {'mass_matrix': ('q',), 'jacobian': ('q',), 'coriolis_matrix': ('q', 'dq')}


@pytest.fixture(scope='module')
def recording(simulate):
    return simulate(FER, duration=3.0)


@pytest.fixture(scope='module')
def slow_world(node_world, recording):
    """Return a world whose states come too rarely for torques; `terms` and `filled` are heard."""
    world = node_world(target='mujoco', period=0.005)
    world.arm.q = recording.q[0].tolist()
    # Subscribed to before the terms: once these come, the node knows them all.
    topic = '/feedforward/feedforward_trajectory'
    world.filled = world.probe.collect(JointTrajectory, topic, reliable=True)
    world.terms = {
        name: world.probe.collect(JointState, f'/feedforward/{name}', reliable=name in TORQUES)
        for name in (*TORQUES, *MATRICES)
    }
    world.arm.until(lambda: len(world.commands) > 50, 'commands')

    def silent():
        world.arm.send(5, step_ns=PERIOD_NS)
        ended = world.probe.told(COMMANDS, 'state') == 'silent'
        return ended and world.probe.says(COMMANDS, ' Hz') and all(world.terms.values())

    world.probe.until(silent, 'the stop, and terms')
    # Diagnostics may arrive before the last command, which was sent earlier.
    world.arm.send(20, step_ns=PERIOD_NS)
    world.sent = world.probe.told(COMMANDS, 'published')
    return world


def test_published_terms_of_played_states_equal_offline_ones(slow_world, recording):
    world = slow_world
    independent = NewtonEulerModel(FER)

    def ask(state, other):
        """Send a state until both of its terms have come; return its stamp [s]."""
        again = 0.0

        def came():
            nonlocal again
            if time.monotonic() > again:  # state or terms may be lost
                if again:
                    # Of a joint that moves, the same position twice is no new state.
                    world.arm.send(1, step_ns=PERIOD_NS, **other)
                world.arm.send(1, step_ns=PERIOD_NS, **state)
                again = time.monotonic() + 1.0
            newest = stamp(world.arm.message())
            return all(stamp(world.terms[name][-1]) == newest for name in TORQUES)

        world.probe.until(came, 'the terms of a state')
        return stamp(world.arm.message())

    states = [
        {'position': q, 'velocity': dq, 'effort': effort}
        for q, dq, effort in zip(recording.q, recording.dq, recording.effort)
    ]
    others = [states[1], *states]
    stamps = [ask(state, other) for state, other in zip(states, others)]
    for name, arguments in (TORQUES | MATRICES).items():
        expected = getattr(independent, name)(*(getattr(recording, one) for one in arguments))
        found = {stamp(message): message.effort for message in world.terms[name]}
        both = [k for k, one in enumerate(stamps) if one in found]
        # Some matrices may be lost; each is compared with the state of its stamp.
        assert len(both) == len(stamps) if name in TORQUES else both
        actual = [found[stamps[k]] for k in both]
        rows = expected[both].reshape(len(both), -1)
        np.testing.assert_allclose(actual, rows, rtol=0, atol=ATOL_NM)


def test_torques_are_added_to_motions_that_are_not_followed(slow_world, recording):
    # It may be for a controller with its own feedback. A finger in it that holds still changes
    # nothing.
    world = slow_world
    told = slow_world.probe.references
    references = world.probe.create_publisher(JointTrajectory, '/feedforward/reference', 10)
    world.probe.until(references.get_subscription_count, 'a listener')
    rest = recording.q[-1]
    names = [*FER.joint_names, 'fer_finger_joint1']
    request = trajectory_message(names, np.array([1.0]), np.array([[*rest, 0.04]]))

    references.publish(request)

    def answered():
        if told and told[-1].values['state'] == 'refused':  # its listener was not found yet
            told.clear()
            references.publish(request)
        world.arm.send(2, step_ns=PERIOD_NS, position=rest)
        return world.filled and told and told[-1].values['state'] == 'interrupted'

    world.probe.until(answered, 'the trajectory with efforts, and two reports', every=0.5)
    begin = world.filled[0].points[0]
    end = world.filled[0].points[-1]
    np.testing.assert_allclose(begin.positions, rest, rtol=0, atol=1e-12)
    gravity = NewtonEulerModel(FER).gravity(rest)
    np.testing.assert_allclose(end.effort, gravity, rtol=0, atol=ATOL_NM)
    reports = told[0], told[-1]  # a state that comes between them lets it be followed
    # Its sender, such as `node play`, need not wait for its end.
    assert [report.values['state'] for report in reports] == ['accepted', 'interrupted']
    assert len({report.values['number'] for report in reports}) == 1
    assert reports[1].values['reason']


def test_states_that_are_too_rare_bring_no_torque(slow_world):
    slow_world.arm.send(50, step_ns=PERIOD_NS)
    slow_world.probe.forget()
    slow_world.probe.until_status(COMMANDS, state='silent', published=slow_world.sent)
