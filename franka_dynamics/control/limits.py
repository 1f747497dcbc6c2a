# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torque and torque-rate limits, and smooth transitions between commands."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..typing import Array

# FCI's limit of the torque rate, applied to every arm even if the arm file has a larger rate or
# none.
MOST_RATE = 1000.0  # N m/s, or N/s for a prismatic joint
# A receiver applies a new torque within one cycle of 1 ms, even if states come more slowly. A
# command therefore changes by at most the rate limit times LONGEST_STEP_S [s].
LONGEST_STEP_S = 1e-3


class LimitedTorque(NamedTuple):
    """Torques (n,) [N m]: limited in value and rate; limited in value only; not limited."""

    torque: Array
    within_limit: Array
    desired: Array

    @property
    def cut_by_limit(self) -> NDArray[np.bool_]:
        """For each joint, whether the desired torque exceeded the torque limit, shape (n,)."""
        return self.within_limit != self.desired

    @property
    def cut_by_rate(self) -> NDArray[np.bool_]:
        """For each joint, whether the rate limit changed the torque, shape (n,)."""
        return self.torque != self.within_limit


class TorqueLimiter:
    """
    Keeps commands within torque limits [N m] and torque rates [N m/s], shape (n,) each.

    An infinite torque limit limits nothing. Torque rates above MOST_RATE are reduced to MOST_RATE.
    """

    def __init__(self, effort: Array, effort_rate: Array) -> None:
        self._effort = np.array(effort, dtype=float)
        # Largest rates of change of the torque [N m/s].
        self.rate = np.minimum(np.asarray(effort_rate, dtype=float), MOST_RATE)

    def clipped(self, torque: Array) -> Array:
        """Return a torque within the torque limits, shape (n,) [N m]."""
        # np.minimum and np.maximum rather than np.clip, which takes twice as long on seven
        # numbers.
        return np.minimum(np.maximum(torque, -self._effort), self._effort)

    def limit(self, desired: Array, previous: Array | None, elapsed_s: float) -> LimitedTorque:
        """
        Return the torque nearest to the finite `desired` within torque and rate limit, (n,) [N m].

        `previous` is the last published torque; if it is None, only the torque limit applies.
        `elapsed_s` is the time since `previous`, counted as at most 1 ms and at least zero;
        NaN counts as zero.
        """
        seconds = min(max(0.0, elapsed_s), LONGEST_STEP_S)  # in this order NaN gives zero
        within = self.clipped(desired)
        if previous is None:
            return LimitedTorque(within, within, desired)
        step = self.rate * seconds
        torque = np.minimum(np.maximum(within, previous - step), previous + step)
        return LimitedTorque(torque, within, desired)


class CommandOutput(TorqueLimiter):
    """Remembers the last command, limits the next one, and turns torque steps into ramps."""

    def __init__(self, effort: Array, effort_rate: Array) -> None:
        super().__init__(effort, effort_rate)
        self.last: Array | None = None  # last command; at first the torque to begin with
        self.blend_requested = False  # whether to blend from `last` to the next desired torque
        self.stamp: float | None = None  # stamp of the joint state of `last` [s]
        self._blend: Array | None = None  # torque that a ramp adds at its start [N m]
        self._since = 0.0

    def take(self, torque: Array, stamp: float) -> None:
        """Remember a command, shape (n,) [N m], and the stamp of the joint state it is for [s]."""
        self.last, self.stamp = torque, stamp

    def glide(
        self, stamp: float, desired: Array, ramp_time: float, before: Array | None = None
    ) -> Array:
        """
        Return `desired`, (n,) [N m], reached by a ramp after start or change of law or reference.

        `desired` is the torque for the state stamped `stamp` [s] with the present settings and
        reference, `before` the torque for this state with the settings and reference before a
        change, None without a change. `ramp_time` is the duration of the ramp [s]. When commanding
        starts, the ramp begins at `last`, the last command or the first torque. After a change the
        ramp begins at `before`, plus the rest of an earlier ramp, because frequent ramps from the
        last torque would cancel the feedback.
        """
        passed = (stamp - self._since) / ramp_time if ramp_time else 1.0
        left = None if self._blend is None or passed >= 1.0 else (1.0 - passed) * self._blend
        if self.blend_requested and self.last is not None:
            self._blend, self._since = self.last - desired, stamp
        elif before is not None:
            difference = before - desired
            self._blend = difference if left is None else left + difference
            self._since = stamp
        else:
            self._blend = self._blend if left is not None else None
            return desired if left is None else desired + left
        self.blend_requested = False
        return desired + self._blend if ramp_time else desired

    def limited(self, stamp: float, desired: Array) -> LimitedTorque:
        """Return `desired` after torque and rate limit; `stamp` is the stamp of the state [s]."""
        assert self.last is not None, 'called only after a first command'
        elapsed = stamp - self.stamp if self.stamp is not None else 0.0
        return self.limit(desired, self.last, elapsed)

    def step(self, goal: Array, elapsed: float) -> Array:
        """Return and remember the next command of a ramp to `goal` [N m], `elapsed` s later."""
        assert self.last is not None, 'called only after a first command'
        self.last = self.limit(goal, self.last, elapsed).torque
        return self.last


def all_finite(values: Array) -> bool:
    """Return whether all entries of a vector are finite."""
    # A finite sum proves that all values are finite, and takes less time than isfinite.
    return math.isfinite(sum(values.tolist())) or bool(np.isfinite(values).all())
