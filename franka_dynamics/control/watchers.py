# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Watches speeds, an arm that falls while its torques are refused, and positions that stand still.

A real encoder's position never repeats bit for bit for long. A simulator's without noise does, of
an arm at rest, and so does one of a joint that sticks, with a coarse encoder. But no joint is
stopped between two counts of an encoder of 0.1 mrad that was faster than MIN_MOTION_SPEED_RAD_S,
which takes 50 rad/s^2. And one moves that is desired to, faster than at rest, once its torque has
changed by more than its friction.
"""

import math

import numpy as np

from .disturbance import DisturbanceMonitor, MAX_DISTURBANCE_TIME_S, stiction_torque
from .ending import Cause, Ending, Reason, ReasonCode
from .limits import (
    BRAKING_TIME_CONSTANT_S,
    MAX_BRAKING_DECELERATION_RAD_S2,
    MAX_GENTLE_SPEED_RAD_S,
    MAX_STEP_S,
)
from .state_check import StateCheck
from .terms import MAX_REST_SPEED_RAD_S, MIN_MOTION_SPEED_RAD_S, StateTerms
from ..arm import ArmDescription
from ..arrays import Array
from ..errors import distinct_texts
from ..motion.planning import STREAM_TIMEOUT_S
from ..motion.trajectory import ReferencePoint

# Speeds from which the arm is braked, as shares of the velocity limit: while the reference moves,
# and so long after it as a stream of references may pause, noise and overshoot may exceed the
# limit a little. They are judged after MAX_OVERSPEED_TIME_S [s]: three states at 1 kHz.
MAX_SPEED_TO_LIMIT = 0.6
MAX_FOLLOW_SPEED_TO_LIMIT = 1.15
MAX_OVERSPEED_TIME_S = 3.0 * MAX_STEP_S
# While no reference moves, a joint that is faster than MAX_GENTLE_SPEED_RAD_S must be able to come
# to rest before its position limit: by MAX_BRAKING_DECELERATION_RAD_S2, so late [s].
STOPPING_DELAY_S = BRAKING_TIME_CONSTANT_S + MAX_DISTURBANCE_TIME_S
# An arm that has moved so far while its torques are refused falls [rad or m]: further than elastic
# gears yield when motors take their load (1.7 mrad of an FR3), which lasts up to 20 ms.
MIN_FALL_DISTANCE_RAD = 3e-3


class MotionWatcher:
    """
    Finds joints that are too fast, and an arm that falls while its torques are refused.

    A joint that will be too fast before its torque can be turned is too fast; `disturbances` says
    by how much an unexplained torque still accelerates it.
    """

    def __init__(self, arm: ArmDescription, disturbances: DisturbanceMonitor) -> None:
        self._disturbances, self._joint_names = disturbances, arm.joint_names
        self._max_velocity = most = arm.limit('velocity')
        self._lower, self._upper = arm.limit('lower'), arm.limit('upper')
        self._always_allowed_speed = min(MAX_GENTLE_SPEED_RAD_S, MAX_SPEED_TO_LIMIT * most.min())
        self.reset()

    def reset(self) -> None:
        """Forget fast joints, motions of the reference, and a fall of the arm."""
        self._fall_position: Array | None = None  # position when torques were refused first, (n,)
        self._overspeed_time_s = 0.0  # how long a joint has been too fast [s]
        self._motion_stamp = -math.inf  # stamp at which the reference moved last [s]

    def check_speeds(
        self, state: StateTerms, elapsed: float, reference: ReferencePoint | None
    ) -> Ending | None:
        """
        Return an ending if for 3 ms a joint was too fast, or bound to become so, else None.

        `elapsed` is the time since the state before [s].
        """
        if reference and max(map(abs, reference.dq.tolist())) > MAX_REST_SPEED_RAD_S:
            self._motion_stamp = state.stamp
        speed = np.abs(state.dq) + self._disturbances.speed_gain_at_reversal(state)
        if all((speed <= self._always_allowed_speed).tolist()):
            self._overspeed_time_s = 0.0
            return None
        follows = state.stamp - self._motion_stamp < STREAM_TIMEOUT_S
        limit = (MAX_FOLLOW_SPEED_TO_LIMIT if follows else MAX_SPEED_TO_LIMIT) * self._max_velocity
        if not follows:
            left = np.where(state.dq > 0.0, self._upper - state.q, state.q - self._lower)
            way = STOPPING_DELAY_S * speed + speed**2 / (2.0 * MAX_BRAKING_DECELERATION_RAD_S2)
            limit = np.where(way > left, np.minimum(MAX_GENTLE_SPEED_RAD_S, limit), limit)
        self._overspeed_time_s = self._overspeed_time_s + elapsed if (speed > limit).any() else 0.0
        if self._overspeed_time_s < MAX_OVERSPEED_TIME_S:
            return None
        joint = int((speed / limit).argmax())
        reached, most = distinct_texts(speed[joint], limit[joint])
        name, dq = self._joint_names[joint], float(state.dq[joint])
        causes = self._disturbances.probable_causes()
        found = {'joint': name, 'velocity': dq, 'reached': reached, 'most': most, 'causes': causes}
        shares = {'share': MAX_SPEED_TO_LIMIT, 'following': MAX_FOLLOW_SPEED_TO_LIMIT}
        why = ReasonCode.JOINT_TOO_FAST(**found, **shares, near=MAX_GENTLE_SPEED_RAD_S)
        return Cause.JOINT_TOO_FAST.ending(why)

    def check_fall(self, q: Array, refusal_reason: Reason | None) -> Ending | None:
        """
        Return an ending if the arm, now at q, (n,), fell while torques are refused, else None.

        `refusal_reason` is why the law's torques may not begin though the arm moves.
        """
        if refusal_reason is None:
            self._fall_position = None
            return None
        self._fall_position = q if self._fall_position is None else self._fall_position
        falls = np.abs(q - self._fall_position).max() > MIN_FALL_DISTANCE_RAD
        return Cause.LASTING_DISTURBANCE.ending(refusal_reason) if falls else None


class RepeatedPositionCheck:
    """
    Finds joints whose positions repeat bit for bit though they must move.

    Attributes
    ----------
    still_time_s : ndarray, shape (n,)
        For how long the position of each joint repeats, while a torque acts [s].
    stuck_joints : ndarray of bool, shape (n,)
        Whether the joint's position stood still though it must move, until it changes.

    """

    def __init__(self, arm: ArmDescription) -> None:
        self._joint_names, self._zero = arm.joint_names, np.zeros(arm.n)
        self._stiction = stiction_torque(arm)
        self.clear()

    def clear(self) -> None:
        """Forget all joint positions that repeat."""
        # Of each joint, while its position repeats: the velocity before, the torque sent then, and
        # whether it must have moved.
        self.still_time_s = self._dq_before = self._torque_before = self._zero
        self.stuck_joints = self._must_move_mask = np.zeros(len(self._zero), dtype=bool)

    def check_positions(
        self, states: StateCheck, last_torque: Array | None, desired_dq: Array | None
    ) -> Ending | None:
        """
        Return an ending if a joint that must move has stood still too long, else None.

        `last_torque` was sent last, (n,) [N m]; None: none acts, and only positions that
        their velocities outran count. `desired_dq` is the desired velocity, (n,) [rad/s], or None.
        """
        same = states.position_repeats
        if not any(same.tolist() + self.stuck_joints.tolist()):
            self.clear()
            return None
        self.stuck_joints = self.stuck_joints & same
        if last_torque is None:
            self.still_time_s, self._must_move_mask = self._zero, self._must_move_mask & False
            stuck = states.outrun_joint_mask
        else:
            begins = same & (self.still_time_s == 0.0)
            if any(begins.tolist()):
                self._torque_before = np.where(begins, last_torque, self._torque_before)
                self._dq_before = np.where(begins, states.dq_before, self._dq_before)
            self.still_time_s = same * (self.still_time_s + states.elapsed)
            led = np.abs(last_torque - self._torque_before) > self._stiction
            led &= False if desired_dq is None else np.abs(desired_dq) > MAX_REST_SPEED_RAD_S
            moved = np.abs(self._dq_before) > MIN_MOTION_SPEED_RAD_S
            moves = moved | states.outrun_joint_mask | led
            self._must_move_mask = same & (self._must_move_mask | moves)
            stuck = self._must_move_mask & (self.still_time_s > states.silence_timeout())
        if not any(stuck.tolist()):
            return None
        joint, self.stuck_joints = int(stuck.argmax()), self.stuck_joints | stuck
        name, q = self._joint_names[joint], float(states.q[joint])
        still = 1e3 * float(self.still_time_s[joint])
        why = ReasonCode.FROZEN_POSITION(joint=name, value=q, still=still)
        return Cause.POSITION_STANDS_STILL.ending(why)

    @property
    def all_positions_repeat(self) -> bool:
        """Whether under a torque all positions repeat those before, though a joint moved."""
        fastest = max(map(abs, self._dq_before.tolist()))
        return fastest > MIN_MOTION_SPEED_RAD_S and all(self.still_time_s.tolist())

    def extrapolated_state(self, q: Array) -> tuple[Array, Array]:
        """Return q, repeating joints moved on at velocities from before, and these, (n,) each."""
        return q + self.still_time_s * self._dq_before, self._dq_before
