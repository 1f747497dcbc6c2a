# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Something touches the arm: for a few seconds residuals far exceed all others."""

import numpy as np
from numpy.typing import NDArray

from .fault import Fault
from ...recordings.preprocessing import Motion
from ...typing import Array

# [rad/s or m/s] A slower joint's friction may be anything up to its Coulomb friction. Without this
# two of nine sound logs of a UR10e, which begin or end at rest, seem touched there.
_MIN_SPEED = 0.02
# Seconds with more than _LARGE times the usual residual may be touched, at most _MOST of all.
_LARGE, _MOST = 3.0, 0.25


class Contact(Fault):
    """A contact in a recording; its value is the start of the worst second [s]."""

    kind, of_all = 'contact', False
    text = (
        'Something touched the arm about {0:.0f} s after the beginning of {where}, or its efforts '
        'were wrong there. Cut this out, or record again with nobody near.'
    )


def touched_seconds(
    motion: Motion, residual: Array, least: Array
) -> tuple[NDArray[np.bool_], float]:
    """
    Return which samples are in seconds with residuals far above the usual, (N,), and the worst.

    Residuals (N, n) [N m] are taken relative to each joint's usual one, by the median, or to
    `least` (n,). The worst second is given by its begin [s].
    """
    usual = 1.48 * np.median(np.abs(residual), axis=0)  # a Gaussian's deviation
    # The residual of a joint at rest does not count, whose static friction is unknown.
    moving = np.abs(motion.dq) > _MIN_SPEED
    off = np.mean(np.where(moving, residual / np.maximum(usual, least), 0.0) ** 2, axis=1)
    _, first, second = np.unique(
        np.floor(motion.time - motion.time[0]) + 1e6 * motion.piece,
        return_index=True,
        return_inverse=True,
    )
    rms = np.sqrt(np.bincount(second, off) / np.bincount(second))
    bound = max(_LARGE * float(np.median(rms)), float(np.quantile(rms, 1.0 - _MOST)))
    return np.asarray(rms > bound)[second], float(motion.time[first[np.argmax(rms)]])
