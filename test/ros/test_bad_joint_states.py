# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong joint states, sent over DDS to a running node: it names the fault and stops."""

from lifecycle_msgs.msg import Transition
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from .conftest import ArmStream, FER, FER_GRAVITY

NAMES = list(FER.joint_names)
HOME = list(FER.home)
NODE, STATES, COMMANDS = 'feedforward', 'feedforward: Joint states', 'feedforward: Command'


@pytest.fixture(scope='module')
def world(node_world):
    return node_world(target='mujoco')


MISSING = {'name': NAMES[:6], 'position': HOME[:6], 'velocity': [0.0] * 6, 'effort': []}


@pytest.mark.parametrize(
    ('changes', 'sentence'),
    [
        (MISSING, 'lacks fer_joint7; it has fer_joint1'),
        ({'position': [*HOME[:2], np.nan, *HOME[3:]]}, 'the position of fer_joint3 is nan'),
    ],
)
def test_a_state_at_fault_is_named_and_the_arm_stopped(world, changes, sentence):
    world.commands_come()
    # Forget the diagnostics of the previous test, which may contain the same sentence.
    world.probe.diagnostics.clear()

    def told(subject, text):
        # As fast as possible: a stop that waits for a pause of states would never end.
        world.arm.send(20, pause=0.0, **changes)
        return world.probe.says(subject, text)

    world.probe.until(lambda: told(STATES, sentence), f'diagnostics say: {sentence}')
    # The stop sequence ends at the torque that holds the arm; then nothing is published.
    world.probe.until(lambda: told(COMMANDS, 'silent'), 'the node is silent')
    # Diagnostics may arrive before the last command, which was sent earlier.
    world.probe.until(
        lambda: np.allclose(world.commands[-1].data, FER_GRAVITY, rtol=0, atol=1e-9), 'its end'
    )
    count = len(world.commands)
    world.arm.send(50, **changes)
    for one in world.commands[count:]:
        np.testing.assert_allclose(one.data, FER_GRAVITY, rtol=0, atol=1e-9)


@pytest.mark.parametrize('by', ['one node', 'a second node'])
def test_a_gripper_on_the_arms_topic_does_not_stop_the_arm(world, by):
    second = world.probe.create_publisher(JointState, 'joint_states', 1)
    world.probe.until(second.get_subscription_count, 'the node listens')
    world.commands_come()
    stops = world.probe.told(COMMANDS, 'stops')
    before = len(world.commands)
    gripper = {'name': ['finger_joint1'], 'position': [0.01], 'velocity': [0.0], 'effort': []}
    for _ in range(200):
        world.arm.send(1, effort=[np.nan] * 7)  # no measurement
        if by == 'one node':
            world.arm.send(1, **gripper, step_ns=0)
        else:
            second.publish(world.arm.message(**gripper))
    world.arm.until(lambda: len(world.commands) > before + 100, 'commands go on')
    world.probe.until(lambda: world.probe.told(COMMANDS, 'stops') == stops, 'no stop')
    world.probe.destroy_publisher(second)


def test_silence_stops_the_node_until_states_return(world):
    assert world.probe.transition(NODE, Transition.TRANSITION_DEACTIVATE)
    assert world.probe.set_parameters(NODE, state_timeout=0.5).successful
    assert world.probe.transition(NODE, Transition.TRANSITION_ACTIVATE)
    world.commands_come()
    world.probe.until_says(COMMANDS, 'no new joint state for')
    world.probe.until_says(COMMANDS, 'silent')
    count = len(world.commands)
    world.arm.until(lambda: len(world.commands) > count + 5, 'commands again, without a word')


def test_stamps_of_another_clock_never_command_anything(probe, launch):
    arm = ArmStream(probe, FER.joint_names, FER.home, 'old/joint_states')
    commands = probe.collect(Float64MultiArray, 'old_ff/command')
    launch(
        'feedforward_node',
        robot_type='fer',
        target='mujoco',
        remaps={'__node': 'old_ff', 'joint_states': 'old/joint_states'},
    )
    # Stamped a hundred seconds after the epoch, while this machine's clock says today.
    arm.until_says('old_ff: Joint states', 'ms old')
    assert not commands
