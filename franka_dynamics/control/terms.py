# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Each torque term of one cycle, with the payload and the base's true gravity."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from .friction_feedforward import FrictionFeedforward
from .settings import Settings
from ..arm import ArmDescription
from ..dynamics import GRAVITY
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import SettingsError
from ..typing import Array


class TermModel:
    """
    The torque terms of a described arm under given settings.

    Two arms are kept: the true one (payload, true gravity vector), and the one the receiver
    compensates, when it compensates any: FCI's gravity is fixed at (0, 0, -9.81) in the base
    frame, and it knows of no payload but the one it was told of.

    Parameters
    ----------
    description : ArmDescription
        The arm without the settings' payload.
    settings : Settings
        Validated settings.

    """

    def __init__(self, description: ArmDescription, settings: Settings) -> None:
        payload = settings.payload_inertia()
        # No payload must be the arm itself to the last bit, so that taking one off restores it.
        loaded = description.with_payload(payload) if payload.mass else description
        self.description = description
        self.loaded = loaded
        self.gravity_vector = tuple(settings.gravity_vector)
        self.true = PinocchioModel(loaded, settings.gravity_vector)
        self._weightless = PinocchioModel(loaded, (0.0, 0.0, 0.0))
        self._zero = np.zeros(description.n)
        known = loaded if settings.payload_known_to_robot else description
        same = known is loaded and tuple(settings.gravity_vector) == GRAVITY
        self._adds_gravity = settings.profile.receiver_adds_gravity
        self._receiver = (
            PinocchioModel(known, GRAVITY) if self._adds_gravity and not same else None
        )
        self._friction = (
            None if description.friction is None else FrictionFeedforward(description.friction)
        )
        self._commands_friction = settings.terms.friction

    def gravity(self, q: Array) -> Array:
        """Return the true g(q), payload included, shape (n,) [N m]."""
        return pin.computeGeneralizedGravity(self.true.model, self.true.data, q).copy()

    def gravity_left_to_us(self, q: Array, gravity: Array) -> Array:
        """
        Return the part of `gravity` = g(q) that the target does not add itself, shape (n,) [N m].

        Exactly zero for a target that compensates gravity, unless the base is inclined or the
        payload is unknown to it.
        """
        if not self._adds_gravity:
            return gravity
        if self._receiver is None:
            return self._zero
        return gravity - pin.computeGeneralizedGravity(
            self._receiver.model, self._receiver.data, q
        )

    def coriolis(self, q: Array, dq: Array) -> Array:
        """Return C(q, dq) dq, shape (n,) [N m]."""
        weightless = self._weightless
        return pin.rnea(weightless.model, weightless.data, q, dq, self._zero).copy()

    def inertia(self, q: Array, ddq: Array) -> Array:
        """Return M(q) ddq, shape (n,) [N m]."""
        weightless = self._weightless
        return pin.rnea(weightless.model, weightless.data, q, self._zero, ddq).copy()

    def follow(self, stamp: float, q: Array) -> None:
        """Take the measured position q [rad] at a stamp [s]: friction depends on the way."""
        if self._commands_friction and self._friction is not None:
            self._friction.follow(stamp, q)

    def friction(self, dq: Array) -> Array:
        """
        Return the friction to be commanded at a reference velocity, shape (n,) [N m].

        Raises
        ------
        SettingsError
            If the arm file has no friction model.

        """
        return self._friction_feedforward().torque(dq)

    def friction_along(self, q: Array, dq: Array) -> Array:
        """Return the friction to be commanded along a reference, all of shape (N, n)."""
        return self._friction_feedforward().torque_along(q, dq)

    def _friction_feedforward(self) -> FrictionFeedforward:
        if self._friction is None:
            raise SettingsError(f'{self.description.name} has no friction model.')
        return self._friction
