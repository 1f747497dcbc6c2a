# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The direct way into Gazebo, paused: what is passed on, both ways, from the first message on."""

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

from franka_dynamics.arm import load
from franka_dynamics.simulation.gazebo import start_of

from .conftest import COMMAND


class PausedGazebo:
    """Tells the state of a model at its start, whose zero it is, and keeps the joint forces."""

    def __init__(self, probe, description) -> None:
        self.names = description.joint_names
        self.forces = [
            probe.collect(Float64, f'gazebo/{name}/cmd_force', reliable=True)
            for name in self.names
        ]
        self._states = probe.create_publisher(JointState, 'gazebo/joint_states', 1)

    def publish(self) -> None:
        """Tell the state, as Gazebo does after every iteration, paused or not."""
        zeros = [0.0] * len(self.names)
        self._states.publish(
            JointState(name=list(self.names), position=zeros, velocity=zeros, effort=zeros)
        )


def test_paused_its_start_is_held_and_commands_are_passed_on_if_sound(probe, launch):
    description = load('fr3', hand='franka_hand')
    gazebo = PausedGazebo(probe, description)
    direct = launch('gazebo_direct_node', robot_type='fr3', hand='franka_hand')
    states = probe.collect(JointState, 'joint_states')
    probe.until(lambda: gazebo.publish() or 'holding the arm' in direct.text, 'the arm held')
    probe.until(lambda: all(gazebo.forces), 'a force on every joint')
    held = start_of(description).torque
    np.testing.assert_array_equal([force[-1].data for force in gazebo.forces], held)
    probe.until(lambda: gazebo.publish() or states, 'joint states')
    assert tuple(states[-1].name) == gazebo.names
    np.testing.assert_array_equal(states[-1].position, description.home)
    # A command that cannot be one leaves the forces as they are.
    publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    probe.until(lambda: publisher.get_subscription_count() > 0, 'the direct node listening')
    publisher.publish(Float64MultiArray(data=[1.0, 2.0]))
    probe.until(lambda: 'was refused' in direct.text, 'the refusal')
    publisher.publish(Float64MultiArray(data=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]))
    # Seven topics: each force comes when it comes, and nothing but those two was sent to any.
    probe.until(
        lambda: all(force and force[-1].data == k for k, force in enumerate(gazebo.forces, 1)),
        'the next command on every joint',
    )
    for k, force in enumerate(gazebo.forces):
        assert {message.data for message in force} <= {held[k], 1.0 + k}
    # Another arm in its place is named.
    gazebo.names = tuple(name.replace('fr3', 'fer') for name in gazebo.names)
    probe.until(lambda: gazebo.publish() or 'lacks fr3_joint1' in direct.text, 'the joint named')
