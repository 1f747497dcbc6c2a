# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The strength of the pull follows from what the training data can bear."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.errors import IdentificationError
from franka_dynamics.identification.cross_validation import cross_validate
from franka_dynamics.identification.least_squares import estimate, Noise
from franka_dynamics.identification.prior import Pull
from franka_dynamics.identification.qr_factors import Summary, TorqueFactors
from franka_dynamics.identification.torque_model import TorqueModel
from franka_dynamics.recordings.preprocessing import prepare

FER = load('fer')
MODEL = TorqueModel.of(FER)
NOISE = Noise(np.full(7, 0.3), np.full(7, 6.0))


def folds_of(recording):
    return Summary.of(MODEL, prepare(recording), 5).folds


def test_given_a_good_start_when_validated_then_the_pull_is_strong_and_with_a_bad_one_weak(
        simulate):
    folds = folds_of(simulate(FER, duration=60.0, noise=0.5))
    good = cross_validate(folds, NOISE, Pull.towards(FER, MODEL))
    bad = cross_validate(folds, NOISE, Pull.towards(
        FER.map_links(lambda link: link + link + link), MODEL))
    assert good.chosen > 99.0, good
    assert bad.chosen < 10.0


def test_given_folds_when_validated_then_the_error_is_that_of_left_out_predictions(simulate):
    folds = folds_of(simulate(FER, duration=20.0, noise=0.5))
    pull = Pull.towards(FER, MODEL)
    actual = cross_validate(folds, NOISE, pull, [3.0]).errors[0]
    squares = 0.0
    for k, left_out in enumerate(folds):
        others = TorqueFactors.none(MODEL)
        for fold in (*folds[:k], *folds[k + 1:]):
            others = others + fold
        theta = estimate(others, NOISE, pull, 3.0).theta
        squares += np.sum(left_out.squares(theta)) / 0.3**2
    assert actual == pytest.approx(np.sqrt(squares / 7 / sum(f.samples for f in folds)), rel=1e-9)


def test_given_a_motion_too_poor_without_pull_when_validated_then_that_is_no_candidate(simulate):
    recording = simulate(FER, duration=10.0, noise=0.5)
    still = np.arange(7) > 2
    folds = folds_of(replace(recording, q=np.where(still, 0.5, recording.q),
                             dq=np.where(still, 0.0, recording.dq)))
    found = cross_validate(folds, NOISE, Pull.towards(FER, MODEL))
    assert found.errors[0] == np.inf
    assert found.chosen > 0.0


def test_given_one_fold_when_validated_then_it_is_refused(simulate):
    folds = folds_of(simulate(FER, duration=10.0))
    with pytest.raises(IdentificationError, match='needs at least two folds; got 1'):
        cross_validate(folds[:1], NOISE, Pull.towards(FER, MODEL))
