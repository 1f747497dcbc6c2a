# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Conditions for sending the first torque, and by which settings torques go out until then.

While torques rest, those of the last settings go on until the arm agrees with the present ones.
"""

from __future__ import annotations

import numpy as np

from .braking import BrakingController
from .control_law import ControlLaw
from .receiver import COMMAND_TIMEOUT_S
from .reference import MAX_START_DISTANCE_RAD
from .residual_monitor import MAX_VIOLATION_S, ResidualMonitor
from .state_check import MIN_GOOD_STATE_COUNT, StateCheck, StateLimits
from .terms import StateTerms, TermModel
from .torque_output import TorqueOutput
from ..typing import Array

MAX_AGE_AT_START_S = 0.015  # feedback from older states may oscillate


class StartUp:
    """
    Conditions for sending the first torque to one arm, and the torque while none is sent.

    Attributes
    ----------
    good : int
        Number of usable joint states in a row.
    terms : TermModel
        The terms by which torques go out: of the present settings, or in silence of the last ones.
    compared : bool
        Whether the resting torque was compared with the arm; a node sends none in silence.
    refused : str
        Why torques of the present settings may not go out, or ''.

    """

    def __init__(
        self,
        limits: StateLimits,
        states: StateCheck,
        residuals: ResidualMonitor,
        brake: BrakingController,
        output: TorqueOutput,
        terms: TermModel,
        *,
        applied_when_silent: bool,
    ) -> None:
        self._limits, self._states, self._residuals = limits, states, residuals
        self._brake, self._output, self.terms = brake, output, terms
        self._applied_when_silent = applied_when_silent
        self.reset()

    def reset(self) -> None:
        """Reset to no joint state, no torque and no comparison."""
        self.good, self.compared, self.refused = 0, not self._applied_when_silent, ''
        self._refused_s = 0.0  # how long the arm has moved since [s]
        # Whether the target of the last torque added gravity, and where the arm was then.
        self._ended_with: tuple[bool, Array | float] = False, 0.0

    def adopt(self, terms: TermModel, state: StateTerms | None, *, loaded: bool = False) -> None:
        """Let torques go out by terms from a state on; `loaded`: the payload has changed."""
        if self.terms is not terms:
            self.terms = terms
            self._brake.change_load(self._residuals.change_terms(terms, state, loaded=loaded))

    def compare(self, terms: TermModel, state: StateTerms) -> str:
        """
        Return why the torque that holds the arm at rest under some terms may not be sent, or ''.

        If nothing is against it, torques go out by these terms. Brakes may hold the arm before the
        first torque, and later that of a node if it does not move; without measured torque nothing
        can be compared then.
        """
        first, self.refused = not self.compared, ''
        if self.terms is terms and not first:
            return ''
        on_brakes = first or not (self._applied_when_silent or state.moves)
        if not on_brakes or self._compares(terms):
            self.refused = self._residuals.violation_under(terms, state)
        if not self.refused:
            self.compared = True
            self.adopt(terms, state)
            if first:
                self._residuals.begin(state.stamp)
        return self.refused

    def has_fallen_while_refused(self, falls: bool) -> bool:
        """
        Return whether an arm has fallen for MAX_VIOLATION_S while its torques are refused.

        It counts as falling if `falls` says so and the settings before explain how it moves. To be
        called at each state.
        """
        waits = self.refused and falls
        waits = waits and not self._residuals.violation(self._residuals.start_bound)
        self._refused_s = self._refused_s + self._states.elapsed if waits else 0.0
        return self._refused_s > MAX_VIOLATION_S

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

    def _compares(self, terms: TermModel) -> bool:
        """
        Return whether the measured torque before the first torque tests the model.

        Motor brakes hold an arm that does not carry itself until a torque comes: no torque is
        measured then, or one that says nothing.
        """
        motor_brakes = self._residuals.is_idle or self._limits.held_until_commanded
        return self._residuals.measured and not (motor_brakes and not terms.adds_gravity)

    def record_end(self, q: Array) -> None:
        """Record that torques ended at positions q, (n,) [rad]."""
        self._ended_with = self.terms.adds_gravity, q

    def begin_torque(self, terms: TermModel, state: StateTerms, *, silent: bool) -> Array | None:
        """
        Let the next torque begin at the last one, if it still acts, else at a first one.

        That is zero if the target adds gravity, else the measured torque or, without, g(q).
        Returns where the ramp of the law begins, (n,) [N m]; None: at the last torque. Under a
        target that adds gravity a first torque goes to the rest of g(q) by its rate alone, because
        the arm falls without it once its brakes open. `silent`: no torque is sent now.
        """
        adds, gravity = terms.adds_gravity, terms.gravity(state.q)
        if silent and not self._applied_when_silent:
            # Its last torque may go on acting at the receiver, and the next one then begins there.
            added, q = self._ended_with
            over = self._states.arrival - self._output.sent_at > COMMAND_TIMEOUT_S
            moved = over and np.abs(state.q - q).max() > MAX_START_DISTANCE_RAD
            if added != adds or moved:
                self._output.sent.clear()  # another receiver, or the arm was moved
                self._residuals.begin(state.stamp)
        if not self._output.sent:
            acting = gravity if self._residuals.is_idle else self._residuals.acting
            self._output.begin_at(0.0 * gravity if adds else acting)
        return terms.gravity_to_command(state.q, gravity) if silent and adds else None
