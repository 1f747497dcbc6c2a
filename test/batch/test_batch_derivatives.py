# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives and forward dynamics of batches against Pinocchio's own algorithms."""

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel

GRAVITY = (1.0, -2.0, -9.4)
ATOL = 1e-11  # N m per rad, rad/s, rad/s^2; 4e-14 measured on the FER
RTOL = 1e-10  # of accelerations, up to 1e4 rad/s^2 on light wrists; 9e-14 measured on the FER
ARMS = ['fer', 'rpr']  # generated code for each takes seconds to compile


def stacks(name, count=70, seed=0):
    arm = load(name)
    return arm, sample_states(arm, count, seed=seed)


@pytest.mark.parametrize('name', ARMS)
def test_torque_derivatives_of_a_batch_agree_with_pinocchio(name):
    arm, states = stacks(name)
    found = BatchModel(arm, GRAVITY).inverse_dynamics_derivatives(*states)
    model = PinocchioModel(arm, GRAVITY)
    for i, state in enumerate(zip(*states)):
        by_q, by_dq, _ = pin.computeRNEADerivatives(model.model, model.data, *state)
        np.testing.assert_allclose(found.by_position[i], by_q, rtol=0.0, atol=ATOL)
        np.testing.assert_allclose(found.by_velocity[i], by_dq, rtol=0.0, atol=ATOL)
        np.testing.assert_allclose(
            found.by_acceleration[i], model.mass_matrix(state[0]), rtol=0.0, atol=ATOL
        )


@pytest.mark.parametrize('name', ARMS)
def test_accelerations_of_a_batch_agree_with_articulated_bodies(name):
    # Pinocchio's articulated-body algorithm never forms M.
    arm, (q, dq, _) = stacks(name, seed=1)
    tau = np.random.default_rng(2).uniform(-1.0, 1.0, q.shape) * 20.0
    found = BatchModel(arm, GRAVITY).forward_dynamics(q, dq, tau)
    model = PinocchioModel(arm, GRAVITY)
    expected = [pin.aba(model.model, model.data, *state) for state in zip(q, dq, tau)]
    np.testing.assert_allclose(found, expected, rtol=RTOL, atol=RTOL)


@pytest.mark.parametrize('name', ARMS)
def test_coriolis_matrices_are_pinocchios_and_skew(name):
    arm, (q, dq, _) = stacks(name, seed=3)
    batch, model = BatchModel(arm, GRAVITY), PinocchioModel(arm, GRAVITY)
    found = batch.coriolis_matrix(q, dq)
    expected = [model.coriolis_matrix(*state) for state in zip(q, dq)]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)
    torques = np.einsum('kij,kj->ki', found, dq)
    centrifugal = [model.coriolis(*state) for state in zip(q, dq)]
    np.testing.assert_allclose(torques, centrifugal, rtol=0.0, atol=1e-10)
    # dM/dt - 2 C is skew, dM/dt by central differences along dq.
    step = 1e-5
    ahead, behind = (
        np.array([model.mass_matrix(row) for row in q + sign * step * dq]) for sign in (1.0, -1.0)
    )
    defect = (ahead - behind) / (2.0 * step) - 2.0 * found
    np.testing.assert_allclose(defect, -np.swapaxes(defect, -1, -2), rtol=0.0, atol=1e-7)


def test_given_leading_axes_when_differentiated_then_they_stay():
    arm, states = stacks('fer', 6)
    model = BatchModel(arm, GRAVITY)
    flat = model.inverse_dynamics_derivatives(*states)
    out = np.empty((2, 3, 3, 7, 7))
    stacked = model.inverse_dynamics_derivatives(*(s.reshape(2, 3, 7) for s in states), out=out)
    assert np.shares_memory(stacked.by_velocity, out)
    for one, other in zip(flat, stacked):
        np.testing.assert_array_equal(other.reshape(6, 7, 7), one)


def test_a_state_that_is_not_finite_makes_only_its_row_nan():
    arm, states = stacks('fer', 40)
    model = BatchModel(arm, GRAVITY)
    clean = model.inverse_dynamics_derivatives(*states)
    q = states[0].copy()
    q[17, 3] = np.nan
    nan_mask = model.inverse_dynamics_derivatives(q, *states[1:])
    pushed = model.forward_dynamics(q, *states[1:])
    others = np.arange(40) != 17
    for one, other in zip(clean, nan_mask):
        np.testing.assert_array_equal(other[others], one[others])
        assert np.isnan(other[17]).all()
    assert np.isnan(pushed[17]).all() and np.isfinite(pushed[others]).all()
