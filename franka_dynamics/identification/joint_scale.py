# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether a motion shows the scale of a joint's effort: the factor from the recorded value to N m.

Friction is estimated from the same effort and follows any scale. So only the torques of gravity
and inertia show the scale, because the starting set predicts their size. The effort of a joint
with little of them (a last joint that turns a small, balanced body) must not affect inertias.
"""

from __future__ import annotations

import numpy as np

from .prior import Prior
from .samples import QRFactors
from .solve import estimate, Noise
from .torque_model import usual_residual
from ..typing import Array

# The motion does not show a scale if the standard deviation of the scale's logarithm is larger: an
# error of a factor of two would then be less than two standard deviations.
NOT_SHOWN = 0.35


def scale_column(factors: QRFactors, prior: Prior, joint: int) -> Array:
    """Return a column with the starting set's rigid-body torque of one joint, (n, rows, 1)."""
    b = len(prior.model.base)
    column = np.zeros((*factors.r_factors.shape[:2], 1))
    column[joint, :, 0] = factors.r_factors[joint, :, :b] @ prior.center[:b]
    return column


def scales_shown(
    factors: QRFactors, prior: Prior, regularization: float, inflation: Array
) -> Array:
    """
    Return whether a motion shows each joint's effort scale, shape (n,) of bool.

    Measured efforts matter only for `inflation`, (n,), the number of samples per independent
    sample, and for `prior.effort` of an arm without limits.
    """
    n, b = prior.model.n, len(prior.model.base)
    # The usual residual is taken as noise, because it includes errors of the model.
    noise = Noise(usual_residual(prior.effort, np.zeros(n)), inflation)
    shown = np.empty(n, dtype=bool)
    for joint in range(n):
        more = factors.with_shared(scale_column(factors, prior, joint))
        # A wide prior keeps the deviation finite if the joint has no rigid-body torque.
        wide = 10.0 / NOT_SHOWN
        found = estimate(more.weighted(noise.weights), prior, regularization, wide)
        shown[joint] = found.deviations[b] < NOT_SHOWN
    return shown
