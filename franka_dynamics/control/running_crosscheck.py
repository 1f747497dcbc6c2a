# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The running model compared with the independent one, now and then, at the arm's own state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .terms import TermModel
from ..dynamics.newton_euler import NewtonEulerModel
from ..typing import Array


class _Sample(NamedTuple):
    q: Array
    dq: Array
    nonlinear: Array
    terms: TermModel


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
        self._offered: _Sample | None = None
        self._checked_terms: TermModel | None = None
        self.at_configure = at_configure
        self.largest = 0.0
        self.checks = 0

    def offer(self, stamp: float, q: Array, dq: Array, nonlinear: Array, terms: TermModel) -> None:
        """
        Take a state to be compared, if a check is due.

        Parameters
        ----------
        stamp : float
            Stamp of the state [s].
        q, dq : ndarray, shape (n,)
            The state; kept.
        nonlinear : ndarray, shape (n,)
            g(q) + C(q, dq) dq by the running model [N m].
        terms : TermModel
            The terms in use, whose payload and gravity the independent model is given.

        """
        if self._period > 0.0 and abs(stamp - self._offered_at) >= self._period:
            self._offered_at = stamp
            self._offered = _Sample(q, dq, nonlinear, terms)

    def run(self) -> str:
        """Compare at the state that was offered last, if any; return what is wrong, or ''."""
        offered, self._offered = self._offered, None
        if offered is None:
            return ''
        q, dq, nonlinear, terms = offered
        if terms is not self._checked_terms:
            self._checked_terms = terms
            self._independent = NewtonEulerModel(terms.loaded, terms.gravity_vector)
        independent = self._independent.nonlinear_effects(q, dq)
        difference = float(
            (np.abs(nonlinear - independent) / np.maximum(1.0, np.abs(independent))).max()
        )
        self.checks += 1
        self.largest = max(self.largest, difference)
        if difference <= self._tolerance:
            return ''
        return (
            f'cross-check: the running model and the independent one differ by '
            f'{difference:.3g} N m at q = {np.round(q, 4).tolist()}'
        )
