# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of the stream of joint states, injected over DDS: each named, each recovered from."""

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
    counts = {
        condition: times(world, condition)
        for condition in (
            'stale',
            'clock_jumped',
            'jumped',
            'interleaved',
            'too_slow',
            'contradictory',
        )
    }
    world.arm.until(lambda: commanding(world), 'commands')
    return counts


def assert_stopped_then_recovers(world, condition, seen_before, *, latches=False):
    world.probe.until(
        lambda: world.commands and not np.any(world.commands[-1].data),
        f'zero torque after {condition}',
    )
    world.arm.until(
        lambda: times(world, condition) > seen_before[condition], f'{condition} is counted'
    )
    if latches:  # what no network explains goes on only once somebody has looked
        world.arm.send(200)
        assert not commanding(world)
        assert world.probe.clear_fault('feedforward').success
    world.arm.until(lambda: commanding(world), f'recovery from {condition}')


def test_silence_stops_the_arm_until_states_return(world, seen_before):
    world.probe.until(lambda: world.probe.says(COMMAND, 'no new joint state for'), 'silence told')
    assert_stopped_then_recovers(world, 'stale', seen_before)


def test_stamps_that_stand_still_stop_the_arm(world, seen_before):
    def stuck():
        world.arm.send(5, step_ns=0)
        return world.probe.says(COMMAND, 'do its stamps advance')

    world.probe.until(stuck, 'standing stamps told')
    assert_stopped_then_recovers(world, 'stale', seen_before)


def test_repeated_stamps_leave_the_command_the_same(world):
    before = list(world.commands[-1].data)
    world.arm.send(50, step_ns=0, pause=0.0)  # within state_timeout, or time would stop the arm
    world.arm.send(5)
    assert list(world.commands[-1].data) == before
    world.arm.until(
        lambda: int(world.probe.diagnostics[STATES][2]['repeated stamps']) > 0,
        'repeated stamps are counted',
    )


@pytest.mark.parametrize('seconds', [-50, 50])
def test_a_clock_that_leaps_stops_the_arm_which_recovers(world, seen_before, seconds):
    world.arm.stamp_ns += seconds * 10**9
    world.arm.send(1)
    assert_stopped_then_recovers(world, 'clock_jumped', seen_before)


def test_a_joint_that_leaps_stops_the_arm_which_recovers(world, seen_before):
    world.arm.send(1, position=list(FER.home + [0, 0, 0.2, 0, 0, 0, 0]))
    assert_stopped_then_recovers(world, 'jumped', seen_before, latches=True)


def test_a_speed_without_motion_stops_before_it_matters(world, seen_before):
    count = len(world.commands)

    def contradicted():
        world.arm.send(1, velocity=[4.3] * 7)
        return any(not np.any(command.data) for command in world.commands[count:])

    world.probe.until(contradicted, 'zero torque after a speed without motion')
    # C dq alone would be tens of newton-metres. Some ten states at 1000 N m/s of stamps, of which
    # a millisecond counts however many were lost: 11 N m were seen.
    largest = np.abs(np.array([c.data for c in world.commands[count:]]) - RUNNING)
    allowed = np.maximum(np.abs(RUNNING), 15.0)
    assert (largest <= allowed).all()
    assert_stopped_then_recovers(world, 'contradictory', seen_before, latches=True)


def test_interleaved_publishers_stop_the_arm_which_recovers(world, seen_before):
    # The reader keeps only the latest message: pairs are sent, each message by itself, until
    # enough of them were seen, however busy the machine is.
    def interleaved():
        world.arm.send(1, step_ns=-12 * 10**6, pause=5e-3)
        world.arm.send(1, step_ns=13 * 10**6, pause=5e-3)
        return not np.any(world.commands[-1].data)

    world.probe.until(interleaved, 'zero torque after two publishers')
    assert_stopped_then_recovers(world, 'interleaved', seen_before, latches=True)


def test_a_slow_topic_stops_commands_while_terms_go_on(world, seen_before):
    gravity = world.probe.collect(JointState, '/feedforward/gravity')

    def slow():
        world.arm.send(5, step_ns=33 * 10**6)
        return world.probe.says(COMMAND, 'too_slow') and gravity

    world.probe.until(slow, 'too slow is told')
    count, terms = len(world.commands), len(gravity)
    world.arm.send(50, step_ns=33 * 10**6, pause=5e-3)
    assert len(world.commands) == count
    assert len(gravity) > terms
    assert_stopped_then_recovers(world, 'too_slow', seen_before)


def test_a_gap_in_the_stamps_stops_the_arm_which_recovers(world, seen_before):
    def dropped():
        return int(world.probe.diagnostics[STATES][2]['dropped'])

    before = dropped()
    # Where a busy machine made the node stop for silence just before, the gap is none of a
    # trusted stream's: then another is made.
    for _ in range(10):
        world.arm.send(1, step_ns=400 * 10**6)
        assert_stopped_then_recovers(world, 'stale', seen_before)
        if dropped() >= before + 399:
            break
        world.probe.clear_fault('feedforward')
        world.arm.until(lambda: commanding(world), 'commands')
    else:
        pytest.fail(f'{dropped() - before} states were counted as dropped, not 399')


def test_one_late_message_is_counted_and_commands_go_on(world, seen_before):
    def out_of_order():
        """Return the count that diagnostics tell next, while good states go on."""
        world.probe.diagnostics.clear()
        world.arm.until(lambda: STATES in world.probe.diagnostics, 'diagnostics')
        return int(world.probe.diagnostics[STATES][2]['out of order'])

    before = out_of_order()
    # The reader keeps only the latest message, so a late one may be replaced before it is read:
    # it is sent alone, and again until it is counted.
    for _ in range(30):
        world.arm.send(1, step_ns=-2500 * 10**3, pause=0.02)
        world.arm.send(1, step_ns=3500 * 10**3)
        if out_of_order() > before:
            break
    else:
        pytest.fail('none of 30 late messages was counted')
    world.arm.until(lambda: commanding(world), 'commands go on')
    assert times(world, 'interleaved') == seen_before['interleaved']


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
