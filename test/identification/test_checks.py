# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bags contradict each other if their loads differ, not if a recording is short."""

from itertools import pairwise

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.identification.checks import contradictions
from franka_dynamics.identification.options import IdentificationOptions
from franka_dynamics.identification.prior import Prior
from franka_dynamics.identification.samples import residual_inflation, Summary, total
from franka_dynamics.identification.solve import estimate, find_noise
from franka_dynamics.recordings.preprocessing import prepare

from ..slow_work import with_load

FER = load('fer')
OPTIONS = IdentificationOptions()
MODEL = OPTIONS.torque_model(FER).with_reaches(OPTIONS.slip_reaches[0])
PRIOR = Prior.towards(FER, MODEL, np.ones(7))


@pytest.fixture(scope='module')
def motions(fer_recording, fer_1khz_recording):
    """Return both real arms' recordings, prepared."""
    recordings = {'slow': fer_recording, 'fast': fer_1khz_recording}
    return {
        name: prepare(recording, columns=MODEL.friction.columns)
        for name, recording in recordings.items()
    }


def cut(motion, count):
    edges = np.linspace(0, len(motion), count + 1).round().astype(int)
    return [motion.part(slice(*ends)) for ends in pairwise(edges)]


def said(motions):
    """Return the contradictions between motions, each taken as a bag."""
    bags = [Summary.of(MODEL, one, f'{k}') for k, one in enumerate(motions)]
    factors = total(bag.whole.factors for bag in bags)
    noise = find_noise(factors, PRIOR, np.full(7, 5.0))
    theta = estimate(factors.weighted(noise.weights), PRIOR, 10.0).theta
    windows = total(bag.windows for bag in bags).squares(theta)
    noise = find_noise(factors, PRIOR, residual_inflation(factors.squares(theta), windows))
    return contradictions([bag.whole for bag in bags], noise, PRIOR, theta)


# Sevenths of the fast recording last 3 s. For six pairs the residual of a fit to both is 1.5 to
# 2.0 times that of separate fits although nothing changed, because each separate fit also fits
# most of the noise in its few samples.
@pytest.mark.parametrize('count', [2, 5, 7])
@pytest.mark.parametrize('name', ['slow', 'fast'])
def test_a_load_of_200_g_contradicts_and_stretches_of_one_recording_do_not(motions, name, count):
    stretches = cut(motions[name], count)
    assert said(stretches) == ()
    loaded = cut(with_load(motions[name], FER, 0.2), count)[-1]
    if count < 7:
        assert said([stretches[0], loaded])[0].startswith('0 and 1 contradict each other')


def test_what_samples_determine_is_the_trace_of_the_hat_matrix(motions):
    equations = Summary.of(MODEL, motions['slow']).whole.factors.weighted(np.ones(7))
    triangle, effort = equations
    bare = estimate((triangle, 0.0 * effort), PRIOR, 10.0).theta
    fitted = [
        triangle @ (estimate((triangle, unit), PRIOR, 10.0).theta - bare)
        for unit in np.eye(len(triangle))
    ]
    found = estimate(equations, PRIOR, 10.0).determined(equations)
    assert found == pytest.approx(np.trace(fitted), rel=1e-6)
    assert found < len(effort)
    # Under a very weak prior the samples determine as many parameters as the regressor's rank.
    assert estimate(equations, PRIOR, 1e-6).determined(equations) > found


@pytest.mark.parametrize('count', [5, 31])
def test_the_bag_with_a_load_is_named_among_any_number(motions, count):
    parts = cut(motions['fast'], 5)
    bags = [parts[k % 5] for k in range(count - 1)]
    bags.insert(3, cut(with_load(motions['fast'], FER, 0.7), 5)[2])
    assert said(bags)[0].startswith('3 contradicts every bag')
