# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction of published sets: the same prior as where inertias are fitted too."""

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.identification.least_squares import find_noise, fit_friction_alone
from franka_dynamics.identification.noise import filter_inflation
from franka_dynamics.identification.options import IdentificationOptions
from franka_dynamics.identification.prior import Prior
from franka_dynamics.identification.qr_factors import QRFactors
from franka_dynamics.recordings.preprocessing import prepare

from ..slow_work import drawn_friction, slow_work

FR3 = load('fr3', hand='franka_hand')


def test_published_friction_is_the_least_of_squares_and_prior():
    recording = slow_work(FR3, drawn_friction(FR3, 3), 3)
    model = IdentificationOptions().torque_model(FR3)
    motion = prepare(recording, columns=model.friction.columns).part(slice(0, 150))
    factors, prior = QRFactors.of(model, motion), Prior.towards(FR3, model)
    noise = find_noise(factors, prior, np.full(7, filter_inflation(motion.options)))
    theta = fit_friction_alone(factors, noise, prior, model.base.values(FR3))
    b = len(model.base)
    kept = b + np.flatnonzero(theta[b:] > 1e-3 * prior.friction_deviations)
    assert len(kept) > 5

    def cost(values):
        squares = float(noise.weights**2 @ factors.squares(values))
        return squares + float(np.sum((values[b:] / prior.friction_deviations) ** 2))

    for place in kept:
        deviation = prior.friction_deviations[place - b]
        step = np.zeros(len(theta))
        step[place] = 0.01 * deviation
        slope = (cost(theta + step) - cost(theta - step)) / (2.0 * 0.01)
        # The prior's own part of the slope, which the squares' part balances.
        assert abs(slope) < 0.01 * 2.0 * theta[place] / deviation + 1e-4
