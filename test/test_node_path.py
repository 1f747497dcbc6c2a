# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The node runs on rclpy, numpy, pinocchio and yaml alone, so that apt's packages suffice."""

import pytest

from .processes import printed

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

# Configures the node with both models, and runs it from joint states to commands. What apt's ROS
# does not bring is absent, whoever asks for it.
PROGRAM = """
import sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in ABSENT:
            raise ModuleNotFoundError(f'{name} is not installed', name=name)


ABSENT = set(sys.argv[1].split(','))
sys.meta_path.insert(0, Absent())

import rclpy
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from franka_dynamics.ros.feedforward_node import FeedforwardNode

rclpy.init()
node = FeedforwardNode()
assert node.trigger_configure() == TransitionCallbackReturn.SUCCESS, node.refusal
assert node.trigger_activate() == TransitionCallbackReturn.SUCCESS, node.refusal
arm = node.controller.description
for step in range(3):
    message = JointState(name=arm.joint_names, position=arm.home.tolist(), velocity=[0.0] * 7)
    message.header.stamp = node.get_clock().now().to_msg()
    node._on_joint_state(bytes(serialize_message(message)))
assert node.trigger_shutdown() == TransitionCallbackReturn.SUCCESS
node.destroy_node()
rclpy.shutdown()
print('ran')
"""
# Every library that an extra or the command line brings.
ABSENT = (
    'click rich mujoco rosbags scipy matplotlib trimesh networkx igl sympy llvmlite cvxpy casadi '
    'jax torch pandas meshcat viser PIL setuptools pkg_resources pytest distributed pylibfranka'
).split()


def test_the_node_imports_only_what_apt_brings():
    assert printed('-c', PROGRAM, ','.join(ABSENT)).splitlines()[-1] == 'ran'
