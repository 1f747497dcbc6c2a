# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of the stream of joint states over DDS: named, and recovered from by the rules."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

FER = load('fer')
# An inclined base, so that the target fci has a torque to command, and another one to rest at.
TRUE_GRAVITY = (4.0, 0.0, -8.9)
RUNNING = NewtonEulerModel(FER, TRUE_GRAVITY).gravity(FER.home) - NewtonEulerModel(FER).gravity(
    FER.home
)
STATES, COMMAND = 'feedforward: Joint states', 'feedforward: Command'


@pytest.fixture(scope='module')
def world(node_world):
    """Start a node whose patience with silence is short enough to wait for."""
    return node_world(
        robot_type='fer',
        target='fci',
        state_timeout=0.3,
        max_state_age=0.0,
        gravity_vector=f'[{",".join(map(str, TRUE_GRAVITY))}]',
    )


def commanding(world):
    return world.commands and np.allclose(world.commands[-1].data, RUNNING, rtol=0, atol=1e-9)


def times(world, condition):
    _, _, pairs = world.probe.diagnostics.get(STATES, (0, '', {}))
    return int(pairs.get(f'{condition} (times)', 0))


@pytest.fixture(autouse=True)
def seen_before(world):
    """Wait until the node commands; return how often each condition was counted by then."""
    assert np.abs(RUNNING).max() > 5.0
    world.probe.clear_fault('feedforward')  # more stops than are restarted by themselves
    world.arm.until(lambda: commanding(world), 'commands')
    world.probe.diagnostics.clear()
    world.arm.until(lambda: STATES in world.probe.diagnostics, 'diagnostics')
    counts = {name: times(world, name) for name in ('stale', 'too_slow')}
    world.arm.until(lambda: commanding(world), 'commands')
    return counts


def at_zero(world):
    return world.commands and not np.any(world.commands[-1].data)


def assert_stops_then_recovers(world, inject, condition, seen_before):
    """
    Inject a fault into trusted states; require zero torque, the fault's count, and recovery.

    Where a busy machine kept states back, the node had stopped for silence before: then the fault
    is none of a trusted stream, and is injected again.
    """
    before = dict(seen_before)
    for _ in range(10):
        inject()
        world.probe.until(lambda: at_zero(world), f'zero torque after {condition}')
        world.arm.until(
            lambda: any(times(world, one) > before[one] for one in (condition, 'stale')),
            f'{condition} is counted',
        )
        if times(world, condition) > before[condition]:
            break
        before['stale'] = times(world, 'stale')
        world.probe.clear_fault('feedforward')
        world.arm.until(lambda: commanding(world), 'commands')
    else:
        pytest.fail(f'ten times silence, and never {condition}')
    world.arm.until(lambda: commanding(world), f'recovery from {condition}')


def test_silence_stops_the_arm_until_states_return(world, seen_before):
    def silence():
        world.probe.until(
            lambda: world.probe.says(COMMAND, 'no new joint state for'), 'silence told'
        )

    assert_stops_then_recovers(world, silence, 'stale', seen_before)


def test_a_slow_topic_stops_commands_while_terms_go_on(world, seen_before):
    gravity = world.probe.collect(JointState, '/feedforward/gravity')

    def slow():
        world.arm.send(5, step_ns=33 * 10**6)
        told = all(world.probe.says(COMMAND, text) for text in ('too_slow', 'silent'))
        return told and gravity

    def slowness():
        world.probe.until(slow, 'too slow is told')

    slowness()
    # What was told may overtake the last command, which was sent before.
    silent_since, terms = world.probe.told_at[COMMAND], len(gravity)
    world.arm.send(50, step_ns=33 * 10**6, pause=5e-3)
    world.probe.until(lambda: len(gravity) > terms, 'terms go on')
    assert max(world.commands.sent) <= silent_since
    assert_stops_then_recovers(world, slowness, 'too_slow', seen_before)


def test_stamps_of_another_clock_never_command_anything(probe, launch, make_arm):
    arm = make_arm(FER.joint_names, FER.home, 'old/joint_states')
    commands = probe.collect(Float64MultiArray, 'old_ff/command')
    launch(
        'feedforward_node',
        target='mujoco',
        listen_before_activation=0.0,
        remaps={'__node': 'old_ff', 'joint_states': 'old/joint_states'},
    )
    arm.wait_for_listener()
    # Stamped a hundred seconds after the epoch, while this machine's clock says today.
    arm.until(
        lambda: probe.says('old_ff: Joint states', "behind this node's clock"), 'the age is told'
    )
    assert not commands
