# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The receiving end of a torque topic: whoever receives a torque ends it.

A sender that was killed or cut off sends nothing more, so only the receiver can take its last
torque back. The simulated arm and the node beside plain Gazebo use this class; the generated
ros2_control controller does the same in C++.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from .braking import Braking
from .limits import all_finite, judged_command, TorqueLimiter
from .settings import Settings
from .terms import TermModel
from ..arm import ArmDescription
from ..typing import Array

# More messages than this are not lost within a time-out: a number further ahead is another
# sender's.
_LOST_AT_MOST = 100
COMMAND_TIMEOUT_S = 0.05  # of receivers that have no parameter for it


class ReceiverState(str, Enum):
    """What a receiver does."""

    WAITING = 'waiting'  # no torque has come yet, and none is applied
    FOLLOWING = 'following'
    BRAKING = 'braking'  # the sender has fallen silent, and the arm still moves
    HOLDING = 'holding'  # the receiver carries the arm at rest until a sender comes
    STOPPED = 'stopped'  # the arm carries itself: the torque goes to zero and stays there


class TorqueReceiver:
    """
    Follows the torques of one sender, and stops the arm by its own model when they cease.

    Where nobody else carries the arm, it is held at rest until a sender comes; elsewhere the
    torque goes to zero once the arm is at rest. What is applied stays within the arm's torque
    limits and changes by at most 1000 N m/s, whatever is sent and whoever sends it.

    Parameters
    ----------
    description : ArmDescription
        The arm, without the settings' payload.
    settings : Settings
        Its target says who carries the arm; gravity_vector and payload are those of the arm.
    timeout : float
        How long a torque acts without a next one [s], by the stamps of the states.
    holding : ndarray, shape (n,), optional
        The torque that carries the arm from the beginning [N m]; none where brakes do.

    Raises
    ------
    InertiaError
        If the last link is not physical with the payload.

    """

    def __init__(
        self,
        description: ArmDescription,
        settings: Settings,
        timeout: float,
        *,
        holding: Array | None = None,
    ) -> None:
        self.timeout = timeout
        self.applied = np.zeros(description.n) if holding is None else holding
        self.state = ReceiverState.WAITING if holding is None else ReceiverState.HOLDING
        self.timeouts = 0  # how often a sender has fallen silent
        self.foreign = 0  # torques of a second sender, which were not followed
        self._description = description
        self._terms = TermModel(description, settings)
        self._holds = not settings.profile.receiver_adds_gravity
        self._limiter = TorqueLimiter(
            description.limit('effort'), description.limit('effort_rate')
        )
        self._braking = Braking(description)
        self._given = self.applied
        self._number: int | None = None  # of the last torque that was followed
        self._heard = self._stamp = -np.inf

    def take(self, torque: ArrayLike, number: int | None) -> bool:
        """
        Take a torque; return whether its sender is the one that is followed.

        Another sender is followed only once this one has been silent for the time-out.

        Parameters
        ----------
        torque : array_like, shape (n,)
            What was sent [N m].
        number : int or None
            The number that its sender gave the message; senders count one by one. None where the
            middleware tells none: then every sender is followed.

        Raises
        ------
        CommandRefusedError
            If there is another number of values, or one is not finite or beyond its limit: no
            sound sender sends that, so the last torque stays until the time-out.

        """
        given = judged_command(torque, self._description)
        last = self._number
        if last is not None and number is not None and not last < number <= last + _LOST_AT_MOST:
            self.foreign += 1
            return False
        self._given, self._number, self._heard = given, number, self._stamp
        self.state = ReceiverState.FOLLOWING
        return True

    def follows(self, stamp: float) -> bool:
        """Return whether a sender is followed and not yet silent for too long at a stamp [s]."""
        return self.state is ReceiverState.FOLLOWING and stamp - self._heard <= self.timeout

    def step(self, stamp: float, q: Array, dq: Array) -> Array:
        """
        Return the torque to be applied at a state, shape (n,) [N m].

        Parameters
        ----------
        stamp : float
            Of the state [s].
        q, dq : ndarray, shape (n,)
            Measured positions and velocities.

        """
        elapsed, self._stamp = stamp - self._stamp, stamp
        if self.state is ReceiverState.FOLLOWING and not self.follows(stamp):
            self.state, self._number = ReceiverState.BRAKING, None
            self.timeouts += 1
            self._braking.begin()
        desired = self._given
        if self.state in (ReceiverState.BRAKING, ReceiverState.HOLDING):
            desired = self._own(stamp, q, dq)
        if all_finite(desired):  # as of any state that is
            self.applied = self._limiter.limit(desired, self.applied, elapsed).torque
        return self.applied

    def _own(self, stamp: float, q: Array, dq: Array) -> Array:
        """Return the torque that brakes the arm and keeps it at rest."""
        terms = self._terms
        brake = self._braking.torque(stamp, q, dq, terms)
        if brake is None and not self._holds:
            self.state, self._given = ReceiverState.STOPPED, np.zeros(len(q))
            return self._given
        torque = terms.gravity_left_to_us(q, terms.gravity(q)) + terms.coriolis(q, dq)
        if brake is not None:
            return np.asarray(torque + brake)
        # Carried by its gravity torque alone it would drift away: the brake begins anew.
        self.state = ReceiverState.HOLDING
        self._braking.begin()
        return np.asarray(torque)
