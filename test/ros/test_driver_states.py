# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states as users of real drivers report them: torques come, or every door says why not."""

from random import Random

import numpy as np
import pytest
from rclpy.qos import QoSProfile, ReliabilityPolicy

from franka_dynamics.arm import load
from franka_dynamics.ros.node_client import NodeClient

from .conftest import ArmStream

FR3 = load('fr3')
FINGERS = ('fr3_finger_joint1', 'fr3_finger_joint2')
LEFT = [f'left_{name}' for name in FR3.joint_names]
BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


@pytest.mark.parametrize(
    ('extra', 'effort', 'milliseconds', 'qos'),
    [(FINGERS, [np.nan] * 9, 2, BEST_EFFORT), (LEFT, [0.0] * 14, 2, 1), ((), [], 5, 1)],
    ids=['fingers, NaN, best effort', 'two prefixes, zero effort', 'no effort'],
)
def test_states_of_drivers_suffice(extra, effort, milliseconds, qos, probe, commands, start_node):
    start_node(robot_type='fr3', target='fci')
    q = [*FR3.home, *[0.035] * len(extra)]
    arm, draw = ArmStream(probe, [*FR3.joint_names, *extra], q, qos=qos), Random(1)

    def come():
        rows = list(zip(arm.names, arm.q))
        draw.shuffle(rows)  # some drivers put joints into another order each time
        arm.names, arm.q = map(list, zip(*rows))
        arm.send(step_ns=milliseconds * 10**6, effort=effort)
        return len(commands) > 200

    probe.until(come, 'torques')
    # The robot adds the gravity torque itself, and nothing else acts on an arm that stands still.
    assert not any(np.any(one.data) for one in commands)


@pytest.mark.parametrize(
    ('names', 'changes', 'reason'),
    [
        ([f'fer_joint{k}' for k in range(1, 8)], {}, 'lacks fr3_joint1'),
        (LEFT, {}, 'it has left_fr3_joint1'),
        (FR3.joint_names, {'velocity': []}, '0 of velocity'),
        (FR3.joint_names, {'step_ns': 0}, 'header.stamp of the joint states is not set'),
    ],
    ids=['another arm', 'prefix', 'no velocity', 'no stamp'],
)
def test_the_reason_for_silence_is_in_log_status_and_answer_of_the_node(
    names, changes, reason, probe, commands, start_node
):
    node, arm = start_node(robot_type='fr3', target='fci'), ArmStream(probe, names, FR3.home)
    arm.stamp_ns = 0
    arm.wait_for_listener()

    def told():
        arm.send(**changes)
        logged = 'no torque yet: ' in node.text and reason in node.text
        return logged and probe.says('feedforward', reason)

    probe.until(told, reason)
    assert 'listening' not in node.text
    with NodeClient('feedforward', 20.0, lambda: arm.send(**changes)) as client:
        assert reason in client.status_sentence()
    assert not commands
