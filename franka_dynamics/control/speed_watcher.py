# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Finds joints that are too fast, for longer than a wrong joint state lasts."""

from collections.abc import Callable
import math

import numpy as np

from .ending import Reason, ReasonCode
from .limits import MAX_STEP_S
from .terms import Desired, is_reference_moving, StateTerms
from ..arm import ArmDescription
from ..motion.planning import STREAM_TIMEOUT_S

# Speed from which the arm is braked, as a share of the velocity limit.
MAX_SPEED_TO_LIMIT = 0.6
# The same while the reference moves, and so long after it as a stream of references may pause:
# noise and overshoot may exceed the limit a little.
MAX_FOLLOW_SPEED_TO_LIMIT = 1.15
# A joint is too fast after this time [s]: three states at 1 kHz, as a single one may be wrong.
MAX_OVERSPEED_TIME_S = 3.0 * MAX_STEP_S


class SpeedWatcher:
    """Finds joints of one arm that are too fast, state by state."""

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
        speed = np.abs(state.dq)
        if any((speed > max_speed).tolist()):
            self._overspeed_time_s += elapsed
        else:
            self._overspeed_time_s = 0.0
        if self._overspeed_time_s < MAX_OVERSPEED_TIME_S:
            return None
        joint = int((speed / max_speed).argmax())
        return ReasonCode.JOINT_TOO_FAST(
            joint=self._arm.joint_names[joint],
            unit=self._arm.joints[joint].kind.position_unit,
            velocity=float(state.dq[joint]),
            most=float(max_speed[joint]),
            share=MAX_SPEED_TO_LIMIT,
            following=MAX_FOLLOW_SPEED_TO_LIMIT,
            causes=causes(),
        )
