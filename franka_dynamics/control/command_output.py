# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The torque commanded last, and what may follow it: within limits, and without a step."""

from __future__ import annotations

import math

import numpy as np

from .limits import LimitedTorque, TorqueLimiter
from ..typing import Array


class CommandOutput:
    """
    Remembers the last command, limits the next, and fades out what would be a step.

    Parameters
    ----------
    effort, effort_rate : ndarray, shape (n,)
        Torque limit [N m] and torque-rate limit [N m/s].

    """

    def __init__(self, effort: Array, effort_rate: Array) -> None:
        self._effort = effort
        self._limiter = TorqueLimiter(effort, effort_rate)
        self.last: Array | None = None  # the last command that was published
        self.blend_wanted = False  # whether the next difference is to be faded out
        self._stamp: float | None = None
        self._blend: tuple[Array, float] | None = None

    def clipped(self, torque: Array) -> Array:
        """Return a torque within the limits, shape (n,) [N m]."""
        return np.clip(torque, -self._effort, self._effort)

    def begin(self, torque: Array, stamp: float) -> None:
        """Take a torque, shape (n,) [N m], as if it had been commanded at a stamp [s]."""
        self.take(self.clipped(torque), stamp)

    def take(self, torque: Array, stamp: float) -> None:
        """Remember what was commanded, shape (n,) [N m], in answer to a state of a stamp [s]."""
        self.last, self._stamp = torque, stamp

    def glide(self, stamp: float, desired: Array, ramp_time: float) -> Array:
        """Fade out the difference that a start or a change of settings would be as a step."""
        if self.blend_wanted and self.last is not None:
            self._blend = (self.last - desired, stamp)
            self.blend_wanted = False
        if self._blend is None:
            return desired
        difference, since = self._blend
        passed = (stamp - since) / ramp_time if ramp_time else 1.0
        if passed >= 1.0:
            self._blend = None
            return desired
        return desired + (1.0 - passed) * difference

    def limited(self, stamp: float, desired: Array) -> LimitedTorque:
        """Return what may be commanded at a stamp [s] of a desired torque, shape (n,) [N m]."""
        assert self.last is not None, 'only called once begun'
        elapsed = stamp - self._stamp if self._stamp is not None else 0.0
        return self._limiter.limit(desired, self.last, elapsed)

    def step(self, goal: Array, elapsed: float) -> Array:
        """Command, and return, the next torque on the way to a goal, both (n,) [N m]."""
        assert self.last is not None, 'only called once begun'
        self.last = self._limiter.limit(goal, self.last, elapsed).torque
        return self.last


def all_finite(values: Array) -> bool:
    """Return whether all are finite; a sum of plain numbers tells quickly, but may overflow."""
    return math.isfinite(sum(values.tolist())) or bool(np.isfinite(values).all())
