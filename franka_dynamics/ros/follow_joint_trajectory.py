# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Goals of control_msgs/action/FollowJointTrajectory: their motions and tolerances."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any, NamedTuple

import numpy as np

from .trajectory_messages import parse_trajectory
from ..control.request import TrajectoryRequest
from ..control.trajectory import ReferencePoint
from ..errors import (
    apart,
    JointsRefusedError,
    listed,
    MissingDependencyError,
    ReferenceRefusedError,
    shortened,
)
from ..typing import Array

ACTION = '~/follow_joint_trajectory'


def action_type() -> Any:
    """Return FollowJointTrajectory; raise MissingDependencyError if control_msgs is missing."""
    try:
        from control_msgs.action import FollowJointTrajectory
    except ImportError as error:
        raise MissingDependencyError(
            'control_msgs is not installed, without which nobody serves the action '
            'FollowJointTrajectory; install it by apt install ros-$ROS_DISTRO-control-msgs.'
        ) from error
    return FollowJointTrajectory


def parse_goal(goal: Any) -> TrajectoryRequest:
    """Return the motion of a goal; raise ReferenceRefusedError if it is malformed."""
    if goal.multi_dof_trajectory.points:
        raise ReferenceRefusedError(
            'The goal has a multi_dof_trajectory; an arm follows `trajectory` alone.'
        )
    return parse_trajectory(goal.trajectory)


class Tolerances(NamedTuple):
    """Largest differences from a desired motion, (n,) each [rad or m, per s]; some infinite."""

    position: Array
    velocity: Array

    @classmethod
    def from_messages(
        cls, messages: Sequence[Any], names: Sequence[str], position: float = np.inf
    ) -> Tolerances:
        """
        Return the tolerances that control_msgs/JointTolerance messages set for an arm's joints.

        What is 0 in a message, or has none, is `position` and any velocity; what is negative may
        be anything. Raises ReferenceRefusedError for NaN and for the tolerance of an acceleration,
        which nobody measures, and JointsRefusedError for that of a joint that is not the arm's.
        """
        found = cls(np.full(len(names), position), np.full(len(names), np.inf))
        for one in messages:
            if one.name not in names:
                raise JointsRefusedError(
                    f'A tolerance is for {shortened(one.name)!r}, which is no joint of this arm: '
                    f'it has {listed(names)}.'
                )
            if math.isnan(one.position + one.velocity):
                raise ReferenceRefusedError(
                    f'The tolerance of {one.name} is NaN; give a number, or 0 for the default.'
                )
            if one.acceleration > 0.0:
                raise ReferenceRefusedError(
                    f'The tolerance of {one.name} has an acceleration, which no joint state '
                    'measures; leave it 0.'
                )
            for bound, given in zip(found, (one.position, one.velocity)):
                if given:
                    bound[names.index(one.name)] = given if given > 0.0 else np.inf
        return found

    def violation(self, q: Array, dq: Array, desired: ReferencePoint, names: Sequence[str]) -> str:
        """Return which joint is how far from a desired state, or ''."""
        errors = np.abs(q - desired.q), np.abs(dq - desired.dq)
        for error, bound, unit in zip(errors, self, ('rad', 'rad/s')):
            joint = int((error - bound).argmax())
            if not error[joint] <= bound[joint]:
                away, allowed = apart(error[joint], bound[joint])
                return (
                    f'{names[joint]} is {away} {unit} from its motion, and {allowed} are allowed'
                )
        return ''
