# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Adds feedforward torques to the goal of a trajectory controller.

`Reference` checks a goal by its rules, `ControlLaw.with_efforts` computes the torques. The error
codes are those of control_msgs/FollowJointTrajectory.
"""

from __future__ import annotations

from .control_law import ControlLaw
from .reference import Reference
from .request import MAX_LATENESS_S, TrajectoryRequest
from .trajectory import Trajectory
from ..arm import ArmDescription
from ..errors import ReferenceRefusedError
from ..typing import Array

INVALID_GOAL, INVALID_JOINTS, OLD_HEADER_TIMESTAMP = -1, -2, -3


def goal_with_efforts(
    request: TrajectoryRequest,
    law: ControlLaw,
    stamp: float,
    q: Array,
    present_motion: Trajectory | None = None,
) -> tuple[Trajectory, Array, float]:
    """
    Return a goal's motion, the torques at its k points, (k, n) [N m], and its start [s].

    A start of 0 means on arrival.

    Points without accelerations get accelerations, so that M ddq is fed forward. One point at time
    zero, as MoveIt plans where start and goal are equal, is a motion that begins at once.

    `law` gives the arm's limits and the torques. The latest joint state has the stamp `stamp` [s]
    and the positions `q`, shape (n,) [rad or m]. `present_motion` is the motion that the goal
    replaces; None: the arm is at rest at `q`. Raises ReferenceRefusedError if the motion cannot be
    followed.
    """
    reference = Reference(law.description, present_motion)
    reference.at(stamp)
    points = request.follow_arguments(law.description, allow_setpoint=False)
    motion = reference.follow(**points, measured_q=q)
    return *law.with_efforts(motion), 0.0 if request.start is None else motion.begin


def refusal_code(request: TrajectoryRequest, description: ArmDescription, stamp: float) -> int:
    """Return the FollowJointTrajectory error code of a request refused at time `stamp` [s]."""
    try:
        request.require_joints(description)
    except ReferenceRefusedError:
        return INVALID_JOINTS
    late = request.start is not None and request.start < stamp - MAX_LATENESS_S
    return OLD_HEADER_TIMESTAMP if late else INVALID_GOAL
