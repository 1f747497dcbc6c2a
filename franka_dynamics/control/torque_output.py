# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limits the torques of one arm and their rate, sends them, and keeps the last ones."""

from collections import Counter, deque
from collections.abc import Callable

import numpy as np

from .limits import MAX_STEP_S, TorqueLimiter
from .receiver import COMMAND_TIMEOUT_S
from .settings import StateLimits
from .state_check import MAX_REORDERING_TIME_S
from .terms import StateTerms
from ..arm import ArmDescription
from ..arrays import Array
from ..motion.planning import MAX_START_DISTANCE_RAD


class TorqueOutput:
    """
    Limits, sends and counts the torques of one arm.

    A loop applies each torque, also in silence, for a whole `period` [s]; None: a node. Its
    last torque may go on acting in silence; its receiver applies a new one within MAX_STEP_S.
    `send` is called with each torque, (n,) [N m], if given.

    Attributes
    ----------
    in_loop : bool
        Whether a loop applies the torques.
    limiter : TorqueLimiter
        The limits of torque and rate.
    torques : deque of ndarray
        The last ones sent, (n,) each [N m]; empty if none acts.
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
        self, arm: ArmDescription, period: float | None, send: Callable[[Array], object] | None
    ) -> None:
        self.in_loop = period is not None
        longest_step = max(MAX_STEP_S, period or 0.0)
        self._zero, self._effort_limit = np.zeros(arm.n), arm.limit('effort')
        self.limiter = TorqueLimiter(self._effort_limit, arm.limit('effort_rate'), longest_step)
        self._send = send
        self.counts: Counter[str] = Counter()
        self.peak_to_limit = self._zero.copy()
        self.reset_torques()

    def reset_torques(self) -> None:
        """Discard the last torques, so that the rate of the next one is not limited."""
        # Enough to find the one that acted when a state of the largest age, by default, was
        # measured.
        kept = 1 + round(StateLimits.max_state_age / MAX_STEP_S)
        self.torques, self.sent_at = deque[Array](maxlen=kept), -np.inf
        self.is_new = self._was_sent_by_clock = False
        # Whether the receiver of the last torque added gravity; position and velocity that were
        # seen last before, and when.
        self._end_record: tuple[bool, tuple[Array, Array] | None, float] = False, None, 0.0

    def keep_only_last_torque(self, now: float) -> None:
        """Discard all torques but the last, which counts as sent at `now` [s]."""
        self.torques, self.sent_at = deque(list(self.torques)[-1:], self.torques.maxlen), now

    def repeat_last_torque(self) -> Array:
        """
        Send nothing new; return a copy of the last torque, zero if none acts, (n,) [N m].

        A loop applies it: the next one is within the rate from there.
        """
        self.is_new = False
        if self.in_loop and not self.torques:
            self.torques.append(self._zero)
        return self.last_torque.copy()

    def record_torque_end(
        self, last_seen: tuple[Array, Array] | None, seen_at: float, target_adds_gravity: bool
    ) -> None:
        """
        Record that torques have ended, and whether their receiver adds gravity.

        `last_seen` are position and velocity that were seen last, (n,) each, at `seen_at` [s].
        """
        self._end_record = target_adds_gravity, last_seen, seen_at

    def last_torque_may_act(self, state: StateTerms, now: float, adds_gravity: bool) -> bool:
        """
        Return whether the last torque, with what the target adds, may still carry the arm.

        Zero torque, as after a pause, carries no arm whose target adds no gravity. A loop applies
        any other. A receiver of a node's does not if the arm rests more than
        MAX_START_DISTANCE_RAD beyond where its motion took it, COMMAND_TIMEOUT_S after the last
        torque; nor if the target now adds gravity otherwise.
        """
        carries = adds_gravity or bool(self.last_torque.any())
        if self.in_loop or not carries:
            return carries
        added, seen, seen_at = self._end_record
        if added != adds_gravity or seen is None:
            return False
        away = np.abs(state.q - seen[0]) - np.abs(seen[1]) * (now - seen_at)
        over = now - self.sent_at > COMMAND_TIMEOUT_S
        return state.is_moving or not (over and away.max() > MAX_START_DISTANCE_RAD)

    @property
    def last_torque(self) -> Array:
        """The last torque, zero if there is none, (n,) [N m], as an array not to be changed."""
        return self.torques[-1] if self.torques else self._zero

    def begin_at_torque(self, torque: Array) -> None:
        """Clip a torque, (n,) [N m]; record it as the last one, at which the rate limit begins."""
        self.torques.append(self.limiter.clip_torque(torque))

    def send_torque(self, desired: Array, now: float, elapsed: float = np.inf) -> Array:
        """
        Limit and send a torque, (n,) [N m], at `now` [s]; return what was sent.

        `elapsed` is the time between this joint state's stamp and the one before [s], infinite if
        there is none. It counts, because arrivals vary, if both torques were sent at states.
        """
        by_clock = elapsed == np.inf
        if by_clock or self._was_sent_by_clock:
            elapsed = min(elapsed, now - self.sent_at)
        self._was_sent_by_clock = by_clock
        torque = self.limiter.limit(desired, self.torques[-1] if self.torques else None, elapsed)
        self.torques.append(torque)
        set_back = now < self.sent_at - MAX_REORDERING_TIME_S
        self.is_new, self.sent_at = True, now if set_back else max(self.sent_at, now)
        if self._send is not None:
            self._send(torque)
        self.counts['commands'] += 1
        self.counts['limited'] += torque.tolist() != desired.tolist()
        np.maximum(self.peak_to_limit, np.abs(torque) / self._effort_limit, out=self.peak_to_limit)
        return torque

    def reset_counts(self) -> None:
        """Reset all counts and the largest ratios of torque to limit to zero."""
        self.counts.clear()
        self.peak_to_limit[:] = 0.0
