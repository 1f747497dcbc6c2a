# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Streamed r_factors say what the whole regressor says."""

from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.identification.friction import TorqueModel
from franka_dynamics.identification.qr_factors import QRFactors
from franka_dynamics.recordings.preprocessing import prepare

FER = load('fer')
MODEL = TorqueModel.of(FER)
RELATIVE = 1e-12  # of sums of squares; rounding of a QR factorisation of 2500 rows


@pytest.fixture
def motion(simulate):
    return prepare(simulate(FER, duration=60.0, friction=FER.friction, noise=0.2))


@pytest.fixture
def theta():
    return np.random.default_rng(3).normal(size=len(MODEL.names))


def test_residual_squares_of_factors_are_the_regressors(motion, theta):
    factors = QRFactors.of(MODEL, motion)
    predicted = MODEL.regressor(motion) @ theta
    for unfiltered, effort in ((False, motion.effort), (True, motion.effort_unfiltered)):
        np.testing.assert_allclose(
            factors.squares(theta, unfiltered=unfiltered),
            np.sum((effort - predicted) ** 2, axis=0),
            rtol=RELATIVE,
            atol=0.0,
        )
    assert factors.samples == len(motion)


def test_joined_pieces_have_the_same_squares_in_any_order(motion, theta):
    edges = [0, 3, 500, 517, 1100, len(motion)]
    parts = [QRFactors.of(MODEL, motion.part(slice(a, b))) for a, b in pairwise(edges)]
    whole = QRFactors.of(MODEL, motion)
    left = reduce(add, parts)
    right = parts[4] + ((parts[2] + parts[0]) + (parts[3] + parts[1]))
    for joined in (left, right):
        assert joined.samples == whole.samples
        np.testing.assert_allclose(
            joined.squares(theta), whole.squares(theta), rtol=RELATIVE, atol=0.0
        )


def test_weighted_factors_solve_as_all_rows_do_weighted(motion):
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    triangle, effort = QRFactors.of(MODEL, motion).weighted(weights)
    rows = (MODEL.regressor(motion) * weights[:, None]).reshape(-1, len(MODEL.names))
    expected, *_ = np.linalg.lstsq(rows, (motion.effort * weights).ravel(), rcond=None)
    # Condition number about 100: rounding of both solutions is a few 1e-13.
    np.testing.assert_allclose(np.linalg.solve(triangle, effort), expected, rtol=0.0, atol=1e-10)


def test_given_no_samples_when_joined_then_nothing_changes(motion, theta):
    whole = QRFactors.of(MODEL, motion)
    joined = QRFactors.none(MODEL) + whole
    np.testing.assert_allclose(
        joined.squares(theta), whole.squares(theta), rtol=RELATIVE, atol=0.0
    )


def test_factors_of_few_samples_have_the_same_size(motion):
    assert (
        QRFactors.of(MODEL, motion.part(slice(0, 2))).r_factors.shape
        == QRFactors.of(MODEL, motion).r_factors.shape
        == (7, 48, 48)
    )
