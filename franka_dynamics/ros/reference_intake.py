# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A trajectory message -> a motion that the controller follows, planned beside its cycles."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from .serialized import read_trajectory
from ..control.feedforward import FeedforwardController
from ..control.reference import ReferencePoint, Trajectory


def take_reference(
    controller: FeedforwardController, lock: AbstractContextManager[Any], data: bytes
) -> Trajectory | ReferencePoint:
    """
    Read, plan and follow a reference; return it as it is followed.

    Parameters
    ----------
    controller : FeedforwardController
        Which another thread serves with states.
    lock : context manager
        Held while the controller is touched, which takes microseconds; planning takes longer.
    data : bytes
        A serialized trajectory_msgs/JointTrajectory.

    Raises
    ------
    ReferenceRefusedError
        If it cannot be read or followed; what was followed before goes on.

    """
    request = read_trajectory(data)
    with lock:
        basis = controller.planning_basis(request)
    planned = controller.plan(request, basis)
    with lock:
        controller.require_following()
        controller.follow(planned)
    return planned
