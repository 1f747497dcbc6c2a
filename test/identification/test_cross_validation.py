# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The regularization of the prior follows from what the training data can bear."""

import numpy as np
import pytest

from franka_dynamics.arm import load, MaxwellSlipFriction
from franka_dynamics.errors import IdentificationError
from franka_dynamics.identification.cross_validation import cross_validate, CrossValidation
from franka_dynamics.identification.friction import TorqueModel
from franka_dynamics.identification.least_squares import estimate, Noise
from franka_dynamics.identification.prior import Prior
from franka_dynamics.identification.qr_factors import QRFactors, Summary
from franka_dynamics.recordings.preprocessing import prepare

FER = load('fer')
MODEL = TorqueModel.of(FER)
NOISE = Noise(np.full(7, 0.3), np.full(7, 6.0))


def folds_of(recording):
    return [part.factors for part in Summary.of(MODEL, prepare(recording), 5).parts]


def test_the_prior_is_strong_at_a_good_start_and_weak_at_a_bad(
    simulate,
):
    folds = folds_of(simulate(FER, duration=60.0, noise=0.5))
    good = cross_validate(folds, NOISE, Prior.towards(FER, MODEL))
    bad = cross_validate(
        folds, NOISE, Prior.towards(FER.map_links(lambda link: link + link + link), MODEL)
    )
    assert good.chosen > 99.0, good
    assert bad.chosen < 99.0


def test_the_error_is_that_of_predicting_the_left_out_folds(simulate):
    folds = folds_of(simulate(FER, duration=20.0, noise=0.5))
    prior = Prior.towards(FER, MODEL)
    actual = cross_validate(folds, NOISE, prior, [3.0]).errors[0]
    squares = 0.0
    for k, left_out in enumerate(folds):
        others = QRFactors.none(MODEL)
        for fold in (*folds[:k], *folds[k + 1 :]):
            others = others + fold
        theta = estimate(others, NOISE, prior, 3.0).theta
        squares += np.sum(left_out.squares(theta))
    assert actual == pytest.approx(np.sqrt(squares / sum(f.samples for f in folds)), rel=1e-9)


def found(errors, rigid, start=1.0):
    return CrossValidation((10.0, 100.0, 1000.0), errors, rigid, start)


def test_of_errors_that_are_alike_the_strongest_prior_is_chosen():
    assert found((0.300, 0.302, 0.310), (0.9, 0.9, 0.9)).chosen == 100.0
    assert found((0.300, 0.310, 0.301), (0.9, 0.9, 0.9)).chosen == 1000.0


def test_a_prior_whose_rigid_part_is_worse_is_no_candidate():
    assert found((0.3, 0.35, 0.4), (1.1, 0.9, 0.9)).chosen == 100.0
    assert found((0.3, 0.35, 0.4), (1.1, 1.2, 1.3)).chosen == 1000.0


def test_reaches_are_those_of_the_elements_that_made_the_torques(simulate):
    model = TorqueModel.of(FER, width=0.01, stribeck_velocity=0.1, reaches=(0.004, 0.1, 0.3))
    recording = simulate(
        FER,
        duration=40.0,
        noise=0.05,
        rate=100.0,
        friction=MaxwellSlipFriction(
            np.full(7, 0.2),
            np.full(7, 0.1),
            np.zeros(7),
            np.zeros(7),
            np.full((2, 7), 0.3),
            np.array([0.004, 0.1]),
        ),
    )
    parts = Summary.of(model, prepare(recording, columns=model.friction.columns), 5).parts
    choice = cross_validate(
        [part.factors for part in parts],
        NOISE,
        Prior.towards(FER, model),
        (100.0,),
        ((0.004, 0.3), (0.004, 0.1)),
    )
    assert choice.reaches == (0.004, 0.1)
    errors = dict(choice.reach_errors)
    assert errors[0.004, 0.1] < 0.8 * errors[0.004, 0.3]


def test_given_one_fold_when_validated_then_it_is_refused(simulate):
    folds = folds_of(simulate(FER, duration=10.0))
    with pytest.raises(IdentificationError, match='needs at least two parts; got 1'):
        cross_validate(folds[:1], NOISE, Prior.towards(FER, MODEL))
