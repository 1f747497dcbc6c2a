# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limits the torques of one arm and their rate, sends them, and keeps the last ones."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable

import numpy as np

from .limits import TorqueLimiter
from .state_check import MIN_CLOCK_SET_BACK_S
from ..arm import ArmDescription
from ..typing import Array

# So many of the last torques are kept: enough to find the one that acted when an old state was
# measured.
_KEPT_TORQUE_COUNT = 128


class TorqueOutput:
    """
    Limits, sends and counts the torques of one arm.

    A torque changes within a step by at most its rate limit times `longest_step` [s]. `send` is
    called with each torque, (n,) [N m], if given.

    Attributes
    ----------
    sent : deque of ndarray
        The last torques, (n,) each [N m]; empty if none acts.
    sent_at : float
        When the last one was sent, by the clock of `now` [s].
    is_new : bool
        Whether the latest joint state or tick gave a new torque; set to False by the caller.
    counts : Counter
        How many torques were sent (`commands`), and how many of them a limit changed (`limited`).
    largest_share : ndarray, shape (n,)
        The largest ratio of a torque to its limit.

    """

    def __init__(
        self, arm: ArmDescription, longest_step: float, send: Callable[[Array], object] | None
    ) -> None:
        self._zero, self._effort = np.zeros(arm.n), arm.limit('effort')
        self._limiter = TorqueLimiter(self._effort, arm.limit('effort_rate'), longest_step)
        self._send = send
        self.counts: Counter[str] = Counter()
        self.largest_share, self.is_new = self._zero.copy(), False
        self.clear()

    def clear(self) -> None:
        """Begin without a torque: the next one may be any step away."""
        self.sent, self.sent_at = deque[Array](maxlen=_KEPT_TORQUE_COUNT), -np.inf

    def keep_last(self) -> None:
        """Forget all torques but the last, which acts now if there is one, and when it was."""
        last = list(self.sent)[-1:]
        self.clear()
        self.sent.extend(last)

    @property
    def last(self) -> Array:
        """The last torque, zero if there is none, (n,) [N m]; not to be written into."""
        return self.sent[-1] if self.sent else self._zero

    def begin_at(self, torque: Array) -> None:
        """Let the next torque begin at this one, (n,) [N m], within its limits."""
        self.sent.append(self._limiter.clipped(torque))

    def clipped(self, torque: Array) -> Array:
        """Return a torque within the torque limits, (n,) [N m]."""
        return self._limiter.clipped(torque)

    def send(self, desired: Array, elapsed: float, now: float) -> Array:
        """Send a torque within its limits, `elapsed` [s] after the last one; return it."""
        torque = self._limiter.limit(desired, self.sent[-1] if self.sent else None, elapsed)
        self.sent.append(torque)
        set_back = now < self.sent_at - MIN_CLOCK_SET_BACK_S
        self.is_new, self.sent_at = True, now if set_back else max(self.sent_at, now)
        if self._send is not None:
            self._send(torque)
        self.counts['commands'] += 1
        self.counts['limited'] += bool((torque != desired).any())
        np.maximum(self.largest_share, np.abs(torque) / self._effort, out=self.largest_share)
        return torque
