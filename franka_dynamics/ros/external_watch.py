# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""External joint torque, and the arm's wrench on its surroundings, by the core's observer."""

from __future__ import annotations

from collections.abc import Sequence

from ..control.external_wrench import ExternalWrench, WrenchEstimator
from ..control.feedforward import Feedforward
from ..dynamics.model import FLANGE
from ..typing import Array


class ExternalWatch:
    """
    External joint torque at the controller's latest state, and the wrench estimated from it.

    The wrench acts at the point `tool_center` [m] of `frame`. Raises SettingsError if
    `tool_center` is not three numbers within 10 m; FrameError if the arm has no such frame.
    """

    def __init__(
        self,
        controller: Feedforward,
        frame: int | str = FLANGE,
        tool_center: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        self._controller, self._place = controller, (frame, tool_center)
        self._terms = controller.law.terms
        self._estimator = WrenchEstimator(self._terms.true, *self._place)

    def torque(self) -> Array | None:
        """
        Return the external torque, shape (n,) [N m], signed as FCI's tau_ext.

        Returns None if effort is not measured, and until enough good states have come.
        """
        controller = self._controller
        return controller.external if controller.measured and controller.usable else None

    def wrench(self, q: Array) -> ExternalWrench | None:
        """Return the external wrench at positions q, shape (n,) [rad]; None if torque() is."""
        if self._terms is not self._controller.law.terms:
            self._terms = self._controller.law.terms
            self._estimator = WrenchEstimator(self._terms.true, *self._place)
        torque = self.torque()
        # The estimated torque lags behind the arm, but the Jacobian is taken at the position q.
        return None if torque is None else self._estimator.estimate(q, torque)
