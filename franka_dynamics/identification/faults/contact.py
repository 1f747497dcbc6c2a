# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Something touches the arm: for a few seconds residuals far exceed all others."""

import numpy as np

from .fault import Fault
from ...recordings.preprocessing import Motion
from ...typing import Array

# [rad/s or m/s] A slower joint's friction may be anything up to its Coulomb friction. Without this
# two of nine sound logs of a UR10e, which begin or end at rest, seem touched there.
_MIN_SPEED = 0.02
# Largest share of the seconds in which a contact has half its largest residual.
_MAX_CONTACT_SHARE = 0.15


class Contact(Fault):
    """A contact in a recording; its value is the start of the worst second [s]."""

    kind, of_all = 'contact', False
    text = (
        'Something touched the arm about {0:.0f} s after the beginning of {where}. Cut this out, '
        'or record again with nobody near.'
    )


def residual_per_second(motion: Motion, residual: Array, least: Array) -> tuple[Array, Array]:
    """
    Return the start times of a motion's seconds [s] and the rms residual of moving joints in each.

    Residuals (N, n) [N m] are taken relative to each joint's usual one, by the median, or to
    `least` (n,). What remains after the last full second of a piece is left out.
    """
    count = round(motion.options.rate)
    usual = 1.48 * np.median(np.abs(residual), axis=0)  # a Gaussian's deviation
    own = np.maximum(usual, least)
    start_times, residuals = [], []
    for number in np.unique(motion.piece):
        piece = motion.piece == number
        # A constant offset does not count as contact, nor does the residual of a joint at rest,
        # whose static friction is unknown.
        squares = ((residual[piece] - residual[piece].mean(axis=0)) / own) ** 2
        moving = np.abs(motion.dq[piece]) > _MIN_SPEED
        off = np.mean(np.where(moving, squares, 0.0), axis=1)
        whole = len(off) // count * count
        start_times.append(motion.time[piece][:whole:count])
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
