# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Desired motion: held, streamed point by point, or a trajectory sampled by time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import math
from typing import NamedTuple

import numpy as np

from ..typing import Array

# How long a streamed point with a velocity is followed before it counts as abandoned.
STREAM_TIMEOUT_S = 0.1


class ReferencePoint(NamedTuple):
    """Desired position, velocity and acceleration, each of shape (n,)."""

    q: Array
    dq: Array
    ddq: Array

    @classmethod
    def at_rest(cls, q: Array) -> ReferencePoint:
        """Return the point that stands still at q."""
        return cls(np.array(q, dtype=float), np.zeros_like(q), np.zeros_like(q))

    @property
    def stacked(self) -> ReferencePoint:
        """The point as a single row of states, each of shape (1, n)."""
        return ReferencePoint(*(values[None, :] for values in self))


@dataclass(frozen=True, eq=False)
class Trajectory:
    """
    A motion through points, interpolated as joint_trajectory_controller does.

    Positions alone are joined by straight lines, positions and velocities by cubics, positions,
    velocities and accelerations by quintics. Before the first point the first is held, after
    the last the last.

    Parameters
    ----------
    times : ndarray, shape (k,)
        Absolute times, strictly increasing, on the clock of the state's stamps [s].
    positions, velocities, accelerations : ndarray, shape (k, n)
        The last two may be None; accelerations need velocities.

    """

    times: Array
    positions: Array
    velocities: Array | None = None
    accelerations: Array | None = None

    @property
    def end(self) -> float:
        """Time of the last point [s]."""
        return float(self.times[-1])

    def sample(self, time: float) -> ReferencePoint:
        """Return the desired state at a time [s]."""
        if time >= self.end:
            return ReferencePoint.at_rest(self.positions[-1])
        if time < self.times[0]:
            return ReferencePoint.at_rest(self.positions[0])
        segment = int(np.searchsorted(self.times, time, side='right')) - 1
        start, end = float(self.times[segment]), float(self.times[segment + 1])
        return _evaluate(self._powers[segment], (time - start) / (end - start), end - start)

    def sample_many(self, per_segment: int) -> tuple[Array, ReferencePoint]:
        """Return times (s,) and states (s, n): `per_segment` in each segment, and the end."""
        segments = np.repeat(np.arange(len(self.times) - 1), per_segment)
        s = np.tile(np.arange(per_segment) / per_segment, len(self.times) - 1)
        durations = np.diff(self.times)[segments]
        powers = np.moveaxis(self._powers, 0, 2)[:, :, segments]
        inside = _evaluate(powers, s[:, None], durations[:, None])
        end = ReferencePoint.at_rest(self.positions[-1])
        return (
            np.append(self.times[segments] + s * durations, self.end),
            ReferencePoint(*(np.vstack(pair) for pair in zip(inside, end))),
        )

    @cached_property
    def _powers(self) -> Array:
        """
        Those of position and its two derivatives by s, lowest first, shape (k - 1, 6, 3, n).

        s runs from 0 to 1 within a segment. They are there before a motion is followed, because
        its limits are checked.
        """
        q0, q1 = self.positions[:-1], self.positions[1:]
        powers = np.zeros((len(q0), 6, 3, q0.shape[1]))
        position, duration = powers[:, :, 0], np.diff(self.times)[:, None]
        position[:, 0] = q0
        if self.velocities is None:
            position[:, 1] = q1 - q0
        else:
            # Boundary values in units of the segment.
            v0, v1 = self.velocities[:-1] * duration, self.velocities[1:] * duration
            position[:, 1] = v0
            rise, v = q1 - q0 - v0, v1 - v0
            if self.accelerations is None:
                position[:, 2], position[:, 3] = 3.0 * rise - v, v - 2.0 * rise
            else:
                ddq = self.accelerations
                a0, a1 = ddq[:-1] * duration**2, ddq[1:] * duration**2
                p, v, a = rise - 0.5 * a0, v - a0, a1 - a0
                position[:, 2] = 0.5 * a0
                position[:, 3] = 10.0 * p - 4.0 * v + 0.5 * a
                position[:, 4] = -15.0 * p + 7.0 * v - a
                position[:, 5] = 6.0 * p - 3.0 * v + 0.5 * a
        rising = np.arange(1.0, 6.0)[:, None]
        powers[:, :5, 1] = rising * powers[:, 1:, 0]
        powers[:, :4, 2] = rising[:4] * powers[:, 1:5, 1]
        return powers


def _evaluate(powers: Array, s: float | Array, duration: float | Array) -> ReferencePoint:
    """Return the state at the fraction s of a segment (or of each of many)."""
    state = s * powers[5]
    for power in powers[4:0:-1]:
        state += power
        state *= s
    state += powers[0]
    return ReferencePoint(state[0], state[1] / duration, state[2] / duration**2)


class ReferenceSource:
    """
    What is desired now: nothing yet, a held position, a streamed point or a trajectory.

    A stream that stops, and a trajectory that has ended, leave the arm at rest where it was
    last desired. A trajectory that begins later leaves what is desired until then as it is.
    """

    def __init__(self) -> None:
        self.clear()

    @property
    def active(self) -> bool:
        """Whether a stream or a trajectory is being followed."""
        return math.isfinite(self._since) or self._trajectory is not None

    @property
    def motion(self) -> Trajectory | None:
        """The trajectory that is followed, or that will be."""
        return self._trajectory if self._next is None else self._next

    def clear(self) -> None:
        """Forget everything; nothing is desired until `hold` or a reference comes."""
        self._point: ReferencePoint | None = None
        self._since = math.inf  # when the point was streamed; it is held for ever if it was not
        self._trajectory: Trajectory | None = None
        self._next: Trajectory | None = None

    def hold(self, q: Array) -> None:
        """Stand still at q from now on."""
        self.stream(ReferencePoint.at_rest(q), math.inf)

    def stream(self, point: ReferencePoint, stamp: float) -> None:
        """Follow one point until the next comes, or until it is too old."""
        self.clear()
        self._point, self._since = point, stamp

    def follow(self, trajectory: Trajectory, now: float) -> None:
        """Follow a trajectory by time; until it begins, go on with what was desired before."""
        if trajectory.times[0] > now:
            self._next = trajectory
            return
        self.clear()
        self._trajectory = trajectory

    def at(self, stamp: float) -> ReferencePoint | None:
        """Return what will be desired at a stamp [s] as things stand, or None for nothing."""
        if self._next is not None and stamp >= self._next.times[0]:
            return self._next.sample(stamp)
        if self._trajectory is not None:
            return self._trajectory.sample(stamp)
        if self._point is not None and stamp - self._since > STREAM_TIMEOUT_S:
            return ReferencePoint.at_rest(self._point.q)
        return self._point

    def sample(self, stamp: float) -> ReferencePoint | None:
        """Return the desired state at a stamp [s], and leave behind what has ended by then."""
        if self._next is not None and stamp >= self._next.times[0]:
            self.follow(self._next, stamp)
        desired = self.at(stamp)
        if desired is not None and (
            (self._trajectory is not None and stamp >= self._trajectory.end)
            or stamp - self._since > STREAM_TIMEOUT_S
        ):
            following = self._next
            self.hold(desired.q)
            self._next = following
        return desired
