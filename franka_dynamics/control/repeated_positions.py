# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Tells a driver that repeats an old joint state from an arm that stands still.

At rest positions may repeat bit for bit: real encoders ripple, simulated ones do not. So positions
that repeat say something only of an arm that must move: by its velocity, by a reference that
moves, or by the torque of the caller's own law, which may come without a velocity.
"""

from enum import Enum

import numpy as np

from .limits import MAX_POSSIBLE_VELOCITY_RAD_S
from .state_input import StateSample
from .terms import Desired, is_reference_moving, MIN_MOTION_SPEED_RAD_S, OwnTorque
from ..arrays import Array

# The torque of an own law must move the arm if it changes by so many times what friction may hold:
# then a joint of 3 kg m^2 moves within 20 ms further than an encoder's count of 0.1 mrad.
DRIVING_TORQUE_TO_STICTION = 2.0


class Repetition(Enum):
    """What the positions of a joint state say, compared with those of the state before."""

    NONE = 'they are new'
    AT_REST = 'they repeat, and nothing says that the arm moves'
    FROZEN = 'they repeat, though the torque must move the arm'
    OLD_STATE = 'they repeat, though a velocity says that the arm moves'


class RepeatedPositions:
    """
    Watches the positions of joint states, one after the other, for repetitions.

    Attributes
    ----------
    latest : Repetition
        What the positions of the latest state say.
    repeat_time_s : float
        How long positions have repeated [s]; for an OLD_STATE, since the first one of these, and
        after the clock of stamps was set back, since then.
    driven_time_s : float
        For how long the torque of an own law must have moved an arm whose whole state repeats [s].

    """

    def __init__(self, stiction: Array) -> None:
        self._stiction = stiction  # torque below which friction may hold a joint, (n,) [N m]
        self.reset()

    def reset(self) -> None:
        """Forget all states."""
        self.latest = Repetition.NONE
        self.repeat_time_s = 0.0
        self.driven_time_s = 0.0
        self._repeated_since = 0.0  # stamp [s]
        self._driven_since = 0.0  # stamp [s]
        self._last_sample: StateSample | None = None
        # The torque sent before the last state of which anything was new [N m].
        self._torque_before_state = np.zeros_like(self._stiction)
        # Of the last state with new positions, the torque sent before [N m] and the speed [rad/s].
        self._torque_before = np.zeros_like(self._stiction)
        self._speed_then = 0.0

    def record(
        self,
        sample: StateSample,
        last_q: Array,
        last_torque: Array,
        reference: Desired | None,
        *,
        is_active: bool,
        may_brakes_hold: bool,
    ) -> None:
        """
        Record a new state, the positions before, (n,), and the torque sent last, (n,) [N m].

        `is_active` says whether this torque is that of the law or the brake, `may_brakes_hold`
        whether the arm's brakes may still hold it.
        """
        speed = max(map(abs, sample.dq.tolist()))
        if sample.q.tolist() != last_q.tolist():
            self._repeated_since = sample.stamp
            self._torque_before = last_torque
            self._speed_then = speed
            self.latest = Repetition.NONE
        else:
            before = self.latest
            self.latest = self._kind_of_repetition(speed, last_torque, reference)
            if self.latest is Repetition.OLD_STATE and before is not Repetition.OLD_STATE:
                # An arm that rested until now may have been pushed: its rest was no repetition.
                self._repeated_since = sample.stamp
            # Where the clock of stamps was set back, repetitions count from there.
            self._repeated_since = min(self._repeated_since, sample.stamp)
        self.repeat_time_s = sample.stamp - self._repeated_since
        if not (is_active and self._repeats_whole(sample)):
            self._torque_before_state = last_torque
        is_driven = isinstance(reference, OwnTorque) and not may_brakes_hold
        if is_driven:
            change = np.abs(last_torque - self._torque_before_state)
            is_driven = bool((change > DRIVING_TORQUE_TO_STICTION * self._stiction).any())
        if not is_driven:
            self._driven_since = sample.stamp
        self._driven_since = min(self._driven_since, sample.stamp)  # the clock may be set back
        self.driven_time_s = sample.stamp - self._driven_since
        self._last_sample = sample

    def _repeats_whole(self, sample: StateSample) -> bool:
        """Return whether all that a state measures repeats the state before bit for bit."""
        last = self._last_sample
        if self.latest is Repetition.NONE or last is None:
            return False
        if sample.dq.tolist() != last.dq.tolist():
            return False
        if sample.effort is None or last.effort is None:
            return sample.effort is last.effort
        return sample.effort.tolist() == last.effort.tolist()

    def _kind_of_repetition(
        self,
        speed: float,
        last_torque: Array,
        reference: Desired | None,
    ) -> Repetition:
        """Return what repeated positions say, with a state's largest speed [rad/s]."""
        # The velocity of the repeated state counts, too: the driver may set it to zero.
        fastest = max(speed, self._speed_then)
        # An impossible velocity says nothing.
        if MIN_MOTION_SPEED_RAD_S < fastest <= MAX_POSSIBLE_VELOCITY_RAD_S:
            return Repetition.OLD_STATE
        if not is_reference_moving(reference):
            return Repetition.AT_REST
        torque_change = np.abs(last_torque - self._torque_before)
        exceeds_friction = bool((torque_change > self._stiction).any())
        return Repetition.FROZEN if exceeds_friction else Repetition.AT_REST
