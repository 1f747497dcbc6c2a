# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The running model compared with the independent one, now and then, at the arm's own state."""

from __future__ import annotations

import numpy as np

from .cycle_result import CycleResult
from .terms import TermModel
from ..dynamics.newton_euler import NewtonEulerModel


class RunningCrosscheck:
    """
    Compares gravity and Coriolis torque with the Newton-Euler recursion once per period.

    It costs about a millisecond: the cycle only offers a state, and another thread may compare.

    Parameters
    ----------
    period : float
        Stamp time between checks [s]; 0 for never.
    tolerance : float
        The cross-check's at configure; relative to the torque where that is above 1 N m.
    at_configure : float
        The largest difference found when the models were loaded.

    """

    def __init__(self, period: float, tolerance: float, at_configure: float = 0.0) -> None:
        self._tolerance = tolerance
        self._period = period
        self._offered_at = -np.inf
        self._offered: tuple[CycleResult, TermModel] | None = None
        self._checked_terms: TermModel | None = None
        self.at_configure = at_configure
        self.largest = 0.0
        self.checks = 0

    def offer(self, cycle: CycleResult, terms: TermModel) -> None:
        """Take a cycle's state and terms to be compared, if a check is due."""
        if self._period > 0.0 and abs(cycle.stamp - self._offered_at) >= self._period:
            self._offered_at = cycle.stamp
            self._offered = cycle, terms

    def run(self) -> str:
        """Compare at the state that was offered last, if any; return what is wrong, or ''."""
        offered, self._offered = self._offered, None
        if offered is None:
            return ''
        cycle, terms = offered
        assert cycle.gravity is not None and cycle.coriolis is not None, 'only offered with terms'
        nonlinear = cycle.gravity + cycle.coriolis
        if terms is not self._checked_terms:
            self._checked_terms = terms
            self._independent = NewtonEulerModel(terms.loaded, terms.gravity_vector)
        independent = self._independent.nonlinear_effects(cycle.q, cycle.dq)
        difference = float(
            (np.abs(nonlinear - independent) / np.maximum(1.0, np.abs(independent))).max()
        )
        self.checks += 1
        self.largest = max(self.largest, difference)
        if difference <= self._tolerance:
            return ''
        return (
            f'cross-check: the running model and the independent one differ by '
            f'{difference:.3g} N m at q = {np.round(cycle.q, 4).tolist()}'
        )
