# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Adds feedforward torques to the goal of a trajectory controller.

`Reference` checks a goal by its rules, `ControlLaw.with_efforts` computes the torques.
"""

from __future__ import annotations

from .control_law import ControlLaw
from .reference import Reference
from .request import TrajectoryRequest
from .trajectory import Trajectory
from ..typing import Array


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
