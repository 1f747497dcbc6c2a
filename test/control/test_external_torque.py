# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The momentum observer on a simulated arm that is pushed with a known force."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.external_torque import MomentumObserver, OBSERVER_GAIN
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.simulation.arm_simulation import ArmSimulation, Push, SimulationSettings

FER = load('fer')
FORCE = (0.0, 6.0, -8.0)  # 10 N at the flange
PUSH_AT, LONG_AFTER = 0.1, 0.1 + 10.0 / OBSERVER_GAIN


def observe(push, until):
    """Hold the arm by gravity and damping; yield position and estimate."""
    simulation = ArmSimulation(FER, SimulationSettings(push=push, brake_release_after=0.0))
    model = PinocchioModel(FER)
    observer = MomentumObserver(model)
    reading = simulation.read()
    while reading.time < until:
        simulation.step(model.gravity(reading.position) - 2.0 * reading.velocity)
        # The effort of this step acted on the state before it: pair them as a driver does.
        q, dq = reading.position, reading.velocity
        reading = simulation.read()
        yield q, observer.update(reading.time, q, dq, reading.effort)


def test_given_nobody_touches_when_observed_then_nothing_is_felt():
    # 1e-9 N m: far above rounding, far below what any sensor resolves.
    assert max(np.abs(torque).max() for *_, torque in observe(Push(), 0.3)) < 1e-9


def test_given_a_push_at_the_flange_when_observed_then_it_is_minus_jacobian_transpose_force():
    jacobian = NewtonEulerModel(FER).jacobian
    *_, (q, torque) = observe(Push(FORCE, PUSH_AT, 10.0), LONG_AFTER)
    expected = -jacobian(q)[:3].T @ np.array(FORCE)
    # The arm moves while pushed, and the observer lags by its time constant of 20 ms.
    np.testing.assert_allclose(torque, expected, rtol=0, atol=0.05 * np.abs(expected).max())


def test_given_a_push_when_it_begins_then_the_estimate_rises_with_the_stated_bandwidth():
    jacobian = NewtonEulerModel(FER).jacobian
    joint = 3
    *_, (q, torque) = observe(Push(FORCE, PUSH_AT, 10.0), PUSH_AT + 1.0 / OBSERVER_GAIN)
    expected = -(jacobian(q)[:3].T @ np.array(FORCE))[joint]
    # After one time constant a first-order lag has reached 1 - 1/e = 63 % of the step.
    assert torque[joint] / expected == pytest.approx(1 - np.exp(-1), abs=0.05)


def test_given_a_gap_in_the_states_when_observed_then_it_starts_over():
    model = PinocchioModel(FER)
    observer = MomentumObserver(model)
    dq = np.zeros(7)
    for k in range(100):
        torque = observer.update(1e-3 * k, FER.home, dq, np.zeros(7))
    assert np.abs(torque).max() > 1.0  # an effort of zero while gravity pulls: something lifts
    np.testing.assert_array_equal(observer.update(10.0, FER.home, dq, np.zeros(7)), np.zeros(7))
