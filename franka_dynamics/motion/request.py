# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Requests of motions, and checks of their joints, numbers and times before planning."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arm import ArmDescription
from ..arrays import Array, as_array
from ..errors import JointsRefusedError, LateReferenceError, name_list, ReferenceRefusedError

# Transport delays a request by less than MAX_LATENESS_S [s]; a request whose start lies further
# before the latest joint state is refused.
MAX_LATENESS_S = 0.1
# A trajectory that starts more than MAX_START_LEAD_S [s] after the latest joint state is refused,
# because its stamp comes from another clock. A set-point's bound is MAX_LATENESS_S: MoveIt Servo's
# are due 10 to 34 ms after they are sent.
MAX_START_LEAD_S = 600.0
# A stream ends if no point came for this time [s]: five periods of a slow one, of 10 Hz. A
# trajectory with a start and velocities that is no longer continues a stream.
STREAM_TIMEOUT_S = 0.5
# rclpy takes 6 ms to deserialise 1000 points. A second thread deserialises, but meanwhile torques
# are delayed: by 3 ms for 2000 points (benchmarks/services.py).
MAX_POINT_COUNT = 2000
# Positions beyond this [rad] are probably degrees; a joint state's are, if none as degrees is out
# of its limits.
MAX_PLAUSIBLE_POSITION_RAD = 10.0
# Joints that are not the arm's, such as fingers, may be in a request if neither their motion nor
# their speed exceeds this [rad or m, rad/s or m/s].
MAX_EXTRA_JOINT_MOTION_RAD = 1e-3


@dataclass(frozen=True, eq=False)
class TrajectoryRequest:
    """
    The contents of a trajectory message, with joints in the order of the message.

    `times`, shape (k,), are seconds after `start`. `start` [s] is by the clock of the joint
    states' stamps; None: the motion starts on arrival. `positions`, `velocities` and
    `accelerations` have shape (k, n) [rad or m, per s, per s^2], a column for each of
    `joint_names`; all but the positions are None where the message leaves them out. Without points
    (k = 0) the request ends the present motion.
    """

    joint_names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array | None = None
    accelerations: Array | None = None
    start: float | None = None

    def follow_arguments(
        self, arm: ArmDescription, *, allow_setpoint: bool = True
    ) -> dict[str, Any]:
        """
        Return the arguments of `Reference.follow` for this request, joints in the arm's order.

        With `allow_setpoint`, a single point at most MAX_LATENESS_S ahead is a set-point, without
        `times`. Raises JointsRefusedError as `require_arm_joints`.
        """
        if len(self.times) == 0:
            return {'q': np.zeros((0, arm.n)), 'times': self.times}
        self.require_arm_joints(arm)
        ahead = float(self.times[0]) if len(self.times) == 1 else np.inf
        single = allow_setpoint and 0.0 <= ahead <= MAX_LATENESS_S
        order = [self.joint_names.index(name) for name in arm.joint_names]
        given = {'q': self.positions, 'dq': self.velocities, 'ddq': self.accelerations}
        at = (0 if single else slice(None)), order
        rows = {name: None if one is None else one[at] for name, one in given.items()}
        if single:
            return {**rows, 'times': None, 'start': self.start, 'ahead': ahead}
        # MoveIt Servo sends the points of the last and the next tenth of a second, each time anew.
        dated = self.start is not None and self.velocities is not None
        window = bool(allow_setpoint and dated and self.times[-1] <= STREAM_TIMEOUT_S)
        return {**rows, 'times': self.times, 'start': self.start, 'window': window}

    @property
    def end(self) -> float:
        """The stamp of the last point [s], of a request with a start."""
        return (self.start or 0.0) + float(self.times[-1])

    def point_states(self) -> Array:
        """Return positions, velocities and accelerations (computed if missing), (k, 3, n)."""
        dq: Any = self.velocities
        ddq = self.accelerations
        if ddq is None:
            ddq = np.asarray(np.gradient(dq, self.times, axis=0) if len(dq) > 1 else 0.0 * dq)
            ddq[[0, -1]] *= dq[[0, -1]].any(axis=1, keepdims=True)  # where it is at rest
        return np.stack((self.positions, dq, ddq), axis=1)

    def extra_joint_names(self, arm: ArmDescription) -> tuple[str, ...]:
        """Return the names of joints that are not the arm's, such as a gripper's fingers."""
        return tuple(name for name in self.joint_names if name not in arm.joint_names)

    def require_arm_joints(self, arm: ArmDescription) -> None:
        """
        Raise JointsRefusedError unless the request names each of the arm's joints once.

        Other joints may be named, too, but must hold still, because nobody would move them.
        """
        given = self.joint_names
        if not {*arm.joint_names} <= {*given} or len({*given}) < len(given):
            raise JointsRefusedError(
                f'The reference must name each of the joints {", ".join(arm.joint_names)} once, '
                f'in any order; it names {name_list(given) or "none"}.'
            )
        still = np.ptp(self.positions, axis=0) <= MAX_EXTRA_JOINT_MOTION_RAD
        if self.velocities is not None:
            still &= (np.abs(self.velocities) <= MAX_EXTRA_JOINT_MOTION_RAD).all(axis=0)
        moving = [name for name in self.extra_joint_names(arm) if not still[given.index(name)]]
        if moving:
            raise JointsRefusedError(
                f'The reference moves {name_list(moving)}, which the arm does not have; send that '
                'motion to the controller of these joints, and leave it out here.'
            )


def require_on_time(start: float | None, stamp: float, is_setpoint: bool) -> None:
    """Raise ReferenceRefusedError unless a start [s] is near enough to a joint state's stamp."""
    lateness = 0.0 if start is None else stamp - start
    if not -(MAX_LATENESS_S if is_setpoint else MAX_START_LEAD_S) <= lateness <= MAX_LATENESS_S:
        kind = LateReferenceError if lateness > 0.0 else ReferenceRefusedError
        raise kind(
            f'The reference starts {abs(lateness):.3g} s '
            f'{"ago" if lateness > 0.0 else "ahead of the joint states"}; leave its start out to '
            'begin on arrival, or give it by the clock of the joint states.'
        )


def make_request(
    arm: ArmDescription, q: Any, times: Any, dq: Any, ddq: Any, start: Any, ahead: float
) -> TrajectoryRequest:
    """
    Return the arguments of `Reference.follow` as a request, a set-point as a single point.

    Raises ReferenceRefusedError if they are unusable.
    """

    def array(name: str, values: Any, *shape: int | None) -> Array:
        return as_array(values, shape, f"The reference's {name}", ReferenceRefusedError)

    def rows(name: str, values: Any) -> Array:
        shape = (arm.n,) if single else (len(times), arm.n)
        return array(name, values, *shape).reshape(-1, arm.n)

    single = times is None
    if single and np.ndim(q) == 2:
        raise ReferenceRefusedError(
            f'The reference has {len(q)} points without times; give each its time in seconds.'
        )
    if ddq is not None and dq is None:
        raise ReferenceRefusedError('A reference has accelerations but no velocities; give both.')
    times = np.array([ahead]) if single else array('times', times, None)
    require_point_count(len(times), 0)
    wrong = (np.diff(times, prepend=-np.inf) <= 0.0) | (times < 0.0)
    if wrong.any():
        point = int(wrong.argmax())
        raise ReferenceRefusedError(
            f"The reference's times must increase from point to point and not be negative; "
            f'point {point + 1} has {times[point]:.6g} s.'
        )
    return TrajectoryRequest(
        arm.joint_names,
        times,
        rows('positions', q),
        None if dq is None else rows('velocities', dq),
        None if ddq is None else rows('accelerations', ddq),
        None if start is None else float(array('start', start)),
    )


def require_point_count(points: int, least: int = 1) -> None:
    """Raise ReferenceRefusedError for fewer points than the least or more than MAX_POINT_COUNT."""
    if not least <= points <= MAX_POINT_COUNT:
        raise ReferenceRefusedError(
            f'The reference has {points or "no"} points; send between one and {MAX_POINT_COUNT}.'
        )
