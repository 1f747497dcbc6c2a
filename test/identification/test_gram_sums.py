# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sums of products give what the samples themselves give, and folds hold whole phases."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load, ViscousCoulombFriction
from franka_dynamics.identification.gram_sums import FOLDS, folds, GramSums, period_of
from franka_dynamics.identification.options import IdentificationOptions
from franka_dynamics.identification.prior import Prior
from franka_dynamics.identification.solve import equations, estimate, fit_friction, rms_residuals
from franka_dynamics.recordings.preprocessing import prepare

FER = load('fer')
FRICTION = ViscousCoulombFriction(np.full(7, 0.2), np.full(7, 0.3), np.full(7, 0.01))
MODEL = IdentificationOptions().torque_model(FER)


@pytest.fixture(scope='module')
def motion(simulate):
    recording = simulate(FER, duration=24.0, friction=FRICTION, noise=0.2)
    return prepare(recording)


@pytest.fixture(scope='module')
def sums(motion):
    return GramSums.of(MODEL, FER, motion, period=np.inf)


def test_a_fit_by_sums_is_the_fit_by_the_samples(motion, sums):
    prior = Prior.centered_at(FER, MODEL, sums.max_torque)
    rows = (
        MODEL.regressor(*MODEL.regressor_blocks(motion))
        / np.sqrt(6.0)
        / prior.expected_residual[:, None]
    )
    right = motion.effort / np.sqrt(6.0) / prior.expected_residual
    known = np.linalg.cholesky(prior.information(1.0)[0]).T
    pull = known @ prior.center
    stacked = np.concatenate([rows.reshape(-1, rows.shape[-1]), known])
    theta, *_ = np.linalg.lstsq(stacked, np.append(right.ravel(), pull), rcond=None)
    found = estimate(sums, prior, 1.0, prior.expected_residual)
    np.testing.assert_allclose(found / prior.std, theta / prior.std, atol=1e-6)
    left = motion.effort - MODEL.torque(motion, theta)
    np.testing.assert_allclose(
        rms_residuals(sums, theta), np.sqrt(np.mean(left**2, axis=0)), rtol=1e-6
    )
    triangle, effort = equations(sums, prior, prior.expected_residual)
    expected = rows.reshape(len(right.ravel()), -1)
    gradient = triangle.T @ (triangle @ found - effort)
    other = expected.T @ (expected @ found - right.ravel())
    size = np.abs(expected).T @ np.abs(right.ravel())
    np.testing.assert_allclose(gradient / size, other / size, atol=1e-6)


def test_friction_alone_brakes_and_leaves_the_inertias(sums):
    prior = Prior.centered_at(FER, MODEL, sums.max_torque)
    theta = fit_friction(sums, prior, prior.expected_residual)
    b = len(MODEL.base)
    np.testing.assert_array_equal(theta[:b], prior.center[:b])
    assert (theta[b:][MODEL.friction.is_nonnegative] >= 0.0).all()
    viscous = theta[b:].reshape(7, -1)[:, 0]
    assert np.abs(viscous - 0.2).max() < 0.15


def test_sums_of_two_recordings_add_up(motion, sums):
    middle = len(motion) // 2
    pieces = [
        GramSums.of(MODEL, FER, motion.part(chosen), period=np.inf)
        for chosen in (slice(middle), slice(middle, None))
    ]
    together = pieces[0] + pieces[1]
    assert together.count == sums.count
    # Each joint's largest value comes from either piece.
    assert len({tuple(one.max_torque) for one in (*pieces, sums)}) == 3
    np.testing.assert_array_equal(together.max_torque, np.abs(motion.effort).max(axis=0))
    p = len(MODEL.names)
    own, whole = (one.products.sum(axis=0)[:, :p, :p] for one in (together, sums))
    np.testing.assert_allclose(own, whole, rtol=0.0, atol=1e-9 * np.abs(whole).max())


def test_a_motion_that_repeats_is_left_out_with_all_its_repeats(simulate):
    once = simulate(FER, duration=10.0)  # its lowest harmonic has this period
    motion = prepare(simulate(FER, duration=24.0))
    assert period_of(motion) == pytest.approx(once.duration, abs=0.05)
    fold = folds(motion, 10.0)
    assert set(fold) == set(range(FOLDS))
    early, late = (np.flatnonzero(np.isclose(motion.time, t, atol=0.01))[0] for t in (3.0, 13.0))
    assert fold[early] == fold[late]
    # By time they are in different folds.
    by_time = folds(motion, np.inf)
    assert by_time[early] != by_time[late]


def test_a_motion_that_does_not_repeat_has_no_period(motion):
    drifting = motion.q + 0.05 * motion.time[:, None] * np.std(motion.q, axis=0)
    assert period_of(replace(motion, q=drifting)) == np.inf
    assert period_of(motion.part(slice(0, 200))) == np.inf
