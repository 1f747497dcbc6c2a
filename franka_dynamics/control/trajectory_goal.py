# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Fills a trajectory controller's goal with feedforward torques.

`Reference` checks a goal by its rules, `ControlLaw.trajectory_efforts` computes the torques. The
error codes are those of control_msgs/FollowJointTrajectory.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from .control_law import ControlLaw
from .limits import MOST_RATE
from .reference import Reference
from .request import MOST_LATENESS_S, TrajectoryRequest
from .trajectory import ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..typing import Array


class GoalError(IntEnum):
    """Error codes of a FollowJointTrajectory result that this package gives."""

    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3


class FilledGoal(NamedTuple):
    """A motion, the torque at its k points, (k, n) [N m], and its start [s]; 0: start now."""

    motion: Trajectory
    efforts: Array
    start: float


def fill(
    request: TrajectoryRequest,
    law: ControlLaw,
    stamp: float,
    q: Array,
    followed: Trajectory | None = None,
) -> FilledGoal:
    """
    Return a FollowJointTrajectory goal's motion, the torque at each of its points, and its start.

    Points without accelerations get accelerations, so that M ddq is fed forward. One point at time
    zero, as MoveIt plans where start and goal are equal, is a motion that begins at once.

    `law` gives the arm's limits and the torques. The latest joint state has the stamp `stamp` [s]
    and the positions `q`, shape (n,) [rad or m]. `followed` is the motion that the goal replaces;
    None: the arm is at rest at `q`. Raises ReferenceRefusedError if the motion cannot be
    followed.
    """
    arm = law.description
    arguments = request.arguments(arm)
    if request.is_set_point:
        rows = {
            key: np.array([arguments[key]]) for key in ('q', 'dq') if arguments[key] is not None
        }
        arguments = {**rows, 'times': request.times, 'start': request.start}
    reference = Reference(arm, followed)
    reference.at(stamp)
    motion = reference.follow(**arguments, measured=q)
    start = 0.0 if request.start is None else motion.begin
    return FilledGoal(*with_torques(motion, law.trajectory_efforts), start)


# Shortest time between the end of the motion and the added point at rest [s].
_SHORTEST_REST_S = 0.001
_NO_ACCELERATION = 1e-6  # rad/s^2, tolerance for zero


def with_torques(
    motion: Trajectory, torques: Callable[[Trajectory], Array]
) -> tuple[Trajectory, Array]:
    """
    Return `motion`, made to end without acceleration, and torques at its k points, (k, n) [N m].

    joint_trajectory_controller repeats the last point, effort included, until another goal comes.
    A motion that ends while decelerating, as MoveIt's plans do, would leave the torque M ddq on
    the arm at rest. A motion with an acceleration at its last point therefore gets one more point
    at rest at the same position, after the time that the change of torque takes at MOST_RATE.
    `torques` returns the torque at every point of a motion.
    """
    if np.abs(motion.accelerations[-1]).max() < _NO_ACCELERATION:
        return motion, torques(motion)
    rested = np.append(motion.states, [ReferencePoint.at_rest(motion.positions[-1])], axis=0)
    efforts = torques(Trajectory(np.append(motion.times, motion.times[-1]), rested))
    change = float(np.abs(efforts[-1] - efforts[-2]).max())
    end = motion.times[-1] + max(_SHORTEST_REST_S, change / MOST_RATE)
    return Trajectory(np.append(motion.times, end), rested, motion.zero), efforts


def code_of_refusal(
    request: TrajectoryRequest, description: ArmDescription, stamp: float
) -> GoalError:
    """Return the error code for a request refused at the joint state stamped `stamp` [s]."""
    if sorted(request.joint_names) != sorted(description.joint_names):
        return GoalError.INVALID_JOINTS
    if request.start is not None and request.start < stamp - MOST_LATENESS_S:
        return GoalError.OLD_HEADER_TIMESTAMP
    return GoalError.INVALID_GOAL
