# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Conditions for sending the first torque, and the torque from which the ramp starts."""

from __future__ import annotations

from .control_law import ControlLaw
from .residual_monitor import ResidualMonitor
from .state_check import MEDIAN_STATE_COUNT, StateCheck, StateLimits
from .terms import StateTerms, TermModel
from ..typing import Array

# Torques begin after MIN_GOOD_STATE_COUNT usable joint states in a row, as many as the median of
# period and age needs; feedback from states older than MAX_AGE_AT_START_S may oscillate.
MIN_GOOD_STATE_COUNT = MEDIAN_STATE_COUNT
MAX_AGE_AT_START_S = 0.015


class StartUp:
    """
    Conditions for sending the first torque to one arm.

    `good` is the number of usable joint states in a row.
    """

    def __init__(
        self, limits: StateLimits, states: StateCheck, residuals: ResidualMonitor
    ) -> None:
        self._limits, self._states, self._residuals = limits, states, residuals
        self.good = 0

    @property
    def has_usable_states(self) -> bool:
        """Whether MIN_GOOD_STATE_COUNT usable joint states came in a row."""
        return self.good >= MIN_GOOD_STATE_COUNT

    def blocker(self, law: ControlLaw, *, held: bool) -> str:
        """
        Return why the torques of a control law may not begin yet, or ''; no reason is a fault.

        `held`: whether the brake holds the arm; then the residual is known.
        """
        if not self.has_usable_states:
            return f'{self.good} of {MIN_GOOD_STATE_COUNT} good joint states have come'
        age = self._states.median_age
        if age > MAX_AGE_AT_START_S:
            return (
                f'joint states are {1e3 * age:.0f} ms old, and the first torque needs states '
                f'of at most {1e3 * MAX_AGE_AT_START_S:.0f} ms; set max_state_age to 0 if the '
                'clocks differ'
            )
        unstable = law.instability_reason(self._states.period, age)
        if unstable or not (held or self._compares(law.terms)):
            return unstable
        return self._residuals.violation(self._residuals.start_bound)

    def resting_torque_blocker(self, terms: TermModel, state: StateTerms, *, first: bool) -> str:
        """
        Return why the torque that holds the arm at rest under `terms` may not be sent, or ''.

        `first`: no torque was sent before. Then an arm without measured torque may stand on its
        brakes; later it moves or rests under the last torque, which is compared.
        """
        if first and not self._compares(terms):
            return ''
        return self._residuals.violation_under(terms, state)

    def _compares(self, terms: TermModel) -> bool:
        """
        Return whether the measured torque before the first torque tests the model.

        Motor brakes hold an arm that does not carry itself until a torque comes: no torque is
        measured then, or one that says nothing.
        """
        motor_brakes = self._residuals.is_idle or self._limits.held_until_commanded
        return self._residuals.measured and not (motor_brakes and not terms.adds_gravity)

    def initial_torque(self, terms: TermModel, state: StateTerms) -> Array:
        """
        Return the torque from which the ramp starts before any torque is sent, (n,) [N m].

        The torque is zero if the target adds gravity, else the measured one or, without, g(q).
        """
        if terms.adds_gravity:
            return 0.0 * state.q
        return terms.gravity(state.q) if self._residuals.is_idle else self._residuals.acting
