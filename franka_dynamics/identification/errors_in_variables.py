# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
By how much encoder noise shifts the estimates, which no amount of data averages away.

Least squares takes the regressor for exact. Noise in positions, velocities and what is
differentiated from them biases it, to first order by the noise's variance; the deviations of an
estimate do not cover that. Here the found arm is recorded again without torque noise and with
encoder noise, and identified again: the mean shift is the bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from .least_squares import estimate, Noise
from .prior import Prior
from .qr_factors import QRFactors
from ..recordings.preprocessing import acceleration, low_pass, Motion
from ..typing import Array


def errors_in_variables_bias(
    motions: Sequence[Motion],
    theta: Array,
    noise: Noise,
    prior: Prior,
    strength: float,
    *,
    position: float,
    velocity: float,
    runs: int = 10,
    seed: int = 0,
) -> Array:
    """
    Return the mean shift of every parameter, shape (p,).

    Parameters
    ----------
    motions : sequence of Motion
        What the parameters were estimated from.
    theta : ndarray, shape (p,)
        The estimate, which stands for the truth.
    noise : Noise
        The joints' weights.
    prior, strength
        As for the estimate.
    position, velocity : float
        Standard deviation of an encoder's position [rad] and velocity [rad/s] at the resampled
        rate, white.
    runs : int
        Recordings to average over.
    seed : int
        Of the noise.

    """
    rng = np.random.default_rng(seed)
    efforts = [prior.model.torque(motion, theta) for motion in motions]

    def shifted(recorded: Sequence[Motion]) -> Array:
        factors = reduce(
            add,
            [
                QRFactors.of(prior.model, replace(motion, effort=effort, effort_unfiltered=effort))
                for motion, effort in zip(recorded, efforts)
            ],
        )
        return estimate(factors, noise, prior, strength).theta

    exact = shifted(motions)
    shifts = []
    for _ in range(runs):
        disturbed = [_disturbed(motion, position, velocity, rng) for motion in motions]
        shifts.append(shifted(disturbed) - exact)
    return np.asarray(np.mean(shifts, axis=0))


def _disturbed(
    motion: Motion,
    position: float,
    velocity: float,
    rng: np.random.Generator,
) -> Motion:
    q_noise = low_pass(position * rng.standard_normal(motion.q.shape), motion.options)
    dq_noise = low_pass(velocity * rng.standard_normal(motion.q.shape), motion.options)
    return replace(
        motion,
        q=motion.q + q_noise,
        dq=motion.dq + dq_noise,
        ddq=motion.ddq + acceleration(dq_noise, motion.options),
    )
