# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contact: a few seconds of a recording whose residuals are far above the others'."""

from __future__ import annotations

import numpy as np

from .options import PRIOR_PRECISION
from .prior import Prior
from .solve import estimate, LEAST_SHARE
from .sums import Sums
from ..recordings.preprocessing import Motion
from ..typing import Array

# [rad/s or m/s] A slower joint's friction may be anything up to its Coulomb friction. Without this
# two of nine sound logs of a UR10e, which begin or end at rest, seem touched there.
_SLIDES = 0.02
_TOUCHED = 0.15  # largest share of the seconds in which a contact has half its largest residual


def seconds(motion: Motion, sums: Sums, prior: Prior) -> tuple[Array, Array]:
    """
    Return the begin of each second of a motion [s] and its rms residual, of joints that move.

    Residuals are those of a fit to the motion's own sums, relative to each joint's usual one, by
    the median. What remains after the last full second of a piece is left out.
    """
    theta, count = estimate(sums, prior, PRIOR_PRECISION, prior.normal), round(motion.options.rate)
    pieces = list(motion.pieces())
    each = [piece.effort - prior.model.torque(piece, theta) for piece in pieces]
    usual = 1.48 * np.median(np.abs(np.concatenate(each)), axis=0)  # a Gaussian's deviation
    own = np.maximum(usual, LEAST_SHARE * sums.strongest)
    begins, sizes = [], []
    for piece, residual in zip(pieces, each):
        # A constant offset does not count as contact, nor does the residual of a joint at rest,
        # whose static friction is unknown.
        squares = ((residual - residual.mean(axis=0)) / own) ** 2
        off = np.mean(np.where(np.abs(piece.dq) > _SLIDES, squares, 0.0), axis=1)
        whole = len(off) // count * count
        begins.append(piece.time[:whole:count])
        sizes.append(np.sqrt(off[:whole].reshape(-1, count).mean(axis=1)))
    return np.concatenate(begins), np.concatenate(sizes)


def contact(begins: Array, sizes: Array, left: float) -> float | None:
    """
    Return the begin of the worst second [s] if a few seconds explain the residuals, or None.

    The seconds are those with at least half the worst one's residual. Without them the mean square
    is at most half, and less than with the best fault in the fit, which leaves the share `left`.
    """
    touched = sizes > 0.5 * sizes.max(initial=0.0)
    if not len(sizes) or touched.mean() > _TOUCHED:  # what lasts, such as a load, is no contact
        return None
    before, after = (float(np.sqrt(np.mean(one**2))) for one in (sizes, sizes[~touched]))
    if before**2 < 2.0 * after**2 or after > left * before:
        return None
    return float(begins[np.argmax(sizes)])
