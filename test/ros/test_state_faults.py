# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of the stream of joint states, injected over DDS: each named, each recovered from."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

FER = load('fer')
GRAVITY = NewtonEulerModel(FER).gravity(FER.home)
STATES, COMMAND = 'feedforward: Joint states', 'feedforward: Command'


@pytest.fixture(scope='module')
def world(node_world):
    """Start a node whose patience with silence is short enough to wait for."""
    return node_world(robot_type='fer', target='mujoco', state_timeout=0.3, max_state_age=0.0)


@pytest.fixture(autouse=True)
def commanding(world):
    count = len(world.commands)
    world.arm.until(lambda: len(world.commands) > count + 20, 'commands')


def assert_stopped_then_recovers(world, condition):
    world.probe.until(lambda: condition in world.probe.diagnostics.get(
        STATES, (0, '', {}))[2].get('condition', '') or f'{condition} (times)'
        in world.probe.diagnostics[STATES][2], f'{condition} is told')
    np.testing.assert_allclose(world.commands[-1].data, GRAVITY, rtol=0, atol=1e-9)
    count = len(world.commands)
    world.arm.until(lambda: len(world.commands) > count + 20, f'recovery from {condition}')


def test_given_silence_when_it_lasts_then_the_arm_is_stopped_until_states_return(world):
    world.probe.until(lambda: world.probe.says(COMMAND, 'no new joint state for'), 'silence told')
    assert_stopped_then_recovers(world, 'stale')


def test_given_stamps_that_stand_still_when_it_lasts_then_the_arm_is_stopped(world):
    def stuck():
        world.arm.send(5, step_ns=0)
        return world.probe.says(COMMAND, 'do its stamps advance')

    world.probe.until(stuck, 'standing stamps told')
    assert_stopped_then_recovers(world, 'stale')


def test_given_repeated_stamps_when_they_pass_then_the_command_stays_the_same(world):
    before = list(world.commands[-1].data)
    world.arm.send(50, step_ns=0, pause=1e-3)
    world.arm.send(5)
    assert list(world.commands[-1].data) == before
    world.arm.until(lambda: int(world.probe.diagnostics[STATES][2]['repeated stamps']) > 0,
                    'repeated stamps are counted')


@pytest.mark.parametrize('seconds', [-50, 50])
def test_given_a_clock_that_leaps_when_observed_then_the_arm_is_stopped_and_recovers(
        world, seconds):
    world.arm.stamp_ns += seconds * 10 ** 9
    world.arm.send(1)
    assert_stopped_then_recovers(world, 'clock_jumped')


def test_given_a_joint_that_leaps_when_observed_then_the_arm_is_stopped_and_recovers(world):
    world.arm.send(1, position=list(FER.home + [0, 0, 0.2, 0, 0, 0, 0]))
    assert_stopped_then_recovers(world, 'jumped')


def test_given_two_publishers_when_interleaved_then_the_arm_is_stopped_and_recovers(world):
    for _ in range(20):
        world.arm.send(1, step_ns=-12 * 10 ** 6)
        world.arm.send(1, step_ns=13 * 10 ** 6)
    assert_stopped_then_recovers(world, 'interleaved')


def test_given_a_topic_that_becomes_slow_when_observed_then_terms_go_on_and_commands_cease(world):
    gravity = world.probe.collect(JointState, '/feedforward/gravity')

    def slow():
        world.arm.send(5, step_ns=33 * 10 ** 6)
        return world.probe.says(COMMAND, 'too_slow') and gravity

    world.probe.until(slow, 'too slow is told')
    count, terms = len(world.commands), len(gravity)
    world.arm.send(50, step_ns=33 * 10 ** 6, pause=5e-3)
    assert len(world.commands) == count
    assert len(gravity) > terms
    assert_stopped_then_recovers(world, 'too_slow')
