# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion of trajectories and tolerances from messages and files, and to messages."""

from collections.abc import Sequence
import math
from pathlib import Path
from typing import Any, NamedTuple, Self

from builtin_interfaces.msg import Duration
import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .messages import float64_array, seconds_to_stamp, stamp_to_seconds
from .. import errors
from ..arm import ArmDescription
from ..arm.arm_file import canonical_arm_name
from ..arm.strict_yaml import read_mapping
from ..arrays import Array
from ..files import share_directory
from ..motion.planning import require_point_count, TrajectoryRequest
from ..motion.trajectory import ReferencePoint, Trajectory

_POINT_FIELDS = 'positions', 'velocities', 'accelerations', 'effort'
_FORMAT_HINT = (
    'a trajectory needs joint_names and points, each with positions and time_from_start, as '
    '`franka-dynamics identify plan` writes them'
)
_EXCITATION_FOLDER = share_directory() / 'config' / 'excitations'

# What a file's content raises where it is no list of points or no mapping, or has no numbers; the
# last one comes from rclpy's messages.
_WRONG_CONTENT_ERRORS = (TypeError, ValueError, OverflowError, AttributeError, AssertionError)

# A number or an array for each point.
PointRows = Sequence[Any] | Array


def trajectory_message(
    joint_names: Sequence[str],
    times: PointRows,
    *rows: PointRows | None,
    stamp: float = 0.0,
) -> JointTrajectory:
    """
    Return a trajectory message, which begins at the stamp `stamp` [s], 0 meaning on arrival.

    `times`, shape (k,), are seconds after the start. `rows` are positions and, if given,
    velocities, accelerations and efforts, (k, n) each; a field given as None is left out.
    """
    message = JointTrajectory(joint_names=joint_names)
    message.header.stamp = seconds_to_stamp(stamp)
    for i, time in enumerate(times):
        row = (None if values is None else values[i] for values in rows)
        message.points.append(trajectory_point(float(time), *row))
    return message


def trajectory_point(time: float, *row: Array | None) -> JointTrajectoryPoint:
    """
    Return a trajectory point at `time` [s] after the trajectory's start.

    `row` are its positions and, if given, velocities, accelerations and efforts, (n,) each; a
    field given as None is left out.
    """
    since = seconds_to_stamp(time)
    after = Duration(sec=since.sec, nanosec=since.nanosec)
    fields = {
        name: float64_array(values)
        for name, values in zip(_POINT_FIELDS, row)
        if values is not None
    }
    return JointTrajectoryPoint(time_from_start=after, **fields)


def motion_message(joints: Sequence[str], motion: Trajectory, efforts: Array) -> JointTrajectory:
    """Return a motion with torques `efforts` (k, n) [N m] as a message stamped with the start."""
    rows = motion.positions, motion.velocities, motion.accelerations, efforts
    return trajectory_message(joints, motion.times - motion.times[0], *rows, stamp=motion.begin)


def reference_message(request: TrajectoryRequest, lead_in_s: float = 0.0) -> JointTrajectory:
    """Return the message that requests a trajectory `lead_in_s` [s] after the message arrives."""
    rows = request.positions, request.velocities, request.accelerations
    return trajectory_message(request.joint_names, lead_in_s + request.times, *rows)


def parse_reference(message: JointTrajectory) -> TrajectoryRequest:
    """Return the trajectory a message requests (no points: stop); raise ReferenceRefusedError."""
    if message.points:
        return parse_request(message)
    names = tuple(message.joint_names)
    return TrajectoryRequest(names, np.zeros(0), np.zeros((0, len(names))))


def parse_request(message: JointTrajectory) -> TrajectoryRequest:
    """
    Return the trajectory that a message with points requests, or raise ReferenceRefusedError.

    Raises ReferenceRefusedError if the message has no points or too many, the points have no
    positions, or a field is neither empty in all points nor has one value per joint in each.
    """
    names = tuple(message.joint_names)
    points = message.points
    if not names:
        raise errors.ReferenceRefusedError(
            "The reference's joint_names are empty; name the joint of each value of its points."
        )
    require_point_count(len(points))
    rows: dict[str, Array | None] = {}
    for name in _POINT_FIELDS:
        values = [np.asarray(getattr(point, name)) for point in points]
        lengths = sorted({len(row) for row in values})
        if lengths == [len(names)]:
            rows[name] = np.array(values)
        elif lengths == [0]:
            rows[name] = None
        else:
            raise errors.ReferenceRefusedError(
                f"The reference's {name} have {str(lengths)[:40]} values in its points for "
                f'{len(names)} joints; give one per joint in every point, or in none.'
            )
    positions = rows['positions']
    if positions is None:
        raise errors.ReferenceRefusedError('The reference has no positions; they are needed.')
    times = np.array([stamp_to_seconds(point.time_from_start) for point in points])
    start = stamp_to_seconds(message.header.stamp) or None  # 0: on arrival
    return TrajectoryRequest(
        names, times, positions, rows['velocities'], rows['accelerations'], start
    )


def trajectory_from_message(message: JointTrajectory) -> Trajectory:
    """Return the trajectory in a message, which must have positions and velocities."""
    request = parse_request(message)
    return Trajectory(request.times, request.point_states(), request.start_time or 0.0)


def shipped_excitation_path(arm_name: str) -> Path | None:
    """Return the path of the excitation trajectory shipped for a Franka arm, or None."""
    path = _EXCITATION_FOLDER / f'{canonical_arm_name(arm_name)}.yaml'
    return path if path.is_file() else None


def read_trajectory_file(path: Path, lead_in_s: float = 0.0) -> JointTrajectory:
    """
    Return the message in a file of `identify plan`, or an arm's shipped one; raise SettingsError.

    If `path` is the name of a Franka arm and no such file exists, the excitation shipped for that
    arm is read. `lead_in_s` [s] is added to all times, as time to move to the first point. Raises
    SettingsError if the file cannot be read or is no trajectory.
    """
    shipped = shipped_excitation_path(str(path))
    if shipped is not None and not path.exists():
        path = shipped
    if not path.exists():
        arms = sorted(path.stem for path in _EXCITATION_FOLDER.glob('*.yaml'))
        raise errors.SettingsError(
            f'There is no file {path}; give a file of `identify plan`, or an arm with a shipped '
            f'motion: {", ".join(arms)}.'
        )
    try:
        content = read_mapping(path, format_hint=_FORMAT_HINT)
        if 'joints' in content and 'points' not in content:
            plan = f'franka-dynamics identify plan --arm {path} --output motion.yaml'
            raise errors.DescriptionError(
                f'{path} is an arm file, not a motion; `{plan}` writes a motion of this arm.'
            )
        points = content['points']
        since = [point['time_from_start'] for point in points]
        times = [lead_in_s + time.get('sec', 0) + 1e-9 * time.get('nanosec', 0) for time in since]
        rows = [[point.get(name, ()) for point in points] for name in _POINT_FIELDS]
        message = trajectory_message(content['joint_names'], times, *rows)
        parse_request(message)
    except errors.DescriptionError as error:
        raise errors.SettingsError(str(error)) from error
    except errors.ReferenceRefusedError as error:
        raise errors.SettingsError(f'{path}: {error}') from error
    except KeyError as error:
        reason = f'it has no {error.args[0]}'
        raise errors.SettingsError(f'{path}: {_FORMAT_HINT} ({reason}).') from error
    except _WRONG_CONTENT_ERRORS as error:
        reason = ' '.join(repr(error).split())[:120]
        raise errors.SettingsError(f'{path}: {_FORMAT_HINT} ({reason}).') from error
    return message


class MotionTolerances(NamedTuple):
    """Largest allowed errors of positions and velocities in a motion, (n,) [rad or m, per s]."""

    position: Array
    velocity: Array

    @classmethod
    def from_messages(
        cls,
        messages: list[Any],
        names: list[str],
        position: float = np.inf,
        velocity: float = np.inf,
    ) -> Self:
        """
        Return the joints' tolerances in JointTolerance messages.

        Where a message has 0, or a joint has no message, the tolerance is `position` [rad or m] or
        `velocity` [rad/s or m/s]; where it has a negative number, there is none. Tolerances of
        accelerations, which nobody measures, are left out.

        Raises
        ------
        ReferenceRefusedError
            If a tolerance is NaN.
        JointsRefusedError
            If a tolerance is for a joint that is not the arm's.

        """
        found = cls(np.full(len(names), position), np.full(len(names), velocity))
        for message in messages:
            if message.name not in names:
                raise errors.JointsRefusedError(
                    f'A tolerance is for {errors.short_text(message.name)!r}, which is no joint '
                    f'of this arm: it has {errors.list_text(names)}.'
                )
            given = message.position, message.velocity, message.acceleration
            if any(map(math.isnan, given)):
                raise errors.ReferenceRefusedError(
                    f'The tolerances of {message.name} in position, velocity and acceleration are '
                    f'{given}; give numbers, 0 for the default, -1 for none.'
                )
            joint = names.index(message.name)
            if message.position:
                found.position[joint] = _bound(message.position)
            if message.velocity:
                found.velocity[joint] = _bound(message.velocity)
        return found

    def violation(self, q: Array, dq: Array, desired: ReferencePoint, arm: ArmDescription) -> str:
        """Return as text one joint out of tolerance from `desired`, and how far, or ''."""
        position_error = np.abs(q - desired.q)
        velocity_error = np.abs(dq - desired.dq)
        return _violation_text(position_error, self.position, arm, '') or _violation_text(
            velocity_error, self.velocity, arm, '/s'
        )


def _bound(tolerance: float) -> float:
    """Return the largest error that a tolerance of a message allows; a negative one allows any."""
    return tolerance if tolerance > 0.0 else math.inf


def _violation_text(error: Array, bound: Array, arm: ArmDescription, per: str) -> str:
    """Return as text by how much the worst joint exceeds its bound, '' if none does."""
    joint = int((error - bound).argmax())
    if error[joint] <= bound[joint]:  # NaN is out of tolerance
        return ''
    away, allowed = errors.distinct_texts(error[joint], bound[joint])
    unit = f'{arm.joints[joint].kind.position_unit}{per}'
    name = arm.joint_names[joint]
    return f'{name} is {away} {unit} from its motion, and {allowed} are allowed'
