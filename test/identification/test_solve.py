# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Estimates against known parameters, and standard deviations against the scatter of estimates."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load, ViscousCoulombFriction
from franka_dynamics.errors import IdentificationError
from franka_dynamics.identification.options import IdentificationOptions
from franka_dynamics.identification.prior import Prior
from franka_dynamics.identification.samples import (
    filter_inflation,
    parts,
    QRFactors,
    Summary,
    total,
)
from franka_dynamics.identification.solve import (
    estimate,
    find_noise,
    friction_alone,
    left_out_error,
    Noise,
    without_prior,
)
from franka_dynamics.identification.torque_model import TorqueModel
from franka_dynamics.recordings.preprocessing import prepare, SignalOptions

from ..slow_work import drawn_friction, slow_work

FER, FR3 = load('fer'), load('fr3', hand='franka_hand')
# With this width the low-pass filter passes the steps of Coulomb friction; steeper steps cause a
# model error, which standard deviations by noise do not cover.
WIDTH = 0.3
FRICTION = ViscousCoulombFriction(
    np.linspace(0.2, 0.5, 7), np.linspace(0.4, 0.2, 7), np.full(7, 0.02), WIDTH
)
MODEL = TorqueModel.of(FER)
MODEL = replace(MODEL, friction=replace(MODEL.friction, width=WIDTH))
PRIOR, B = Prior.towards(FER, MODEL, np.ones(7)), len(MODEL.base)
RUBBING = np.stack([FRICTION.viscous, FRICTION.coulomb, FRICTION.offset], axis=1)
TRUTH = np.concatenate([MODEL.base.values(FER), RUBBING.ravel()])
OPTIONS = SignalOptions(cutoff=5.0)
NOISE_NM = np.array([0.5, 0.5, 0.5, 0.5, 0.2, 0.2, 0.2])


def exact_motion(simulate, **kwargs):
    """Return a motion with the model's torque at its filtered states, without noise."""
    motion = prepare(simulate(FER, **kwargs), OPTIONS)
    torque = MODEL.torque(motion, TRUTH)
    return replace(motion, effort=torque, effort_unfiltered=torque)


def test_exact_torques_give_every_parameter_back(simulate):
    factors = QRFactors.of(MODEL, exact_motion(simulate, duration=30.0))
    result = without_prior(factors.weighted(np.ones(7)))
    # Rounding times the condition number, some 100 with columns scaled.
    np.testing.assert_allclose(result.theta, TRUTH, rtol=0.0, atol=1e-11)
    assert 10.0 < result.condition_number < 1000.0


def test_a_joint_that_fits_nearly_exactly_has_at_most_twice_the_mean_weight():
    noise = Noise(np.array([1.0, 1.0, 0.01]), np.array([1.0, 4.0, 1.0]))
    mean = np.sqrt((1.0 + 1.0 + 1e-4) / 3.0)
    np.testing.assert_allclose(noise.weights, [1.0, 0.5, 2.0 / mean], rtol=1e-12)


def test_three_sigma_under_filtered_noise_cover_the_truth(simulate):
    from scipy.stats import binom

    recording = simulate(FER, duration=60.0, friction=FRICTION, seed=3)
    inflation, rng, scores = np.full(7, filter_inflation(OPTIONS)), np.random.default_rng(0), []
    for _ in range(40):
        noise = NOISE_NM * rng.standard_normal(recording.q.shape)
        noisy = prepare(replace(recording, effort=recording.effort + noise), OPTIONS)
        factors = QRFactors.of(MODEL, noisy)
        weights = find_noise(factors, PRIOR, inflation).weights
        result = without_prior(factors.weighted(weights))
        scores.append((result.theta - TRUTH) / result.deviations)
    size = np.abs(np.array(scores))
    # 64 parameters in 40 runs, of which 0.27 % should lie outside.
    assert np.sum(size > 3.0) <= binom.ppf(0.9999, size.size, 0.0027)
    # Too large deviations would pass that; within two they must not be much too few either.
    low, high = binom.ppf([0.0001, 0.9999], size.size, 0.0455)
    assert 0.6 * low <= np.sum(size > 2.0) <= high


def test_a_stronger_prior_moves_parameters_from_data_to_start(simulate):
    heavier = FER.map_links(lambda link: link + link)
    prior = Prior.towards(heavier, MODEL, np.ones(7))
    factors = QRFactors.of(MODEL, exact_motion(simulate))
    # The samples are so precise that the prior of friction has no effect.
    noise = Noise(np.full(7, 1e-5), np.ones(7))
    found = [
        estimate(factors.weighted(noise.weights), prior, regularization).theta[:B]
        for regularization in (1e-6, 1e8, 1e11, 1e14, 1e20)
    ]
    away = [np.linalg.norm((theta - TRUTH[:B]) / prior.deviations[:B]) for theta in found]
    assert away == sorted(away) and away[0] < 1e-4
    np.testing.assert_allclose(found[-1], prior.center[:B], rtol=0.0, atol=1e-4)


@pytest.mark.parametrize(('moving', 'rest'), [(None, 0.0), (3, 1e-9)])
def test_joints_that_rest_have_no_estimate_without_a_prior(simulate, moving, rest):
    motion, turns = exact_motion(simulate), np.arange(7) == moving
    states = {name: np.where(turns, getattr(motion, name), rest) for name in ('dq', 'ddq')}
    still = replace(motion, q=np.where(turns, motion.q, motion.q[0]), **states)
    assert without_prior(QRFactors.of(MODEL, still).weighted(np.ones(7))) is None


def test_too_few_samples_for_noise_say_how_many_there_are(simulate):
    factors = QRFactors.of(MODEL, prepare(simulate(FER, duration=2.0), OPTIONS))
    said = r'holds \d+ independent torque samples, too few for \d+ parameters; record longer'
    with pytest.raises(IdentificationError, match=said):
        find_noise(factors, PRIOR, np.full(7, 30.0))


@pytest.mark.parametrize('driving', [('fc_3',), MODEL.friction.names])
def test_a_published_sets_friction_brakes_or_is_left_out(simulate, driving):
    truth, motion = np.array(TRUTH), exact_motion(simulate)
    truth[[MODEL.names.index(name) for name in driving]] = -0.3
    noise = 0.1 * np.random.default_rng(0).standard_normal(motion.effort.shape)
    factors = QRFactors.of(MODEL, replace(motion, effort=MODEL.torque(motion, truth) + noise))
    even = Noise(np.full(7, 0.1), np.ones(7))
    theta = friction_alone(factors, even, PRIOR, MODEL.base.values(FER))
    viscous, coulomb, offset = theta[B:].reshape(7, 3).T
    assert coulomb[2] == 0.0 and min(viscous.min(), coulomb.min()) >= 0.0
    assert len(driving) == 1 or (not viscous.any() and not coulomb.any() and offset.max() < 0.0)


def test_the_error_of_left_out_parts_is_of_fits_without_them(simulate):
    plain, even = TorqueModel.of(FER), Noise(np.full(7, 0.3), np.full(7, 6.0))
    prior = Prior.towards(FER, plain, np.ones(7))
    motion = prepare(simulate(FER, duration=60.0, noise=0.5))
    folds = [part.factors for part in parts([Summary.of(plain, motion)])]
    squares = 0.0
    for fold in folds:
        rest = total(one for one in folds if one is not fold)
        theta = estimate(rest.weighted(even.weights), prior, 30.0).theta
        squares += fold.squares(theta).sum()
    error = left_out_error(folds, even, prior, 30.0)
    assert error == pytest.approx(np.sqrt(squares / len(motion)), rel=1e-12)


def test_published_friction_is_the_least_of_squares_and_prior():
    recording = slow_work(FR3, drawn_friction(FR3, 3), 3)
    model = IdentificationOptions().torque_model(FR3).with_reaches((0.004, 0.3))
    motion = prepare(recording, columns=model.friction.columns).part(slice(0, 150))
    factors, prior = QRFactors.of(model, motion), Prior.towards(FR3, model, np.ones(7))
    noise = find_noise(factors, prior, np.full(7, filter_inflation(motion.options)))
    theta = friction_alone(factors, noise, prior, model.base.values(FR3))
    b = len(model.base)
    np.testing.assert_array_equal(theta[:b], model.base.values(FR3))
    kept = b + np.flatnonzero(theta[b:] > 1e-3 * prior.friction_deviations)
    assert len(kept) > 5

    def cost(values):
        squares = float(noise.weights**2 @ factors.squares(values))
        # For a published set the prior of friction is ten times wider.
        return squares + float(np.sum((0.1 * values[b:] / prior.friction_deviations) ** 2))

    for place in kept:
        deviation = prior.friction_deviations[place - b]
        step = 0.01 * deviation * (np.arange(len(theta)) == place)
        slope = (cost(theta + step) - cost(theta - step)) / (2.0 * 0.01)
        # Gradient of the prior's cost, which balances that of the squares.
        assert abs(slope) < 0.01 * 2.0 * 0.01 * theta[place] / deviation + 1e-4
