# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The running model held against the independent one, now and then, at the arm's own state."""

from __future__ import annotations

import numpy as np

from ..control.feedforward import Cycle, FeedforwardController
from ..control.terms import TermModel
from ..dynamics.newton_euler import NewtonEulerModel

# As at configure; the states of a moving arm are within the limits that were sampled there.
TOLERANCE_NM = 1e-9


class RunningCrosscheck:
    """
    Compares gravity and Coriolis torque with the Newton-Euler recursion once per period.

    It runs after the command of a cycle is out, and costs about a millisecond.

    Parameters
    ----------
    controller : FeedforwardController
        Whose cycles are checked.
    period : float
        Stamp time between checks [s]; 0 for never.
    at_configure : float
        The largest difference found when the node was configured.

    """

    def __init__(self, controller: FeedforwardController, period: float,
                 at_configure: float) -> None:
        self._controller = controller
        self._period = period
        self._checked_at = -np.inf
        self._checked_terms: TermModel | None = None
        self.at_configure = at_configure
        self.largest = 0.0
        self.checks = 0

    def run(self, cycle: Cycle) -> str:
        """Return an empty text, or what is wrong, if a check was due."""
        if self._period == 0.0 or abs(cycle.stamp - self._checked_at) < self._period:
            return ''
        self._checked_at = cycle.stamp
        terms = self._controller.terms
        if terms is not self._checked_terms:
            self._checked_terms = terms
            self._independent = NewtonEulerModel(
                terms.loaded, self._controller.settings.gravity_vector)
        if cycle.gravity is None or cycle.coriolis is None:
            return ''
        difference = float(np.abs(
            cycle.gravity + cycle.coriolis
            - self._independent.nonlinear_effects(cycle.q, cycle.dq)).max())
        self.checks += 1
        self.largest = max(self.largest, difference)
        if difference <= TOLERANCE_NM:
            return ''
        return (f'cross-check: the running model and the independent one differ by '
                f'{difference:.3g} N m at q = {np.round(cycle.q, 4).tolist()}')
