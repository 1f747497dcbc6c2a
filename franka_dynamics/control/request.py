# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Requested motions: their joints, numbers and times are checked before anything is planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arm import ArmDescription
from ..arrays import checked, Shape
from ..errors import listed, ReferenceRefusedError
from ..typing import Array

# Transport delays a request by less than MOST_LATENESS_S [s]; a request whose start lies further
# before the latest joint state is refused.
MOST_LATENESS_S = 0.1
# A trajectory that starts more than MOST_LEAD_S [s] after the latest joint state is refused,
# because its stamp comes from another clock. A set-point's bound is MOST_LATENESS_S.
MOST_LEAD_S = 600.0
_LONGEST_S = 86400.0
# rclpy takes 6 ms to deserialise 1000 points. A second thread deserialises, but meanwhile torques
# are late: by 3 ms for 2000 points (benchmarks/services.py).
MOST_POINTS = 2000


@dataclass(frozen=True, eq=False)
class TrajectoryRequest:
    """
    The contents of a trajectory message, with joints in the order of the message.

    `times`, shape (k,), are seconds after `start`. `start` [s] is by the clock of the joint
    states' stamps; None: the motion starts on arrival. `positions`, `velocities`, `accelerations`
    and `effort` have shape (k, n) [rad or m, per s, per s^2, N m or N], a column for each of
    `joint_names`; all but the positions are None where the message leaves them out. Efforts are
    checked, because an effort beyond a limit reveals a faulty sender, but not used.
    """

    joint_names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array | None = None
    accelerations: Array | None = None
    start: float | None = None
    effort: Array | None = None

    @property
    def ends_motion(self) -> bool:
        """Whether the request has no points, which ends the present motion and holds the arm."""
        return len(self.times) == 0

    @property
    def is_set_point(self) -> bool:
        """Whether the request is a single point at time zero."""
        return len(self.times) == 1 and bool(self.times[0] == 0.0)

    def arguments(self, arm: ArmDescription) -> dict[str, Any]:
        """
        Return the arguments of `Reference.follow` for this request, joints in the arm's order.

        Raises ReferenceRefusedError unless the request names the arm's joints, once each, and its
        efforts are within their limits.
        """
        if self.ends_motion:
            return {'q': np.zeros((0, arm.n)), 'times': np.zeros(0)}
        expected, given = arm.joint_names, self.joint_names
        if sorted(given) != sorted(expected):
            missing = [name for name in expected if name not in given]
            foreign = [name for name in given if name not in expected]
            lacks = f'; it lacks {", ".join(missing)}' if missing else ''
            has = f'; it has {listed(foreign)}' if foreign else ''
            raise ReferenceRefusedError(
                f'The reference must name exactly the joints {", ".join(expected)}, once each, '
                f'in any order{lacks}{has}.'
            )
        order = [given.index(name) for name in expected]

        def ordered(name: str) -> Array | None:
            rows = getattr(self, name)
            if rows is None:
                return None
            return _array(name, rows, (len(self.times), len(given)), finite=False)[:, order]

        q, dq, ddq = map(ordered, ('positions', 'velocities', 'accelerations'))
        effort, limit = ordered('effort'), arm.limit('effort')
        # NaN counts as beyond the limit.
        if effort is not None and not (np.abs(effort) <= limit).all():
            point, joint = np.argwhere(~(np.abs(effort) <= limit))[0]
            raise ReferenceRefusedError(
                f"The reference's effort of {expected[joint]} at point {point + 1} is "
                f'{effort[point, joint]:.4g}, beyond its limit of {limit[joint]:g}; leave '
                'efforts out, they are computed here.'
            )
        points = {'q': q, 'dq': dq, 'ddq': ddq}
        if self.is_set_point:
            rows = {name: None if rows is None else rows[0] for name, rows in points.items()}
            return {**rows, 'start': self.start}
        return {**points, 'times': self.times, 'start': self.start}


@dataclass(frozen=True, eq=False)
class Points:
    """
    The points of a motion, with joints in an arm's order, as `Reference.follow` takes them.

    A set-point has q, shape (n,), and no times; a motion has q, shape (k, n), at `times`, shape
    (k,) [s], after `start` [s] by the clock of the joint states' stamps (None: now). Velocities
    `dq` and accelerations `ddq` are None or have the shape of `q`.
    """

    q: Array
    times: Array | None = None
    dq: Array | None = None
    ddq: Array | None = None
    start: float | None = None

    @property
    def is_streamed(self) -> bool:
        """Whether this is one position of a stream."""
        return self.times is None and self.dq is None

    @property
    def is_set_point(self) -> bool:
        """Whether this is a set-point with velocity, which is followed as it is."""
        return self.times is None and self.dq is not None

    def checked(self, arm: ArmDescription) -> Points:
        """Return the points as float arrays; raise ReferenceRefusedError if they are unusable."""
        times = None if self.times is None else _array('times', self.times, (None,))
        shape = (arm.n,) if times is None else (len(times), arm.n)
        q = _array('positions', self.q, shape)
        dq = None if self.dq is None else _array('velocities', self.dq, shape)
        ddq = None if self.ddq is None else _array('accelerations', self.ddq, shape)
        if ddq is not None and dq is None:
            raise ReferenceRefusedError(
                'The reference has accelerations but no velocities; a quintic needs both.'
            )
        if times is not None and len(times):
            _require_times(times)
        return Points(q, times, dq, ddq, self.start)

    def require_on_time(self, stamp: float) -> None:
        """Raise ReferenceRefusedError if the points are too late or too early for a stamp [s]."""
        if self.start is None:
            return
        late = stamp - self.start
        if late > MOST_LATENESS_S or -late > (
            MOST_LATENESS_S if self.times is None else MOST_LEAD_S
        ):
            raise ReferenceRefusedError(
                f'The reference starts {abs(late):.3g} s '
                f'{"ago" if late > 0.0 else "ahead of the joint states"}; leave its start out '
                'to begin on arrival, or give it by the clock of the joint states.'
            )


def require_count(points: int) -> None:
    """Raise ReferenceRefusedError for a reference without points or with more than MOST_POINTS."""
    if not 1 <= points <= MOST_POINTS:
        raise ReferenceRefusedError(
            f'The reference has {points or "no"} points; send between one and {MOST_POINTS}.'
        )


def _array(name: str, rows: ArrayLike, shape: Shape, *, finite: bool = True) -> Array:
    words = f"The reference's {name}"
    return checked(rows, shape, words, ReferenceRefusedError, finite=finite)


def _require_times(times: Array) -> None:
    require_count(len(times))
    if times[-1] > _LONGEST_S:
        raise ReferenceRefusedError(
            f'The reference ends {times[-1]:.4g} s after it begins; at most {_LONGEST_S:g} s, a '
            'day, are followed.'
        )
    steps = np.diff(times, prepend=-np.inf)
    wrong = (steps <= 0.0) | (times < 0.0)
    if wrong.any():
        point = int(wrong.argmax())
        raise ReferenceRefusedError(
            f"The reference's times must increase from point to point and not be "
            f'negative; point {point + 1} has {times[point]:.6g} s.'
        )
