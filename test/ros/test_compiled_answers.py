# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The node's answers by compiled code, over DDS: the same torques, and what it says of them."""

from dataclasses import replace
import threading

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.context import Context
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.control.command_state import ClearedBy
from franka_dynamics.control.cycle import Mode
from franka_dynamics.control.reference import ReferencePoint
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.feedforward_node import FeedforwardNode

from .conftest import NodeWorld
from ..codegen.c_core import needs_compiler

FER = load('fer')
GRAVITY = NewtonEulerModel(FER).gravity(FER.home)


@pytest.fixture
def make_world(tmp_path):
    """Make a world that ends with the test."""
    worlds = []

    def make(**parameters):
        worlds.append(NodeWorld(tmp_path / 'node.log', robot_type='fer', **parameters))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def published(world, at_least):
    """Publish states until so many commands are reported; return them, and those by the code."""
    found = {}

    def told():
        world.arm.send(20)
        _, _, found['pairs'] = world.probe.diagnostics.get('feedforward: Command', (0, '', {}))
        return int(found['pairs'].get('published', 0)) >= at_least

    world.probe.until(told, f'{at_least} commands')
    world.arm.until(lambda: world.commands, 'a command')
    np.testing.assert_allclose(world.commands[-1].data, GRAVITY, rtol=0, atol=1e-9)
    return int(found['pairs']['published']), int(found['pairs']['published before judged'])


@needs_compiler
def test_most_states_are_answered_by_compiled_code(make_world):
    world = make_world(target='mujoco')
    all_of_them, compiled = published(world, 2000)
    # But for those in which the start is faded in, and what a busy machine keeps back.
    assert 0.5 * all_of_them < compiled < all_of_them
    assert 'judged in Python' not in world.node.text


def test_without_the_parameter_python_answers_alone(make_world):
    world = make_world(target='mujoco', compiled_cycle=False)
    assert published(world, 500)[1] == 0
    assert 'judged in Python' not in world.node.text


def test_a_node_without_a_compiler_says_so_and_works(make_world, monkeypatch, tmp_path):
    monkeypatch.setenv('PATH', str(tmp_path))
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    world = make_world(target='mujoco')
    assert published(world, 500)[1] == 0
    assert 'every state is judged in Python before it is answered' in world.node.text
    assert 'No C compiler (cc, gcc or clang) is on the PATH. Install a C' in world.node.text


@pytest.fixture
def node():
    """Return an active node that nobody spins; stamps are the test's."""
    context = Context()
    options = ('listen_before_activation:=0.0', 'max_state_age:=0.0', 'target:=mujoco')
    arguments = [word for option in (*options, 'ramp_time:=0.0') for word in ('-p', option)]
    context.init(args=['--ros-args', *arguments])
    made = FeedforwardNode(context=context)
    made.trigger_configure()
    made.trigger_activate()
    yield made
    made.shut_down()
    made.destroy_node()
    context.try_shutdown()


def moving(k):
    """Return a joint state, a millisecond after the one before, of an arm that moves."""
    turn = 2e-3 * k
    message = JointState(name=list(FER.joint_names))
    message.header.stamp.sec, message.header.stamp.nanosec = 10**9, k * 10**6
    message.position = (np.array(FER.home) + 0.2 * (1.0 - np.cos(turn))).tolist()
    message.velocity = [0.4 * np.sin(turn)] * FER.n
    return bytes(serialize_message(message))


MEANWHILE = {
    'settings': lambda one: one.apply(replace(one.settings, scale=0.0)),
    'gains': lambda one: one.apply(replace(one.settings, kd=(1.0,))),
    'reference': lambda one: one.follow(
        ReferencePoint.at_rest(one.latest[1])._replace(ddq=np.ones(FER.n))
    ),
    'deactivation': lambda one: one.disable('deactivated', brake=False),
    'braking': lambda one: one.disable('deactivated'),
    'rival': lambda one: one.inhibit('somebody else commands', ClearedBy.ACTIVATION),
}


@needs_compiler
@pytest.mark.parametrize('change', MEANWHILE)
def test_what_changes_once_a_torque_is_out_is_no_fault(node, monkeypatch, change):
    controller, lock, publish = node.controller, node._lock, node.cycle.publish_command
    changed = []

    def change_if_possible():
        if lock.acquire(blocking=False):
            MEANWHILE[change](controller)
            changed.append(True)
            lock.release()

    def publish_and_change(torque):
        publish(torque)
        other = threading.Thread(target=change_if_possible)
        other.start()
        other.join()

    for k in range(200):
        node.cycle.on_joint_state(moving(k))
    answered = controller.counters.compiled
    assert answered > 100
    monkeypatch.setattr(node.cycle, 'publish_command', publish_and_change)
    node.cycle.on_joint_state(moving(200))
    monkeypatch.undo()
    assert controller.counters.compiled == answered + 1
    assert 'cross-check' not in controller.conflict
    if not changed:
        # The other thread had to wait, and now may.
        assert controller.mode is Mode.RUNNING
        MEANWHILE[change](controller)
    for k in range(201, 210):
        node.cycle.on_joint_state(moving(k))
    assert 'cross-check' not in controller.conflict
