# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The five-bar's motion, the drift of integrated loops, and the design that lowers torques."""

import numpy as np

from franka_dynamics.spatial import exp3, log3

START, END, DURATION = np.zeros(2), np.radians([35.0, -45.0]), 1.0


def five_bar_reach(example, samples):
    return example.reach(example.spherical_five_bar(), START, END, DURATION, samples, np.zeros(5))


def test_a_quintic_rests_at_both_ends_and_its_rates_are_slopes(example):
    times = np.linspace(0.0, 2.0, 4001)
    q, dq, ddq = example.quintic([0.2], [1.0], 2.0, times)
    np.testing.assert_allclose(q[[0, -1], 0], [0.2, 1.0], rtol=0.0, atol=1e-15)
    for ends in (dq[[0, -1]], ddq[[0, -1]]):
        np.testing.assert_allclose(ends, 0.0, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(np.gradient(q[:, 0], times)[1:-1], dq[1:-1, 0], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(
        np.gradient(dq[:, 0], times)[1:-1], ddq[1:-1, 0], rtol=0.0, atol=1e-5
    )


def test_a_reach_keeps_loops_closed_and_rates_are_slopes(example):
    result = five_bar_reach(example, 401)
    assert result.closure.max() < 1e-12
    slope = np.gradient(result.motion.q, result.times, axis=0)[1:-1]
    np.testing.assert_allclose(result.motion.dq[1:-1], slope, rtol=0.0, atol=1e-4)
    slope = np.gradient(result.motion.dq, result.times, axis=0)[1:-1]
    np.testing.assert_allclose(result.motion.ddq[1:-1], slope, rtol=0.0, atol=1e-3)


def test_drift_of_integrated_loops_falls_with_the_fourth_power(example):
    # Given Runge and Kutta's rule of fourth order, whose drift no projection takes back.
    coarse, fine = (five_bar_reach(example, samples).drift[-1] for samples in (21, 41))
    assert 1e-12 < fine < coarse < 1e-5
    np.testing.assert_allclose(np.log2(coarse / fine), 4.0, rtol=0.0, atol=0.5)


def test_a_reachs_integrated_power_is_the_energy_gained(example):
    from scipy.integrate import trapezoid

    # At rest at both ends, so that all work is height.
    result = five_bar_reach(example, 801)
    power = (result.torques * result.motion.dq[:, [0, 3]]).sum(axis=1)
    work = trapezoid(power, result.times)
    tree = example.spherical_five_bar().tree
    poses = tree.poses(result.motion.q[[0, -1]])
    heights = sum(
        9.81 * (poses[:, k, :3, :3] @ link.first_moment)[:, 2]
        for k, link in enumerate(tree.inertias)
    )
    np.testing.assert_allclose(work, heights[1] - heights[0], rtol=0.0, atol=1e-8)


def test_torques_at_rest_are_the_slope_of_the_height_energy(example):
    result = five_bar_reach(example, 21)
    chain, step, last = example.spherical_five_bar(), 1e-4, result.motion.q[-1]

    def height(motors):
        poses = chain.tree.poses(chain.assemble(motors, last))
        return sum(
            9.81 * (pose[:3, :3] @ link.first_moment)[2]
            for pose, link in zip(poses, chain.tree.inertias)
        )

    slope = [
        (height(END + step * unit) - height(END - step * unit)) / (2 * step) for unit in np.eye(2)
    ]
    np.testing.assert_allclose(result.torques[-1], slope, rtol=0.0, atol=1e-7)


def test_the_designs_gradient_is_that_of_central_differences(example):
    # Away from the start, where the axes are turned and the mesh has no symmetry left.
    objective = example.Objective(samples=5)
    u = np.random.default_rng(1).uniform(-0.8, 0.8, objective.size)
    # Central differences of 1e-4: 2e-8 measured.
    assert example.gradient_error(objective, u) < 1e-6


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
