# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where the arm probably is while no joint state can be believed, and what it gets then."""

from __future__ import annotations

import numpy as np

from .terms import MAX_REST_SPEED_RAD_S, TermModel
from ..arm.friction_state import MAX_GAP_S
from ..typing import Array

# Time constant with which an arm whose motion is not seen is brought to rest, and time after which
# that is over [s]. On draw 73 of benchmarks/guard_misconfiguration.py an FR3 with firm gains, all
# joints frozen in motion, reached 7.6 rad/s with a time constant of 0.06, and 2.5 with 0.1, each
# over after 0.3 s; with the values below 1.6.
OPEN_LOOP_TIME_CONSTANT_S = 0.1
OPEN_LOOP_STOP_TIME_S = 2.5 * OPEN_LOOP_TIME_CONSTANT_S


class OpenLoopStop:
    """
    Brings an arm to rest by its model where sensors of some joints do not show their motion.

    The velocity of each joint is to decay exponentially. `q` and `dq`, (n,) each, are where the
    arm probably is at a time `begun` [s], and how fast; `update_measured` gives them of the other
    joints.
    """

    def __init__(self, terms: TermModel, q: Array, dq: Array, begun: float) -> None:
        self._terms, self._q, self._dq, self._begun = terms, q, dq, begun
        self._seen, self._live = (q, dq), np.zeros(len(q), dtype=bool)
        self._seen_at = begun

    def update_measured(self, q: Array, dq: Array, live: Array, now: float) -> None:
        """Set the measured state of the joints, `live`, whose sensors work, (n,) each."""
        self._seen, self._live, self._seen_at = (q, dq), live, now

    def torque(self, now: float) -> Array:
        """Return the torque to command at a time [s], (n,) [N m]."""
        terms, decay = self._terms, OPEN_LOOP_TIME_CONSTANT_S
        left = float(np.exp(-max(0.0, now - self._begun) / decay))
        probably = self._q + (1.0 - left) * decay * self._dq, left * self._dq
        q, dq = (np.where(self._live, *both) for both in zip(self._seen, probably))
        gravity = terms.gravity_to_command(q, terms.gravity(q))
        return gravity + terms.coriolis(q, dq) - terms.inertia_torque(q, dq / decay)

    def is_finished(self, now: float) -> bool:
        """
        Return whether the arm is at rest at a time [s] according to the model.

        Where the target adds no gravity, the unseen joint may fall, and the others are slowed as
        long as they are seen.
        """
        if now - self._begun < OPEN_LOOP_STOP_TIME_S:
            return False
        speed = np.abs(self._seen[1][self._live])
        moves = speed.size and (speed.max() > MAX_REST_SPEED_RAD_S or not self._terms.adds_gravity)
        return not (moves and now - self._seen_at < MAX_GAP_S)


class UnseenArm:
    """
    Knows where the arm was last, and the torque that it gets while no law answers it.

    Attributes
    ----------
    q : ndarray, shape (n,), or None
        The last position that is believed [rad]: none is from one that leapt until `start`.
    leapt : bool
        Whether a position leapt.
    compared : bool
        Whether the resting torque was compared with the arm; until then it is zero.
    stop : OpenLoopStop or None
        The stop by the model while sensors stand still.

    """

    def __init__(self) -> None:
        self.reset(compared=False)

    def reset(self, *, compared: bool) -> None:
        """Forget where the arm was; `compared`: the resting torque needs no comparison."""
        self.q: Array | None = None
        self.leapt, self.compared = False, compared
        self.stop: OpenLoopStop | None = None

    def start(self) -> None:
        """Believe positions again."""
        self.leapt = False

    def allow_resting_torque(self) -> None:
        """Note that the resting torque was compared with the arm."""
        self.compared = True

    def see(self, q: Array, *, leapt: bool) -> None:
        """Note a position, (n,) [rad], and whether it leapt."""
        self.leapt = self.leapt or leapt
        self.q = self.q if self.leapt else q

    def end_stop(self) -> None:
        """Note that the arm is seen again."""
        self.stop = None

    def begin_stop(self, terms: TermModel, q: Array, dq: Array, now: float) -> None:
        """Bring the arm to rest by the model from a state, (n,) each, at a time [s]."""
        self.stop = OpenLoopStop(terms, q, dq, now)

    def rests(self, terms: TermModel) -> bool:
        """Whether the resting torque under these terms is g(q)."""
        return self.compared and not terms.adds_gravity

    def resting_torque(self, terms: TermModel) -> Array:
        """Return the torque that holds the arm if the target needs one, else zero, (n,) [N m]."""
        if self.q is None or not self.rests(terms):
            return np.zeros(terms.loaded.n)
        return terms.gravity(self.q)
