# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of each reference: accepted, following, finished, refused or interrupted."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np

from .reference import ReferencePoint, STREAM_TIMEOUT_S, Trajectory
from .smoothing import is_streamed
from ..typing import Array


class ReferenceState(str, Enum):
    """The stations of a reference; the last three are ends."""

    ACCEPTED = 'accepted'  # planned, begins later
    FOLLOWING = 'following'
    FINISHED = 'finished'  # followed up to its end
    REFUSED = 'refused'  # never followed
    INTERRUPTED = 'interrupted'  # the rest was dropped


class ReferenceEvent(NamedTuple):
    """
    A station reached.

    `number` counts references since the node was configured, `stamp` is of the joint state [s],
    `error` is how far the arm is from where the reference ends, shape (n,) [rad or m], None where
    nothing was followed; `remaining` is how much of the motion is left [s]; `mark` is what its
    sender marked it with.
    """

    number: int
    state: ReferenceState
    stamp: float
    reason: str = ''
    error: Array | None = None
    remaining: float = 0.0
    mark: str = ''


class _Current(NamedTuple):
    number: int
    begin: float
    end: float
    goal: Array
    streamed: bool
    mark: str
    following: bool = False

    def progress(
        self, state: ReferenceState, stamp: float, q: Array | None, reason: str = ''
    ) -> ReferenceEvent:
        error = None if q is None else np.abs(q - self.goal)
        return ReferenceEvent(
            self.number, state, stamp, reason, error, max(0.0, self.end - stamp), self.mark
        )


class ReferenceProgress:
    """
    Follows references from outside: told what was accepted and refused, it sees the rest.

    Every method returns the events that are to be told, in order. A stream of points is one
    reference, from its first point until no more come.
    """

    def __init__(self) -> None:
        self.counts = dict.fromkeys(ReferenceState, 0)
        self._number = 0
        self._current: _Current | None = None

    @property
    def under_way(self) -> bool:
        """Whether a reference has been accepted whose end is still to be told."""
        return self._current is not None

    def refused(self, stamp: float, reason: str, mark: str = '') -> list[ReferenceEvent]:
        """Note a reference that is not followed; what was followed before goes on."""
        return self._passing(ReferenceState.REFUSED, stamp, reason, mark)

    def passed_on(self, stamp: float, reason: str, mark: str = '') -> list[ReferenceEvent]:
        """Note a reference that somebody else follows: nothing more will be told of it."""
        return self._passing(ReferenceState.ACCEPTED, stamp, reason, mark)

    def accepted(
        self,
        planned: Trajectory | ReferencePoint,
        stamp: float,
        q: Array | None,
        mark: str = '',
    ) -> list[ReferenceEvent]:
        """
        Note a reference that is followed from now on, or from its first time on.

        Parameters
        ----------
        planned : Trajectory or ReferencePoint
            As it will be followed.
        stamp : float
            Of the latest joint state [s].
        q : ndarray, shape (n,)
            Where the arm is.
        mark : str
            What its sender marked it with; of a stream, its first point.

        """
        before, events = self._current, []
        if isinstance(planned, ReferencePoint):
            span = stamp, stamp + STREAM_TIMEOUT_S, planned.q
        else:
            span = float(planned.times[0]), planned.end, planned.positions[-1]
        following = _Current(self._number + 1, *span, is_streamed(planned), mark)
        if before is not None and following.streamed and before.streamed:
            begin, end, goal = span
            self._current = before._replace(begin=begin, end=end, goal=goal)
            return []
        if before is not None:
            events = self._told(
                before.progress(
                    ReferenceState.INTERRUPTED, stamp, q, 'another reference took its place'
                )
            )
        self._number += 1
        self._current = following
        return [
            *events,
            *self._told(following.progress(ReferenceState.ACCEPTED, stamp, q)),
            *self.update(stamp, q, running=True),
        ]

    def update(
        self,
        stamp: float,
        q: Array | None,
        *,
        running: bool,
        reason: str = '',
    ) -> list[ReferenceEvent]:
        """
        Look at the present state; to be called with every one while a reference is under way.

        Parameters
        ----------
        stamp : float
            Of the latest joint state [s].
        q : ndarray, shape (n,)
            Where the arm is.
        running : bool
            Whether torques are being commanded.
        reason : str
            Why not.

        """
        current, events = self._current, []
        if current is None:
            return []
        if not running:
            self._current = None
            return self._told(current.progress(ReferenceState.INTERRUPTED, stamp, q, reason))
        if not current.following and stamp >= current.begin:
            self._current = current = current._replace(following=True)
            events = self._told(current.progress(ReferenceState.FOLLOWING, stamp, q))
        if stamp >= current.end:
            self._current = None
            events += self._told(current.progress(ReferenceState.FINISHED, stamp, q))
        return events

    def _passing(
        self, state: ReferenceState, stamp: float, reason: str, mark: str
    ) -> list[ReferenceEvent]:
        self._number += 1
        return self._told(ReferenceEvent(self._number, state, stamp, reason, mark=mark))

    def _told(self, event: ReferenceEvent) -> list[ReferenceEvent]:
        self.counts[event.state] += 1
        return [event]
