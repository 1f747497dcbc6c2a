# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Watches joint speeds, and positions that repeat though the arm must move."""

from collections.abc import Callable
import math

import numpy as np

from .ending import Reason, ReasonCode
from .limits import MAX_STEP_S
from .state_check import MAX_POSSIBLE_VELOCITY_RAD_S, StateSample
from .terms import Desired, MAX_REST_SPEED_RAD_S, MIN_MOTION_SPEED_RAD_S, StateTerms
from ..arm import ArmDescription
from ..arrays import Array
from ..motion.planning import STREAM_TIMEOUT_S

# Speed from which the arm is braked, as a share of the velocity limit.
MAX_SPEED_TO_LIMIT = 0.6
# The same while the reference moves, and so long after it as a stream of references may pause:
# noise and overshoot may exceed the limit a little.
MAX_FOLLOW_SPEED_TO_LIMIT = 1.15
# A joint is too fast after this time [s]: three states at 1 kHz, as a single one may be wrong.
MAX_OVERSPEED_TIME_S = 3.0 * MAX_STEP_S


def is_reference_moving(reference: Desired | None) -> bool:
    """Return whether a joint of the reference is faster than one at rest."""
    return reference is not None and max(map(abs, reference.dq.tolist())) > MAX_REST_SPEED_RAD_S


class SpeedWatcher:
    """Finds joints that are too fast."""

    def __init__(self, arm: ArmDescription) -> None:
        self._joint_names = arm.joint_names
        self._max_velocity = arm.limit('velocity')
        self.reset()

    def reset(self) -> None:
        """Forget fast joints and motions of the reference."""
        self._overspeed_time_s = 0.0  # how long a joint has been too fast
        self._motion_stamp = -math.inf  # stamp at which the reference moved last [s]

    def check_speeds(
        self,
        state: StateTerms,
        elapsed: float,
        reference: Desired | None,
        causes: Callable[[], str],
    ) -> Reason | None:
        """
        Return a reason if for MAX_OVERSPEED_TIME_S a joint was too fast, else None.

        `elapsed` is the time since the state before [s]; `causes` tells what may drive the joint.
        """
        if is_reference_moving(reference):
            self._motion_stamp = state.stamp
        follows = state.stamp - self._motion_stamp < STREAM_TIMEOUT_S
        most = (MAX_FOLLOW_SPEED_TO_LIMIT if follows else MAX_SPEED_TO_LIMIT) * self._max_velocity
        shares = np.abs(state.dq) / most
        too_fast = any((shares > 1.0).tolist())
        self._overspeed_time_s = self._overspeed_time_s + elapsed if too_fast else 0.0
        if self._overspeed_time_s < MAX_OVERSPEED_TIME_S:
            return None
        joint = int(shares.argmax())
        return ReasonCode.JOINT_TOO_FAST(
            joint=self._joint_names[joint],
            velocity=float(state.dq[joint]),
            most=float(most[joint]),
            share=MAX_SPEED_TO_LIMIT,
            following=MAX_FOLLOW_SPEED_TO_LIMIT,
            causes=causes(),
        )


class RepeatedPositions:
    """
    Tells a driver that repeats an old state from an arm that stands still.

    At rest positions may repeat bit for bit; real encoders ripple, simulated ones do not. An old
    state that comes again is dropped, as if none had come. Positions that are frozen for as long
    as states may cease end the torques.

    Attributes
    ----------
    repeats : bool
        Whether all positions of the latest state are, bit for bit, those of the one before.
    is_frozen : bool
        Whether they repeat though the arm must move.
    is_old_state : bool
        Whether positions repeat though the arm moves, by the latest velocity or that before.
    repeat_time_s : float
        How long they have repeated [s].

    """

    def __init__(self, stiction: Array) -> None:
        self._stiction = stiction  # torque below which friction may hold a joint, (n,) [N m]
        self.reset()

    def reset(self) -> None:
        """Forget all states."""
        self.repeats = False
        self.is_frozen = False
        self.is_old_state = False
        self.repeat_time_s = 0.0
        # Of the last state whose positions were new.
        self._stamp = 0.0
        self._torque = np.zeros_like(self._stiction)
        self._speed = 0.0

    def record(
        self,
        sample: StateSample,
        last_q: Array,
        last_torque: Array,
        reference: Desired | None,
    ) -> None:
        """
        Record a new state, the positions before, (n,), and the torque sent last, (n,) [N m].

        The arm must move if a velocity says so, or if the reference moves and a torque has changed
        by more than friction since positions began to repeat.
        """
        speed = float(np.abs(sample.dq).max())
        self.repeats = sample.q.tolist() == last_q.tolist()
        if not self.repeats:
            self._stamp = sample.stamp
            self._torque = last_torque
            self._speed = speed
        # An impossible velocity says nothing.
        fastest = max(speed, self._speed)
        moves = MIN_MOTION_SPEED_RAD_S < fastest <= MAX_POSSIBLE_VELOCITY_RAD_S
        was_old_state = self.is_old_state
        self.is_old_state = self.repeats and moves
        if self.is_old_state and not was_old_state:  # an arm at rest may be pushed
            self._stamp = sample.stamp
        self.repeat_time_s = sample.stamp - self._stamp
        change = np.abs(last_torque - self._torque)
        is_pushed = is_reference_moving(reference) and bool((change > self._stiction).any())
        self.is_frozen = self.repeats and (moves or is_pushed)
