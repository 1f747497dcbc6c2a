# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Point-to-point motions and the drift of integrated loops."""

import numpy as np
from scipy.integrate import trapezoid

from franka_dynamics.dynamics.mechanisms import quintic, reach, spherical_five_bar

FIVE_BAR = spherical_five_bar()
START, END, DURATION = np.zeros(2), np.radians([35.0, -45.0]), 1.0


def five_bar_reach(samples):
    return reach(FIVE_BAR, START, END, DURATION, samples, np.zeros(5))


def test_a_quintic_rests_at_both_ends_and_its_rates_are_slopes():
    times = np.linspace(0.0, 2.0, 4001)
    q, dq, ddq = quintic([0.2], [1.0], 2.0, times)
    np.testing.assert_allclose(q[[0, -1], 0], [0.2, 1.0], rtol=0.0, atol=1e-15)
    for ends in (dq[[0, -1]], ddq[[0, -1]]):
        np.testing.assert_allclose(ends, 0.0, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(np.gradient(q[:, 0], times)[1:-1], dq[1:-1, 0], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(
        np.gradient(dq[:, 0], times)[1:-1], ddq[1:-1, 0], rtol=0.0, atol=1e-5
    )


def test_a_reach_keeps_loops_closed_and_rates_are_slopes():
    result = five_bar_reach(401)
    assert result.closure.max() < 1e-12
    slope = np.gradient(result.motion.q, result.times, axis=0)[1:-1]
    np.testing.assert_allclose(result.motion.dq[1:-1], slope, rtol=0.0, atol=1e-4)
    slope = np.gradient(result.motion.dq, result.times, axis=0)[1:-1]
    np.testing.assert_allclose(result.motion.ddq[1:-1], slope, rtol=0.0, atol=1e-3)


def test_drift_of_integrated_loops_falls_with_the_fourth_power():
    # Given Runge and Kutta's rule of fourth order, whose drift no projection takes back.
    coarse, fine = (five_bar_reach(samples).drift[-1] for samples in (21, 41))
    assert 1e-12 < fine < coarse < 1e-5
    np.testing.assert_allclose(np.log2(coarse / fine), 4.0, rtol=0.0, atol=0.5)


def test_a_reachs_integrated_power_is_the_energy_gained():
    # At rest at both ends, so that all work is height.
    result = five_bar_reach(801)
    power = (result.torques * result.motion.dq[:, [0, 3]]).sum(axis=1)
    work = trapezoid(power, result.times)
    poses = FIVE_BAR.tree.poses(result.motion.q[[0, -1]])
    heights = sum(
        9.81 * (poses[:, k, :3, :3] @ link.first_moment)[:, 2]
        for k, link in enumerate(FIVE_BAR.tree.inertias)
    )
    np.testing.assert_allclose(work, heights[1] - heights[0], rtol=0.0, atol=1e-8)
