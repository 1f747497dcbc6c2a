# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torque and torque-rate saturation: the last thing that happens to a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CommandRefusedError

# What FCI tolerates, and what no arm is driven faster than, whether its file states a rate or not.
MOST_RATE = 1000.0  # N m/s, or N/s for a prismatic joint
# However far apart two stamps are, a receiver sees the change within one of its 1 ms cycles.
LONGEST_STEP_S = 1e-3


def finite_command(command: ArrayLike, names: Sequence[str]) -> NDArray[np.float64]:
    """
    Return commanded torques as an array of shape (n,), one finite value per joint [N m].

    Raises
    ------
    CommandRefusedError
        If there is another number of values, or one is not finite.

    """
    torque = np.array(command, dtype=float)
    if torque.shape != (len(names),) or not np.isfinite(torque).all():
        raise CommandRefusedError(
            f'a command of {torque.size} values {torque.tolist()} was refused: {len(names)} '
            f'finite torques in the order {", ".join(names)} are needed'
        )
    return torque


class LimitedTorque(NamedTuple):
    """A torque, shape (n,) [N m], and what it was before it was cut by limit and by rate."""

    torque: NDArray[np.float64]
    within_limit: NDArray[np.float64]
    desired: NDArray[np.float64]

    @property
    def cut_by_limit(self) -> NDArray[np.bool_]:
        """Which joints would have exceeded the torque limit."""
        return self.within_limit != self.desired

    @property
    def cut_by_rate(self) -> NDArray[np.bool_]:
        """Which joints would have changed too fast."""
        return self.torque != self.within_limit


class TorqueLimiter:
    """
    Keeps commands within a torque and a torque rate.

    Parameters
    ----------
    effort, effort_rate : ndarray, shape (n,)
        Largest absolute torque [N m] and largest change per second [N m/s], of which at most
        MOST_RATE counts; either may be infinite.

    """

    def __init__(self, effort: NDArray[np.float64], effort_rate: NDArray[np.float64]) -> None:
        self._effort = np.array(effort, dtype=float)
        self._effort_rate = np.minimum(np.asarray(effort_rate, dtype=float), MOST_RATE)
        self._bounds = tuple(zip(self._effort.tolist(), self._effort_rate.tolist()))

    def limit(
        self, desired: NDArray[np.float64], previous: NDArray[np.float64] | None, elapsed_s: float
    ) -> LimitedTorque:
        """
        Return the nearest torque that may follow `previous` after `elapsed_s` seconds.

        Parameters
        ----------
        desired : ndarray, shape (n,)
            The torque one would like to command [N m]; finite.
        previous : ndarray, shape (n,), or None
            The last published torque; None when nothing was published yet, which leaves only
            the torque limit.
        elapsed_s : float
            Time since `previous`; at most 1 ms of it counts, and none if it is not positive.

        """
        seconds = min(max(elapsed_s, 0.0), LONGEST_STEP_S)
        if previous is not None and self._may_follow(desired, previous, seconds):
            return LimitedTorque(desired, desired, desired)
        # minimum and maximum rather than clip, which costs ten times as much on seven numbers.
        within = np.minimum(np.maximum(desired, -self._effort), self._effort)
        if previous is None:
            return LimitedTorque(within, within, desired)
        step = self._effort_rate * seconds
        torque = np.minimum(np.maximum(within, previous - step), previous + step)
        return LimitedTorque(torque, within, desired)

    def _may_follow(
        self, desired: NDArray[np.float64], previous: NDArray[np.float64], seconds: float
    ) -> bool:
        """Return whether nothing is to be cut, as is the rule; a NaN compares false."""
        for torque, before, (limit, rate) in zip(
            desired.tolist(), previous.tolist(), self._bounds
        ):
            step = rate * seconds
            if not (-limit <= torque <= limit and before - step <= torque <= before + step):
                return False
        return True
