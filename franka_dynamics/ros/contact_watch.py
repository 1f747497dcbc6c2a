# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A contact monitor on the node's cycles."""

from __future__ import annotations

from collections.abc import Sequence

from ..control.contact import ContactLimits, ContactMonitor
from ..control.cycle_result import Cycle
from ..control.external_torque import friction_in_effort
from ..control.external_wrench import ExternalWrench, WrenchEstimator
from ..control.feedforward import FeedforwardController
from ..control.terms import TermModel
from ..dynamics.model import FLANGE
from ..errors import shortened


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
    frame : int or str
        In which diagnostics give the external wrench.
    tool_center : sequence of float
        Where it acts in that frame [m].

    Raises
    ------
    SettingsError
        If friction is said to be included that the arm file does not hold, or the tool centre
        is no point.
    FrameError
        If there is no such frame.

    """

    def __init__(
        self,
        controller: FeedforwardController,
        limits: ContactLimits,
        effort_friction: str,
        frame: int | str = FLANGE,
        tool_center: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        self._controller = controller
        self._limits = limits
        self._frame, self._tool_center = frame, tool_center
        self._effort_friction = effort_friction
        self._terms: TermModel | None = None
        self.monitor = self._new_monitor()
        self.listening = False
        self.effort_seen = False
        self.failure = ''  # why nothing is watched any more

    def _new_monitor(self) -> ContactMonitor:
        controller = self._controller
        friction = friction_in_effort(
            self._effort_friction, controller.description, controller.settings.profile
        )
        self._terms = controller.terms
        self.friction = friction is not None
        self._wrench = WrenchEstimator(controller.terms.true, self._frame, self._tool_center)
        return ContactMonitor(controller.terms.true, self._limits, friction)

    def listen(self, requested: bool) -> None:
        """Watch from now on, or no longer; nothing is computed while nobody listens."""
        if requested and not self.listening:
            self.monitor.restart()
        self.listening = requested and not self.failure

    def wrench(self) -> ExternalWrench | None:
        """Return the external wrench now; None while it is not known."""
        monitor = self.monitor
        if not (self.listening and self.effort_seen and monitor.settled):
            return None
        return self._wrench.estimate(monitor.position, monitor.load + monitor.fast)

    def run(self, cycle: Cycle) -> bool:
        """
        Take a cycle while listening; return whether the contact flag changed.

        A monitor that fails ends with a sentence in `failure`: the arm needs the commands more.
        """
        self.effort_seen = cycle.effort is not None
        if cycle.effort is None:
            return False
        try:
            return self._update(cycle)
        except Exception as error:
            self.failure = shortened(repr(error), 200)
            self.listening = False
            return True

    def _update(self, cycle: Cycle) -> bool:
        if self._controller.terms is not self._terms:
            contacts = self.monitor.contacts
            self.monitor = self._new_monitor()
            self.monitor.contacts = contacts
        assert cycle.effort is not None
        return self.monitor.update(cycle.stamp, cycle.q, cycle.dq, cycle.effort)
