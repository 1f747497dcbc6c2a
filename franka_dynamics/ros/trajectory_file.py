# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Files of `identify plan`, and the excitations that are shipped, as messages."""

from __future__ import annotations

from pathlib import Path

from trajectory_msgs.msg import JointTrajectory

from .trajectory_messages import parse_trajectory, POINT_FIELDS, trajectory_message
from ..arm.arm_file import canonical_arm_name
from ..arm.strict_yaml import read_mapping
from ..errors import DescriptionError, ReferenceRefusedError, SettingsError
from ..resources import share_directory

_FORM = (
    'a trajectory needs joint_names and points, each with positions and time_from_start, as '
    '`franka-dynamics identify plan` writes them'
)

_EXCITATIONS = share_directory() / 'config' / 'excitations'


def shipped_excitation(arm: str) -> Path | None:
    """Return the file of the excitation trajectory shipped for a Franka arm, or None."""
    path = _EXCITATIONS / f'{canonical_arm_name(arm)}.yaml'
    return path if path.is_file() else None


def read_trajectory_file(path: Path, lead_in: float = 0.0) -> JointTrajectory:
    """
    Return a trajectory message from a file of `identify plan`.

    If `path` is the name of a Franka arm and no such file exists, the excitation shipped for that
    arm is read.
    `lead_in` [s] is added to all times, as time to move to the first point. Raises SettingsError
    if the file cannot be read or is no trajectory.
    """
    shipped = shipped_excitation(str(path))
    if shipped is not None and not path.exists():
        path = shipped
    if not path.exists():
        arms = sorted(one.stem for one in _EXCITATIONS.glob('*.yaml'))
        raise SettingsError(
            f'There is no file {path}; give a file of `identify plan`, or an arm with a shipped '
            f'motion: {", ".join(arms)}.'
        )
    try:
        content = read_mapping(path, expected=_FORM)
        points = content['points']
        since = [point['time_from_start'] for point in points]
        times = [lead_in + one.get('sec', 0) + 1e-9 * one.get('nanosec', 0) for one in since]
        rows = [[point.get(name, ()) for point in points] for name in POINT_FIELDS]
        message = trajectory_message(content['joint_names'], times, *rows)
        parse_trajectory(message)
    except DescriptionError as error:
        raise SettingsError(str(error)) from error
    except ReferenceRefusedError as error:
        raise SettingsError(f'{path}: {error}') from error
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise SettingsError(f'{path}: {_FORM} ({" ".join(repr(error).split())[:120]}).') from error
    return message
