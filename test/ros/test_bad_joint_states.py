# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states at fault, sent over DDS to a running node: a sentence, and never a torque."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load

FER = load('fer')
NAMES = list(FER.joint_names)
HOME = list(FER.home)
ORDER = [6, 0, 3, 5, 1, 2, 4]
STATES = 'feedforward: Joint states'


@pytest.fixture(scope='module')
def world(node_world):
    """One node that would command gravity, a made-up arm, and what the node publishes."""
    return node_world(robot_type='fer', target='mujoco')


def send_until_running(world):
    # Faults of the sensors are latched, and a node that stops too often waits as well.
    assert world.probe.clear_fault('feedforward').success
    before = len(world.commands)

    def running():
        world.arm.send(5)
        return len(world.commands) > before + 5

    world.probe.until(running, 'commands from good states')


def with_value(index, value, base):
    values = list(base)
    values[index] = value
    return values


BAD = {
    'a joint is missing': (
        {'name': NAMES[:6], 'position': HOME[:6], 'velocity': [0.0] * 6, 'effort': []},
        'lacks fer_joint7; it has fer_joint1',
    ),
    'a position is NaN': (
        {'position': with_value(2, np.nan, HOME)},
        'fer_joint3 has position nan',
    ),
    'an effort is NaN': (
        {'effort': with_value(4, np.nan, [0.0] * 7)},
        'fer_joint5 has a measured effort of nan',
    ),
}


@pytest.mark.parametrize('fault', BAD)
def test_a_state_at_fault_is_named_and_the_arm_stopped(world, fault):
    changes, sentence = BAD[fault]
    send_until_running(world)
    # What was told before is of the test before, which may have had the same sentence.
    running_at = world.commands.sent[-1]

    def told(subject, text):
        said = world.send_and_ask(changes, subject, text)
        return said and world.probe.told_at[subject] > running_at

    world.probe.until(lambda: told(STATES, sentence), f'diagnostics say: {sentence}')
    # The stop sequence of this target holds the last gravity torque, and then there is silence.
    world.probe.until(lambda: told('feedforward: Command', 'silent'), 'the node is silent')
    silent_since = world.probe.told_at['feedforward: Command']
    world.arm.send(50, **changes)
    # What was told may have overtaken the last command, which was sent before.
    world.probe.until(
        lambda: np.allclose(world.commands[-1].data, world.gravity, rtol=0, atol=1e-9),
        'the last gravity torque',
    )
    assert max(world.commands.sent) <= silent_since


GOOD = {
    'another order': {'name': [NAMES[i] for i in ORDER], 'position': [HOME[i] for i in ORDER]},
    'fingers and another arm besides': {
        'name': ['fer_finger_joint1', *NAMES, 'other_joint1'],
        'position': [np.nan, *HOME, np.inf],
        'velocity': [0.0] * 9,
        'effort': [0.0] * 9,
    },
    'no effort': {'effort': []},
}


@pytest.mark.parametrize('kind', GOOD)
def test_states_of_another_form_give_the_same_poses_gravity(world, kind):
    gravity = world.probe.collect(JointState, '/feedforward/gravity')

    def answered():
        world.arm.send(5, **GOOD[kind])
        return gravity

    world.probe.until(answered, 'a gravity torque')
    assert gravity[-1].name == NAMES
    np.testing.assert_allclose(gravity[-1].effort, world.gravity, rtol=0, atol=1e-12)


def test_a_command_carries_names_frame_and_its_states_stamp(world):
    named = world.probe.collect(JointState, '/feedforward/feedforward')
    states = world.probe.collect(JointState, '/joint_states')
    assert world.probe.clear_fault('feedforward').success  # of the tests before

    def answered():
        world.arm.send(5)
        return named

    world.probe.until(answered, 'torques with names')
    world.probe.until(
        lambda: any(state.header.stamp == named[-1].header.stamp for state in states),
        'the state they answer',
    )
    assert named[-1].name == NAMES
    assert named[-1].header.frame_id == 'fer_link0'
    assert list(named[-1].effort) in [list(message.data) for message in world.commands]
