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
        self._arm = arm
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
        is_following = state.stamp - self._motion_stamp < STREAM_TIMEOUT_S
        speed_to_limit = MAX_FOLLOW_SPEED_TO_LIMIT if is_following else MAX_SPEED_TO_LIMIT
        max_speed = speed_to_limit * self._max_velocity  # (n,)
        speed_to_max = np.abs(state.dq) / max_speed
        if any((speed_to_max > 1.0).tolist()):
            self._overspeed_time_s += elapsed
        else:
            self._overspeed_time_s = 0.0
        if self._overspeed_time_s < MAX_OVERSPEED_TIME_S:
            return None
        joint = int(speed_to_max.argmax())
        return ReasonCode.JOINT_TOO_FAST(
            joint=self._arm.joint_names[joint],
            unit=self._arm.joints[joint].kind.position_unit,
            velocity=float(state.dq[joint]),
            most=float(max_speed[joint]),
            share=MAX_SPEED_TO_LIMIT,
            following=MAX_FOLLOW_SPEED_TO_LIMIT,
            causes=causes(),
        )


class RepeatedPositions:
    """
    Tells a driver that repeats an old state from an arm that stands still.

    At rest positions may repeat bit for bit; real encoders ripple, simulated ones do not. So a
    repetition says something only of an arm that must move, and there are three cases:

    - nothing says that the arm moves: the state is as good as any other;
    - a velocity says so: the state is an old one that comes again, and is dropped;
    - the reference moves, and the torque has changed by more than friction: the state is not
      dropped, but is frozen as well.

    Positions that are frozen for as long as states may cease end the torques.

    Attributes
    ----------
    repeats : bool
        Whether all positions of the latest state are, bit for bit, those of the one before.
    is_old_state : bool
        Whether they repeat though a velocity says that the arm moves: the latest one, or that of
        the last state with new positions.
    is_frozen : bool
        Whether they repeat though the arm must move, by a velocity or by the torque.
    repeat_time_s : float
        How long they have repeated [s]; counted anew from where the state became an old one.

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
        self._repeated_since = 0.0  # stamp [s]
        # Before the last state with new positions the torque [N m], and at it the speed [rad/s].
        self._torque = np.zeros_like(self._stiction)
        self._speed = 0.0

    def record(
        self,
        sample: StateSample,
        last_q: Array,
        last_torque: Array,
        reference: Desired | None,
    ) -> None:
        """Record a new state, the positions before, (n,), and the torque sent last, (n,) [N m]."""
        speed = float(np.abs(sample.dq).max())
        self.repeats = sample.q.tolist() == last_q.tolist()
        if not self.repeats:
            self._repeated_since = sample.stamp
            self._torque = last_torque
            self._speed = speed
        # An impossible velocity says nothing.
        fastest = max(speed, self._speed)
        is_moving = MIN_MOTION_SPEED_RAD_S < fastest <= MAX_POSSIBLE_VELOCITY_RAD_S
        was_old_state = self.is_old_state
        self.is_old_state = self.repeats and is_moving
        if self.is_old_state and not was_old_state:
            # An arm that has rested until now may have been pushed: its rest was no repetition.
            self._repeated_since = sample.stamp
        self.repeat_time_s = sample.stamp - self._repeated_since
        torque_change = np.abs(last_torque - self._torque)
        exceeds_friction = bool((torque_change > self._stiction).any())
        is_pushed = is_reference_moving(reference) and exceeds_friction
        self.is_frozen = self.repeats and (is_moving or is_pushed)
