# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands from outside: freshness, and gravity that the robot carries already."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.supervision import SupervisionLimits
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.fci.connection import FciReading
from franka_dynamics.fci.sources import CommandSource, FeedforwardSource, gravity_share

FR3 = load('fr3')
GRAVITY = NewtonEulerModel(FR3).gravity(FR3.home)
TIMEOUT_S = 0.02
ATOL_NM = 1e-12  # two formulations of the same terms: 1e-14 measured


def reading(time=0.0, q=FR3.home, dq=None):
    dq = np.zeros(7) if dq is None else dq
    return FciReading(time, np.array(q), dq, np.zeros(7), 1.0, 'Idle', '')


@pytest.fixture
def commands():
    return CommandSource(lambda _: GRAVITY, TIMEOUT_S)


@pytest.mark.parametrize(('command', 'share'), [
    (GRAVITY, 1.0), (0.6 * GRAVITY, 0.6), (np.zeros(7), 0.0),
    (np.array([20.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), 0.0),  # as large, but elsewhere
])
def test_given_a_command_when_its_gravity_is_asked_then_the_share_is_that_along_g(command, share):
    # Rounding of a quotient.
    np.testing.assert_allclose(gravity_share(command, GRAVITY), share, rtol=1e-14, atol=1e-14)


def test_given_gravity_in_the_command_when_at_rest_then_control_may_not_begin(commands):
    commands.take(GRAVITY + 0.1, 1.0)
    assert not commands.observe(reading(), 0.0, 1.0)
    assert 'command no gravity' in commands.reason


def test_given_a_fresh_command_when_asked_then_it_is_followed_until_stale(commands):
    commands.take(np.ones(7), 1.0)
    assert commands.observe(reading(), 0.0, 1.0 + 0.9 * TIMEOUT_S)
    np.testing.assert_allclose(commands.torque(reading(), 0.0, 1.0 + 0.9 * TIMEOUT_S), 1.0,
                               rtol=0.0, atol=0.0)
    assert commands.torque(reading(), 0.0, 1.0 + 1.1 * TIMEOUT_S) is None
    assert commands.reason.startswith('stale command: none came for 22 ms')
    assert not commands.observe(reading(), 0.0, 1.0)


def test_given_the_feedforward_when_fed_with_states_then_its_torque_is_coriolis_alone():
    controller = FeedforwardController(FR3, Settings(ramp_time=0.0),
                                       SupervisionLimits(recovery_samples=2))
    source = FeedforwardSource(controller)
    dq = np.array([0.5, 0.4, -0.3, 0.5, 0.2, -0.4, 0.3])

    def state(i):
        return reading(1e-3 * i, FR3.home + 1e-3 * i * dq, dq)

    ready = [source.observe(state(i), 1e-3 * i, 1e-3 * i) for i in range(4)]
    assert ready == [False, False, True, True]
    source.begin()
    torques = [source.torque(state(i), 1e-3 * i, 1e-3 * i) for i in range(4, 20)]
    expected = NewtonEulerModel(FR3).coriolis(state(19).q, dq)
    np.testing.assert_allclose(torques[-1], expected, rtol=0.0, atol=ATOL_NM)
    source.end()
    assert not controller.stopping
    source.begin()
    assert source.torque(state(20), 0.02, 0.02) is not None


def test_given_a_state_that_jumps_when_in_control_then_the_feedforward_gives_up_with_the_reason():
    source = FeedforwardSource(FeedforwardController(
        FR3, Settings(), SupervisionLimits(recovery_samples=2)))
    for i in range(4):
        source.observe(reading(1e-3 * i), 1e-3 * i, 1e-3 * i)
    source.begin()
    assert source.torque(reading(0.004), 0.004, 0.004) is not None
    assert source.torque(reading(0.005, FR3.home + 0.5), 0.005, 0.005) is None
    assert 'faster than it can' in source.reason
