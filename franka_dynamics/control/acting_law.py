# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Says which settings are requested, which act, and since when; a change acts by one ramp.

The torque that is sent changes in five ways: the law begins, another law acts, a law of one's own
begins or ends, the offset comes or goes with a motion, and a loop's resting torque becomes
another. Each brings a difference from the torque before, which fades in RAMP_DURATION_S. A change
within this time adds its difference to what is left.
"""

import math

from .control_law import ControlLaw
from .core_table import Acting
from .state_input import is_finite
from .terms import Desired, OwnTorque, StateTerms
from ..arrays import Array

RAMP_DURATION_S = 0.2  # duration of the ramp to another torque [s]


class ActingLaw:
    """
    Holds the control laws of the requested settings and of those by which torques go out.

    Attributes
    ----------
    requested, acting : ControlLaw
        The laws of the latest settings, and of those that act.
    waits_for : Acting
        What the requested settings wait for, as the latest row of the core's table says.
    have_agreed : bool
        Whether a usable state has agreed with settings, so that they say what carries the arm.

    """

    def __init__(self, law: ControlLaw) -> None:
        self.requested = law
        self.acting = law
        self.waits_for = Acting.WHEN_AGREED
        self.have_agreed = False
        self._start_torque: Array | None = None
        # Law and reference of the last torque of a law; None if none was sent since it began.
        self._last: tuple[ControlLaw, Desired | None] | None = None
        self.end()

    @property
    def candidate(self) -> ControlLaw:
        """The law that acts next where no torque of a law is sent."""
        return self.acting if self.waits_for is Acting.WAITING else self.requested

    def wait(self, rule: Acting) -> None:
        """Take over what a row of the core's table says of the requested settings."""
        if rule is Acting.REQUESTED:
            self.waits_for = Acting.WHEN_AGREED
        elif rule is not Acting.SAME:
            self.waits_for = rule

    def begin(self, torque: Array) -> None:
        """Let the next torque of the law begin a ramp at `torque`, (n,) [N m]."""
        self.end()
        self._start_torque = torque

    def end(self) -> None:
        """End the ramp, as the law's torques end."""
        self._last = None
        self._offset: Array | float = 0.0  # from the torque without a ramp [N m]
        self._ramp_begin = -math.inf  # by the clock of `now` [s]

    def torque(self, state: StateTerms, reference: Desired | None, now: float) -> Array:
        """Return the acting law's torque with what is left of the ramp at `now`, (n,) [N m]."""
        desired = self.acting.torque(state, reference)
        last = self._last
        self._last = self.acting, reference
        if last is None:
            start = desired if self._start_torque is None else self._start_torque
            self.add_to_ramp(start - desired, now)
            return start.copy() if is_finite(desired) else desired
        law, last_reference = last
        is_same_kind = isinstance(reference, OwnTorque) is isinstance(last_reference, OwnTorque)
        if law is not self.acting or not is_same_kind:
            before = reference if is_same_kind else last_reference
            terms = law.terms.terms_at(state.stamp, state.q, state.dq, before)
            self.add_to_ramp(law.torque(terms, before) - desired, now)
        has_begun_or_ended = (reference is None) is not (last_reference is None)
        if is_same_kind and has_begun_or_ended and law.terms.offset.any():
            self.add_to_ramp(law.offset(last_reference) - law.offset(reference), now)
        return desired + self.ramp(now)

    def add_to_ramp(self, difference: Array, now: float) -> None:
        """Let a difference from the torque before, (n,) [N m], fade from `now` on [s]."""
        if is_finite(difference):
            self._offset = self.ramp(now) + difference
            self._ramp_begin = now

    def ramp(self, now: float) -> Array | float:
        """Return what is left of the ramp at `now`, (n,) or 0 [N m]."""
        passed_s = now - self._ramp_begin
        if passed_s >= RAMP_DURATION_S:
            return 0.0
        return min(1.0, 1.0 - passed_s / RAMP_DURATION_S) * self._offset
