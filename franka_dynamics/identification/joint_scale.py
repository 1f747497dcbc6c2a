# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether a motion shows (determines) a joint's effort scale: N m per unit of recorded effort.

Friction is estimated from the same effort and follows any scale. Only torques of gravity and
inertia show the scale, because the starting set predicts them. If a joint has little torque of
gravity and inertia (a last joint that turns a small, balanced body), a wrong scale would go
unnoticed: its effort determines only its own friction, not inertias (`Problem.with_shown_scales`).
"""

from __future__ import annotations

import numpy as np

from .prior import Prior
from .samples import QRFactors
from .solve import estimate, Noise
from .torque_model import normal_residual
from ..typing import Array

# A motion shows a joint's effort scale if the logarithm of the scale has a standard deviation
# below NOT_SHOWN: a wrong factor of two is then about two standard deviations.
NOT_SHOWN = 0.35


def scale_column(factors: QRFactors, prior: Prior, joint: int) -> Array:
    """Return one joint's rigid-body torque, zero for other joints, (n, rows of R_j, 1)."""
    b = len(prior.model.base)
    column = np.zeros((*factors.r_factors.shape[:2], 1))
    column[joint, :, 0] = factors.r_factors[joint, :, :b] @ prior.center[:b]
    return column


def scales_shown(
    factors: QRFactors, prior: Prior, regularization: float, inflation: Array
) -> Array:
    """
    Return whether a motion shows each joint's effort scale, shape (n,) of bool.

    Which scales are shown depends on measured efforts only through `inflation`, (n,), the number
    of samples per independent sample, and, if the arm has no torque limits, through
    `prior.effort`.
    """
    n, b = prior.model.n, len(prior.model.base)
    # The assumed noise is the error of a good fit, which includes errors of the model.
    noise = Noise(normal_residual(prior.effort, np.zeros(n)), inflation)
    shown = np.empty(n, dtype=bool)
    for joint in range(n):
        more = factors.with_shared(scale_column(factors, prior, joint))
        # A wide prior keeps the scale's deviation finite if the joint has no rigid-body torque.
        wide = 10.0 / NOT_SHOWN
        found = estimate(more.weighted(noise.weights), prior, regularization, wide)
        shown[joint] = found.deviations[b] < NOT_SHOWN
    return shown
