# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limits the torques of one arm and their rate, sends them, and keeps the last ones."""

from collections import Counter, deque
from collections.abc import Callable

import numpy as np

from .limits import MAX_STEP_S, TorqueLimiter
from .settings import StateLimits
from ..arm import ArmDescription
from ..arrays import Array

# Enough torques to find the one that acted when a state of the largest age, by default, was
# measured.
_KEPT_TORQUE_COUNT = 1 + round(StateLimits.max_state_age / MAX_STEP_S)


class TorqueOutput:
    """
    Limits, sends and counts the torques of one arm.

    A loop applies each torque, also in silence, for a whole `period` [s]; None: a node. `send` is
    called with each torque, (n,) [N m], if given.

    Attributes
    ----------
    in_loop : bool
        Whether a loop applies the torques.
    torques : deque of ndarray
        The last ones sent, (n,) each [N m]; empty before the first one.
    sent_at : float
        When the last one was sent, by the clock of `now` [s].
    is_new : bool
        Whether the latest joint state or tick gave a new torque.
    counts : Counter
        How many torques were sent (`commands`), how many of them a limit changed (`limited`), and
        the core's `unusable states`, `stops` and `faults`.
    peak_to_limit : ndarray, shape (n,)
        The largest ratio of a torque to its limit.

    """

    def __init__(
        self,
        arm: ArmDescription,
        period: float | None,
        send: Callable[[Array], object] | None,
    ) -> None:
        self.in_loop = period is not None
        self._send = send
        self._zero = np.zeros(arm.n)
        self._effort_limit = arm.limit('effort')
        longest_step = max(MAX_STEP_S, period or 0.0)
        self._limiter = TorqueLimiter(self._effort_limit, arm.limit('effort_rate'), longest_step)
        self.counts: Counter[str] = Counter()
        self.peak_to_limit = self._zero.copy()
        self.reset_torques()

    def reset_torques(self) -> None:
        """Discard the last torques, so that the rate of the next one is not limited."""
        self.torques = deque[Array](maxlen=_KEPT_TORQUE_COUNT)
        self.sent_at = -np.inf
        self.is_new = False
        self._was_sent_by_clock = False

    @property
    def last_torque(self) -> Array:
        """The last torque, zero if there is none, (n,) [N m], as an array not to be changed."""
        return self.torques[-1] if self.torques else self._zero

    def begin_at_torque(self, torque: Array) -> None:
        """
        Let the rate limit of a first torque begin at `torque`, (n,) [N m].

        A torque is a first one if none was sent before. A node's is also if the last one was zero:
        nothing of it acts any more.
        """
        acts = bool(self.torques) and (self.in_loop or self.last_torque.any())
        if not acts:
            self.torques.append(self._limiter.clip_torque(torque))

    def repeat_last_torque(self) -> Array:
        """Send nothing new; return a copy of the last torque, (n,) [N m]."""
        self.is_new = False
        return self.last_torque.copy()

    def send_torque(
        self,
        desired: Array,
        now: float,
        elapsed: float = np.inf,
        *,
        is_arrival_given: bool = False,
    ) -> Array:
        """
        Limit and send a torque, (n,) [N m], at `now` [s]; return a copy of what was sent.

        `elapsed` is the time between this joint state's stamp and the one before [s], infinite if
        there is none. It alone counts if both torques were sent at states whose arrival nobody
        gives; else the time by the clock of `now` counts, too, so that states that come in a burst
        do not move the torque by more than one.
        """
        by_clock = elapsed == np.inf
        if by_clock or self._was_sent_by_clock or is_arrival_given:
            elapsed = min(elapsed, now - self.sent_at)
        self._was_sent_by_clock = by_clock
        last = self.torques[-1] if self.torques else None
        torque = self._limiter.limit(desired, last, elapsed)
        self.torques.append(torque)
        self.is_new = True
        self.sent_at = now
        if self._send is not None:
            self._send(torque)
        self.counts['commands'] += 1
        self.counts['limited'] += torque.tolist() != desired.tolist()
        np.maximum(
            self.peak_to_limit,
            np.abs(torque) / self._effort_limit,
            out=self.peak_to_limit,
        )
        return torque.copy()

    def reset_counts(self) -> None:
        """Reset all counts and the largest ratios of torque to limit to zero."""
        self.counts.clear()
        self.peak_to_limit[:] = 0.0
