# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The part of an arm's friction that is safe to command ahead of the motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arm.friction import FrictionModel, LinearFriction, MaxwellSlipFriction, slip_states
from ..arm.friction_state import FrictionState
from ..typing import Array

# Reference speeds [rad/s, m/s] below which nothing is commanded, and from which on all of it is:
# a reference that only differs from rest by noise must not push.
REST_SPEED, FULL_SPEED = 0.005, 0.02
# So many standard deviations of each coefficient are left to the arm.
DEVIATIONS_LEFT = 2.0


class FrictionFeedforward:
    """
    Friction to be commanded for a reference velocity.

    What is commanded points where the reference moves and is at most what the arm's friction
    takes: every coefficient is worth its value less twice its standard deviation (where the arm
    file has them), and Maxwell-slip elements count with the least that their state may be. It is
    zero at rest. So it never drives the arm by itself: too little friction compensation leaves an
    error, too much makes a limit cycle. The elements follow the measured position.

    Parameters
    ----------
    model : FrictionModel
        The arm's friction.

    """

    def __init__(self, model: FrictionModel) -> None:
        self._model = model
        self._state = FrictionState(model)
        self._linear = model if isinstance(model, LinearFriction) else None
        if self._linear is not None:
            self._coefficients = self._linear.coefficients
            deviations = self._linear.deviations
            self._left = (
                np.zeros_like(self._coefficients)
                if deviations is None
                else DEVIATIONS_LEFT * deviations
            )

    def restart(self) -> None:
        """Forget the motion so far: the arm may have been moved unseen."""
        self._state.restart()

    def follow(self, stamp: float, q: Array) -> None:
        """Take a measured position, shape (n,) [rad], at a stamp [s]."""
        self._state.follow(stamp, q)

    def torque(self, dq: Array) -> Array:
        """Return what to command at a reference velocity, shape (n,) [N m]."""
        return self._certain(dq, self._state.slip_bounds)

    def torque_along(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return what to command along a reference of shape (N, n), from rest, (N, n) [N m]."""
        velocity = np.asarray(dq, dtype=float)
        bounds = np.zeros((2, len(velocity), 0, velocity.shape[-1]))
        if isinstance(self._model, MaxwellSlipFriction):
            bounds = np.stack(
                [
                    slip_states(q, self._model.reach, np.full_like(self._model.slip, side))
                    for side in (-1.0, 1.0)
                ]
            )
        return self._certain(velocity, bounds)

    def _certain(self, dq: Array, slip_bounds: Array) -> Array:
        """Return the least friction along dq, shape (..., n); slip_bounds (2, ..., k, n)."""
        along = np.sign(dq)
        if self._linear is None:
            least = along * self._model.torque(dq)
        else:
            # In each coefficient and each element's state the torque is least at a corner.
            least = np.minimum(
                *(
                    along[..., None, :] * self._coefficients * terms - self._left * np.abs(terms)
                    for terms in (self._linear.terms(dq, bound) for bound in slip_bounds)
                )
            ).sum(axis=-2)
        speed = np.clip((np.abs(dq) - REST_SPEED) / (FULL_SPEED - REST_SPEED), 0.0, 1.0)
        return np.asarray(along * speed * np.maximum(least, 0.0))
