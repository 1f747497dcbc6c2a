# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Desired states, and motions through them that are checked against an arm's limits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..arm import ArmDescription
from ..errors import ReferenceRefusedError
from ..typing import Array

LIMIT_SLACK = 1e-6  # for motions that just reach a limit, with rounding [rad, rad/s, rad/s^2]
# Number of samples at which limits are checked: in all if possible, and in each segment.
_SAMPLES, _LEAST_PER_SEGMENT, _MOST_PER_SEGMENT = 400, 12, 40


class ReferencePoint(NamedTuple):
    """Desired position, velocity and acceleration, (n,) each [rad or m, per s, per s^2]."""

    q: Array
    dq: Array
    ddq: Array

    @classmethod
    def at_rest(cls, q: Array) -> ReferencePoint:
        """Return the desired state at rest at the position q, shape (n,)."""
        return cls(np.array(q, dtype=float), np.zeros_like(q), np.zeros_like(q))


@dataclass(frozen=True, eq=False)
class Trajectory:
    """
    A motion through k states, joined by quintics; at rest before the first and after the last.

    Parameters
    ----------
    times : ndarray, shape (k,)
        Strictly increasing times after `zero` [s].
    states : ndarray, shape (k, 3, n)
        Position, velocity and acceleration at these times.
    zero : float
        Time zero on the clock of the joint states' stamps [s]. Seconds since 1970 are rounded to
        0.2 us, too coarse for the derivatives of short segments; `times` are not.

    """

    times: Array
    states: Array
    zero: float = 0.0

    @classmethod
    def resting(cls, q: Array, zero: float = 0.0) -> Trajectory:
        """Return the motion that rests at q, shape (n,)."""
        return cls(np.zeros(1), np.array([ReferencePoint.at_rest(q)]), zero)

    @property
    def positions(self) -> Array:
        """Positions at `times`, shape (k, n)."""
        return self.states[:, 0]

    @property
    def velocities(self) -> Array:
        """Velocities at `times`, shape (k, n)."""
        return self.states[:, 1]

    @property
    def accelerations(self) -> Array:
        """Accelerations at `times`, shape (k, n)."""
        return self.states[:, 2]

    @property
    def begin(self) -> float:
        """Stamp of the first state [s]."""
        return self.zero + float(self.times[0])

    @property
    def end(self) -> float:
        """Stamp of the last state [s]."""
        return self.zero + float(self.times[-1])

    def at(self, stamp: float) -> ReferencePoint:
        """Return the desired state at a stamp [s]."""
        since = stamp - self.zero
        segment = int(self.times.searchsorted(since, 'right')) - 1
        if not 0 <= segment < len(self.times) - 1:
            return self._ends[segment >= 0]
        powers = _powers(since - float(self.times[segment]))
        return ReferencePoint(*(powers @ self._coefficients[segment]))

    @cached_property
    def _ends(self) -> tuple[ReferencePoint, ReferencePoint]:
        """The desired states before the first and after the last time."""
        first, last = (ReferencePoint.at_rest(self.states[k, 0]) for k in (0, -1))
        return first, last

    def at_times(self, times: Array) -> Array:
        """Return states, (m, 3, n), at m times after `zero`, none before the first [s]."""
        if len(self.times) == 1:
            return np.repeat(self.states, len(times), axis=0)
        inside = np.minimum(times, self.times[-1])
        segments = self.times.searchsorted(inside, 'right') - 1
        segments = np.clip(segments, 0, len(self.times) - 2)
        powers = _powers(inside - self.times[segments])
        states = np.einsum('dpm,mpn->mdn', powers, self._coefficients[segments])
        states[times > self.times[-1], 1:] = 0.0
        return states

    def require_within(
        self, arm: ArmDescription, *, share: float = 1.0, until: float = np.inf
    ) -> Trajectory:
        """
        Return the motion if it keeps to the arm's limits.

        Raises ReferenceRefusedError that names the joint and the limit if a segment that begins
        earlier than `until`, a time after `zero` [s], leaves the limits of position or velocity
        (at its position), or `share` times the limit of acceleration.
        """
        begins = self.times[:-1][self.times[:-1] < until]
        each = _SAMPLES // max(1, len(begins))
        each = min(max(each, _LEAST_PER_SEGMENT), _MOST_PER_SEGMENT)
        share_of_segment = np.arange(each)[:, None] / each
        since = share_of_segment * np.diff(self.times)[: len(begins)]
        inside = np.einsum('dpsk,kpn->dskn', _powers(since), self._coefficients[: len(begins)])
        ends = self.times <= until
        times = np.append(begins + since, self.times[ends])
        q, dq, ddq = np.hstack((inside.reshape(3, -1, arm.n), self.states[ends].swapaxes(0, 1)))
        most = share * arm.limit('acceleration')
        bounds: dict[str, tuple[Array, tuple[Array, Array]]] = {
            'position': (q, (arm.limit('lower'), arm.limit('upper'))),
            'velocity': (dq, arm.velocity_bounds(q)),
            'acceleration': (ddq, (-most, most)),
        }
        for name, (values, (low, high)) in bounds.items():
            # NaN counts as outside.
            outside = ~((values >= low - LIMIT_SLACK) & (values <= high + LIMIT_SLACK))
            if outside.any():
                row, joint = np.argwhere(outside)[0]
                low, high = (np.broadcast_to(bound, values.shape) for bound in (low, high))
                raise ReferenceRefusedError(
                    f'The reference takes {arm.joint_names[joint]} to a {name} of '
                    f'{values[row, joint]:.4g} {times[row] - self.times[0]:.3f} s after it '
                    f'begins; its limits there are {low[row, joint]:.4g} to '
                    f'{high[row, joint]:.4g}.'
                )
        return self

    @cached_property
    def _coefficients(self) -> Array:
        """Coefficients of the segments' quintics, (k - 1, 6, n), the lowest power first."""
        h = np.diff(self.times)[:, None]
        (q, v, a), (q1, v1, a1) = self.states[:-1].swapaxes(0, 1), self.states[1:].swapaxes(0, 1)
        # What position, velocity and acceleration at the end still lack, scaled by the duration.
        dq, dv, da = q1 - q - v * h - a * h**2 / 2, (v1 - v - a * h) * h, (a1 - a) * h**2
        third = (10 * dq - 4 * dv + da / 2) / h**3
        fourth = (-15 * dq + 7 * dv - da) / h**4
        fifth = (6 * dq - 3 * dv + da / 2) / h**5
        return np.stack((q, v, a / 2, third, fourth, fifth), axis=1)


def _powers(t: Any) -> Array:
    """Return the powers of t that give position, velocity, acceleration: shape (3, 6, ...)."""
    zero = 0.0 * t
    one = zero + 1.0
    return np.array(
        [
            (one, t, t**2, t**3, t**4, t**5),
            (zero, one, 2 * t, 3 * t**2, 4 * t**3, 5 * t**4),
            (zero, zero, 2 * one, 6 * t, 12 * t**2, 20 * t**3),
        ]
    )
