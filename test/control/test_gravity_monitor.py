# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Who compensates gravity, judged on simulated arms whose truth is known."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.cycle_result import Cycle
from franka_dynamics.control.gravity_monitor import (
    GravityGuard,
    GravityState,
    judge,
    WINDOW,
)
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.terms import TermModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings

FER = load('fer')
MODEL = PinocchioModel(FER)
WEIGHTLESS = {'gravity': (0.0, 0.0, 0.0)}
SETTINGS = Settings(target='mujoco')


def cycle(stamp, q, dq, effort, command, gravity):
    """Return a cycle as the controller makes it."""
    return Cycle(None, stamp, q, dq, effort, gravity, previous=command)


def verdict(command_share, **settings):
    """Simulate one window under a share of g(q) as command; return what the watch says."""
    simulation = ArmSimulation(FER, SimulationSettings(brake_release_after=0.0, **settings))
    guard = GravityGuard(SETTINGS, TermModel(FER, SETTINGS))
    waiting = guard.evidence
    while guard.evidence is waiting:
        gravity = MODEL.gravity(simulation.position)
        simulation.step(command_share * gravity)
        reading = simulation.read()
        state = (reading.time, reading.position, reading.velocity, reading.effort)
        guard.add(cycle(*state, command_share * gravity, gravity), running=False)
        assert reading.time < 2 * WINDOW * 1e-3
    return guard.evidence


@pytest.mark.parametrize(
    ('share', 'settings', 'expected'),
    [
        (0.0, {'gravity_compensation': True}, GravityState.COMPENSATED),
        (1.0, {'gravity_compensation': True}, GravityState.COMPENSATED),
        (1.0, {}, GravityState.UNCOMPENSATED),
        (1.0, {'effort_noise': 0.1, 'velocity_noise': 1e-3}, GravityState.UNCOMPENSATED),
        (0.0, {**WEIGHTLESS, 'effort_noise': 0.05}, GravityState.NO_GRAVITY),
        (1.0, WEIGHTLESS, GravityState.NO_GRAVITY),
        # Nobody carries it: it falls, and the window sees that gravity pulls.
        (0.0, {'effort_noise': 0.05}, GravityState.UNCOMPENSATED),
    ],
)
def test_a_simulated_arm_gets_the_right_verdict_on_its_gravity(share, settings, expected):
    evidence = verdict(share, **settings)
    assert evidence.state is expected, evidence.sentence
    assert evidence.commanded == pytest.approx(share, abs=0.01)


def test_an_arm_that_falls_shows_it_without_any_effort():
    evidence = verdict(0.0)
    assert evidence.state is GravityState.UNCOMPENSATED
    assert evidence.idle
    assert 'exactly zero, but the arm falls with 100% of g(q)' in evidence.sentence


def test_an_effort_across_gravity_gives_an_unknown_verdict():
    gravity = MODEL.gravity(FER.home)
    contact = np.zeros(7)
    contact[0] = 30.0  # joint 1's axis is vertical: no gravity torque is ever along it
    evidence = judge(gravity + contact, gravity, gravity, np.zeros(7))
    assert evidence.state is GravityState.UNKNOWN
    assert 'does not point along' in evidence.sentence


def windows_of(guard, speed, count):
    """
    Return the first conflict that windows of states of an arm at a speed [rad/s] show.

    Command and effort are 1.5 g(q), and it speeds up as if nothing pulled the other way.
    """
    gravity = MODEL.gravity(FER.home)
    ddq = np.linalg.solve(MODEL.mass_matrix(FER.home), 1.5 * gravity)
    for k in range(count * WINDOW):
        dq = speed + 1e-3 * k * ddq
        state = cycle(1e-3 * k, FER.home, dq, 1.5 * gravity, 1.5 * gravity, gravity)
        conflict = guard.add(state, running=True)
        if conflict is not None:
            return conflict
    return None


def test_a_moving_arm_with_late_efforts_is_not_weightless():
    guard = GravityGuard(SETTINGS, TermModel(FER, SETTINGS))
    assert windows_of(guard, 1.0, 5) is None
    guard.restart()
    still = MODEL.gravity(FER.home)
    for k in range(WINDOW):
        state = (FER.home, np.zeros(7), 0.01 * still, 0.01 * still, still)
        guard.add(cycle(-1.0 + 1e-3 * k, *state), running=True)
    conflict = windows_of(guard, 0.0, 2)
    assert 'the arm is no gravity' in conflict.reason


def test_states_from_before_running_decide_nothing():
    guard = GravityGuard(SETTINGS, TermModel(FER, SETTINGS), held_until_commanded=True)
    gravity = MODEL.gravity(FER.home)
    state = (FER.home, np.zeros(7), gravity, np.zeros(7), gravity)
    for k in range(WINDOW - 1):
        assert guard.add(cycle(1e-3 * k, *state), running=False) is None
    assert guard.add(cycle(1e-3 * WINDOW, *state), running=True) is None
    conflicts = [guard.add(cycle(1e-3 * k, *state), running=True) for k in range(20, 20 + WINDOW)]
    assert 'the arm is compensated' in conflicts[-1].reason
