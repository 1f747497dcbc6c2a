# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The contact flag of the node, computed only while somebody listens to diagnostics."""

from __future__ import annotations

from ..control.contact import ContactLimits, ContactMonitor
from ..control.external_torque import friction_in_effort
from ..control.feedforward import Cycle, FeedforwardController
from ..control.terms import TermModel


class ContactWatch:
    """
    Runs a contact monitor on the controller's cycles.

    Parameters
    ----------
    controller : FeedforwardController
        Whose cycles are watched; a change of its payload or gravity starts the monitor anew.
    limits : ContactLimits
        When it is a contact.
    effort_friction : str
        One of control.external_torque.EFFORT_FRICTION.

    Raises
    ------
    SettingsError
        If friction is said to be included that the arm file does not hold.

    """

    def __init__(self, controller: FeedforwardController, limits: ContactLimits,
                 effort_friction: str) -> None:
        self._controller = controller
        self._limits = limits
        self._effort_friction = effort_friction
        self._terms: TermModel | None = None
        self.monitor = self._new_monitor()
        self.listening = False
        self.effort_seen = False

    def _new_monitor(self) -> ContactMonitor:
        controller = self._controller
        friction = friction_in_effort(self._effort_friction, controller.description,
                                      controller.settings.profile)
        self._terms = controller.terms
        self.friction = friction is not None
        return ContactMonitor(controller.terms.true, self._limits, friction)

    def listen(self, wanted: bool) -> None:
        """Watch from now on, or no longer; nothing is computed while nobody listens."""
        if wanted and not self.listening:
            self.monitor.restart()
        self.listening = wanted

    def run(self, cycle: Cycle) -> bool:
        """Take a cycle while listening; return whether the contact flag changed."""
        self.effort_seen = cycle.effort is not None
        if cycle.effort is None:
            return False
        if self._controller.terms is not self._terms:
            contacts = self.monitor.contacts
            self.monitor = self._new_monitor()
            self.monitor.contacts = contacts
        return self.monitor.update(cycle.stamp, cycle.q, cycle.dq, cycle.effort)
