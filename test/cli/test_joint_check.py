# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Each joint moved alone, on an arm whose wires may be wrong."""

import numpy as np
import pytest

from franka_dynamics.cli.joint_check import move_joints_one_by_one
from franka_dynamics.ros.clients.node_client import NodeClientError

NAMES = [f'fr3_joint{i + 1}' for i in range(7)]
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


class Arm:
    """Stands in for a node and its arm; a goal moves joint i by wires[i] @ goal."""

    def __init__(self, wires):
        self.wires = wires
        self.moved = []  # the joints that were asked to move
        self.on_wait = lambda: None
        self.position = HOME

    def parameter_values(self, keys):
        values = {'robot_type': 'fr3', 'payload': [0.0] * 10}
        return [values.get(key, '') for key in keys]

    def wait_until(self, is_done, timeout):
        return is_done()

    def joint_positions(self, topic, names):
        assert list(names) == NAMES
        return self.position.copy() if topic == '/joint_states' else None

    def follow_trajectory(self, message):
        goals = np.array([point.positions for point in message.points])
        (joint,) = np.flatnonzero(np.ptp(goals, axis=0))
        self.moved.append(message.joint_names[joint])
        for goal in goals:
            self.position = HOME + self.wires @ (goal - HOME)
            self.on_wait()


def exchanged(a, b):
    wires = np.eye(7)
    wires[[a, b]] = wires[[b, a]]
    return wires


def scaled(joint, factor):
    wires = np.eye(7)
    wires[joint, joint] = factor
    return wires


def test_joints_that_all_follow_are_right(capsys):
    arm = Arm(0.7 * np.eye(7))
    assert move_joints_one_by_one(arm, '/joint_states') == 0
    assert arm.moved == NAMES
    assert capsys.readouterr().out.count('moved by') == 7


@pytest.mark.parametrize(
    'wires, last',
    [
        pytest.param(exchanged(1, 3), 1, id='exchanged'),
        pytest.param(scaled(2, -1.0), 2, id='reversed'),
        pytest.param(scaled(6, 0.0), 6, id='dead'),
        pytest.param(np.eye(7) + 0.5 * np.eye(7, k=1), 1, id='coupled'),
    ],
)
def test_a_wrong_wire_ends_the_motions(wires, last):
    arm = Arm(wires)
    assert move_joints_one_by_one(arm, '/joint_states') == 1
    assert arm.moved == NAMES[: last + 1]


def test_an_arm_that_is_not_heard_is_not_moved():
    arm = Arm(np.eye(7))
    with pytest.raises(NodeClientError):
        move_joints_one_by_one(arm, '/franka/joint_states')
    assert not arm.moved
