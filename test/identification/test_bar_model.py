# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Heights and distances of an arm's bars, against geometry done by hand or by brute force."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.identification.excitation_problem import _bar_distance, bar_ends, heights

FER = load('fer')


def test_no_points_of_two_bars_are_nearer_than_their_distance():
    rng = np.random.default_rng(0)
    ends = rng.normal(size=(20, 4, 3))
    parts = np.linspace(0.0, 1.0, 301)[:, None]
    for a, b, c, d in ends:
        first, second = a + parts * (b - a), c + parts * (d - c)
        brute = np.linalg.norm(first[:, None] - second[None], axis=-1).min()
        distance = _bar_distance(a, b, c, d)
        assert distance <= brute + 1e-12
        # A grid of 300 steps on bars of some 3 m misses the nearest points by 5 mm at most.
        assert distance == pytest.approx(brute, abs=5e-3)


def test_distances_of_parallel_and_touching_bars_are_exact():
    a, b = np.zeros(3), np.array([1.0, 0.0, 0.0])
    up = np.array([0.0, 0.0, 0.4])
    assert _bar_distance(a, b, a + up, b + up) == pytest.approx(0.4, abs=1e-12)
    assert _bar_distance(a, b, b + up + b, b + up) == pytest.approx(0.4, abs=1e-12)
    assert _bar_distance(a, b, b, b + up) == pytest.approx(0.0, abs=1e-12)


def test_the_upright_arms_height_is_the_sum_of_its_rows():
    upright = np.zeros(7)
    points = bar_ends(FER, upright, tool=0.1)
    # d1 + d3 + d5 to the wrist; the flange then points down by 0.107, the tool by 0.1 more.
    wrist = 0.333 + 0.316 + 0.384
    np.testing.assert_allclose(points[6], [0.0, 0.0, wrist], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(points[-1], [0.088, 0.0, wrist - 0.207], rtol=0.0, atol=1e-12)
    elbow = 0.333 + 0.316
    above = heights(bar_ends(FER, upright), table=0.2)
    assert above.min() == pytest.approx(elbow - 0.2, abs=1e-12)
