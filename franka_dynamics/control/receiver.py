# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The receiving end of a torque topic, which stops the arm when torques cease.

A sender that was killed or cut off sends nothing more, so only the receiver can end the sender's
last torque. ros.simulator_node and ros.gazebo_direct_node use TorqueReceiver; the generated
ros2_control controller stops the arm in the same way.
"""

from __future__ import annotations

from enum import Enum
import math

import numpy as np
from numpy.typing import ArrayLike

from .braking import Brake
from .limits import TorqueLimiter
from .settings import Settings
from .terms import TermModel
from ..arm import ArmDescription
from ..errors import SettingsError
from ..typing import Array

# It is assumed that fewer than _LOST_AT_MOST messages in a row get lost. A message whose number is
# not 1 to _LOST_AT_MOST above the last number is taken for another sender's. Two senders whose
# numbers differ by at most _LOST_AT_MOST cannot be told apart: the numbers of one fill the gaps of
# the other.
_LOST_AT_MOST = 100
# A state may come late; a stamp further back than _SET_BACK_S [s] shows a clock that was set back.
_SET_BACK_S = 0.1
COMMAND_TIMEOUT_S = 0.05  # time-out of receivers that have no parameter for it [s]


class ReceiverState(str, Enum):
    """States of a torque receiver."""

    WAITING = 'waiting'  # no torque has come yet, and none is applied
    FOLLOWING = 'following'
    BRAKING = 'braking'  # the sender has fallen silent, and the arm still moves
    HOLDING = 'holding'  # the receiver carries the arm at rest until a sender comes
    STOPPED = 'stopped'  # the arm carries itself: the torque goes to zero and stays there
    FAULT = 'fault'  # a state was not finite: the torque goes to the resting torque


SENTENCES = {
    ReceiverState.WAITING: 'waiting for a first command',
    ReceiverState.FOLLOWING: 'following',
    ReceiverState.BRAKING: 'no sender is followed any more: braking by the model',
    ReceiverState.HOLDING: 'holding the arm until a command comes',
    ReceiverState.STOPPED: 'stopped',
    ReceiverState.FAULT: 'stopped by a fault: a joint state is not finite',
}


class Refusal(str, Enum):
    """Why a torque is refused, in the words of the generated ros2_control controller."""

    OTHER_PUBLISHER = 'other publisher'
    WRONG_SIZE = 'wrong size'
    NOT_FINITE = 'not finite'
    OUT_OF_BOUNDS = 'out of bounds'


class TorqueReceiver:
    """
    Follows the torques of one sender; stops the arm by its own model when the torques cease.

    If nothing else compensates gravity, the receiver holds the stopped arm at rest until a sender
    comes; if the robot compensates gravity, the torque goes to zero once braking has ended. If a
    state is not finite while the receiver brakes or holds the arm, the torque goes to zero or, if
    nothing else compensates gravity, to the gravity torque at the last finite position, until a
    state is finite again or a sender comes. The applied torque stays within the arm's torque
    limits and changes by at most 1000 N m/s, whoever sends what.

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
        # How often the receiver stopped following a sender, because the sender was silent for the
        # time-out or could not be told apart from a second sender.
        self.timeouts = 0
        self.refused = dict.fromkeys(Refusal, 0)  # number of refused torques by reason
        self._effort = description.limit('effort')
        self._terms = TermModel(description, settings)
        self._holds = not settings.profile.receiver_adds_gravity
        self._limiter = TorqueLimiter(self._effort, description.limit('effort_rate'))
        self._brake, self._zero = Brake(description), np.zeros(description.n)
        self._given = self.applied
        self._number: int | None = None  # number of the last torque of the followed sender
        # Remaining time in which no sender is followed, because two could not be told apart [s],
        # and the time when a message number last was repeated or too low.
        self._doubt_s, self._doubtful = 0.0, -np.inf
        self._finite: Array | None = None  # the last finite position
        # Times [s] by `_time`: of the last torque and of the last step.
        self._heard = self._now = -np.inf
        # The latest stamp, and how far the clock has been set back in all [s].
        self._latest, self._set_back = -np.inf, 0.0

    def take(self, torque: ArrayLike, number: int | None) -> Refusal | None:
        """
        Follow a torque, shape (n,) [N m], and return None, or return why it is refused.

        After a refused torque the last accepted torque stays until the time-out. A second sender
        is followed only once the followed sender has been silent for the time-out. `number` counts
        the messages of a sender, None if the middleware does not number messages; without numbers
        every sender is followed. Of two senders with numbers at most 100 apart none is followed
        until one has been silent for the time-out; a single repeated or late message is only
        refused.
        """
        given, refusal, doubted = np.array(torque, dtype=float), None, self._doubt_s > 0.0
        last = self._number if doubted or self.state is ReceiverState.FOLLOWING else None
        ahead = 1 if last is None or number is None else number - last
        foreign = not 0 < ahead <= _LOST_AT_MOST
        if foreign and (doubted or -_LOST_AT_MOST < ahead <= 0):
            if doubted or self._now - self._doubtful <= self.timeout:
                doubted, self._doubt_s = True, self.timeout
            self._doubtful = self._now
        if doubted:
            self._number = number
        if doubted or foreign:
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
        self._given, self._number, self._heard = given, number, self._now
        self.state = ReceiverState.FOLLOWING
        return None

    def follows(self, stamp: float) -> bool:
        """Return whether, at a stamp [s], a sender is followed and its time-out has not passed."""
        if self._doubt_s > 0.0 or self.state is not ReceiverState.FOLLOWING:
            return False
        return self._time(stamp) - self._heard <= self.timeout

    def step(self, stamp: float, q: Array, dq: Array) -> Array:
        """
        Return the torque to apply at a measured state stamped `stamp` [s], shape (n,) [N m].

        A stamp that is not finite counts as the stamp before it.
        """
        now = self._time(stamp)
        elapsed = 0.0 if self._now == -np.inf else now - self._now
        self._now = now
        if self.state is ReceiverState.FOLLOWING and self._heard == -np.inf:
            self._heard = now  # a torque came before the first state
        self._doubt_s -= max(0.0, elapsed)
        finite = bool(np.isfinite(q).all() and np.isfinite(dq).all())
        if finite:
            self._finite = np.array(q)
        if self.state is ReceiverState.FOLLOWING and not self.follows(stamp):
            self.state = ReceiverState.BRAKING
            self.timeouts += 1
            self._brake.begin(self._zero)
        if self.state is ReceiverState.FAULT and finite:
            self.state = ReceiverState.BRAKING
            self._brake.begin(self._zero)
        desired = self._given
        if self.state in (ReceiverState.BRAKING, ReceiverState.HOLDING):
            desired = self._own(q, dq, elapsed)
            if not (finite and np.isfinite(desired).all()):
                self.state = ReceiverState.FAULT
                desired = self._given = self._resting()
        self.applied = self._limiter.limit(desired, self.applied, elapsed)
        return self.applied

    def _time(self, stamp: float) -> float:
        """Return the time [s] of a stamp, which does not go back when the clock is set back."""
        if not math.isfinite(stamp):
            return self._now
        if stamp < self._latest - _SET_BACK_S:
            self._set_back += self._latest - stamp
            self._latest = stamp
        self._latest = max(self._latest, stamp)
        return stamp + self._set_back

    def _own(self, q: Array, dq: Array, elapsed: float) -> Array:
        """Return a torque that brakes the arm, then holds the arm or ends at zero; set `state`."""
        terms, brake = self._terms, self._brake
        state = terms.at(self._now, q, dq, None)
        slowed = brake.torque(state, terms, self._zero, max(0.0, elapsed))
        torque = terms.gravity_to_command(q, state.gravity) + state.coriolis
        if not (brake.at_rest or brake.driven):
            return torque + slowed
        if not self._holds:
            self.state, self._given = ReceiverState.STOPPED, self._zero
            return self._given
        self.state = ReceiverState.HOLDING
        if brake.at_rest:
            return torque + slowed
        brake.begin(self._zero)  # nobody else carries the arm, so it is braked again
        return torque

    def _resting(self) -> Array:
        """Return the torque to end at when states are no longer finite, shape (n,) [N m]."""
        if not self._holds:
            return np.zeros(len(self.applied))
        if self._finite is None:
            return self.applied  # no position was ever known
        return self._terms.gravity_to_command(self._finite, self._terms.gravity(self._finite))
