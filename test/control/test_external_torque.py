# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The momentum observer on a simulated arm: known pushes, friction, gaps."""

from dataclasses import replace
import functools

import numpy as np
import pytest

from franka_dynamics.arm import load, MaxwellSlipFriction, ViscousCoulombFriction
from franka_dynamics.control.external_torque import friction_in_effort, MomentumObserver
from franka_dynamics.control.guard_replay import replay_guard
from franka_dynamics.control.settings import TARGETS
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.simulation.arm_simulation import ArmSimulation, Push, SimulationSettings

FER = load('fer')
FORCE = (0.0, 6.0, -8.0)  # 10 N at the flange
PUSH_AT, LONG_AFTER = 0.1, 0.3


def test_a_flange_push_is_observed_as_minus_j_transpose_force_and_nothing_before():
    simulation = ArmSimulation(
        FER, SimulationSettings(push=Push(FORCE, PUSH_AT, 10.0), brake_release_after=0.0)
    )
    model = PinocchioModel(FER)
    observer, reading, before = MomentumObserver(model), simulation.read(), []
    while reading.time < LONG_AFTER:
        # The arm is held by gravity torque and damping. The effort of this step is paired with the
        # state before the step, as a driver does.
        q, dq = reading.position, reading.velocity
        simulation.step(model.gravity(q) - 2.0 * dq)
        reading = simulation.read()
        torque = observer.update(reading.time, q, dq, reading.effort)
        before += [torque] * (reading.time < PUSH_AT)
    # 1e-9 N m: far above rounding, far below what any sensor resolves.
    assert len(before) > 90 and np.abs(before).max() < 1e-9
    expected = -NewtonEulerModel(FER).jacobian(q)[:3].T @ np.array(FORCE)
    # The arm moves while pushed, and the observer lags by 12 ms.
    np.testing.assert_allclose(torque, expected, rtol=0, atol=0.05 * np.abs(expected).max())


def test_a_gap_in_the_states_starts_the_observer_over():
    model = PinocchioModel(FER)
    observer, dq = MomentumObserver(model), np.zeros(7)
    for k in range(100):
        observer.update(1e-3 * k, FER.home, dq, np.full(7, 10.0))
    # The observer restarts as if the arm did not accelerate: with an effort of zero, something
    # else must carry g.
    torque = observer.update(10.0, FER.home, dq, np.zeros(7))
    expected = -NewtonEulerModel(FER).gravity(FER.home)
    np.testing.assert_allclose(torque, expected, rtol=0, atol=1e-12)


def test_a_forgotten_torque_leaves_nothing_that_grows_again():
    observer, still = MomentumObserver(PinocchioModel(FER)), np.zeros(7)
    gravity = NewtonEulerModel(FER).gravity(FER.home)
    for k in range(5):  # 10 N m begin to act: the estimate still rises
        observer.update(1e-3 * k, FER.home, still, gravity + 10.0 * (k > 0))
    observer.forget_torque()
    for k in range(5, 50):
        torque = observer.update(1e-3 * k, FER.home, still, gravity)
        np.testing.assert_allclose(torque, still, rtol=0, atol=1e-9)


SLIP = MaxwellSlipFriction(*np.zeros((4, 7)), np.array([[0.4] * 7, [0.2] * 7]), [0.004, 0.05])


@functools.cache
def swing(friction):
    """Swing joints 4 and 5 by computed torque; return the states as a driver would pair them."""
    simulation = ArmSimulation(
        replace(FER, friction=friction), SimulationSettings(brake_release_after=0.0, friction=True)
    )
    model = PinocchioModel(FER)
    reading, states = simulation.read(), []
    while reading.time < 2.0:
        q, dq = reading.position, reading.velocity
        desired = np.zeros(7)
        desired[3:5] = 3.0 * np.cos(6.0 * reading.time)
        simulation.step(model.inverse_dynamics(q, dq, desired))
        reading = simulation.read()
        states.append((reading.time, q, dq, reading.effort))
    return states


STEADY = ViscousCoulombFriction(np.zeros(7), np.full(7, 0.6), np.zeros(7), width=0.01)


def by_guard(friction, states):
    rows = map(np.array, zip(*states))
    return replay_guard(replace(FER, friction=friction), *rows).residual.max()


@pytest.mark.parametrize(
    ('true', 'wrong', 'shown', 'left'),
    [
        # Half of joint 4's friction amplitude of 1.28 N m shows if friction is not subtracted. If
        # it is, 2.5 % of it remains, because state and effort are half a time step apart.
        (FER.friction, None, 0.4, 0.1),
        # Without the state of the slip elements, their 0.6 N m would show at every turn.
        (SLIP, STEADY, 0.2, 0.2),
    ],
)
def test_friction_is_taken_out_and_slip_elements_are_followed(true, wrong, shown, left):
    # The largest residual of an arm that nobody touches. It includes the first swing, before
    # which the elements' state is unknown.
    residual = by_guard(wrong, swing(true))
    assert residual > shown
    assert by_guard(true, swing(true)) < left * residual


@pytest.mark.parametrize(
    ('choice', 'target', 'taken_out'),
    [
        ('auto', 'fci', True),
        ('auto', 'mujoco', False),
        ('included', 'mujoco', True),
        ('excluded', 'fci', False),
    ],
)
def test_friction_in_effort_is_the_arm_files_or_none_by_choice(choice, target, taken_out):
    found = friction_in_effort(choice, FER, TARGETS[target])
    assert found is (FER.friction if taken_out else None)


def test_effort_friction_of_an_arm_without_friction_is_refused():
    with pytest.raises(SettingsError, match=r'effort_friction is included, but .*fr3.* has no'):
        friction_in_effort('included', load('fr3'), TARGETS['fci'])
