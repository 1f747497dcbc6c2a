# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands from outside: freshness, and gravity that the robot carries already."""

from contextlib import nullcontext
import re
from types import SimpleNamespace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.cycle_result import Mode
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.supervision import SupervisionLimits
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import CommandRefusedError
from franka_dynamics.fci.connection import FciReading
from franka_dynamics.fci.preflight import PreflightResult, PreflightVerdict
from franka_dynamics.fci.sources import CommandSource, FeedforwardSource
from franka_dynamics.fci.torque_loop import LoopState, TorqueLoop

FR3 = load('fr3')
GRAVITY = NewtonEulerModel(FR3).gravity(FR3.home)
TIMEOUT_S = 0.02
ATOL_NM = 1e-12  # two formulations of the same terms: 1e-14 measured


def controller(**settings):
    return FeedforwardController(
        FR3, Settings(ramp_time=0.0, **settings), SupervisionLimits(recovery_samples=2)
    )


def reading(time=0.0, q=FR3.home, dq=None):
    dq = np.zeros(7) if dq is None else dq
    return FciReading(time, np.array(q), dq, np.zeros(7), 1.0, 'Idle', '')


@pytest.fixture
def commands():
    source = CommandSource(controller(), TIMEOUT_S)
    settle(source)
    return source


def settle(source, count=3):
    """Let states be trusted; none of them is later than a stamp of 1 s."""
    for i in range(count):
        source.observe(reading(), 0.997 + 1e-3 * i, 0.997 + 1e-3 * i)


def test_gravity_in_the_command_then_control_may_not_begin(commands):
    commands.take(GRAVITY + 0.1, 1.0)
    assert not commands.observe(reading(), 1.0, 1.0)
    assert 'command no gravity' in commands.reason


def test_a_fresh_command_is_followed_until_stale(commands):
    commands.take(np.ones(7), 1.0)
    assert commands.observe(reading(), 1.0, 1.0 + 0.9 * TIMEOUT_S)
    np.testing.assert_allclose(
        commands.torque(reading(), 1.001, 1.0 + 0.9 * TIMEOUT_S), 1.0, rtol=0.0, atol=0.0
    )
    assert commands.torque(reading(), 1.002, 1.0 + 1.1 * TIMEOUT_S) is None
    assert commands.reason.startswith('stale command: none came for 22 ms')
    assert not commands.observe(reading(), 1.003, 1.0)
    assert not commands.fault  # a new command is enough


@pytest.mark.parametrize(
    ('command', 'sentence'),
    [
        (np.full(7, 1e300), 'a command of 1e+300 N m for fr3_joint1, whose limit is 87 N m'),
        (12.01 * np.eye(7)[4], 'of 12.01 N m for fr3_joint5, whose limit'),
        (np.full(7, np.nan), 'a command of nan N m for fr3_joint1'),
        (np.zeros(10**6), 'a command of 1000000 values'),
    ],
)
def test_an_unusable_command_then_nothing_is_followed_any_more(commands, command, sentence):
    commands.take(np.ones(7), 1.0)
    commands.begin()
    assert commands.torque(reading(), 1.0, 1.0) is not None
    with pytest.raises(CommandRefusedError, match=re.escape(sentence)) as refused:
        commands.take(command, 1.0)
    assert len(str(refused.value)) < 300
    assert commands.torque(reading(), 1.001, 1.001) is None
    assert commands.fault == commands.reason == str(refused.value)
    commands.take(np.ones(7), 1.002)
    assert commands.torque(reading(), 1.002, 1.002) is None  # not before it is acknowledged
    commands.clear_fault()
    commands.take(np.ones(7), 1.003)
    assert commands.torque(reading(), 1.003, 1.003) is not None


@pytest.mark.parametrize(('speed', 'every'), [(0.0, 1000), (0.5, 1000), (0.0, 10)])
def test_gravity_in_the_command_while_controlling_then_it_stops(commands, speed, every):
    # At rest and in motion: an arm that is pushed up by its own weight moves soon. And where the
    # robot sends every tenth state again, which says nothing about the command.
    dq = np.array([0.0, speed, 0.0, 0.0, 0.0, 0.0, 0.0])
    commands.begin()
    followed = 0
    for i in range(100):
        t = 1.0 + 1e-3 * i
        new = t - 1e-3 * (i % every == every - 1)
        commands.take(0.8 * GRAVITY, t)
        state = reading(q=FR3.home + (new - 1.0) * dq, dq=dq)
        followed += commands.torque(state, new, t) is not None
    assert followed == 19 + 19 // (every - 1)
    assert re.match(r'the command carries (79|80|81)% of g\(q\)', commands.fault)


def test_torques_that_accelerate_the_arm_are_no_gravity(commands):
    # Along a sine of 1 rad and 1 Hz in all joints the largest share lasts shorter.
    t = 1e-3 * np.arange(1000)  # a period
    phase = 2.0 * np.pi * t[:, None] * np.ones(7)
    q = FR3.home + 0.3 * np.sin(phase)
    dq = 0.6 * np.pi * np.cos(phase)
    weightless = NewtonEulerModel(FR3, (0.0, 0.0, 0.0))
    torques = weightless.inverse_dynamics(q, dq, -1.2 * np.pi**2 * np.sin(phase))
    limit = FR3.limit('effort')
    for stamp, state, speed, torque in zip(1.0 + t, q, dq, np.clip(torques, -limit, limit)):
        commands.take(torque, stamp)
        assert commands.torque(reading(q=state, dq=speed), stamp, stamp) is not None


def test_a_payload_that_is_ours_is_followed():
    ball = (3.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.0, 0.01, 0.0, 0.01)
    known = controller(payload=ball, payload_known_to_robot=False)
    source = CommandSource(known, TIMEOUT_S)
    settle(source)
    ours = known.terms.gravity_left_to_us(np.array(FR3.home), known.terms.gravity(FR3.home))
    assert np.abs(ours).max() > 10.0
    for i in range(100):
        t = 1.0 + 1e-3 * i
        source.take(ours, t)
        assert source.torque(reading(), t, t) is not None


def numbers(commands, sequence):
    """Return how many commands with these numbers were taken."""
    for taken, number in enumerate(sequence):
        try:
            commands.take(np.zeros(7), 1.0, number)
        except CommandRefusedError as error:
            assert 'more than one publisher' in str(error)
            return taken
    return len(sequence)


def test_two_publishers_interleaved_are_refused(commands):
    both = [n for pair in zip(range(5000, 5050), range(1, 51)) for n in pair]
    assert numbers(commands, both) <= 6
    assert 'take turns' in commands.fault


@pytest.mark.parametrize(('fast', 'slow'), [(900, 0), (0, 9000), (500, 495), (500, 505)])
def test_a_slow_second_publisher_is_refused(commands, fast, slow):
    share = 100
    sequence = [
        n for i in range(4) for n in (*range(fast + share * i, fast + share * (i + 1)), slow + i)
    ]
    assert numbers(commands, sequence) <= 3 * (share + 1)


@pytest.mark.parametrize(
    'sequence',
    [
        range(1, 200),
        [*range(1, 100), *range(1, 300)],  # restarted once
        [*range(1, 3000), *range(1, 20), *range(1, 3100)],  # and twice
        [*range(1, 500, 7)],
        [None] * 100,
    ],
)
def test_one_publisher_that_loses_or_restarts_is_taken(commands, sequence):
    assert numbers(commands, list(sequence)) == len(list(sequence))


def test_models_that_differ_while_running_then_the_fault_stays():
    source = FeedforwardSource(controller())
    differences = iter(['', 'cross-check: 0.1 N m', ''])
    source.controller.crosscheck.run = lambda: next(differences)
    for i in range(2):
        source.controller.check_models(nullcontext())
        source.observe(reading(), 1e-3 * i, 1e-3 * i)
        source.monitor()
    source.clear_fault()
    assert source.fault == 'cross-check: 0.1 N m'
    assert source.torque(reading(), 0.002, 0.002) is None


DQ = np.array([0.5, 0.4, -0.3, 0.5, 0.2, -0.4, 0.3])


def moving(i, dq=DQ):
    """Return the state of millisecond i of an arm at a constant velocity."""
    return reading(1e-3 * i, FR3.home + 1e-3 * i * dq, dq)


def begun(dq=DQ):
    """Return a feedforward that has begun, and what gives its torque in a millisecond."""
    source = FeedforwardSource(controller())
    ready = [source.observe(moving(i, dq), 1e-3 * i, 1e-3 * i) for i in range(4)]
    assert ready == [False, False, True, True]
    source.begin()
    return source, lambda i: source.torque(moving(i, dq), 1e-3 * i, 1e-3 * i)


def test_the_feedforward_then_torque_is_coriolis_alone():
    source, torque = begun()
    torques = [torque(i) for i in range(4, 20)]
    expected = NewtonEulerModel(FR3).coriolis(moving(19).q, DQ)
    np.testing.assert_allclose(torques[-1], expected, rtol=0.0, atol=ATOL_NM)
    source.end()
    assert not source.controller.stopping
    source.begin()
    assert torque(20) is not None


def test_a_repeated_state_does_not_end_the_brake():
    source, torque = begun()
    for i in range(4, 20):
        torque(i)
    source.controller.stop('a reason')
    assert source.controller.mode is Mode.BRAKING
    braking = torque(20)
    np.testing.assert_array_equal(torque(20), braking)
    assert source.controller.mode is Mode.BRAKING
    assert torque(21) is not None


def test_states_that_stand_still_end_the_torque():
    # As where a robot repeats one state for ever: its torque would be held as long.
    source, _ = begun(np.zeros(7))
    held = [source.torque(reading(0.004), 0.004, 1e-3 * i) is not None for i in range(4, 100)]
    assert held[:15] == [True] * 15  # 20 ms may be missing
    assert held[25:] == [False] * len(held[25:])
    assert 'no new joint state for' in source.reason


def test_a_moving_arm_is_braked_when_the_loop_is_disabled():
    # Given an arm at 0.5 rad/s that is driven by a loop.
    sent = []
    connection = SimpleNamespace(
        begin=lambda: None, write=lambda torque, last: sent.append(torque)
    )
    passed = SimpleNamespace(
        result=PreflightResult(PreflightVerdict.PASSED, ''),
        restart=lambda: None,
        observe=lambda _: PreflightVerdict.PASSED,
    )
    loop = TorqueLoop(
        connection,
        FeedforwardSource(controller()),
        passed,
        FR3.limit('effort'),
        FR3.limit('effort_rate'),
    )
    loop.enable()

    def run(first, last):
        for i in range(first, last):
            loop.answer(moving(i), 1e-3 * i, 1e-3 * i)

    run(0, 20)
    # When it is disabled, then it is braked before the torque ramps to zero.
    loop.disable('disabled')
    run(20, 30)
    assert loop.state is LoopState.STOPPING
    assert sent[-1] @ DQ < -1.0  # W taken out
    # And a made-up arm that moves on all the same is left alone after a second.
    run(30, 1200)
    assert (loop.state, loop.stops) == (LoopState.IDLE, 1)
    assert not sent[-1].any()
    assert np.abs(np.diff(sent, axis=0)).max() < 1.0


def test_a_state_that_jumps_then_the_feedforward_gives_up():
    source, torque = begun(np.zeros(7))
    assert torque(4) is not None
    assert source.torque(reading(0.005, FR3.home + 0.5), 0.005, 0.005) is None
    assert 'faster than it can' in source.reason
