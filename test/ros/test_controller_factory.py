# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A model from robot_description, which is late, changes, or describes another arm."""

import numpy as np
import pytest
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from franka_dynamics.arm import load
from franka_dynamics.errors import DescriptionError
from franka_dynamics.ros import controller_factory
from franka_dynamics.ros.feedforward_node import FeedforwardNode
from franka_dynamics.ros.parameter_tables import parameter_specs
from franka_dynamics.ros.topics import DESCRIPTION_QOS
from franka_dynamics.urdf.writer import urdf_text

from .conftest import FER, FER_GRAVITY
from ..agreement import refuses

# The numbers in the URDF have finitely many decimals.
ATOL_NM = 1e-6


@pytest.fixture
def describe(probe):
    publisher = probe.create_publisher(String, 'robot_description', DESCRIPTION_QOS)
    return lambda text: publisher.publish(String(data=text))


def test_a_late_description_gives_torques_and_a_change_stops(
    probe, arm, start_node, describe, commands
):
    node = start_node(target='mujoco', model_source='robot_description')
    gravity = probe.collect(JointState, '/feedforward/gravity')
    probe.until(lambda: probe.count_subscribers('robot_description') > 0, 'it is waited for')
    assert node.running
    urdf = urdf_text(FER)
    describe(urdf)
    arm.until(lambda: gravity, 'a gravity torque')
    np.testing.assert_allclose(gravity[-1].effort, FER_GRAVITY, rtol=0, atol=ATOL_NM)
    describe(urdf)  # the same text once more is no change
    arm.until(lambda: len(commands) > 100, 'commands')
    describe(urdf.replace('<robot ', '<!-- another --><robot ', 1))
    arm.until_says('feedforward: Command', 'robot_description has changed')
    arm.until_says('feedforward: Command', 'silent')


@pytest.mark.parametrize(
    ('target', 'before', 'after', 'named'),
    [
        ('mujoco', f'{FER.links[3].mass:.6f}', '4.587895', 'fer_joint4'),  # another arm's mass
        ('fci', 'rpy="0 0 0"', 'rpy="0 0.5 0"', 'mount_tilt_compensated_by'),
    ],
)
def test_a_description_that_cannot_be_used_is_refused_by_what_is_wrong(
    target, before, after, named, start_node, describe, commands
):
    urdf = urdf_text(FER)
    assert before in urdf
    describe(urdf.replace(before, after, 1))
    node = start_node(target=target, model_source='robot_description')
    node.wait(status=1)
    assert named in node.text and 'Traceback' not in node.text
    assert not commands


def test_a_description_that_is_published_volatile_is_named_by_one_subscription(probe, monkeypatch):
    matched, incompatible = [], []
    events = PublisherEventCallbacks(
        matched=matched.append, incompatible_qos=lambda one: incompatible.append(one.total_count)
    )
    with probe.neighbour('publisher') as other:
        other.create_publisher(
            String, 'robot_description', QoSProfile(depth=1), event_callbacks=events
        )
        values = {spec.name: spec.default for spec in parameter_specs('feedforward')}
        monkeypatch.setattr(controller_factory, 'ROBOT_DESCRIPTION_TIMEOUT_S', 2.0)
        probe.until(lambda: probe.count_publishers('robot_description'), 'the publisher')
        with refuses(DescriptionError, '/publisher', 'volatile'):
            controller_factory.arm_and_urdf_from_parameters(
                probe, values | {'model_source': 'robot_description'}, lambda: False
            )
        for _ in range(20):
            other.spin()
    assert not matched and incompatible and incompatible[-1] == 1


@pytest.mark.parametrize(
    ('robot_type', 'target', 'free'),
    [
        ('fr3', 'gz_ros2_control', ['fr3_joint7']),
        ('fr3', 'mujoco', []),  # with rotors
        ('fer', 'gz_ros2_control', []),
    ],
)
def test_a_joint_that_default_gains_leave_free_is_told(robot_type, target, free, make_node, capfd):
    given = {'target': target, 'kp': '[-1.0]', 'robot_type': robot_type}
    words = [word for name, value in given.items() for word in ('-p', f'{name}:={value}')]
    node = make_node(FeedforwardNode, *words)
    node.trigger_configure()
    warned = [line for line in capfd.readouterr().err.splitlines() if '[WARN]' in line]
    assert [f'{", ".join(free)} is nearly free' in line for line in warned] == [True] * len(free)
    # One radian off, its spring does not overcome the friction of a wrist, 2 % of its limit.
    weak = np.array(node.get_parameter('kp').value) < 0.02 * load(robot_type).limit('effort')
    assert list(np.array(load(robot_type).joint_names)[weak]) == free
