# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runge and Kutta's steps of batches: where they end, and their derivatives."""

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import load
from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.batch.steps import RungeKuttaSteps
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import JointVectorError

ARM = load('fr3')
N = ARM.n
CENTRAL = 1e-8  # of the largest entry; measured 7e-11
# What a change of position, velocity, torque, torque rate and duration is alike to.
ALIKE = (1.0, 1.0, 10.0, 1e3, 0.1)


def some_steps(count=5, seed=0):
    """Return states and torque rates whose accelerations are some 5 rad/s^2 and 100 rad/s^3."""
    rng, one = np.random.default_rng(seed), PinocchioModel(ARM)
    q, dq = rng.uniform(-1.0, 1.0, (2, count, N)) * [[[1.0]], [[2.0]]]
    tau = one.inverse_dynamics(q, dq, rng.uniform(-5.0, 5.0, (count, N)))
    mass = np.array([one.mass_matrix(each) for each in q])
    u = (mass @ rng.uniform(-100.0, 100.0, (count, N, 1)))[..., 0]
    return np.hstack((q, dq, tau)), u, rng.uniform(0.005, 0.02, count)


@pytest.fixture(scope='module')
def model():
    return BatchModel(ARM, threads=1)


@pytest.mark.parametrize('parts', [1, 3])
def test_derivatives_of_steps_are_central_differences(model, parts):
    steps = RungeKuttaSteps(model, parts)
    x, u, h = some_steps()
    found = steps.derivatives(x, u, h)
    z = np.column_stack((x, u, h))
    for k, size in enumerate(np.repeat(ALIKE, (N, N, N, N, 1)) * 6e-6):
        ends, rates = zip(
            *(
                (steps.ends(*np.split(at, (3 * N, -1), axis=1)[:2], at[:, -1]), at[:, : 3 * N])
                for at in (z + size * np.eye(4 * N + 1)[k], z - size * np.eye(4 * N + 1)[k])
            )
        )
        slope = (ends[0] - ends[1]) / (2.0 * size)
        atol = CENTRAL * np.abs(found.ends).max()
        np.testing.assert_allclose(found.ends[..., k], slope, rtol=0.0, atol=atol)
        if k < 3 * N:
            slope = (steps.accelerations(rates[0]) - steps.accelerations(rates[1])) / (2.0 * size)
            atol = CENTRAL * np.abs(found.accelerations).max()
            np.testing.assert_allclose(found.accelerations[..., k], slope, rtol=0.0, atol=atol)


def test_a_step_when_made_finer_then_it_converges_to_abas_motion(model):
    integrate = pytest.importorskip('scipy.integrate')
    one = PinocchioModel(ARM)
    (x,), (u,), (h,) = some_steps(1, seed=4)

    def rate(t, state):
        tau = x[2 * N :] + t * u
        q, dq = state[:N], state[N:]
        return np.concatenate((dq, pin.aba(one.model, one.data, q, dq, tau)))

    exact = integrate.solve_ivp(rate, (0.0, h), x[: 2 * N], rtol=1e-12, atol=1e-13).y[:, -1]
    off = []
    for parts in (1, 2, 4):
        end = RungeKuttaSteps(model, parts).ends(x, u, h)
        np.testing.assert_allclose(end[2 * N :], x[2 * N :] + h * u, rtol=1e-14)
        off.append(np.abs(end[: 2 * N] - exact).max())
    # Of fourth order: half the step has a sixteenth of the error, and more while it is large.
    assert off[0] > 8.0 * off[1] > 64.0 * off[2]


def test_a_sentence_tells_of_shapes_that_do_not_fit(model):
    steps = RungeKuttaSteps(model)
    x, u, h = some_steps(3)
    with pytest.raises(JointVectorError, match=r'x has shape \(3, 20\), expected \(..., 21\)'):
        steps.ends(x[:, 1:], u, h)
    with pytest.raises(JointVectorError, match='give every step its own x and u'):
        steps.ends(x, u[:2], h)
    with pytest.raises(JointVectorError, match='a row per step'):
        steps.derivatives(x[0], u[0], h[0])
    with pytest.raises(JointVectorError, match='parts is 0'):
        RungeKuttaSteps(model, 0)
