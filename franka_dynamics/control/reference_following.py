# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How a controller takes requested motions: planned beside its cycles, followed from one on."""

from __future__ import annotations

from typing import NamedTuple

from .command_output import CommandOutput
from .control_law import ControlLaw
from .cycle import Mode
from .faults import FaultLatch
from .reference import ReferencePoint, ReferenceSource, Trajectory
from .reference_request import plan, Stream, TrajectoryRequest
from .streaming import LEAD_S, StreamedMotion
from .supervision import Condition, StateSupervisor
from ..arm import ArmDescription
from ..errors import ReferenceRefusedError
from ..typing import Array


class PlanningBasis(NamedTuple):
    """The latest state's stamp [s] and position (n,), and what will be desired when one begins."""

    stamp: float
    q: Array
    current: ReferencePoint
    stream: Stream | None = None


class ReferenceFollower:
    """The part of a FeedforwardController that takes references; it has no state of its own."""

    description: ArmDescription
    supervisor: StateSupervisor
    reference: ReferenceSource
    faults: FaultLatch
    mode: Mode
    stop_reason: str
    _law: ControlLaw
    _latest: tuple[float, Array, Array] | None
    _output: CommandOutput

    def planning_basis(self, request: TrajectoryRequest) -> PlanningBasis:
        """
        Return what a request is planned from: the latest state, and what is desired at its start.

        Raises
        ------
        ReferenceRefusedError
            If no state has come yet.

        """
        if self._latest is None:
            raise ReferenceRefusedError(
                'The reference came before any joint state; wait until '
                'the arm publishes its state.'
            )
        stamp, q, _ = self._latest
        begin = stamp if request.start is None else max(stamp, request.start)
        stream = None
        period = self._law.settings.stream_period
        if period > 0.0 and request.is_set_point and request.velocities is None:
            stream, begin = Stream(period, self.reference.motion), stamp + LEAD_S
        current = self.reference.at(begin) or ReferencePoint.at_rest(q)
        return PlanningBasis(stamp, q, current, stream)

    def plan(
        self,
        request: TrajectoryRequest,
        basis: PlanningBasis,
    ) -> Trajectory | ReferencePoint:
        """
        Return a requested motion as it would be followed; nothing changes, and it takes a while.

        Raises
        ------
        ReferenceRefusedError
            If it cannot be followed.

        """
        return plan(request, self.description, basis.stamp, basis.current, basis.q, basis.stream)

    def follow(self, planned: Trajectory | ReferencePoint) -> None:
        """Follow a planned motion from now on, if torques are being commanded."""
        if self.mode is not Mode.RUNNING or self._latest is None:
            return  # for whoever adds the efforts himself; nothing is commanded here
        stamp = self._latest[0]
        continues = self.reference.active
        if isinstance(planned, Trajectory):
            self.reference.follow(planned, stamp)
        else:
            self.reference.stream(planned, stamp)
        # A stream follows on itself; anything else may begin with a step that is to be faded.
        self._output.blend_wanted |= not (
            continues and isinstance(planned, (ReferencePoint, StreamedMotion))
        )

    def set_reference(self, request: TrajectoryRequest) -> Trajectory | ReferencePoint:
        """
        Plan and follow a requested motion, and return it as it will be followed.

        Raises
        ------
        ReferenceRefusedError
            If it cannot be followed; what was followed before goes on.

        """
        planned = self.plan(request, self.planning_basis(request))
        self.require_following()
        self.follow(planned)
        return planned

    def require_following(self) -> None:
        """
        Refuse a reference that nothing would follow because no torque is being commanded.

        On a topic that is too slow for commands, torques are still added to a trajectory for
        whoever follows it by his own feedback.

        Raises
        ------
        ReferenceRefusedError
            With what keeps the torque away.

        """
        condition = self.supervisor.condition
        if self.mode is Mode.RUNNING or condition is Condition.TOO_SLOW:
            return
        why = (
            self.faults.reason
            or self.stop_reason
            or f'{condition.value}: {self.supervisor.reason}'
        )
        raise ReferenceRefusedError(
            f'No torque is being commanded ({self.mode.value}; {why}), so that nothing would '
            'follow the reference; send it again once commands go out.'
        )

    def trajectory_efforts(self, trajectory: Trajectory) -> Array:
        """Return the feedforward torque at every point of a trajectory, shape (k, n) [N m]."""
        return self._law.trajectory_efforts(trajectory)
