# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Detects contact: a few seconds of a recording whose residuals far exceed all others."""

from __future__ import annotations

import numpy as np

from .gram_sums import GramSums
from .options import DEFAULT_PRIOR_PRECISION
from .prior import Prior
from .solve import estimate, MIN_NOISE_RATIO
from ..recordings.preprocessing import Motion
from ..typing import Array

# [rad/s or m/s] A slower joint's friction may be anything up to its Coulomb friction. Without this
# two of nine sound logs of a UR10e, which begin or end at rest, seem touched there.
_MIN_SPEED = 0.02
# Largest share of the seconds in which a contact has half its largest residual.
_MAX_CONTACT_SHARE = 0.15


def residual_per_second(motion: Motion, sums: GramSums, prior: Prior) -> tuple[Array, Array]:
    """
    Return the start times of a motion's seconds [s] and the rms residual of moving joints in each.

    Residuals are those of a fit to the motion's own sums, relative to each joint's usual one, by
    the median. What remains after the last full second of a piece is left out.
    """
    theta = estimate(sums, prior, DEFAULT_PRIOR_PRECISION, prior.expected_residual)
    count = round(motion.options.rate)
    pieces = list(motion.pieces())
    each = [piece.effort - prior.model.torque(piece, theta) for piece in pieces]
    usual = 1.48 * np.median(np.abs(np.concatenate(each)), axis=0)  # a Gaussian's deviation
    own = np.maximum(usual, MIN_NOISE_RATIO * sums.max_torque)
    start_times, residuals = [], []
    for piece, residual in zip(pieces, each):
        # A constant offset does not count as contact, nor does the residual of a joint at rest,
        # whose static friction is unknown.
        squares = ((residual - residual.mean(axis=0)) / own) ** 2
        off = np.mean(np.where(np.abs(piece.dq) > _MIN_SPEED, squares, 0.0), axis=1)
        whole = len(off) // count * count
        start_times.append(piece.time[:whole:count])
        residuals.append(np.sqrt(off[:whole].reshape(-1, count).mean(axis=1)))
    return np.concatenate(start_times), np.concatenate(residuals)


def contact_time(start_times: Array, rms: Array, remaining: float) -> float | None:
    """
    Return the start of the second with the largest residual [s] if it is a contact, or None.

    A contact explains the residuals by few seconds, those with at least half the largest residual.
    Without them the mean square is at most half, and less than with the best fault in the fit,
    which leaves the share `remaining`.
    """
    touched = rms > 0.5 * rms.max(initial=0.0)
    if not len(rms) or touched.mean() > _MAX_CONTACT_SHARE:  # a load lasts, a contact does not
        return None
    before, after = (float(np.sqrt(np.mean(one**2))) for one in (rms, rms[~touched]))
    if before**2 < 2.0 * after**2 or after > remaining * before:
        return None
    return float(start_times[np.argmax(rms)])
