# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What ends torques, what the arm gets then, and what lets torques begin again.

`Cause` is the table; docs/reference/reliability.md shows it. An `Ending` is one entry with its
reason, and the core has at most one: two are joined. The resting torque is zero if the target adds
gravity, else g(q).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from .reason import ADVICE, Code, Reason


class Then(str, Enum):
    """What the arm gets once the torques of the control law have ended."""

    RELEASE = 'braked to rest, then the resting torque'
    HOLD = 'braked to rest, then held'
    RESTING_TORQUE = 'the resting torque'
    UNSEEN = 'the resting torque; an arm that was to be held is held again once it is seen'
    COAST = 'the resting torque, and nothing brakes the arm any more'
    ZERO = 'zero torque'


class Remedy(str, Enum):
    """What lets torques begin again, the easiest first; a node has its own texts."""

    NONE = ''
    WAIT = 'correct what it names, or wait'
    START = 'start()'
    # start() does not look whether the cause is gone.
    CLEAR = 'remove the cause, then clear the fault by start()'
    CONFIGURE = 'configure again'


class Cause(Enum):
    """A reason for which torques end, what the arm gets then, and how they begin again."""

    AWAITED = 'none yet: a first torque is awaited', Then.RESTING_TORQUE, Remedy.WAIT
    STOPPED = 'a stop', Then.RELEASE, Remedy.START
    STATES_LOST = 'joint states that cease or cannot be used', Then.UNSEEN, Remedy.WAIT
    STATES_LOST_OFTEN = (
        'joint states lost more than 5 times within a minute',
        Then.RESTING_TORQUE,
        Remedy.CLEAR,
    )
    # Braked again and again, a reversed joint would be driven.
    IMPOSSIBLE_OFTEN = (
        'impossible joint states more than 5 times within a minute',
        Then.COAST,
        Remedy.CLEAR,
    )
    STATE_IMPOSSIBLE = 'impossible joint states', Then.UNSEEN, Remedy.CLEAR
    SECOND_SOURCE = 'joint states of two sources', Then.RESTING_TORQUE, Remedy.CLEAR
    POSITION_STANDS_STILL = 'a position that stands still', Then.RESTING_TORQUE, Remedy.CLEAR
    DISTURBED = 'a lasting disturbance torque', Then.HOLD, Remedy.CLEAR
    TOO_FAST = 'a joint that is too fast', Then.HOLD, Remedy.CLEAR
    TOLD_TO_HOLD = 'a stop that says so', Then.HOLD, Remedy.CLEAR
    BRAKING_FAILED = 'braking that makes the arm faster', Then.COAST, Remedy.CLEAR
    TORQUE_NOT_FINITE = 'a computed torque that is not finite', Then.COAST, Remedy.CLEAR
    TORQUE_NOT_APPLIED = 'torques that do not arrive as sent', Then.COAST, Remedy.CLEAR
    WRONG_RECEIVER = 'a receiver that is not the target', Then.ZERO, Remedy.CLEAR
    RECEIVER_PAUSES = 'a receiver that applies no torque, or is not known', Then.ZERO, Remedy.WAIT
    MODEL_CHANGED = 'a model that is not the arm', Then.RELEASE, Remedy.CONFIGURE

    def ending(self, why: Reason | str) -> Ending:
        """Return an ending by this cause, for a reason, or the caller's text."""
        reason = Code.GIVEN(text=why) if isinstance(why, str) else why
        _, then, until = self.value
        return Ending(reason, then, until, reason)


class Ending(NamedTuple):
    """
    Why the law's torques do not go out, what the arm gets instead, and until when.

    `last` is the latest reason, `first` the one that ended torques, or for which none have begun.
    """

    last: Reason | None
    then: Then
    until: Remedy
    first: Reason | None

    def text(self, advice: Callable[[Code], str | None] = ADVICE.get) -> str:
        """Return the first reason and the latest, `Reason.text` each; '' if there are none."""
        said = (one.text(advice) for one in (self.first, self.last) if one)
        return '; '.join(dict.fromkeys(said))

    @property
    def why(self) -> str:
        """The first reason and the latest, with advice for a loop in Python."""
        return self.text()

    @property
    def latched(self) -> bool:
        """Whether it is a fault, which stays until it is cleared."""
        return self.until in (Remedy.CLEAR, Remedy.CONFIGURE)

    def joined(self, later: Ending) -> Ending:
        """
        Return the ending that this one and a later one make together.

        The first reason stays named, and the harder remedy counts. What follows is what the later
        one says; but an arm that is not seen for a while is held again, and one that was let go,
        or gets no torque, is not braked again.
        """
        lasts = self.then is Then.ZERO or (self.then is Then.COAST and later.then is not Then.ZERO)
        then = self.then if lasts or later.then is Then.UNSEEN else later.then
        until = max(self.until, later.until, key=list(Remedy).index)
        return Ending(later.last, then, until, self.first)

    def cleared(self, until: Remedy = Remedy.WAIT) -> Ending:
        """Return this ending with the resting torque in place of what followed, until a remedy."""
        return self._replace(then=Then.RELEASE, until=until)


# While torques go out.
NO_ENDING = Ending(None, Then.RELEASE, Remedy.NONE, None)
