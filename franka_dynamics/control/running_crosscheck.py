# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the node's dynamics model periodically with the independent Newton-Euler model."""

from __future__ import annotations

import numpy as np

from .terms import StateTerms, TermModel
from ..dynamics.newton_euler import NewtonEulerModel


class RunningCrosscheck:
    """
    Compares gravity plus Coriolis torque of the node's model and the Newton-Euler model.

    A comparison takes about a millisecond, so the control cycle only stores a state with `offer`,
    and another thread may call `run`.

    `period` is the time between comparisons, by the stamps of the states [s]; 0: no comparison.
    `tolerance` bounds the difference [N m] of torques below 1 N m, and the relative difference of
    larger torques. `at_configure` is the largest difference that the cross-check at configuration
    found.
    """

    def __init__(self, period: float, tolerance: float) -> None:
        self._tolerance = tolerance
        self._period = period
        self._offered_at = -np.inf
        self._offered: tuple[StateTerms, TermModel] | None = None
        self._checked_terms: TermModel | None = None
        self.at_configure = 0.0
        self.largest = 0.0
        self.checks = 0

    def offer(self, state: StateTerms, terms: TermModel) -> None:
        """Store a joint state and the model for the comparison by `run`, once per period."""
        if self._period > 0.0 and abs(state.stamp - self._offered_at) >= self._period:
            self._offered_at = state.stamp
            self._offered = state, terms

    def run(self) -> str:
        """Compare both models at a newly stored state; return why the check fails, or ''."""
        offered, self._offered = self._offered, None
        if offered is None:
            return ''
        state, terms = offered
        nonlinear = state.gravity + state.coriolis
        if terms is not self._checked_terms:
            self._checked_terms = terms
            self._independent = NewtonEulerModel(terms.loaded, terms.gravity_vector)
        independent = self._independent.nonlinear_effects(state.q, state.dq)
        difference = float(
            (np.abs(nonlinear - independent) / np.maximum(1.0, np.abs(independent))).max()
        )
        self.checks += 1
        self.largest = max(self.largest, difference)
        if difference <= self._tolerance:
            return ''
        return (
            f'cross-check: the running model and the independent one differ by {difference:.3g} '
            f'(N m, relative above 1 N m) at q = {np.round(state.q, 4).tolist()}'
        )
