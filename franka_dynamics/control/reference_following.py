# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A requested motion -> one that a controller follows, planned beside its cycles."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from .cycle import Mode
from .feedforward import FeedforwardController
from .possible_motion import Condition
from .reference import ReferencePoint, Trajectory
from .reference_request import plan, Stream, TrajectoryRequest
from .streaming import LEAD_S
from ..errors import ReferenceRefusedError
from ..typing import Array


class PlanningBasis(NamedTuple):
    """The latest state's stamp [s] and position (n,), and what will be desired when one begins."""

    stamp: float
    q: Array
    current: ReferencePoint
    stream: Stream | None = None


def follow_request(
    controller: FeedforwardController,
    request: TrajectoryRequest,
    lock: AbstractContextManager[Any] | None = None,
) -> Trajectory | ReferencePoint:
    """
    Plan and follow a requested motion, and return it as it will be followed.

    Parameters
    ----------
    controller : FeedforwardController
        Which follows it.
    request : TrajectoryRequest
        The motion.
    lock : context manager or None
        Held while the controller is touched, where another thread serves it with states; that
        takes microseconds, and planning, which is done without it, longer.

    Raises
    ------
    ReferenceRefusedError
        If it cannot be followed; what was followed before goes on.

    """
    lock = nullcontext() if lock is None else lock
    with lock:
        basis = planning_basis(controller, request)
    planned = plan_from(controller, request, basis)
    with lock:
        require_following(controller)
        controller.follow(planned)
    return planned


def planning_basis(controller: FeedforwardController, request: TrajectoryRequest) -> PlanningBasis:
    """
    Return what a request is planned from: the latest state, and what is desired at its start.

    Raises
    ------
    ReferenceRefusedError
        If no state has come yet.

    """
    if controller.latest is None:
        raise ReferenceRefusedError(
            'The reference came before any joint state; wait until the arm publishes its state.'
        )
    stamp, q, _ = controller.latest
    begin = stamp if request.start is None else max(stamp, request.start)
    stream = None
    period = controller.settings.stream_period
    if period > 0.0 and request.is_set_point and request.velocities is None:
        stream, begin = Stream(period, controller.reference.motion), stamp + LEAD_S
    current = controller.reference.at(begin) or ReferencePoint.at_rest(q)
    return PlanningBasis(stamp, q, current, stream)


def plan_from(
    controller: FeedforwardController, request: TrajectoryRequest, basis: PlanningBasis
) -> Trajectory | ReferencePoint:
    """
    Return a requested motion as it would be followed; nothing changes, and it takes a while.

    Raises
    ------
    ReferenceRefusedError
        If it cannot be followed.

    """
    return plan(request, controller.description, basis.stamp, basis.current, basis.q, basis.stream)


def require_following(controller: FeedforwardController) -> None:
    """
    Refuse a reference that nothing would follow because no torque is being commanded.

    On a topic that is too slow for commands, torques are still added to a trajectory for
    whoever follows it by his own feedback.

    Raises
    ------
    ReferenceRefusedError
        With what keeps the torque away.

    """
    condition = controller.supervisor.condition
    if controller.mode is Mode.RUNNING or condition is Condition.TOO_SLOW:
        return
    why = (
        controller.faults.reason
        or controller.stop_reason
        or f'{condition.value}: {controller.supervisor.reason}'
    )
    raise ReferenceRefusedError(
        f'No torque is being commanded ({controller.mode.value}; {why}), so that nothing would '
        'follow the reference; send it again once commands go out.'
    )
