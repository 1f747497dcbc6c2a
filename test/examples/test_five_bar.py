# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The design of the five-bar's links that lowers its torques."""

import numpy as np


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
