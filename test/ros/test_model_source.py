# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A model from the running system: robot_description that comes, is late, changes, or lies."""

import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.urdf.writer import write_urdf

FER = load('fer')
LATCHED = QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)
# The URDF is text of finitely many decimals, and its angles are rounded.
ATOL_NM = 1e-6


@pytest.fixture
def describe(probe):
    publisher = probe.create_publisher(String, 'robot_description', LATCHED)
    return lambda text: publisher.publish(String(data=text))


def settle(probe, arm, start_node, **parameters):
    gravity = probe.collect(JointState, '/feedforward/gravity')
    start_node(target='mujoco', **parameters)
    arm.until(lambda: gravity, 'a gravity torque')
    return gravity


def test_a_robot_descriptions_torques_are_those_of_the_arm(
    probe, arm, start_node, describe, commands
):
    describe(write_urdf(FER))
    gravity = settle(probe, arm, start_node, model_source='robot_description')
    np.testing.assert_allclose(
        gravity[-1].effort, NewtonEulerModel(FER).gravity(FER.home), rtol=0, atol=ATOL_NM
    )
    arm.until(lambda: commands, 'a command')


def test_a_robot_description_that_comes_late_is_waited_for(probe, arm, start_node, describe):
    node = start_node(target='mujoco', model_source='robot_description')
    count = 0

    def subscribed():
        nonlocal count
        count = probe.count_subscribers('robot_description')
        return count > 0

    probe.until(subscribed, 'the node waits for it')
    assert node.running
    describe(write_urdf(FER))
    arm.wait_for_listener()


def test_a_changed_robot_description_stops_the_arm(probe, arm, start_node, describe, commands):
    urdf = write_urdf(FER)
    describe(urdf)
    settle(probe, arm, start_node, model_source='robot_description')
    describe(urdf)  # the same once more is no change
    arm.until(lambda: len(commands) > 100, 'commands go on')
    describe(urdf.replace('<robot ', '<!-- another --><robot ', 1))
    arm.until(
        lambda: probe.says('feedforward: Command', 'robot_description has changed'),
        'the change is told',
    )
    arm.until(lambda: probe.says('feedforward: Command', 'silent'), 'silence')


def heavier(text):
    mass = f'{FER.links[3].mass:.6f}'
    assert mass in text
    return text.replace(mass, '4.587895', 1)


@pytest.mark.parametrize(
    ('parameters', 'change', 'status', 'sentence'),
    [
        ({'urdf_file': '/nowhere.urdf'}, None, 1, 'but model_source is description'),
        (
            {'model_source': 'urdf_file', 'urdf_file': '/nowhere.urdf'},
            None,
            1,
            'urdf_file /nowhere.urdf cannot be read: No such file or directory.',
        ),
        (
            {'model_source': 'robot_description', 'robot_description_timeout': 0.5},
            None,
            1,
            '/robot_description did not arrive within 0.5 s',
        ),
        ({'model_source': 'robot_description'}, heavier, 1, 'fer_joint4'),
    ],
)
def test_a_model_source_at_fault_is_refused_by_name(
    start_node, describe, commands, parameters, change, status, sentence
):
    if change is not None:
        describe(change(write_urdf(FER)))
    node = start_node(target='mujoco', **parameters)
    assert node.wait() == status
    assert sentence in node.text
    assert 'Traceback' not in node.text
    assert not commands
