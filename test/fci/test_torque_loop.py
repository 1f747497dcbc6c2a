# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The loop against a made-up robot: ramps, ends, reflexes, a lost link."""

import numpy as np
import pytest

from franka_dynamics.errors import FciError
from franka_dynamics.fci.connection import COMMUNICATION, FciReading, REFLEX
from franka_dynamics.fci.preflight import PreflightResult, PreflightVerdict
from franka_dynamics.fci.torque_loop import LoopState, TorqueLoop

RATE_NM = 1.0  # 1000 N m/s in one cycle
EFFORT, EFFORT_RATE = np.full(7, 87.0), np.full(7, 1000.0)


class Robot:
    """Counts cycles and remembers what it is sent; raises what it is told to."""

    def __init__(self):
        self.sent, self.ended, self.moving, self.recovered = [], 0, False, 0
        self.fault = None

    def read(self):
        if self.fault is not None:
            fault, self.fault, self.moving = self.fault, None, False
            raise fault
        return FciReading(
            1e-3 * len(self.sent), np.zeros(7), np.zeros(7), np.zeros(7), 1.0, 'Move', ''
        )

    def begin(self):
        self.moving = True

    def write(self, torque, *, last=False):
        assert self.moving, 'a torque outside a motion'
        self.sent.append(torque)
        self.moving = not last
        self.ended += last

    def recover(self):
        self.recovered += 1


class Source:
    """Wants one torque until told not to; raises or reports a fault where told to."""

    def __init__(self, torque):
        self.requested, self.reason, self.ends = torque, 'no reason yet', 0
        self.fault, self.error, self.monitored, self.stopped = '', None, 0, False

    def clear_fault(self):
        self.fault = ''

    def observe(self, *_):
        return self.requested is not None

    def begin(self):
        self.stopped = False

    def torque(self, *_):
        if self.error is not None:
            raise self.error
        return None if self.stopped else self.requested

    def monitor(self):
        self.monitored += 1

    def stop(self, reason):
        self.stopped = True

    def end(self):
        self.ends += 1


class StartCheck:
    """Gives the verdict it is told to."""

    def __init__(self):
        self.result, self.restarts = PreflightResult(PreflightVerdict.PASSED, 'at rest'), 0

    def restart(self):
        self.restarts += 1

    def observe(self, _):
        return self.result.verdict


@pytest.fixture
def start_check():
    return StartCheck()


@pytest.fixture
def world(start_check):
    robot, source = Robot(), Source(np.full(7, 5.5))
    loop = TorqueLoop(robot, source, start_check, EFFORT, EFFORT_RATE)
    loop.enable()
    return robot, source, loop


def run(loop, cycles):
    for _ in range(cycles):
        loop.answer(loop.read(), 0.0, 0.0)


def test_a_step_when_followed_then_each_change_is_below_the_rate(world):
    robot, _, loop = world
    run(loop, 20)
    changes = np.diff([np.zeros(7), *robot.sent], axis=0)
    assert 0.0 < np.abs(changes).max() < RATE_NM
    np.testing.assert_allclose(robot.sent[-1], 5.5, rtol=0.0, atol=0.0)


def test_a_source_that_gives_up_then_torque_returns_to_zero(world):
    robot, source, loop = world
    run(loop, 20)
    source.requested, source.reason = None, 'stale command'
    run(loop, 3)
    assert loop.state is LoopState.STOPPING
    run(loop, 20)
    assert (loop.state, robot.ended, source.ends) == (LoopState.IDLE, 1, 1)
    assert loop.last_stop == 'stale command'
    np.testing.assert_allclose(robot.sent[-1], 0.0, rtol=0.0, atol=0.0)
    assert np.abs(np.diff(robot.sent, axis=0)).max() < RATE_NM


def test_a_torque_beyond_the_limit_then_the_limit_is_sent(world):
    robot, source, loop = world
    source.requested = np.full(7, 1e6)
    run(loop, 120)
    np.testing.assert_allclose(robot.sent[-1], 87.0, rtol=0.0, atol=0.0)


def test_a_reflex_then_it_waits_to_be_enabled_again(world):
    robot, source, loop = world
    run(loop, 5)
    robot.fault = FciError(REFLEX, 'the robot stopped: cartesian_reflex')
    sent = len(robot.sent)
    run(loop, 10)
    assert (loop.state, source.ends, len(robot.sent)) == (LoopState.FAULT, 1, sent)
    assert loop.reason == 'reflex: the robot stopped: cartesian_reflex'
    loop.enable()
    run(loop, 10)
    assert (loop.state, robot.recovered) == (LoopState.CONTROLLING, 1)
    assert np.abs(robot.sent[sent]).max() < RATE_NM  # from zero again


def test_a_lost_link_when_reading_then_the_error_is_the_callers(world):
    robot, source, loop = world
    run(loop, 5)
    robot.fault = FciError(COMMUNICATION, 'UDP receive: Timeout')
    with pytest.raises(FciError, match='UDP receive: Timeout'):
        loop.read()
    assert (loop.state, source.ends) == (LoopState.FAULT, 1)


@pytest.mark.parametrize('begun', [0, 20])
def test_given_an_exception_in_the_source_then_the_ramp_goes_on(world, begun):
    robot, source, loop = world
    run(loop, begun)
    source.error = ZeroDivisionError('division by zero')
    # Also the cycle in which it happens is answered.
    sent, controlling = len(robot.sent), loop.state is LoopState.CONTROLLING
    run(loop, 1)
    assert not controlling or len(robot.sent) == sent + 1
    run(loop, 29)
    assert (loop.state, robot.ended, loop.enabled) == (LoopState.IDLE, 1, False)
    assert loop.failure is source.error
    assert loop.last_stop == 'ZeroDivisionError: division by zero'
    # No cycle was left unanswered, and every step was within the rate.
    assert len(robot.sent) >= begun
    np.testing.assert_allclose(robot.sent[-1], 0.0, rtol=0.0, atol=0.0)
    assert np.abs(np.diff([np.zeros(7), *robot.sent], axis=0)).max() < RATE_NM


def test_given_an_exception_in_the_monitor_then_the_ramp_goes_on(world):
    robot, source, loop = world
    run(loop, 20)

    def monitor():
        raise KeyError('term')

    source.monitor = monitor
    run(loop, 30)
    assert (loop.state, robot.ended, type(loop.failure)) == (LoopState.IDLE, 1, KeyError)


def test_given_a_refusal_at_rest_then_no_motion_ever_begins(world, start_check):
    robot, _, loop = world
    start_check.result = PreflightResult(PreflightVerdict.REFUSED, 'tau_J differs')
    run(loop, 50)
    assert (robot.sent, loop.enabled, loop.stops) == ([], False, 1)
    assert loop.reason == loop.last_stop == 'refused: tau_J differs'
    assert loop.latched
    restarts = start_check.restarts
    start_check.result = PreflightResult(PreflightVerdict.PASSED, 'agrees')
    run(loop, 5)
    assert not robot.sent  # not before it is acknowledged
    loop.enable()
    run(loop, 5)
    assert (loop.state, start_check.restarts) == (LoopState.CONTROLLING, restarts + 1)


def test_given_a_fault_of_the_source_then_it_stays_until_enabled(world):
    robot, source, loop = world
    run(loop, 20)
    source.fault = 'two publishers'
    run(loop, 30)
    sent = len(robot.sent)
    assert (loop.state, loop.last_stop, loop.latched) == (LoopState.IDLE, 'two publishers', True)
    np.testing.assert_allclose(robot.sent[-1], 0.0, rtol=0.0, atol=0.0)
    run(loop, 30)
    assert len(robot.sent) == sent
    loop.enable()
    run(loop, 5)
    assert (loop.state, source.fault) == (LoopState.CONTROLLING, '')
