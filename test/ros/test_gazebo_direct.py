# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The node beside plain Gazebo: states, forces, and the end of a torque."""

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

from franka_dynamics.arm import load
from franka_dynamics.ros import topic_listener
from franka_dynamics.ros.messages import stamp_from_seconds
from franka_dynamics.ros.qos import DESCRIPTION_QOS
from franka_dynamics.simulation.gazebo import gazebo_start

from .conftest import COMMAND, ROOT_NAMES
from ..processes import background


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
        message.header.stamp = stamp_from_seconds(1e-3 * self._milliseconds)
        self._states.publish(message)


def test_its_start_is_held_and_a_command_followed_within_the_rate_until_it_ends(probe, launch):
    description = load('fr3', hand='franka_hand')
    gazebo = Gazebo(probe, description)
    launch('gazebo_direct_node', **ROOT_NAMES, robot_type='fr3', hand='franka_hand')
    states = probe.collect(JointState, 'joint_states')
    probe.until(
        lambda: gazebo.publish() or probe.told('gazebo_direct', 'held') == 'True', 'the arm held'
    )
    probe.until(lambda: all(gazebo.forces), 'a force on every joint')
    held = gazebo_start(description).torque

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

    with background('-m', topic_listener.__name__, '/gazebo_direct') as waiting:
        probe.until(status.get_subscription_count, 'it listens')
        for _ in range(50):
            say(held=False)
            probe.spin()
        assert waiting.poll() is None
        say(held=True)
        probe.until(lambda: waiting.poll() is not None, 'its end')
    assert waiting.returncode == 0
