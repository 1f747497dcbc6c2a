# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runge and Kutta's steps of batches: where they end, and their derivatives."""

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import load
from franka_dynamics.batch.batch_model import BatchModel, TorqueDerivatives
from franka_dynamics.batch.steps import RungeKuttaSteps
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import JointVectorError

ARM = load('fr3')
N = ARM.n
EXACT = 1e-12  # of the largest entry; measured 1e-14
CENTRAL = 1e-8  # measured 7e-11


def some_steps(count=5, seed=0):
    """Return states and torque rates whose accelerations are some 5 rad/s^2 and 100 rad/s^3."""
    rng, one = np.random.default_rng(seed), PinocchioModel(ARM)
    q, dq = rng.uniform(-1.0, 1.0, (2, count, N)) * [[[1.0]], [[2.0]]]
    tau = one.inverse_dynamics(q, dq, rng.uniform(-5.0, 5.0, (count, N)))
    mass = np.array([one.mass_matrix(each) for each in q])
    u = (mass @ rng.uniform(-100.0, 100.0, (count, N, 1)))[..., 0]
    return np.hstack((q, dq, tau)), u, rng.uniform(0.005, 0.02, count)


def pinocchios_slopes(q, dq, ddq):
    one = PinocchioModel(ARM)
    parts = [
        [
            np.array(part)
            for part in pin.computeRNEADerivatives(one.model, one.data, *(s.copy() for s in state))
        ]
        for state in zip(*(part.reshape(-1, N) for part in (q, dq, ddq)))
    ]
    by_q, by_dq, mass = (np.array(part).reshape(*q.shape, N) for part in zip(*parts))
    return TorqueDerivatives(by_q, by_dq, np.triu(mass) + np.swapaxes(np.triu(mass, 1), -1, -2))


@pytest.fixture(scope='module')
def model():
    return BatchModel(ARM, threads=1)


@pytest.mark.parametrize('parts', [1, 3])
def test_given_steps_when_differentiated_then_pinocchio_agrees(model, parts):
    steps = RungeKuttaSteps(model, parts)
    found = steps.derivatives(*some_steps())
    theirs = steps.derivatives(*some_steps(), slopes=pinocchios_slopes)
    differences = steps.differences(*some_steps())
    forward = steps.differences(*some_steps(), central=False)
    for own, other, near, coarse in zip(found, theirs, differences, forward):
        scale = np.abs(other).max()
        np.testing.assert_allclose(own, other, rtol=0.0, atol=EXACT * scale)
        np.testing.assert_allclose(own, near, rtol=0.0, atol=CENTRAL * scale)
        assert np.abs(coarse - own).max() > np.abs(near - own).max()


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
