# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The study's samples are an arm's torques with the stated noise, and shares are counted."""

import numpy as np
import pytest

from franka_dynamics.recordings.preprocessing import prepare

pytest.importorskip('mujoco', reason='the [sim] extra is not installed')


def test_samples_are_the_arms_torques_and_the_stated_noise(benchmark, simulate):
    motion = prepare(
        simulate(benchmark.ARM, duration=60.0), columns=benchmark.MODEL.friction.columns
    )
    half = benchmark.Stretch.of(motion.halves()[0])
    theta = benchmark.parameters(benchmark.ARM)
    rng = np.random.default_rng(0)
    squares = np.mean(
        [benchmark.with_torques([half], theta, rng)[0].factors.squares(theta) for _ in range(100)],
        axis=0,
    )
    # Behind the filter one of so many samples is left of white noise.
    expected = benchmark.NOISE**2 * half.samples / benchmark.INFLATION
    np.testing.assert_allclose(squares, expected, rtol=0.1, atol=0.0)
    exact = half.part(theta, np.zeros((half.samples, 7))).factors
    np.testing.assert_allclose(exact.squares(theta), 0.0, rtol=0.0, atol=1e-18)
    # The triangle stands for the motion's own equations.
    torque = benchmark.MODEL.torque(motion.halves()[0], theta)
    other = theta + 0.01
    np.testing.assert_allclose(
        exact.squares(other),
        np.sum((torque - benchmark.MODEL.torque(motion.halves()[0], other)) ** 2, axis=0),
        rtol=1e-9,
        atol=0.0,
    )


def test_shares_beyond_deviations_are_counted(benchmark):
    cover = benchmark.Cover.of([np.array([0.5, -2.5, 7.0, 1.0])], [np.array([1.0, 1.0, 2.0, 1.0])])
    assert (cover.beyond_3, cover.beyond_2) == (0.25, 0.5)
    assert cover.root_mean_square == pytest.approx(np.sqrt((0.25 + 6.25 + 12.25 + 1.0) / 4.0))
    assert cover.median == 1.0
