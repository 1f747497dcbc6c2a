# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether a motion shows the scale of a joint's effort: the factor on what its sensor reports.

Friction is estimated from the same effort and takes on any scale. So only torque of weight and
inertia shows the scale, where the starting set says how large it is. A joint whose motion does not
show it (a last joint that turns a small, balanced body) must not change any inertia.
"""

from __future__ import annotations

import numpy as np

from .prior import Prior
from .samples import QRFactors
from .solve import Noise, solve
from .torque_model import usual_residual
from ..typing import Array

# A scale is not shown if the standard deviation of its logarithm is larger: half of the torque, or
# twice as much, would then be less than two deviations away.
NOT_SHOWN = 0.35


def scale_column(factors: QRFactors, prior: Prior, joint: int) -> Array:
    """Return the starting set's rigid torque in one joint's rows, shape (n, rows, 1)."""
    b = len(prior.model.base)
    column = np.zeros((*factors.r_factors.shape[:2], 1))
    column[joint, :, 0] = factors.r_factors[joint, :, :b] @ prior.center[:b]
    return column


def scales_shown(
    factors: QRFactors, prior: Prior, regularization: float, inflation: Array
) -> Array:
    """
    Return which joints' scales a motion shows, shape (n,) of bool; efforts do not matter.

    Parameters
    ----------
    factors : QRFactors
        Of the motion's samples.
    prior : Prior
        Of inertias and friction.
    regularization : float
        The prior's precision.
    inflation : ndarray, shape (n,)
        Number of samples per independent sample.

    """
    n, b = prior.model.n, len(prior.model.base)
    # Errors of the model, which last, count like noise of the size that such joints leave.
    noise = Noise(usual_residual(prior.effort, np.zeros(n)), inflation)
    known, center = prior.rows(regularization)
    rows = np.insert(known, b, 0.0, axis=1)
    weakly = np.zeros((1, rows.shape[1]))
    weakly[0, b] = NOT_SHOWN / 10.0  # so that a joint without any rigid torque has a deviation
    shown = np.empty(n, dtype=bool)
    for joint in range(n):
        more = factors.with_shared(scale_column(factors, prior, joint))
        found = solve([more.weighted(noise.weights), (rows, center), (weakly, np.zeros(1))])
        shown[joint] = found.deviations[b] < NOT_SHOWN
    return shown
