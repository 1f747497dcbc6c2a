# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The five-bar's motion, the drift of integrated loops, and the design that lowers torques."""

import numpy as np
from scipy.integrate import trapezoid

from franka_dynamics.spatial import exp3, log3


def test_a_reach_keeps_loops_closed_and_rates_are_slopes(example):
    chain, times = example.spherical_five_bar(), np.linspace(0.0, 1.0, 401)
    motion = example.reach(chain, times)
    np.testing.assert_allclose(
        motion.q[[0, -1]][:, chain.active], [example.START, example.END], rtol=0.0, atol=1e-15
    )
    assert np.abs(chain.closure_error(motion.q)).max() < 1e-12
    for values, rates, atol in ((motion.q, motion.dq, 1e-4), (motion.dq, motion.ddq, 1e-3)):
        np.testing.assert_allclose(rates[[0, -1]], 0.0, rtol=0.0, atol=1e-12)
        slope = np.gradient(values, times, axis=0)[1:-1]
        np.testing.assert_allclose(rates[1:-1], slope, rtol=0.0, atol=atol)
    # At rest at both ends, so that all work is height.
    power = (chain.inverse_dynamics(motion) * motion.dq[:, chain.active]).sum(axis=1)
    poses = chain.tree.poses(motion.q[[0, -1]])
    heights = sum(
        9.81 * (poses[:, k, :3, :3] @ link.first_moment)[:, 2]
        for k, link in enumerate(chain.tree.inertias)
    )
    np.testing.assert_allclose(
        trapezoid(power, times), heights[1] - heights[0], rtol=0.0, atol=1e-7
    )


def test_drift_of_integrated_loops_falls_with_the_fourth_power(example):
    # Given Runge and Kutta's rule of fourth order, whose drift no projection takes back.
    chain = example.spherical_five_bar()
    coarse, fine = (
        example.drift(chain, np.linspace(0.0, 1.0, samples), np.zeros(5))[-1]
        for samples in (21, 41)
    )
    assert 1e-12 < fine < coarse < 1e-5
    np.testing.assert_allclose(np.log2(coarse / fine), 4.0, rtol=0.0, atol=0.5)


def test_the_left_jacobian_is_that_of_a_perturbed_turn(example):
    turn, step = np.array([0.3, -0.5, 0.2]), 1e-6
    for unit in np.eye(3):
        change = exp3(turn + step * unit) @ exp3(turn - step * unit).T
        expected = log3(change) / (2.0 * step)
        np.testing.assert_allclose(
            example.left_jacobian(turn) @ unit, expected, rtol=0.0, atol=1e-9
        )


def test_optimising_lowers_torques_and_keeps_the_mass(example):
    objective = example.Objective(samples=7)
    start = np.zeros(objective.size)
    result = example.optimise(objective, iterations=6)
    before, _ = objective.value_and_gradient(start)
    after, _ = objective.value_and_gradient(result.x)
    assert after < 0.8 * before
    mass = objective.mass_and_gradient(start)[0]
    assert objective.mass_and_gradient(result.x)[0] > 0.999 * mass
    assert np.abs(result.x).max() <= 1.0 + 1e-9
