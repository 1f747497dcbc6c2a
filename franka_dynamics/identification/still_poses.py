# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The poses in which a recorded arm stood still, as samples without motion."""

from __future__ import annotations

import numpy as np

from .recording import Recording
from .signal_processing import Motion, SignalOptions
from ..errors import IdentificationError

STILL_RAD_PER_S = 0.01
_SHORTEST_S = 0.5
_SETTLING_S = 0.2  # after a stop the arm still rings


def still_poses(recording: Recording, *, still: float = STILL_RAD_PER_S) -> Motion:
    """
    Return one sample per stretch of rest: mean position and torque, no velocity.

    Parameters
    ----------
    recording : Recording
        Of an arm that is led to poses and held there.
    still : float
        Below this velocity of every joint it stands [rad/s].

    Raises
    ------
    IdentificationError
        If it never stood for half a second.

    """
    resting = (np.abs(recording.dq) < still).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], resting, [False]]).astype(int)))
    time = recording.time
    q, effort, at = [], [], []
    for first, end in zip(edges[::2], edges[1::2]):
        chosen = np.arange(first, end)[time[first:end] >= time[first] + _SETTLING_S]
        if time[end - 1] - time[first] >= _SHORTEST_S and len(chosen):
            q.append(recording.q[chosen].mean(axis=0))
            effort.append(recording.effort[chosen].mean(axis=0))
            at.append(float(time[chosen].mean()))
    if not q:
        raise IdentificationError(
            f'{recording.source}: the arm never stood still for {_SHORTEST_S} s (all joints '
            f'below {still} rad/s); hold it longer in each pose.')
    torque, zeros = np.array(effort), np.zeros((len(q), recording.q.shape[1]))
    return Motion(np.array(at), np.array(q), zeros, zeros, torque, torque,
                  np.arange(len(q)), SignalOptions(), recording.remarks)
