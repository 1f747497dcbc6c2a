# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""External joint torque, and the arm's wrench on its surroundings, from a controller's guard."""

from __future__ import annotations

from collections.abc import Sequence

from ..control.cycle_result import CycleResult
from ..control.external_torque import friction_in_effort, TorqueResidual
from ..control.external_wrench import ExternalWrench, WrenchEstimator
from ..control.feedforward import FeedforwardController
from ..control.terms import TermModel
from ..dynamics.model import FLANGE
from ..typing import Array


class ExternalWatch:
    """
    External joint torque and wrench at the controller's latest state.

    The wrench acts at the point `tool_center` [m] of `frame`. Raises SettingsError if
    `tool_center` is not three numbers within 10 m, or effort_friction is `included` and the arm
    has no friction model; FrameError if the arm has no such frame.
    """

    def __init__(
        self,
        controller: FeedforwardController,
        frame: int | str = FLANGE,
        tool_center: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        self._controller = controller
        self._frame, self._tool_center = frame, tool_center
        self._terms: TermModel | None = None
        self._follow_settings()

    def _follow_settings(self) -> None:
        controller = self._controller
        if controller.terms is self._terms:
            return
        self._terms = controller.terms
        friction = friction_in_effort(
            controller.guard.limits.effort_friction,
            controller.description,
            controller.settings.profile,
        )
        model = self._terms.true
        self._estimator = WrenchEstimator(model, self._frame, self._tool_center)
        self._plain = TorqueResidual(model, friction)

    def torque(self) -> Array | None:
        """Return the external torque at the latest state, shape (n,) [N m], if it is known."""
        guard = self._controller.guard
        return guard.external if guard.measured and guard.settled else None

    def wrench(self, q: Array) -> ExternalWrench | None:
        """Return the external wrench at a position, shape (n,), if it is known."""
        self._follow_settings()
        torque = self.torque()
        # The torque lags behind, but the Jacobian is taken at the given position.
        return None if torque is None else self._estimator.estimate(q, torque)

    def residual(self, cycle: CycleResult) -> Array | None:
        """Return a cycle's plain residual, (n,) [N m]; None without effort or acceleration."""
        if cycle.effort is None:
            return None
        self._follow_settings()
        return self._plain.update(cycle.stamp, cycle.q, cycle.dq, cycle.effort)
