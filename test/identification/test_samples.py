# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of friction; streamed factors give the whole regressor's residuals and estimates."""

from functools import reduce
from itertools import pairwise
from operator import add
import pickle

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.friction import friction_along
from franka_dynamics.identification.samples import (
    filter_inflation,
    MOST_PARTS,
    parts,
    QRFactors,
    residual_inflation,
    Summary,
)
from franka_dynamics.identification.torque_model import FrictionTerms, TorqueModel
from franka_dynamics.recordings.preprocessing import Motion, prepare, SignalOptions

FER = load('fer')
MODEL = TorqueModel.of(FER)
RELATIVE = 1e-12  # of sums of squares; rounding of a QR factorisation of 2500 rows


@pytest.fixture(scope='module')
def motion(simulate):
    return prepare(simulate(FER, duration=60.0, friction=FER.friction, noise=0.2))


THETA = np.random.default_rng(3).normal(size=len(MODEL.names))


def test_residual_squares_of_factors_are_the_regressors(motion):
    factors = QRFactors.of(MODEL, motion)
    predicted = MODEL.regressor(*MODEL.blocks(motion)) @ THETA
    for unfiltered, effort in ((False, motion.effort), (True, motion.effort_unfiltered)):
        found = factors.squares(THETA, unfiltered=unfiltered)
        expected = np.sum((effort - predicted) ** 2, axis=0)
        np.testing.assert_allclose(found, expected, rtol=RELATIVE, atol=0.0)
    assert factors.samples == len(motion)


def test_joined_pieces_have_the_same_squares_in_any_order(motion):
    edges = [0, 3, 500, 517, 1100, len(motion)]
    parts = [QRFactors.of(MODEL, motion.part(slice(a, b))) for a, b in pairwise(edges)]
    whole = QRFactors.of(MODEL, motion)
    for joined in (reduce(add, parts), parts[4] + ((parts[2] + parts[0]) + (parts[3] + parts[1]))):
        assert joined.samples == whole.samples
        found, expected = joined.squares(THETA), whole.squares(THETA)
        np.testing.assert_allclose(found, expected, rtol=RELATIVE, atol=0.0)


def test_weighted_factors_solve_as_all_rows_do_weighted(motion):
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    triangle, effort = QRFactors.of(MODEL, motion).weighted(weights)
    rows = MODEL.regressor(*MODEL.blocks(motion)) * weights[:, None]
    torques = (motion.effort * weights).ravel()
    expected, *_ = np.linalg.lstsq(rows.reshape(len(torques), -1), torques, rcond=None)
    # Condition number about 100: rounding of both solutions is a few 1e-13.
    np.testing.assert_allclose(np.linalg.solve(triangle, effort), expected, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize('cutoff', [1.0, 3.0, 5.0, 8.0])
def test_inflation_is_that_of_the_filters_impulse_response(cutoff):
    from scipy.signal import butter, filtfilt

    # With weights h, white noise has the variance sum(h^2) after the filter and sum(h)^2 = 1 at
    # frequency zero; the inflation is the ratio, by Parseval.
    options = SignalOptions(cutoff=cutoff)
    impulse = np.zeros(4001)
    impulse[2000] = 1.0
    response = filtfilt(*butter(2, cutoff, fs=options.rate), impulse)
    assert filter_inflation(options) == pytest.approx(
        response.sum() ** 2 / np.sum(response**2), rel=1e-6
    )


def test_windows_hold_newey_and_wests_sum_of_lags(motion):
    # Of two pieces, neither shorter nor longer than the blocks they are factored in.
    residual = np.cumsum(np.random.default_rng(1).standard_normal((2500, 7)), axis=0) * 0.1
    piece, sums = np.repeat([0, 1], [1100, 1400]), np.zeros((31, 7))
    for k in (0, 1):
        one = residual[piece == k]
        for lag in range(31):
            sums[lag] += np.sum(one[lag:] * one[: len(one) - lag], axis=0)
    weights = 1.0 - np.arange(31) / 31.0
    weights[1:] *= 2.0
    still, time = np.zeros_like(residual), np.arange(2500) / 30.0
    made = Motion(time, still, still, still, residual, residual, piece, motion.options)
    found = residual_inflation(
        *(of(MODEL, made).squares(0.0 * THETA) for of in (QRFactors.of, QRFactors.of_windows))
    )
    np.testing.assert_allclose(found, weights @ sums / sums[0], rtol=1e-9, atol=0.0)


def test_friction_of_the_samples_themselves_is_taken_off(motion):
    base = THETA[: len(MODEL.base)]
    found = QRFactors.of(MODEL, motion).squares_beside_friction(MODEL, base)
    rigid, rubbing = MODEL.blocks(motion)
    # Viscous and Coulomb, without the offset.
    expected = [
        np.linalg.lstsq(own[:, :2], left, rcond=None)[1][0]
        for own, left in zip(np.moveaxis(rubbing, 1, 0), (motion.effort - rigid @ base).T)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=0.0)


def test_the_stretches_of_pieces_add_up_to_those_of_the_whole(motion):
    pieces = [
        Summary.of(MODEL, motion.part(slice(a, b)), 'bag', (a / len(motion), b / len(motion)))
        for a, b in pairwise([0, 500, 1300, len(motion)])
    ]
    stretches = reduce(add, pieces).stretches, Summary.of(MODEL, motion, 'bag').stretches
    for joined, whole in zip(*stretches, strict=True):
        assert (joined.name, joined.factors.samples) == (whole.name, whole.factors.samples)
        found, expected = (one.factors.squares(THETA) for one in (joined, whole))
        np.testing.assert_allclose(found, expected, rtol=RELATIVE, atol=0.0)


def test_of_many_bags_each_is_in_one_part(simulate):
    summary = Summary.of(MODEL, prepare(simulate(FER, duration=12.0)), 'bag')
    bags = MOST_PARTS + 3
    found = parts([summary] * bags)
    sizes = [part.factors.samples for part in found]
    assert len(sizes) == MOST_PARTS
    assert sum(sizes) == bags * summary.whole.factors.samples
    assert sorted(part.name for part in found) == ['bag'] * 7 + ['bag and 1 more'] * 3


def test_a_summary_is_as_large_for_any_number_of_samples(simulate):
    motions = (prepare(simulate(FER, duration=duration)) for duration in (12.0, 40.0))
    short, long = (len(pickle.dumps(Summary.of(MODEL, motion))) for motion in motions)
    # The pickled number of samples has one digit more.
    assert abs(short - long) < 100


@pytest.mark.parametrize(('reaches', 'atol'), [((), 1e-14), ((0.004, 0.3), 1e-14)])
def test_friction_columns_times_values_are_the_models_torque_along_the_motion(reaches, atol):
    rng = np.random.default_rng(1)
    terms = FrictionTerms(3, width=0.05, reaches=reaches)
    q = np.cumsum(rng.normal(0.0, 0.01, (200, 3)), axis=0)
    dq, values = rng.uniform(-2.0, 2.0, (200, 3)), rng.uniform(0.1, 1.0, len(terms.names))
    found = np.einsum('tjk,jk->tj', terms.columns(q, dq), values.reshape(3, -1))
    expected = friction_along(terms.model(values, values), q, dq)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=atol)


def test_elements_without_amplitude_are_left_out_of_the_model():
    terms = FrictionTerms(2, 0.01, reaches=(0.002, 0.004, 0.3))
    gone = [name.startswith('fz2mrad') for name in terms.names]
    model = terms.model(np.where(gone, 0.0, 0.5), np.full(14, 0.1))
    np.testing.assert_array_equal(model.reach, [0.004, 0.3])
    assert (model.slip.shape, model.deviations.shape) == ((2, 2), (6, 2))
