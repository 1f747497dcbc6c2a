# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of each reference: accepted, following, finished, refused or interrupted."""

from __future__ import annotations

from collections.abc import Callable
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


class ReferenceProgress:
    """
    Follows references from outside: told what was accepted and refused, it sees the rest.

    A stream of points is one reference, from its first point until no more come.

    Parameters
    ----------
    tell : callable
        Takes each event.

    """

    def __init__(self, tell: Callable[[ReferenceEvent], object]) -> None:
        self.counts = dict.fromkeys(ReferenceState, 0)
        self._tell = tell
        self._number = 0
        self._current: _Current | None = None

    @property
    def under_way(self) -> bool:
        """Whether a reference has been accepted whose end is still to be told."""
        return self._current is not None

    def passed(self, state: ReferenceState, stamp: float, reason: str, mark: str = '') -> None:
        """Note a reference that is refused, or that somebody else follows: no more is told."""
        self._number += 1
        self._note(ReferenceEvent(self._number, state, stamp, reason, mark=mark))

    def accepted(
        self,
        planned: Trajectory | ReferencePoint,
        stamp: float,
        q: Array | None,
        mark: str = '',
    ) -> None:
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
        before = self._current
        if isinstance(planned, ReferencePoint):
            begin, end, goal = stamp, stamp + STREAM_TIMEOUT_S, planned.q
        else:
            begin, end, goal = float(planned.times[0]), planned.end, planned.positions[-1]
        streamed = is_streamed(planned)
        if before is not None and streamed and before.streamed:
            self._current = before._replace(begin=begin, end=end, goal=goal)
            return
        if before is not None:
            self._station(ReferenceState.INTERRUPTED, stamp, q, 'another reference took its place')
        self._number += 1
        self._current = _Current(self._number, begin, end, goal, streamed, mark)
        self._station(ReferenceState.ACCEPTED, stamp, q)
        self.update(stamp, q, running=True)

    def update(self, stamp: float, q: Array | None, *, running: bool, reason: str = '') -> None:
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
        current = self._current
        if current is None:
            return
        if running and not current.following and stamp >= current.begin:
            self._current = current._replace(following=True)
            self._station(ReferenceState.FOLLOWING, stamp, q)
        if not running or stamp >= current.end:
            end = ReferenceState.FINISHED if running else ReferenceState.INTERRUPTED
            self._station(end, stamp, q, reason)
            self._current = None

    def _station(
        self, state: ReferenceState, stamp: float, q: Array | None, reason: str = ''
    ) -> None:
        """Tell that the present reference has got there."""
        current = self._current
        assert current is not None, 'only of one that is under way'
        error = None if q is None else np.abs(q - current.goal)
        left = max(0.0, current.end - stamp)
        self._note(ReferenceEvent(current.number, state, stamp, reason, error, left, current.mark))

    def _note(self, event: ReferenceEvent) -> None:
        self.counts[event.state] += 1
        self._tell(event)
