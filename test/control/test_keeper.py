# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The keeper's decisions, without processes: when a stop begins, where it ends, who is heard."""

import numpy as np
import pytest

from franka_dynamics.control.keeper import Keeper, KeeperState
from franka_dynamics.control.settings import Stop

SILENCE_S, STEP_S = 0.1, 1e-3
HELD = np.array([80.0, -40.0, 0.0, 10.0, 0.0, 1.0, 0.25])
GRAVITY = np.array([0.0, -30.0, 1.0, 18.0, 0.5, 2.0, 0.0])


def ramp(keeper):
    """Return the torques of a whole stop sequence, the held one first."""
    torques = [keeper.torque]
    while (torque := keeper.step(STEP_S)) is not None:
        torques.append(torque)
    return np.array(torques)


def commanded(stop):
    """Return a keeper that has heard a command."""
    keeper = Keeper(stop, SILENCE_S)
    keeper.note_command(HELD, 1.0)
    return keeper


@pytest.fixture
def keeper():
    return commanded(Stop.ZERO)


def test_a_death_then_torque_ramps_to_zero_within_the_rate(keeper):
    assert keeper.note_death()
    torques = ramp(keeper)
    np.testing.assert_allclose(torques[-1], 0.0, rtol=0.0, atol=0.0)
    assert len(torques) == 81  # 80 N m at 1 N m per millisecond
    assert np.abs(np.diff(torques, axis=0)).max() <= 1.0
    assert keeper.state is KeeperState.WATCHING


def test_given_an_orderly_end_then_nothing_is_published(keeper):
    keeper.note_command(np.zeros(7), 1.1)
    assert not keeper.note_death()
    assert not keeper.check_silence(10.0)
    assert keeper.step(STEP_S) is None


def test_given_no_command_ever_then_nothing_is_published():
    keeper = Keeper(Stop.ZERO, SILENCE_S)
    assert not keeper.note_death()
    assert not keeper.check_silence(10.0)


def test_what_was_never_heard_is_named():
    keeper = Keeper(Stop.HOLD_GRAVITY, SILENCE_S)
    assert keeper.lacks == 'command'
    keeper.note_command(HELD, 1.0)
    assert keeper.lacks == 'gravity torque'
    keeper.note_gravity(GRAVITY, 1.0)
    assert keeper.lacks == ''


def test_given_silence_then_a_stalled_node_is_stopped_too(keeper):
    assert not keeper.check_silence(1.0 + 0.9 * SILENCE_S)
    assert keeper.check_silence(1.0 + 1.1 * SILENCE_S)
    assert keeper.reason == 'no command came for 110 ms, and the last one still acts'


def test_given_a_stalled_node_that_goes_on_then_it_is_not_fought(keeper):
    assert keeper.check_silence(2.0)
    keeper.step(STEP_S)
    keeper.note_command(HELD, 2.001)
    assert (keeper.state, keeper.step(STEP_S)) == (KeeperState.WATCHING, None)


def test_late_messages_then_the_ramp_goes_on_from_them(keeper):
    assert keeper.note_death()
    for _ in range(10):
        keeper.step(STEP_S)
    keeper.note_command(HELD + 0.5, 1.01)
    np.testing.assert_allclose(
        keeper.step(STEP_S),
        HELD + 0.5 - np.sign(HELD + 0.5).clip(-1.0, 1.0) * np.minimum(1.0, np.abs(HELD + 0.5)),
        rtol=0.0,
        atol=1e-12,
    )
    assert keeper.state is KeeperState.STOPPING


def test_somebody_commands_after_the_death_and_is_not_fought(keeper):
    assert keeper.note_death()
    for i in range(10):
        keeper.note_command(np.full(7, 2.0), 1.0 + 1e-3 * i)
    assert keeper.state is KeeperState.WATCHING


def test_a_new_process_while_stopping_then_it_is_not_fought(keeper):
    assert keeper.note_death()
    keeper.note_birth()
    keeper.note_command(np.zeros(7), 1.5)
    assert keeper.state is KeeperState.WATCHING


@pytest.fixture
def gravity_keeper():
    """Return one for a target where nobody else carries the arm."""
    return commanded(Stop.HOLD_GRAVITY)


def test_a_target_without_gravity_then_stop_ends_at_last_g(gravity_keeper):
    gravity_keeper.note_gravity(GRAVITY, 1.0)
    assert gravity_keeper.note_death()
    torques = ramp(gravity_keeper)
    np.testing.assert_allclose(torques[-1], GRAVITY, rtol=0.0, atol=0.0)
    assert np.abs(np.diff(torques, axis=0)).max() <= 1.0


def test_given_no_gravity_heard_then_the_torque_is_left(gravity_keeper):
    assert not gravity_keeper.note_death()
    assert gravity_keeper.step(STEP_S) is None


def test_given_terms_that_still_come_then_silence_is_on_purpose(gravity_keeper):
    gravity_keeper.note_gravity(GRAVITY, 5.0)
    assert not gravity_keeper.check_silence(5.05)
    assert gravity_keeper.check_silence(5.2)


def test_values_that_are_not_finite_then_they_are_not_taken(keeper):
    keeper.note_command(np.full(7, np.nan), 1.1)
    assert keeper.note_death()
    np.testing.assert_allclose(keeper.torque, HELD, rtol=0.0, atol=0.0)


def test_a_silence_of_zero_is_never_long_enough():
    keeper = Keeper(Stop.ZERO, 0.0)
    keeper.note_command(np.ones(7), 0.0)
    assert not keeper.check_silence(1e6)
    assert keeper.note_death()
