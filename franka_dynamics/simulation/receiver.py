# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Applies torques that another process sends, and stops the arm when they cease.

A sender that was killed or cut off sends nothing more, so only the receiver can end the sender's
last torque. ros.simulator_node and ros.gazebo_direct_node use TorqueReceiver; the ros2_control
controller stops the arm in the same way.
"""

from enum import Enum
import math

import numpy as np

from ..arguments import with_argument_checks
from ..arm import ArmDescription
from ..arrays import Array, ArrayLike
from ..control.ending import ending_of_state, ReasonCode
from ..control.limits import MAX_STEP_S, MIN_GOOD_STATE_COUNT, MIN_STATE_PERIOD_S, TorqueLimiter
from ..control.settings import Settings, StateLimits
from ..control.state_check import StateCheck
from ..control.stopping import BrakingController, MAX_BRAKING_TIME_S
from ..control.terms import TermModel
from ..errors import SettingsError
from ..motion.planning import MAX_LATENESS_S

# Time-out of receivers that have no parameter for it: 50 cycles of the sender. It bounds how long
# a dead sender's torque moves an arm (benchmarks/receivers.py, column held).
COMMAND_TIMEOUT_S = 50.0 * MAX_STEP_S


class ReceiverState(Enum):
    """States of a receiver of torques, such as following a sender or braking the arm."""

    WAITING = 'waiting for a first command'  # no torque is applied
    FOLLOWING = 'following'
    BRAKING = 'no sender is followed any more: braking by the model'  # the arm still moves
    HOLDING = 'holding the arm until a command comes'  # at rest
    STOPPED = 'stopped'  # the arm carries itself: the torque goes to zero and stays there
    # States are unusable or something drives the arm: the torque goes to the resting torque.
    FAULT = 'stopped by a fault'

    @property
    def status_word(self) -> str:
        """The state in one word, as statuses show it."""
        return self.name.lower()


class TorqueRefusal(str, Enum):
    """Reasons to refuse a torque, in the words of the ros2_control controller in C++."""

    OTHER_PUBLISHER = 'other publisher'
    WRONG_SIZE = 'wrong size'
    NOT_FINITE = 'not finite'
    OUT_OF_BOUNDS = 'out of bounds'


@with_argument_checks
class TorqueReceiver:
    """
    Applies the torques of one sender, and stops the arm by its own model when torques cease.

    If nothing else compensates gravity, the receiver holds the stopped arm at rest until a sender
    comes; if the robot compensates gravity, the torque goes to zero once braking has ended. The
    applied torque stays within the arm's torque limits and changes by at most 1000 N m/s, whoever
    sends what.

    Following needs no joint state. If the arm is braked or held, a fault ends that: a state that
    is not finite, an impossible one (`StateCheck.check_values`), or an arm that is too fast
    though it is braked. Until a sender comes, the torque then goes to zero or, if nothing else
    compensates gravity, to the gravity torque at the last possible position. After states that
    were not finite the arm is braked again once MIN_GOOD_STATE_COUNT possible states have come in
    a row.

    `arm` is the arm without the settings' payload. The settings' target says whether the
    receiver's robot compensates gravity; the settings' gravity_vector and payload are those of the
    arm. A torque is applied for at most `timeout` seconds by the stamps of the states, unless the
    next torque comes. `holding`, (n,) [N m], is the one that holds the arm at the start,
    and the receiver goes on holding the arm; None: the receiver begins without torque, because
    brakes hold the arm. Raises SettingsError if payload or time-out are wrong, InertiaError if a
    link has a first moment but no mass.
    """

    def __init__(
        self,
        arm: ArmDescription,
        settings: Settings,
        timeout: float,
        *,
        holding: Array | None = None,
    ) -> None:
        if not timeout >= MIN_STATE_PERIOD_S:
            raise SettingsError(
                f'The time-out of a receiver is {timeout} s; it must be {MIN_STATE_PERIOD_S:g} s '
                'or more, the shortest time between two torques.'
            )
        self._timeout = timeout
        self._holding = holding
        self.timeout_count = 0  # how often a followed sender was silent for the time-out
        self.refusal_counts = dict.fromkeys(TorqueRefusal, 0)  # of torques, by reason
        self._effort_limit = arm.limit('effort')
        self._terms = TermModel(arm, settings)
        self._limiter = TorqueLimiter(self._effort_limit, arm.limit('effort_rate'))
        self._brake = BrakingController(arm)
        self._zero = np.zeros(arm.n)
        self._state_check = StateCheck(arm, StateLimits(), MAX_STEP_S)
        self.reset()

    def reset(self) -> None:
        """
        Begin anew, in the start pose, for reset simulations; counts stay.

        The next torque may be any step away from the last one.
        """
        held = self._holding is not None
        self.applied_torque = self._zero if self._holding is None else self._holding
        self.state = ReceiverState.HOLDING if held else ReceiverState.WAITING
        self._fault = ''  # why the state is or last was FAULT
        # What to apply, unless the arm is braked or held.
        self._accepted_torque = self.applied_torque
        self._sequence_number: int | None = None  # sequence number of the sender's last torque
        self._silence = 0.0  # time since the last accepted torque [s]
        self._last_stamp = math.inf  # the latest one [s]; before the first, any is earlier
        self._last_q: Array | None = None  # the last possible position
        # How many possible states in a row end the fault; infinite if only a torque does.
        self._needed_state_count = 0.0

    def accept(self, torque: ArrayLike, sequence_number: int | None) -> TorqueRefusal | None:
        """
        Accept a torque, shape (n,) [N m], and return None, or return why the torque is refused.

        After a refused torque the last accepted torque stays until the time-out. A second sender
        is followed only once the followed sender has been silent for the time-out; if the sequence
        numbers of two senders are near, the sender of the larger ones is followed. Without
        sequence numbers every sender is followed.
        """
        given = np.array(torque, dtype=float)
        if not self._may_follow(sequence_number):
            return self._count_refusal(TorqueRefusal.OTHER_PUBLISHER)
        if given.shape != self._effort_limit.shape:
            return self._count_refusal(TorqueRefusal.WRONG_SIZE)
        if not np.isfinite(given).all():
            return self._count_refusal(TorqueRefusal.NOT_FINITE)
        if (np.abs(given) > self._effort_limit).any():
            return self._count_refusal(TorqueRefusal.OUT_OF_BOUNDS)
        self._accepted_torque = given
        self._sequence_number = sequence_number
        self._silence = 0.0
        self.state = ReceiverState.FOLLOWING
        return None

    def _may_follow(self, sequence_number: int | None) -> bool:
        """
        Return whether a message is the followed sender's next one, or no sender is followed.

        Numbers of another sender are lower, or so much higher that even the fastest sender would
        have been silent for the time-out. Without this check a sender that repeats messages is
        followed, and a second sender, too; if only lower numbers are refused, a second sender
        still is (benchmarks/receivers.py).
        """
        if self.state is not ReceiverState.FOLLOWING:
            return True
        if sequence_number is None or self._sequence_number is None:
            return True
        ahead = sequence_number - self._sequence_number
        return 0.0 < ahead * MIN_STATE_PERIOD_S <= self._timeout

    def _count_refusal(self, why: TorqueRefusal) -> TorqueRefusal:
        """Count a torque that is refused for `why`; return `why`."""
        self.refusal_counts[why] += 1
        return why

    @property
    def state_text(self) -> str:
        """The receiver's state as text, with the cause of a fault."""
        cause = f': {self._fault}' if self.state is ReceiverState.FAULT else ''
        return self.state.value + cause

    def is_following(self, stamp: float) -> bool:
        """
        Return whether a sender is followed whose time-out has not passed at a stamp [s].

        If the clock was set back, only `step` can tell.
        """
        following = self.state is ReceiverState.FOLLOWING
        left = self._timeout - self._silence
        return following and -MAX_LATENESS_S <= stamp - self._last_stamp <= left

    def step(self, stamp: float, q: Array, dq: Array) -> Array:
        """
        Take a measured joint state at `stamp` [s]; return the torque to apply, (n,) [N m].

        A stamp that is not finite or out of order, or a clock set back, lets no time pass.
        """
        elapsed = self._elapsed_time(stamp)
        self._silence += elapsed
        wrong = self._state_check.check_values(q, dq, None)
        if wrong is None:
            self._last_q = np.array(q)
            self._needed_state_count -= 1.0
        # The arm is braked once the sender is silent, and again after a fault has passed.
        timed_out = self.state is ReceiverState.FOLLOWING and self._silence > self._timeout
        fault_passed = self.state is ReceiverState.FAULT and self._needed_state_count <= 0.0
        if timed_out:
            self.timeout_count += 1
        if timed_out or fault_passed:
            self.state = ReceiverState.BRAKING
            self._brake.begin(self._zero)
        # The followed torque, unless the state says another; wrong states matter to brakes only.
        desired = self._accepted_torque
        braked = self.state in (ReceiverState.BRAKING, ReceiverState.HOLDING)
        if wrong is not None and braked:
            self._set_fault(str(wrong), latched=ending_of_state(wrong).remedy.is_fault)
        elif wrong is not None and self.state is ReceiverState.FAULT:
            self._needed_state_count = max(self._needed_state_count, MIN_GOOD_STATE_COUNT)
        elif braked:
            desired = self._braking_torque(q, dq, elapsed)
            if not np.isfinite(desired).all():
                self._set_fault(ReasonCode.TORQUE_NOT_FINITE.value, latched=True)
        if self.state in (ReceiverState.STOPPED, ReceiverState.FAULT):
            desired = self._resting_torque()
        self.applied_torque = self._limiter.limit(desired, self.applied_torque, elapsed)
        self._brake.record_limited_torque(desired, self.applied_torque)
        return self.applied_torque

    def _elapsed_time(self, stamp: float) -> float:
        """Record a stamp; return the time [s] since the one before, 0 if earlier or not finite."""
        elapsed = stamp - self._last_stamp
        if not math.isfinite(stamp) or -MAX_LATENESS_S <= elapsed < 0.0:
            return 0.0
        self._last_stamp = stamp
        return max(0.0, elapsed)  # below zero the clock was set back

    def _set_fault(self, why: str, *, latched: bool) -> None:
        """Begin a fault; only an accepted torque ends a `latched` one."""
        self.state = ReceiverState.FAULT
        self._fault = why
        self._needed_state_count = math.inf if latched else MIN_GOOD_STATE_COUNT

    def _braking_torque(self, q: Array, dq: Array, elapsed: float) -> Array:
        """Return a torque that brakes or holds the arm, (n,) [N m]; update `self.state`."""
        terms = self._terms
        brake = self._brake
        state = terms.terms_at(self._last_stamp, q, dq, None)
        torque = brake.torque(state, terms, self._zero, min(elapsed, MAX_BRAKING_TIME_S))
        if brake.failure_reason:
            self._set_fault(str(brake.failure_reason), latched=True)
        elif brake.at_rest:
            self.state = ReceiverState.STOPPED if terms.adds_gravity else ReceiverState.HOLDING
        return torque

    def _resting_torque(self) -> Array:
        """Return the torque when stopped or faulty, (n,) [N m]: 0, g(q) or, unseen, the last."""
        if self._terms.adds_gravity:
            return self._zero
        if self._last_q is None:
            return self.applied_torque  # no position was ever known
        return self._terms.gravity(self._last_q)
