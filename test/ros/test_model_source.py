# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A model from robot_description, which is late, changes, or describes another arm."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from franka_dynamics.ros.messages import DESCRIPTION_QOS
from franka_dynamics.urdf.writer import urdf_text

from .conftest import FER, FER_GRAVITY

# The numbers in the URDF have finitely many decimals.
ATOL_NM = 1e-6


@pytest.fixture
def describe(probe):
    publisher = probe.create_publisher(String, 'robot_description', DESCRIPTION_QOS)
    return lambda text: publisher.publish(String(data=text))


def test_a_description_that_comes_late_gives_torques_and_a_change_of_it_stops(
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


def test_a_description_of_another_arm_is_refused_by_its_link(start_node, describe, commands):
    urdf, mass = urdf_text(FER), f'{FER.links[3].mass:.6f}'
    assert mass in urdf
    describe(urdf.replace(mass, '4.587895', 1))
    node = start_node(target='mujoco', model_source='robot_description')
    node.wait(status=1)
    assert 'fer_joint4' in node.text and 'Traceback' not in node.text
    assert not commands
