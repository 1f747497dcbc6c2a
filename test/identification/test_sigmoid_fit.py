# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sigmoid friction recovered from torques."""

import numpy as np

from franka_dynamics.arm import load, SigmoidFriction
from franka_dynamics.identification.friction import fit_sigmoid


def test_exact_torques_give_published_friction_back():
    truth = load('fer').friction
    dq = np.random.default_rng(0).uniform(-1.5, 1.5, (400, 7))
    found = fit_sigmoid(dq, truth.torque(dq))
    # least_squares stops at a relative change of 1e-8.
    np.testing.assert_allclose(found.amplitude, truth.amplitude, rtol=1e-5, atol=0.0)
    np.testing.assert_allclose(found.slope, truth.slope, rtol=1e-4, atol=0.0)
    np.testing.assert_allclose(found.offset, truth.offset, rtol=0.0, atol=1e-5)


def test_no_curve_near_the_fit_is_closer_to_noisy_torques():
    truth = SigmoidFriction(np.array([1.0]), np.array([20.0]), np.array([0.02]))
    rng = np.random.default_rng(1)
    dq = rng.uniform(-1.0, 1.0, (300, 1))
    torque = truth.torque(dq) + 0.1 * rng.standard_normal(dq.shape)
    found = fit_sigmoid(dq, torque)

    def cost(amplitude, slope, offset):
        return np.sum((SigmoidFriction(amplitude, slope, offset).torque(dq) - torque) ** 2)

    best = cost(found.amplitude, found.slope, found.offset)
    assert best <= cost(truth.amplitude, truth.slope, truth.offset)
    for factor in (0.99, 1.01):
        assert best < cost(factor * found.amplitude, found.slope, found.offset)
        assert best < cost(found.amplitude, factor * found.slope, found.offset)


def test_the_slope_fitted_to_a_step_stops_at_a_controllers_limit():
    dq = np.linspace(-1.0, 1.0, 201)[:, None]
    found = fit_sigmoid(dq, 0.5 * np.sign(dq))
    assert found.slope[0] <= 100.0
    np.testing.assert_allclose(
        found.torque(np.array([[-0.5], [0.5]])), [[-0.5], [0.5]], rtol=0.0, atol=0.01
    )
