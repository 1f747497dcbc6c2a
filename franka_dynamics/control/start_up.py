# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that must pass before the first torque is sent, and the choice of that torque."""

from __future__ import annotations

from .control_law import ControlLaw
from .residual_monitor import ResidualMonitor
from .state_check import Limits, StateCheck, WINDOW
from .terms import StateTerms, TermModel
from ..typing import Array

# Torques begin after GOOD_STATES usable joint states in a row, as many as their median period and
# age are of; the age is at most MAX_AGE_AT_START_S [s]: feedback from older ones may oscillate.
GOOD_STATES, MAX_AGE_AT_START_S = WINDOW, 0.015


class StartUp:
    """
    The conditions of a first torque of one arm.

    `good` is the number of usable joint states in a row.
    """

    def __init__(self, limits: Limits, states: StateCheck, residuals: ResidualMonitor) -> None:
        self._limits, self._states, self._residuals = limits, states, residuals
        self.good = 0

    @property
    def usable(self) -> bool:
        """Whether GOOD_STATES usable joint states came in a row."""
        return self.good >= GOOD_STATES

    def blocker(self, law: ControlLaw, *, held: bool) -> str:
        """
        Return why torques of a law may not begin yet, or ''; none of it is a fault.

        `held`: whether the brake holds the arm; then the residual is known.
        """
        if not self.usable:
            return f'{self.good} of {GOOD_STATES} good joint states have come'
        age = self._states.median_age
        if age > MAX_AGE_AT_START_S:
            return (
                f'joint states are {1e3 * age:.0f} ms old, and the first torque needs states '
                f'of at most {1e3 * MAX_AGE_AT_START_S:.0f} ms; set max_state_age to 0 if the '
                'clocks differ'
            )
        swings = law.swings(self._states.period, age)
        if swings or not (held or self._compares(law.terms)):
            return swings
        return self._residuals.violation(self._residuals.start_bound)

    def resting_blocker(self, terms: TermModel, state: StateTerms, *, first: bool) -> str:
        """
        Return why the resting torque of some terms may not go out, or ''.

        `first`: nothing has gone out before. Then an arm without measured torque may stand on its
        brakes; later it moves or rests under the last torque, which is compared.
        """
        if first and not self._compares(terms):
            return ''
        return self._residuals.violation_under(terms, state)

    def _compares(self, terms: TermModel) -> bool:
        """
        Return whether the measured torque says anything before the first torque.

        Motor brakes hold an arm that does not carry itself until a torque comes: no torque is
        measured then, or one that says nothing.
        """
        motor_brakes = self._residuals.idle or self._limits.held_until_commanded
        return self._residuals.measured and not (motor_brakes and not terms.adds_gravity)

    def first_torque(self, terms: TermModel, state: StateTerms) -> Array:
        """
        Return the torque from which an arm goes on to which none was sent, (n,) [N m].

        It is zero if the target adds gravity; else the measured torque or, without it, g(q).
        """
        if terms.adds_gravity:
            return 0.0 * state.q
        return terms.gravity(state.q) if self._residuals.idle else self._residuals.acting
