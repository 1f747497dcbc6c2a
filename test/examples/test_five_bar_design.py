# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The design example's gradient, and that following it lowers the torques."""

import numpy as np
import pytest

from franka_dynamics.spatial import exp3, log3

pytest.importorskip('scipy')


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
