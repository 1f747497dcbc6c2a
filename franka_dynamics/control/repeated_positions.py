# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds joints whose measured position repeats bit for bit though they must move.

A real encoder's position never repeats for long. A simulator's without noise does, of an arm at
rest, and so does one of a joint that sticks, with a coarse encoder. But no joint is stopped
between two counts of an encoder of 0.1 mrad that was faster than MIN_FROZEN_SPEED_RAD_S, which
takes 50 rad/s^2. And one moves that is desired to, faster than at rest, once its torque has
changed by more than its friction.
"""

from __future__ import annotations

import numpy as np

from .ending import Cause, Ending
from .reason import Code
from .state_check import StateCheck
from .terms import MAX_REST_SPEED_RAD_S
from ..arm import ArmDescription
from ..typing import Array

MIN_FROZEN_SPEED_RAD_S = 0.1
# A joint's friction may be STICTION_MARGIN_RATIO times the one that the arm's description has (6.5
# % of the torque limit at joint 5 of an FR3, MuJoCo Menagerie), and at least
# MIN_STICTION_TORQUE_RATIO times the torque limit. More, and the guard would take a small measured
# torque for none at the start.
MIN_STICTION_TORQUE_RATIO = 0.02
STICTION_MARGIN_RATIO = 1.25


class RepeatedPositions:
    """
    Follows positions that repeat.

    Attributes
    ----------
    still_s : ndarray, shape (n,)
        For how long the position of each joint repeats, while a torque acts [s].
    stuck : ndarray of bool, shape (n,)
        Whose position stood still though they must move, until it changes.

    """

    def __init__(self, arm: ArmDescription) -> None:
        self._names, self._stiction, self._zero = arm.joint_names, stiction(arm), np.zeros(arm.n)
        self.clear()

    def clear(self) -> None:
        """Reset to no position that repeats."""
        # Of each joint, while its position repeats: the velocity before, the torque sent then, and
        # whether it must have moved.
        self.still_s = self._dq = self._torque = self._zero
        self.stuck = self._must_move = np.zeros(len(self._zero), dtype=bool)

    def check(
        self, states: StateCheck, torque: Array | None, desired_dq: Array | None
    ) -> Ending | None:
        """
        Return an ending if a joint that must move stands still, at the latest state of `states`.

        `torque` was sent last, (n,) [N m]; None: none acts, and nothing is judged. `desired_dq` is
        the desired velocity, (n,) [rad/s], or None.
        """
        same = states.same
        self.stuck = self.stuck & same
        if torque is None:
            self.still_s, self._must_move = self._zero, self._must_move & False
            return None
        begins = same & (self.still_s == 0.0)
        self._torque = np.where(begins, torque, self._torque)
        self._dq = np.where(begins, states.dq_before, self._dq)
        self.still_s = np.where(same, self.still_s + states.elapsed, 0.0)
        led = np.abs(torque - self._torque) > self._stiction
        led &= False if desired_dq is None else np.abs(desired_dq) > MAX_REST_SPEED_RAD_S
        self._must_move = same & (self._must_move | self._moved | led)
        stuck = self._must_move & (self.still_s > states.silence_timeout())
        if not stuck.any():
            return None
        joint, self.stuck = int(stuck.argmax()), self.stuck | stuck
        position, still = float(states.q[joint]), 1e3 * float(self.still_s[joint])
        why = Code.STANDS_STILL(joint=self._names[joint], value=position, still=still)
        return Cause.POSITION_STANDS_STILL.ending(why)

    @property
    def _moved(self) -> Array:
        """Which joints moved before their positions began to repeat, (n,)."""
        return np.asarray(np.abs(self._dq) > MIN_FROZEN_SPEED_RAD_S)

    @property
    def whole_arm(self) -> bool:
        """Whether all positions of an arm that moved are those of the state before."""
        return bool(self.still_s.all() and self._moved.any())

    def extrapolated(self, q: Array) -> tuple[Array, Array]:
        """Return positions and velocities, (n,) each, as joints moved before, at measured q."""
        return q + self.still_s * self._dq, self._dq


def stiction(arm: ArmDescription) -> Array:
    """Return the change of torque below which friction may hold a joint, (n,) [N m]."""
    known, speed = arm.friction or arm.simulated_friction, np.full(arm.n, MIN_FROZEN_SPEED_RAD_S)
    slides = np.zeros(arm.n) if known is None else np.abs(known.torque(speed))
    least = MIN_STICTION_TORQUE_RATIO * arm.limit('effort')
    return np.maximum(least, STICTION_MARGIN_RATIO * slides)
