# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm in lockstep, and the node beside plain Gazebo: states, forces, senders."""

from itertools import cycle
import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.messages import seconds_to_stamp
from franka_dynamics.ros.status import NodeStatus
from franka_dynamics.ros.topics import DESCRIPTION_QOS
from franka_dynamics.simulation.gazebo import holding_torque

from .conftest import COMMAND, FER, ROOT_NAMES, stamp
from ..processes import background

pytest.importorskip('mujoco')


def test_a_signal_ends_an_arm_that_waits_for_a_torque(probe, start_arm):
    publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    states = probe.collect(JointState, 'joint_states')
    simulator = start_arm(lockstep_timeout=60.0, gravity_compensation=True)
    probe.until(publisher.get_subscription_count, 'the arm listens')
    publisher.publish(Float64MultiArray(data=[0.0] * 7))
    probe.until_status('simulator', state='following')
    # The state of the step in which it waits may have come before that status.
    before, looks = len(states), iter(range(100))
    probe.until(lambda: len(states) > before or next(looks, None) is None, 'a state or none')
    began = time.monotonic()
    simulator.end()
    assert time.monotonic() - began < 30.0  # it does not wait for the torque to the end


def test_an_arm_in_lockstep_steps_no_faster_than_it_is_told(probe, start_arm):
    rate = 100.0  # without the bound, about 2000 steps per second
    publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    start_arm(lockstep_rate=rate, gravity_compensation=True)
    told, arms = [], set()

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
    assert 'publishers listed there: /probe, /probe\n' in arm.text
    until_refused([1.0] * 6, first, 'wrong size')
    # Of 0 and 10 N m the sensors show none, only the arm's gravity compensation.
    last = states[-1]
    gravity = NewtonEulerModel(FER).gravity(np.array(last.position))
    np.testing.assert_allclose(last.effort - gravity, 0.0, rtol=0, atol=0.5)


class Gazebo:
    """Publishes the state of a model at its start pose, Gazebo's zero; records joint forces."""

    def __init__(self, probe, description) -> None:
        self.names = description.joint_names
        self.forces = [
            probe.collect(Float64, f'gazebo/{name}/cmd_force', reliable=True)
            for name in self.names
        ]
        self._states = probe.create_publisher(JointState, 'gazebo/joint_states', 1)
        self._milliseconds = 0

    def publish(self, running=False) -> None:
        """Publish the state, as Gazebo does after every iteration, paused or not."""
        zeros = [0.0] * len(self.names)
        self._milliseconds += running
        message = JointState(name=list(self.names), position=zeros, velocity=zeros, effort=zeros)
        message.header.stamp = seconds_to_stamp(1e-3 * self._milliseconds)
        self._states.publish(message)


def test_its_start_is_held_and_a_command_followed_within_the_rate_until_it_ends(probe, launch):
    description = load('fr3', hand='franka_hand')
    gazebo = Gazebo(probe, description)
    launch('gazebo_direct_node', **ROOT_NAMES, robot_type='fr3', hand='franka_hand')
    states = probe.collect(JointState, 'joint_states')
    probe.until(lambda: gazebo.publish() or probe.told('gazebo_direct', 'held') == 'True', 'held')
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
    names, before = gazebo.names, len(states)
    for gazebo.names in (tuple(name.replace('fr3', 'fer') for name in names), names):
        gazebo.publish(running=True)
    probe.until(lambda: gazebo.publish(running=True) or len(states) > before + 1, 'its states')
    assert {tuple(one.name) for one in states} == {names}


def test_what_resumes_gazebo_waits_for_the_status_that_the_arm_is_held(probe):
    # Whatever the log says, and in which pieces it is printed.
    status = probe.create_publisher(DiagnosticStatus, 'gazebo_direct/status', DESCRIPTION_QOS)

    def say(held):
        status.publish(DiagnosticStatus(values=[KeyValue(key='held', value=f'{held}')]))

    with background('-m', 'franka_dynamics.ros.wait_until_held', '/gazebo_direct') as waiting:
        probe.until(status.get_subscription_count, 'it listens')
        for _ in range(50):
            say(held=False)
            probe.spin()
        assert waiting.poll() is None
        say(held=True)
        probe.until(lambda: waiting.poll() is not None, 'its end')
    assert waiting.returncode == 0
