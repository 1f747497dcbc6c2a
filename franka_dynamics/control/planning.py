# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Turns a requested motion into a trajectory that the arm can follow, or refuses it with a reason.

Planning may run in another thread than the control cycles, which then follow the planned motion.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TYPE_CHECKING

import numpy as np

from .cycle_result import Mode
from .joining import begun_at, join, to_rest
from .motion_limits import beyond_limits, LIMIT_SLACK, sampled
from .possible_motion import Condition
from .reference import ReferencePoint, StreamedMotion, Trajectory
from .smoothing import cubic_accelerations, upsample
from .streaming import continue_stream, LEAD_S
from ..arm import ArmDescription
from ..errors import listed, ReferenceRefusedError
from ..typing import Array

if TYPE_CHECKING:
    from .feedforward import FeedforwardController

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
# A reference that starts further than MOST_START_DISTANCE from the arm is refused, because the
# feedback torque would begin with a step.
MOST_START_DISTANCE = 0.1  # rad or m
# Lead time from the latest state to the start of a trajectory, for planning: a constant time, and
# a time per point [s]. If planning takes longer than the lead time, planning is repeated with four
# times the lead time.
_LEAD_S, _POINT_LEAD_S, _LEAD_ATTEMPTS = 0.02, 4e-5, 3


@dataclass(frozen=True, eq=False)
class TrajectoryRequest:
    """
    The contents of a trajectory message, with joints in the order of the message.

    `times`, shape (s,), are seconds after `start`. `start` [s] is by the clock of the joint
    states' stamps; None: the motion starts on arrival. `positions`, `velocities`, `accelerations`
    and `effort` have shape (s, n) [rad or m, per s, per s^2, N m or N], a column for each of
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


def plan(
    request: TrajectoryRequest,
    description: ArmDescription,
    now: float,
    current: ReferencePoint,
    measured: Array | None = None,
    *,
    begin: float | None = None,
    period: float = 0.0,
    before: Trajectory | None = None,
) -> Trajectory | ReferencePoint:
    """
    Return the trajectory or set-point that the arm is to follow.

    One point at time zero is a set-point of a stream. A request without points ends the present
    motion, as it does in joint_trajectory_controller; here ruckig's fastest motion to rest ends
    it. Every other request is a trajectory. If a request has velocities but no accelerations, the
    function `with_accelerations` adds accelerations.

    `now` is the stamp of the latest state [s]. The motion begins at `begin` [s], by default `now`,
    or at a later start of the request. `current` is the desired state when the motion begins or,
    if nothing is desired, the measured position at rest; if the first point comes later, the
    motion leads from `current` to the first point. `measured`, shape (n,), is the position
    expected to be measured when the motion begins, by default the position of `current`. A
    set-point must be near `measured` (within MOST_START_DISTANCE), or a stream could run away from
    the arm; of a smoothed stream `current` must be near `measured`, and the first set-point near
    `current`. A trajectory without a start, or that starts at most MOST_LATENESS_S after `now`,
    must begin near `measured`, or the feedback torque would begin with a step. If `period`, the
    time between the points of a stream [s], is positive, a set-point with positions alone is made
    into a smooth motion, which continues the stream of `before`, the latest motion, if `before`
    was made from a stream.

    Raises ReferenceRefusedError, which names the fault and what would be accepted, if the request
    cannot be followed.
    """
    begin = now if begin is None else begin
    measured = current.q if measured is None else measured
    if request.ends_motion:
        return to_rest(Trajectory.at(begin, current), description)
    request = _in_arm_order(request, description)
    _require_numbers(request, description)
    request = with_accelerations(request)
    start = begin if request.start is None else request.start
    begin = max(begin, start)
    if start + request.times[-1] < now - MOST_LATENESS_S:
        raise ReferenceRefusedError(
            f'The reference ended {now - start - request.times[-1]:.3g} s ago; leave its stamp '
            'zero to start it on arrival, or stamp it in the clock of the joint states.'
        )
    if start < now - MOST_LATENESS_S:
        raise ReferenceRefusedError(
            f'The reference should have started {now - start:.3g} s ago, which is later than '
            f'{MOST_LATENESS_S} s; send it in time, or with a zero stamp to start it on arrival.'
        )
    if start > now + (MOST_LATENESS_S if request.is_set_point else MOST_LEAD_S):
        raise ReferenceRefusedError(
            f'The reference is stamped {start - now:.3g} s ahead of the joint states; leave its '
            'stamp zero to start it on arrival, or stamp it in the clock of the joint states.'
        )
    if request.is_set_point:
        point = ReferencePoint.at_rest(request.positions[0])
        if request.velocities is not None:
            point = point._replace(dq=request.velocities[0])
        if request.accelerations is not None:
            point = point._replace(ddq=request.accelerations[0])
        streamed = period > 0.0 and request.velocities is None
        if streamed:
            _require_reachable(description, current.q, measured)
        if not (streamed and isinstance(before, StreamedMotion)):
            _require_reachable(description, point.q, current.q if streamed else measured)
        _require_within_limits(description, np.zeros(1), point.stacked)
        if not streamed:
            return point
        taken = now if request.start is None else start
        return continue_stream(point.q, taken, begin, current, description, period, before)
    trajectory = _trajectory(request, start, begin, current, description)
    if request.start is None or start <= now + MOST_LATENESS_S:
        # A motion that starts more than MOST_LATENESS_S after `now` is not compared with the
        # measured position, because the arm first follows the present motion.
        first = trajectory.sample(begin).q
        if trajectory.times[0] < start + request.times[0]:
            _require_at_desired(description, first, measured)
        _require_reachable(description, first, measured)
    times, points = sampled(trajectory)
    _require_within_limits(description, times - start, points)
    return trajectory


def _in_arm_order(request: TrajectoryRequest, description: ArmDescription) -> TrajectoryRequest:
    expected, given = description.joint_names, request.joint_names
    foreign = [name for name in given if name not in expected]
    missing = [name for name in expected if name not in given]
    if foreign or missing or len(set(given)) != len(given):
        raise ReferenceRefusedError(
            f'The reference must name exactly the joints {", ".join(expected)}, in any order; '
            + '; '.join(
                filter(
                    None,
                    (
                        f'it lacks {", ".join(missing)}' if missing else '',
                        f'it has {listed(foreign)}' if foreign else '',
                        'it names a joint twice' if len(set(given)) != len(given) else '',
                    ),
                )
            )
            + '.'
        )
    order = [given.index(name) for name in expected]

    rows: dict[str, Any] = {'positions': request.positions, **_optional(request)}
    for name, values in rows.items():
        if values.shape != (len(request.times), len(expected)):
            raise ReferenceRefusedError(
                f"The reference's {name} have shape {values.shape}, expected "
                f'({len(request.times)}, {len(expected)}): a value for every joint in every point.'
            )
    return replace(
        request, joint_names=expected, **{name: values[:, order] for name, values in rows.items()}
    )


def _optional(request: TrajectoryRequest) -> dict[str, Array]:
    """Return those of velocities, accelerations and effort that are not None, by name."""
    rows = {
        'velocities': request.velocities,
        'accelerations': request.accelerations,
        'effort': request.effort,
    }
    return {name: values for name, values in rows.items() if values is not None}


def require_count(points: int) -> None:
    """Raise ReferenceRefusedError for a reference without points or with more than MOST_POINTS."""
    if not 1 <= points <= MOST_POINTS:
        raise ReferenceRefusedError(
            f'The reference has {points or "no"} points; send between one and {MOST_POINTS}.'
        )


def _require_numbers(request: TrajectoryRequest, description: ArmDescription) -> None:
    require_count(len(request.times))
    given = {'times': request.times, 'positions': request.positions, **_optional(request)}
    for name, values in given.items():
        if not np.isfinite(values).all():
            point = int(np.argwhere(~np.isfinite(values))[0][0])
            raise ReferenceRefusedError(
                f"The reference's {name} of point {point + 1} hold a value that is not finite."
            )
    if request.accelerations is not None and request.velocities is None:
        raise ReferenceRefusedError(
            'The reference has accelerations but no velocities; a quintic needs both.'
        )
    if request.times[-1] > _LONGEST_S:
        raise ReferenceRefusedError(
            f'The reference ends {request.times[-1]:.4g} s after it begins; at most '
            f'{_LONGEST_S:g} s, a day, are followed.'
        )
    steps = np.diff(request.times)
    if request.times[0] < 0.0 or (steps <= 0.0).any():
        point = 1 if request.times[0] < 0.0 else int(np.flatnonzero(steps <= 0.0)[0]) + 2
        raise ReferenceRefusedError(
            f"The reference's time_from_start must increase from point to point and not be "
            f'negative; point {point} has {request.times[point - 1]:.6g} s.'
        )
    effort, limit = given.get('effort', np.zeros((1, description.n))), description.limit('effort')
    for point, joint in np.argwhere(np.abs(effort) > limit):
        raise ReferenceRefusedError(
            f"The reference's effort of {description.joint_names[joint]} at point {point + 1} is "
            f'{effort[point, joint]:.4g}, beyond its limit of {limit[joint]:g}; leave '
            'efforts out, they are computed here.'
        )


def _trajectory(
    request: TrajectoryRequest,
    start: float,
    begin: float,
    current: ReferencePoint,
    description: ArmDescription,
) -> Trajectory:
    times = start + request.times
    if request.velocities is not None and np.abs(request.velocities[-1]).max() > LIMIT_SLACK:
        joint = int(np.abs(request.velocities[-1]).argmax())
        raise ReferenceRefusedError(
            f'The reference ends with {request.velocities[-1][joint]:.3g} rad/s at '
            f'{description.joint_names[joint]}; its last point must be at rest.'
        )
    if request.velocities is None or request.accelerations is None:
        if request.times[0] == 0.0 or times[0] <= begin:
            first = np.array([np.interp(begin, times, column) for column in request.positions.T])
            _require_reachable(description, first, current.q)
        return upsample(times, request.positions, begin, current, description)
    trajectory = Trajectory(times, request.positions, request.velocities, request.accelerations)
    # If the first point comes later than `begin`, the motion leads from `current` to that point.
    if request.times[0] > 0.0 and times[0] > begin:
        return Trajectory.at(begin, current).then(trajectory)
    _require_reachable(description, trajectory.sample(begin).q, current.q)
    return trajectory


def _require_reachable(description: ArmDescription, first: Array, current: Array) -> None:
    joint, distance = _too_far(first, current)
    if distance:
        raise ReferenceRefusedError(
            f'The reference starts {distance:.3g} rad from where '
            f'{description.joint_names[joint]} is desired or stands ({first[joint]:.4g} instead '
            f'of {current[joint]:.4g}); give its first point a time_from_start above zero, and '
            'the arm moves there in that time (`franka-dynamics node play --lead 5`).'
        )


def _require_at_desired(description: ArmDescription, desired: Array, measured: Array) -> None:
    """Refuse a motion that begins at `desired` if `measured` is over MOST_START_DISTANCE away."""
    joint, distance = _too_far(measured, desired)
    if distance:
        raise ReferenceRefusedError(
            f'{description.joint_names[joint]} stands {distance:.3g} rad from where it is '
            f'desired ({measured[joint]:.4g} instead of {desired[joint]:.4g}), more than '
            f'{MOST_START_DISTANCE:g} rad; send the reference once the arm is there, or '
            'deactivate and activate the node, which then takes the measured position as desired.'
        )


def _too_far(q: Array, other: Array) -> tuple[int, float]:
    """Return joint and size of the largest |q - other|; size 0 within MOST_START_DISTANCE."""
    distance = np.abs(q - other)
    joint = int(distance.argmax())
    return joint, float(distance[joint]) if distance[joint] > MOST_START_DISTANCE else 0.0


def _require_within_limits(
    description: ArmDescription, times: Array, points: ReferencePoint
) -> None:
    beyond = beyond_limits(description, times, points)
    if beyond:
        raise ReferenceRefusedError(f'The reference takes {beyond}.')


def with_accelerations(request: TrajectoryRequest) -> TrajectoryRequest:
    """
    Return a request with accelerations added if it has velocities but no accelerations.

    Without accelerations the torque M ddq would not be fed forward. At an inner point the
    acceleration is the mean of the accelerations of the two cubics that meet there. At the last
    point, and at a first point at rest, the acceleration is zero.
    """
    t, q, dq = request.times, request.positions, request.velocities
    if dq is None or request.accelerations is not None:
        return request
    ddq = np.zeros_like(q)
    with np.errstate(over='ignore', invalid='ignore'):
        begin, end = cubic_accelerations(t, q, dq)
        ddq[1:-1] = 0.5 * (end[:-1] + begin[1:])
    if dq[0].any() and len(t) > 1:
        ddq[0] = begin[0]
    return replace(request, accelerations=ddq)


def follow_request(
    controller: FeedforwardController,
    request: TrajectoryRequest,
    lock: AbstractContextManager[Any] | None = None,
    mark: str = '',
) -> Trajectory | ReferencePoint:
    """
    Plan a requested motion, make the controller follow it, and return the planned motion.

    A trajectory begins at least 20 ms after the latest state, the motion of a smoothed set-point
    4 ms, which leaves time to plan. Until the new motion begins, the controller follows the
    present one; the new motion begins where the present one will be. A set-point with velocities,
    or without stream_period, is followed at once.

    If another thread passes joint states to the controller, `lock` is held for the microseconds in
    which the controller is read or changed. `mark` is the sender's identifier of the motion,
    repeated in its events. Raises ReferenceRefusedError if the request cannot be followed; the
    present motion then goes on.
    """
    lock = nullcontext() if lock is None else lock
    lead = LEAD_S if request.is_set_point else _LEAD_S + _POINT_LEAD_S * len(request.times)
    for _ in range(_LEAD_ATTEMPTS):
        with lock:
            latest, reference = controller.latest, controller.reference
            if latest is None:
                raise ReferenceRefusedError(
                    'The reference came before any joint state; wait until the arm publishes its '
                    'state.'
                )
            # Checked before planning, because this error says more than an error of planning.
            _require_following(controller, request)
            stamp, q, _ = latest
            begin = max(stamp + lead, request.start or 0.0)
            desired, current = reference.at(stamp), reference.at(begin)
            period, before = controller.settings.stream_period, reference.motion
        if desired is None or current is None:
            current, measured = ReferencePoint.at_rest(q), q
        else:
            measured = current.q + (q - desired.q)
        planned = plan(
            request,
            controller.description,
            stamp,
            current,
            measured,
            begin=begin,
            period=period,
            before=before,
        )
        if isinstance(planned, Trajectory) and controller.mode is Mode.RUNNING:
            joined = join(begin, current, begun_at(begin, planned), controller.description)
            if joined is None:
                raise ReferenceRefusedError(
                    'No transition from the present motion to the reference keeps the limits of '
                    'position, velocity, acceleration and jerk; send a reference that begins '
                    'nearer to the present motion, or at rest.'
                )
            planned = joined
        with lock:
            _require_following(controller, request)
            # The controller follows a set-point at once, a trajectory only if its start has not
            # passed; otherwise the trajectory is planned again.
            latest = controller.latest
            if isinstance(planned, ReferencePoint) or (latest is not None and latest[0] <= begin):
                controller.follow(planned, mark)
                return planned
        lead *= 4.0
    raise ReferenceRefusedError(
        f'Planning the reference took more than {lead / 4.0:.3g} s; this machine is too busy, or '
        f'the {len(request.times)} points are too many.'
    )


def _require_following(controller: FeedforwardController, request: TrajectoryRequest) -> None:
    """
    Raise ReferenceRefusedError, with the reason, unless the controller follows references.

    If joint states come too slowly for commands, a trajectory is still accepted: the node
    publishes the trajectory with torques, for a controller that follows it by its own feedback.
    """
    status = controller.status()
    too_slow = controller.supervisor.condition is Condition.TOO_SLOW
    if status.mode is Mode.RUNNING or (too_slow and not request.is_set_point):
        return
    raise ReferenceRefusedError(
        f'No torque is being commanded, so nothing would follow the reference ({status}). Send '
        'it again once torques are commanded.'
    )
