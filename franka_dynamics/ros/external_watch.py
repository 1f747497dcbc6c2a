# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What acts on the arm from outside, told from the node's cycles."""

from __future__ import annotations

from collections.abc import Sequence

from ..control.contact import ContactLimits, ContactMonitor
from ..control.cycle_result import Cycle
from ..control.external_torque import friction_in_effort, TorqueResidual
from ..control.external_wrench import ExternalWrench, WrenchEstimator
from ..control.feedforward import FeedforwardController
from ..dynamics.model import FLANGE
from ..errors import shortened
from ..typing import Array


class ExternalWatch:
    """
    External torque and wrench of the controller's cycles, and a contact monitor.

    A change of the controller's payload, gravity or target starts all of them anew.

    Parameters
    ----------
    controller : FeedforwardController
        Whose cycles are watched.
    limits : ContactLimits
        When it is a contact.
    effort_friction : str
        One of control.external_torque.EFFORT_FRICTION.
    frame : int or str
        On which the wrench acts.
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
        self.listening = False
        self.effort_seen = False
        self.failure = ''  # why contact is not watched any more
        self._begin(contacts=0)

    def _begin(self, contacts: int) -> None:
        controller, self._terms = self._controller, self._controller.terms
        model = self._terms.true
        friction = friction_in_effort(
            self._effort_friction, controller.description, controller.settings.profile
        )
        self.friction = friction is not None
        self.monitor = ContactMonitor(model, self._limits, friction)
        self.monitor.contacts = contacts
        self._estimator = WrenchEstimator(model, self._frame, self._tool_center)
        self._plain = TorqueResidual(model, friction)

    def _follow_settings(self) -> None:
        if self._controller.terms is not self._terms:
            self._begin(self.monitor.contacts)

    # What is published -------------------------------------------------------------------------

    def torque(self) -> Array | None:
        """Return the external torque, shape (n,) [N m], where the latest cycle tells one."""
        return self.monitor.external if self.listening and self.effort_seen else None

    def wrench(self, cycle: Cycle) -> ExternalWrench | None:
        """Return the external wrench where the latest cycle, this one, tells a torque."""
        torque = self.torque()
        # At the state of the stamp: the torque is late, the Jacobian need not be.
        return None if torque is None else self._estimator.estimate(cycle.q, torque)

    def residual(self, cycle: Cycle) -> Array | None:
        """Return the plain residual, shape (n,) [N m], where there is an acceleration."""
        if cycle.effort is None:
            return None
        self._follow_settings()
        return self._plain.update(cycle.stamp, cycle.q, cycle.dq, cycle.effort)

    # Contact -----------------------------------------------------------------------------------

    def listen(self, requested: bool) -> None:
        """Observe from now on, or no longer; nothing is computed while nobody listens."""
        if requested and not self.listening:
            self.monitor.restart()
        self.listening = requested and not self.failure

    def present_wrench(self) -> ExternalWrench | None:
        """Return the external wrench by the contact monitor; None while it is not known."""
        monitor = self.monitor
        if not (self.listening and self.effort_seen and monitor.settled):
            return None
        return self._estimator.estimate(monitor.position, monitor.load + monitor.fast)

    def run(self, cycle: Cycle) -> bool:
        """
        Take a cycle while listening; return whether the contact flag changed.

        A monitor that fails ends with a sentence in `failure`: the arm needs the commands more.
        """
        self.effort_seen = cycle.effort is not None
        if cycle.effort is None:
            return False
        try:
            self._follow_settings()
            return self.monitor.update(cycle.stamp, cycle.q, cycle.dq, cycle.effort)
        except Exception as error:
            self.failure = shortened(repr(error), 200)
            self.listening = False
            return True
