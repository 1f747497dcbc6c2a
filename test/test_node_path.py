# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The node runs on rclpy, numpy, pinocchio and yaml alone, so that apt's packages suffice."""

import pytest

from .processes import printed

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

# Refuses every import but these and what they themselves import, then runs the node: configure
# with both models, and one cycle from a joint state to a command.
PROGRAM = '''
import builtins
import importlib
import pkgutil
import sys

ALLOWED = {'rclpy', 'numpy', 'pinocchio', 'yaml', 'franka_dynamics', 'builtin_interfaces',
           'diagnostic_msgs', 'geometry_msgs', 'lifecycle_msgs', 'rcl_interfaces', 'rosgraph_msgs',
           'sensor_msgs', 'std_msgs', 'std_srvs', 'trajectory_msgs'}
OURS = 'franka_dynamics'
ROOMS = ('arm', 'dynamics', 'control', 'ros')
# Tools around the node: the simulated arm, the demonstration, its recorder, the monitor, the
# action in front of a controller, launch files.
NOT_THE_NODE = {'simulator_node', 'demo', 'recording_session', 'launching',
                'trajectory_action_node'}
original = builtins.__import__


def guarded(name, globals=None, locals=None, fromlist=(), level=0):
    importer = (globals or {}).get('__name__', '')
    top = name.split('.')[0]
    allowed = top in ALLOWED | set(sys.stdlib_module_names)
    if level == 0 and importer.split('.')[0] == OURS and not allowed:
        raise ImportError(f'{importer} imports {top}')
    return original(name, globals, locals, fromlist, level)


class Absent:
    """Makes everything absent that apt's ROS does not bring, whoever asks."""

    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in ABSENT:
            raise ModuleNotFoundError(f'{name} is not installed', name=name)


ABSENT = set(sys.argv[1].split(','))
builtins.__import__ = guarded
sys.meta_path.insert(0, Absent())

for room in ROOMS:
    package = importlib.import_module(f'{OURS}.{room}')
    for module in pkgutil.iter_modules(package.__path__):
        if module.name not in NOT_THE_NODE:
            importlib.import_module(f'{OURS}.{room}.{module.name}')

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
others = {name.split('.')[0] for name in sys.modules} & ABSENT
assert not others, others
print('ran')
'''
# Every library that an extra or the command line brings.
ABSENT = (
    'click rich mujoco rosbags scipy matplotlib trimesh networkx igl sympy llvmlite cvxpy casadi '
    'jax torch pandas meshcat viser PIL setuptools pkg_resources pytest distributed pylibfranka'
).split()


def test_the_node_imports_only_what_apt_brings():
    assert printed('-c', PROGRAM, ','.join(ABSENT)).splitlines()[-1] == 'ran'
