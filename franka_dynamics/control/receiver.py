# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Receives torques of a topic, and stops the arm when torques cease.

A sender that was killed or cut off sends nothing more, so only the receiver can end the sender's
last torque. ros.simulator_node and ros.gazebo_direct_node use TorqueReceiver; the generated
ros2_control controller stops the arm in the same way.
"""

from __future__ import annotations

from enum import Enum
import math

import numpy as np
from numpy.typing import ArrayLike

from .braking import BrakingController
from .limits import MAX_STEP_S, TorqueLimiter
from .request import MAX_LATENESS_S
from .settings import Settings
from .start_up import MIN_GOOD_STATE_COUNT
from .state_check import StateCheck, StateLimits
from .terms import TermModel
from ..arm import ArmDescription
from ..errors import SettingsError
from ..typing import Array

# A message whose sequence number is not 1 to this above the last one is another sender's: hardly
# as many messages in a row get lost (events rival and relay of benchmarks/receivers.py).
MAX_SEQUENCE_NUMBER_STEP = 100
COMMAND_TIMEOUT_S = 0.05  # time-out of receivers that have no parameter for it


class ReceiverState(str, Enum):
    """Whether a receiver of torques waits for them, follows them, brakes or holds the arm."""

    WAITING = 'waiting'  # no torque has come yet, and none is applied
    FOLLOWING = 'following'
    BRAKING = 'braking'  # the sender has fallen silent, and the arm still moves
    HOLDING = 'holding'  # the receiver carries the arm at rest until a sender comes
    STOPPED = 'stopped'  # the arm carries itself: the torque goes to zero and stays there
    FAULT = 'fault'  # states are unusable or something drives the arm: the resting torque


STATE_TEXTS = {
    ReceiverState.WAITING: 'waiting for a first command',
    ReceiverState.FOLLOWING: 'following',
    ReceiverState.BRAKING: 'no sender is followed any more: braking by the model',
    ReceiverState.HOLDING: 'holding the arm until a command comes',
    ReceiverState.STOPPED: 'stopped',
    ReceiverState.FAULT: 'stopped by a fault',
}


class Refusal(str, Enum):
    """Why a torque is refused, in the words of the generated ros2_control controller."""

    OTHER_PUBLISHER = 'other publisher'
    WRONG_SIZE = 'wrong size'
    NOT_FINITE = 'not finite'
    OUT_OF_BOUNDS = 'out of bounds'


class TorqueReceiver:
    """
    Applies the torques of one sender, and stops the arm by its own model when torques cease.

    If nothing else compensates gravity, the receiver holds the stopped arm at rest until a sender
    comes; if the robot compensates gravity, the torque goes to zero once braking has ended. The
    applied torque stays within the arm's torque limits and changes by at most 1000 N m/s, whoever
    sends what.

    Following needs no joint state. If the arm is braked or held, a fault ends that: a state that
    is not finite, an impossible one (`StateCheck.impossible`), or an arm that gets faster in spite
    of braking. Until a sender comes, the torque then goes to zero or, if nothing else compensates
    gravity, to the gravity torque at the last possible position. After states that were not
    finite the arm is braked again once MIN_GOOD_STATE_COUNT possible states have come in a row.

    `description` is the arm without the settings' payload. The settings' target says whether the
    receiver's robot compensates gravity; the settings' gravity_vector and payload are those of the
    arm. A torque is applied for at most `timeout` seconds by the stamps of the states, unless the
    next torque comes. `holding`, shape (n,) [N m], is the torque that holds the arm at the start,
    and the receiver goes on holding the arm; None: the receiver begins without torque, because
    brakes hold the arm. Raises SettingsError if payload, target or time-out are wrong,
    InertiaError if a link has a first moment but no mass.
    """

    def __init__(
        self,
        description: ArmDescription,
        settings: Settings,
        timeout: float,
        *,
        holding: Array | None = None,
    ) -> None:
        if not timeout > 0.0:
            raise SettingsError(f'A receiver needs a time-out above zero; got {timeout} s.')
        self.timeout = timeout
        self.applied = np.zeros(description.n) if holding is None else holding
        self.state = ReceiverState.WAITING if holding is None else ReceiverState.HOLDING
        self.fault = ''  # why the state is or last was FAULT
        self.timeouts = 0  # how often a followed sender was silent for the time-out
        self.refused = dict.fromkeys(Refusal, 0)  # number of refused torques by reason
        self._effort = description.limit('effort')
        self._terms = TermModel(description, settings)
        self._holds = not settings.profile.receiver_adds_gravity
        self._limiter = TorqueLimiter(self._effort, description.limit('effort_rate'))
        self._brake, self._zero = BrakingController(description), np.zeros(description.n)
        self._given = self.applied
        self._number: int | None = None  # sequence number of the last accepted torque
        self._check = StateCheck(description, StateLimits(), MAX_STEP_S)
        self._possible: Array | None = None  # the last possible position
        self._good = 0  # number of possible states in a row
        self._latched = False  # whether only a sender ends the fault
        # Times [s] by `_time`: of the last torque and of the last step.
        self._heard = self._now = -np.inf
        # The latest stamp, and how far the clock has been set back in all [s].
        self._latest, self._set_back = -np.inf, 0.0

    def accept(self, torque: ArrayLike, sequence_number: int | None) -> Refusal | None:
        """
        Accept a torque, shape (n,) [N m], and return None, or return why the torque is refused.

        After a refused torque the last accepted torque stays until the time-out. A second sender
        is followed only once the followed sender has been silent for the time-out; if the sequence
        numbers of two senders are near, the sender of the larger ones is followed. Without
        sequence numbers every sender is followed.
        """
        given, refusal = np.array(torque, dtype=float), None
        last = self._number if self.state is ReceiverState.FOLLOWING else None
        ahead = 1 if last is None or sequence_number is None else sequence_number - last
        if not 0 < ahead <= MAX_SEQUENCE_NUMBER_STEP:
            refusal = Refusal.OTHER_PUBLISHER
        elif given.shape != self._effort.shape:
            refusal = Refusal.WRONG_SIZE
        elif not np.isfinite(given).all():
            refusal = Refusal.NOT_FINITE
        elif (np.abs(given) > self._effort).any():
            refusal = Refusal.OUT_OF_BOUNDS
        if refusal is not None:
            self.refused[refusal] += 1
            return refusal
        self._given, self._number, self._heard = given, sequence_number, self._now
        self.state = ReceiverState.FOLLOWING
        return None

    @property
    def state_text(self) -> str:
        """The state as a text, with the cause of a fault."""
        cause = f': {self.fault}' if self.state is ReceiverState.FAULT else ''
        return STATE_TEXTS[self.state] + cause

    def is_following(self, stamp: float) -> bool:
        """Return whether a sender is followed whose time-out has not passed at a stamp [s]."""
        following = self.state is ReceiverState.FOLLOWING
        return following and self._time(stamp) - self._heard <= self.timeout

    def step(self, stamp: float, q: Array, dq: Array) -> Array:
        """
        Return the torque to apply at a measured joint state of time `stamp` [s], (n,) [N m].

        A stamp that is not finite counts as the stamp before it.
        """
        now = self._time(stamp)
        elapsed = 0.0 if self._now == -np.inf else now - self._now
        self._now = now
        if self.state is ReceiverState.FOLLOWING and self._heard == -np.inf:
            self._heard = now  # a torque came before the first state
        wrong, impossible = self._check.impossible(q, dq, None)
        self._good = 0 if wrong else self._good + 1
        if not wrong:
            self._possible = np.array(q)
        if self.state is ReceiverState.FOLLOWING and not self.is_following(stamp):
            self.timeouts += 1
            self._begin_braking()
        clears = not self._latched and self._good >= MIN_GOOD_STATE_COUNT
        if self.state is ReceiverState.FAULT and clears:
            self._begin_braking()
        desired = self._given
        if self.state in (ReceiverState.BRAKING, ReceiverState.HOLDING):
            if wrong:
                self._fail(wrong, latched=impossible)
            else:
                desired = self._braking_torque(q, dq, elapsed)
                if not np.isfinite(desired).all():
                    self._fail('the computed torque is not finite', latched=True)
        elif self.state is ReceiverState.FAULT:
            self._latched = self._latched or impossible
        if self.state is ReceiverState.FAULT:
            desired = self._given = self._resting_torque()
        self.applied = self._limiter.limit(desired, self.applied, elapsed)
        self._brake.held_back = desired - self.applied
        return self.applied

    def _time(self, stamp: float) -> float:
        """Return the time [s] of a stamp, which does not go back when the clock is set back."""
        if not math.isfinite(stamp):
            return self._now
        if stamp < self._latest - MAX_LATENESS_S:  # the clock was set back
            self._set_back += self._latest - stamp
            self._latest = stamp
        self._latest = max(self._latest, stamp)
        return stamp + self._set_back

    def _begin_braking(self) -> None:
        self.state = ReceiverState.BRAKING
        self._brake.begin(self._zero)

    def _fail(self, why: str, *, latched: bool) -> None:
        self.state, self.fault, self._latched = ReceiverState.FAULT, why, latched

    def _braking_torque(self, q: Array, dq: Array, elapsed: float) -> Array:
        """Return a torque that brakes the arm, then holds the arm or ends at zero; set `state`."""
        terms, brake = self._terms, self._brake
        state = terms.at(self._now, q, dq, None)
        slowed = brake.torque(state, terms, self._zero, max(0.0, elapsed))
        torque = terms.gravity_to_command(q, state.gravity) + state.coriolis
        if brake.driven and self._holds:
            self._fail(brake.driven, latched=True)
            return torque
        if brake.at_rest or brake.driven:
            if not self._holds:
                self.state, self._given = ReceiverState.STOPPED, self._zero
                return self._given
            self.state = ReceiverState.HOLDING
        return torque + slowed

    def _resting_torque(self) -> Array:
        """Return the torque at which a fault ends, shape (n,) [N m]."""
        if not self._holds:
            return np.zeros(len(self.applied))
        if self._possible is None:
            return self.applied  # no position was ever known
        return self._terms.gravity_to_command(self._possible, self._terms.gravity(self._possible))
