# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Where the arm probably is while no joint state can be believed, and what it gets then.

Joint states that cease, that cannot be used, and positions that stand still are one case: the arm
is brought to rest by its model, then gets the resting torque. The first state that can be used
again ends that, even if the arm still moves.
"""

from __future__ import annotations

import numpy as np

from .terms import MAX_REST_SPEED_RAD_S, TermModel
from ..arm.friction_state import MAX_GAP_S
from ..typing import Array

# Time constant with which an arm whose motion is not seen is brought to rest [s], and time after
# which that is over, in such constants. On draw 73 of benchmarks/guard_misconfiguration.py an FR3
# with firm gains, all joints frozen in motion, reached 7.6 rad/s with a time constant of 0.06, and
# 2.5 with 0.1, each over after 0.3 s; with the values below 1.6.
UNSEEN_STOP_TIME_CONSTANT_S = 0.1
UNSEEN_STOP_TIME_S = 2.5 * UNSEEN_STOP_TIME_CONSTANT_S


class UnseenArm:
    """
    Estimates an arm without usable joint states, and computes its stopping and resting torque.

    Attributes
    ----------
    seen : tuple of ndarray, shape (n,) each, or None
        The last position and velocity that are believed [rad, rad/s].
    compared : bool
        Whether the resting torque was compared with the arm; until then it is zero.
    stops : bool
        Whether the arm is brought to rest by the model.

    """

    def __init__(self) -> None:
        self.reset(compared=False)

    def reset(self, *, compared: bool) -> None:
        """Discard the last state; `compared`: the resting torque needs no comparison."""
        self.seen: tuple[Array, Array] | None = None
        self.compared, self.stops = compared, False

    def allow_resting_torque(self) -> None:
        """Allow the resting torque, because it was compared with the arm."""
        self.compared = True

    def see(self, q: Array, dq: Array) -> None:
        """Record a usable position and velocity, (n,) each."""
        self.seen = q, dq

    def lose(self, now: float) -> None:
        """Begin to stop an arm by the model if it moved when last seen, at a time [s]."""
        if self.seen and not self.stops and np.abs(self.seen[1]).max() > MAX_REST_SPEED_RAD_S:
            self.begin_stop(*self.seen, now)

    def begin_stop(self, q: Array, dq: Array, now: float) -> None:
        """Begin to stop the arm by the model from its probable state at `now` [s], (n,) each."""
        self.stops, self._begun = True, (q, dq, now)
        self._measured, self._live, self._measured_at = (q, dq), np.zeros(len(q), dtype=bool), now

    def set_measured_joints(self, q: Array, dq: Array, live: Array, now: float) -> None:
        """Take the measured state of the joints whose sensors work, `live`, (n,) each."""
        self._measured, self._live, self._measured_at = (q, dq), live, now

    def end_stop(self) -> None:
        """End the stop by the model, because joint states are usable again."""
        self.stops = False

    def stopping_torque(self, terms: TermModel, now: float) -> Array:
        """
        Return the torque that brings the arm to rest by the model at a time [s], (n,) [N m].

        The velocity of each joint that is not seen is taken to decay exponentially.
        """
        (begun_q, begun_dq, begun), decay = self._begun, UNSEEN_STOP_TIME_CONSTANT_S
        left = float(np.exp(-max(0.0, now - begun) / decay))
        probably = begun_q + (1.0 - left) * decay * begun_dq, left * begun_dq
        q, dq = (np.where(self._live, *both) for both in zip(self._measured, probably))
        gravity = terms.gravity_to_command(q, terms.gravity(q))
        return gravity + terms.coriolis(q, dq) - terms.inertia_torque(q, dq / decay)

    def has_stopped(self, terms: TermModel, now: float) -> bool:
        """
        Return whether the arm is at rest at a time [s] according to the model.

        Where the target adds no gravity, the unseen joint may fall, and the others are slowed as
        long as they are seen.
        """
        if now - self._begun[2] < UNSEEN_STOP_TIME_S:
            return False
        seen = np.abs(self._measured[1])[self._live]
        moves = (seen > MAX_REST_SPEED_RAD_S).any() or (seen.size and not terms.adds_gravity)
        return not (moves and now - self._measured_at < MAX_GAP_S)

    def rests(self, terms: TermModel) -> bool:
        """Whether the resting torque under these terms is g(q)."""
        return self.compared and not terms.adds_gravity

    def resting_torque(self, terms: TermModel) -> Array:
        """Return the torque that holds the arm if the target needs one, else zero, (n,) [N m]."""
        if self.seen is None or not self.rests(terms):
            return np.zeros(terms.loaded.n)
        return terms.gravity(self.seen[0])
