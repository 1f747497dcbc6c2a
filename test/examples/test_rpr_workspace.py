# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The drawn reach against positions that the arm takes."""

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel


def test_positions_within_limits_lie_in_the_drawn_workspace(example):
    arm = load('rpr')
    q = np.random.default_rng(0).uniform(arm.limit('lower'), arm.limit('upper'), (60, 3))
    # The recursion in DH frames knows nothing of the inverse.
    positions = NewtonEulerModel(arm).frames(q)[:, -1, :3, 3]
    for x, y, z in positions:
        assert example.postures(np.array([np.hypot(x, y)]), np.array([z]))[0, 0] >= 1
    # Nearer than a1, and above d0 + a3, it never is.
    assert np.hypot(*positions[:, :2].T).min() > 0.2
    counts = example.postures(np.array([0.19, 0.5]), np.array([0.3, 0.71]))
    assert counts.tolist() == [[0, 1], [0, 0]]
