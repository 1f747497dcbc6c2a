# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Where the arm probably is while no joint state can be believed, and what it gets then.

Joint states that cease, that cannot be used, and positions that stand still are one case: the arm
is brought to rest by its model, then gets the resting torque. The first state that can be used
again ends that, even if the arm still moves; one whose velocities its positions contradict does
not, nor the first after a gap, which only shows how long it was.
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
    Estimates where the joints are while they are not seen; computes stopping and resting torque.

    Attributes
    ----------
    last : tuple or None
        Position and velocity, (n,) each, of each joint when it was seen last, and when, one time
        or one for each joint [s].
    stops : bool
        Whether the arm is brought to rest by the model.

    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Discard the last state."""
        self.last: tuple[Array, Array, Array | float] | None = None
        self.stops, self._begun = False, 0.0

    def see(self, q: Array, dq: Array, now: float, seen: Array) -> None:
        """
        Record the positions and velocities of the joints `seen`, (n,) each, at a time [s].

        The others keep theirs; an arm that was never seen as a whole has none.
        """
        if self.last is not None:
            q_last, dq_last, when = self.last
            both = np.where(seen, q, q_last), np.where(seen, dq, dq_last)
            self.last = *both, np.where(seen, now, when)

    def lose(self, now: float, some: bool = False) -> None:
        """
        Begin to stop an arm by the model if it moved when last seen, at a time [s].

        `some`: joints are lost of an arm whose others are seen, and may move.
        """
        if self.last is not None and not self.stops:
            q, dq, _ = self.last
            self.last = q, dq, now
            self.stops = some or bool(np.abs(dq).max() > MAX_REST_SPEED_RAD_S)
            self._begun = now

    def probable(self, now: float) -> tuple[Array, Array]:
        """
        Return the probable position and velocity at a time [s], (n,) each.

        The velocity of a joint that is not seen is taken to decay exponentially.
        """
        assert self.last is not None, 'only an arm that was seen is stopped'
        q, dq, since = self.last
        left = np.exp(-np.maximum(0.0, now - since) / UNSEEN_STOP_TIME_CONSTANT_S)
        return q + (1.0 - left) * UNSEEN_STOP_TIME_CONSTANT_S * dq, left * dq

    def stopping_torque(self, terms: TermModel, now: float) -> Array:
        """Return the torque that stops the arm by the model at a time [s], (n,) [N m]."""
        q, dq = self.probable(now)
        slowing = terms.inertia_torque(q, dq / UNSEEN_STOP_TIME_CONSTANT_S)
        return terms.gravity_to_command(q, terms.gravity(q)) + terms.coriolis(q, dq) - slowing

    def has_stopped(self, terms: TermModel, now: float) -> bool:
        """
        Return whether the arm is at rest at a time [s] according to the model.

        Where the target adds no gravity, a joint that is not seen may fall, and the others are
        slowed as long as they are seen.
        """
        if now - self._begun < UNSEEN_STOP_TIME_S or self.last is None:
            return now - self._begun >= UNSEEN_STOP_TIME_S
        _, dq, since = self.last
        seen = np.broadcast_to(now - since < MAX_GAP_S, dq.shape)
        falls = seen.any() and not (seen.all() or terms.adds_gravity)
        return not (falls or (np.abs(dq) > MAX_REST_SPEED_RAD_S)[seen].any())

    def resting_torque(self, terms: TermModel, now: float) -> Array:
        """Return the torque that holds the arm if the target needs one, else zero, (n,) [N m]."""
        if self.last is None or terms.adds_gravity:
            return np.zeros(terms.loaded.n)
        return terms.gravity(self.probable(now)[0])
