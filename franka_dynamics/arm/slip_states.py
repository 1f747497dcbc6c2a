# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The states of a friction's Maxwell-slip elements along a recorded motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..typing import Array


def slip_states(q: ArrayLike, reach: ArrayLike, start: ArrayLike | None = None) -> Array:
    """
    Return the state of Maxwell-slip elements along a motion, shape (N, k, n) [1].

    z <- clip(z + dq_step / reach, -1, 1) is exact for as long as q goes one way between two
    samples, whatever the speed.

    Parameters
    ----------
    q : array_like, shape (N, n)
        Positions [rad], not filtered: a filter would take the small elements' turns away.
    reach : array_like, shape (k,)
        Reach of each element [rad].
    start : array_like, shape (k, n), optional
        State at the first sample; relaxed (zero) by default.

    """
    positions, reaches = np.asarray(q, dtype=float), np.asarray(reach, dtype=float)
    states = np.zeros((len(positions), len(reaches), positions.shape[1]))
    if start is not None:
        states[:1] = start
    steps = np.diff(positions, axis=0)[:, None, :] / reaches[:, None]
    for before, after, step in zip(states, states[1:], steps):
        np.add(before, step, out=after)
        np.maximum(after, -1.0, out=after)
        np.minimum(after, 1.0, out=after)
    return states


def middle_slip_states(q: ArrayLike, reach: ArrayLike) -> Array:
    """
    Return the middle of what `slip_states` makes of both extremes to start from, (N, k, n).

    Parameters
    ----------
    q : array_like, shape (N, n)
        Positions [rad], not filtered.
    reach : array_like, shape (k,)
        Reach of each element [rad].

    """
    count = np.size(reach)
    start = np.repeat([-1.0, 1.0], count)[:, None] * np.ones(np.shape(q)[1])
    both = slip_states(q, np.tile(reach, 2), start)
    return np.asarray(0.5 * (both[:, :count] + both[:, count:]))
