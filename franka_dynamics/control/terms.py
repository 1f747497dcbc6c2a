# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Computes torque terms with payload, and the friction torque that is safe to command."""

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from .settings import Settings
from ..arm import ArmDescription, FrictionModel
from ..arm.friction import FrictionState, LinearFriction, OFFSET_TERM_INDEX, slip_state_bounds
from ..arrays import Array, ArrayLike
from ..dynamics.pinocchio_model import PinocchioModel
from ..motion.trajectory import ReferencePoint

MAX_REST_SPEED_RAD_S = 0.02  # up to which a joint is at rest: noise of encoders
MIN_MOTION_SPEED_RAD_S = 5.0 * MAX_REST_SPEED_RAD_S  # from which it surely moves
# Reference speed below which no friction is commanded, so that noise in a reference at rest causes
# no torque; above MAX_REST_SPEED_RAD_S the full friction is.
MIN_FRICTION_SPEED_RAD_S = 0.005
# A joint that is faster than its reference, by more than MAX_REST_SPEED_RAD_S, gets less friction,
# from this difference on none: its own friction brakes it. Without this, friction that is 30 % too
# large, or exact with weak gains, makes joints faster (test/control/test_gains_and_friction.py).
MAX_FRICTION_LEAD_RAD_S = 0.05
# Number of its standard deviations by which the friction torque is reduced.
FRICTION_MARGIN_STD_COUNT = 2.0


class FrictionFeedforward(FrictionState):
    """
    Computes the friction torque to command for a reference velocity.

    But for the offset, the torque has the direction of the reference velocity, and is zero at
    rest. It should not exceed the arm's friction, because too much torque may cause a limit cycle,
    too little torque only a tracking error. Therefore that of a LinearFriction is reduced by two
    standard deviations of the sum of its terms (if the arm file states their covariance), and
    Maxwell-slip elements of uncertain state count with their least torque along the reference
    velocity, which is negative if an element may push the joint along. In `torque` the
    Maxwell-slip elements follow the measured position, in `torque_along` the positions of the
    motion.

    A joint that is faster than its reference gets less of it (MAX_FRICTION_LEAD_RAD_S). The
    offset is the same in both directions: it is commanded at rest, too, where gains hold the joint
    (`has_kp`, (n,) or one for all), and else with the reference velocity.
    """

    def __init__(self, model: FrictionModel | None, has_kp: ArrayLike = True) -> None:
        super().__init__(model)
        self._has_kp = has_kp

    def torque(self, dq: Array, measured_dq: Array | None = None) -> Array:
        """
        Return the friction torque to command at a reference velocity, shape (n,) [N m].

        `measured_dq` is the joints' velocity, (n,) [rad/s], by default the reference's.
        """
        ahead = 0.0 if measured_dq is None else np.sign(dq) * (measured_dq - dq)
        return self._least_torque(dq, self.slip_state_bounds, self._has_kp, ahead)

    def torque_along(self, q: Array, dq: Array) -> Array:
        """
        Return the friction torque to command at N points of a motion, shape (N, n) [N m].

        A trajectory controller, which holds the arm, gets it.
        """
        return self._least_torque(dq, slip_state_bounds(q, getattr(self.model, 'reach', ())), True)

    def _least_torque(
        self, dq: Array, slip_bounds: Array, has_kp: ArrayLike, lead: Array | float = 0.0
    ) -> Array:
        """Return the friction to command, the least within `slip_bounds`, (..., n) [N m]."""
        model = self.model
        if model is None:
            return 0.0 * dq
        along, above = np.sign(dq), np.abs(dq) - MIN_FRICTION_SPEED_RAD_S
        speed = np.clip(above / (MAX_REST_SPEED_RAD_S - MIN_FRICTION_SPEED_RAD_S), 0.0, 1.0)
        left = (MAX_FRICTION_LEAD_RAD_S - lead) / (MAX_FRICTION_LEAD_RAD_S - MAX_REST_SPEED_RAD_S)
        push = along * speed * np.clip(left, 0.0, 1.0)
        if not isinstance(model, LinearFriction):
            return np.asarray(push * np.maximum(along * super().torque(dq), 0.0))
        sure = along[..., None, :] * model.coefficients
        terms = np.where(sure >= 0.0, *(model.terms(dq, bound) for bound in slip_bounds))
        terms[..., OFFSET_TERM_INDEX, :] = 0.0
        margin = FRICTION_MARGIN_STD_COUNT * model.torque_std(terms)
        least = np.maximum((sure * terms).sum(axis=-2) - margin, 0.0)
        return np.asarray(push * least + np.where(has_kp, 1.0, speed) * model.offset)


class StateTerms(NamedTuple):
    """
    One joint state with its stamp [s], and its torque terms; arrays of shape (n,), SI units.

    `gravity` is g(q), `coriolis` C(q, dq) dq, `inertia_torque` M(q) ddq of the reference.
    """

    stamp: float
    q: Array
    dq: Array
    gravity: Array
    coriolis: Array
    inertia_torque: Array

    @property
    def is_moving(self) -> bool:
        """Whether a joint is faster than MAX_REST_SPEED_RAD_S."""
        return max(map(abs, self.dq.tolist())) > MAX_REST_SPEED_RAD_S


class TermModel:
    """
    Computes gravity, Coriolis, inertia and friction torques of an arm under given settings.

    `loaded_arm` is the arm with its payload, `true_model` its model under the true gravity vector,
    `receiver_model` the arm as the receiver's gravity compensation models it, None if that does
    not compensate gravity or its model equals `true_model`. FCI assumes gravity (0, 0, -9.81)
    in the base frame, unless the mount's tilt is set in Desk (`mount_tilt_compensated_by`), and
    the payload of Desk or setLoad: the settings' and the description's, or none. `space_gravity`
    is the true gravity in {S}. `friction` gives the friction torque to command, zero if
    terms.friction is off. `arm` is the arm without the settings' payload, and
    `has_payload` says whether there is one.
    """

    def __init__(self, arm: ArmDescription, settings: Settings) -> None:
        loaded = arm.with_payload(settings.payload_inertia())
        self.loaded_arm, self.profile = loaded, settings.profile
        self.has_payload = settings.payload[0] > 0.0
        self.space_gravity = settings.gravity_in_space(arm)
        self.true_model = PinocchioModel(loaded, self.space_gravity)
        self._weightless_model = PinocchioModel(loaded, (0.0, 0.0, 0.0))
        self._zero = np.zeros(arm.n)
        known = loaded if settings.payload_known_to_robot else arm.without_payload()
        assumed = settings.gravity_assumed_by_receiver(arm)
        own = known is not loaded or not np.array_equal(assumed, self.space_gravity)
        self.adds_gravity = self.profile.receiver_adds_gravity
        self.receiver_model = PinocchioModel(known, assumed) if self.adds_gravity and own else None
        friction = arm.friction if settings.terms.friction else None
        self.friction = FrictionFeedforward(friction, settings.gains(arm.n)[0] > 0.0)

    def terms_at(
        self, stamp: float, q: Array, dq: Array, reference: ReferencePoint | None
    ) -> StateTerms:
        """Return the torque terms of a joint state; without reference the inertia torque is 0."""
        inertia = self._zero if reference is None else self.inertia_torque(q, reference.ddq)
        return StateTerms(stamp, q, dq, self.gravity(q), self.coriolis(q, dq), inertia)

    def gravity(self, q: Array) -> Array:
        """Return the whole gravity torque g(q), with payload, (n,) [N m]."""
        return pin.computeGeneralizedGravity(self.true_model.model, self.true_model.workspace.data, q)

    def gravity_to_command(self, q: Array, gravity_torque: Array) -> Array:
        """
        Return the part of `gravity_torque` that the receiver (target) does not add, (n,) [N m].

        The returned torque is exactly zero if the target compensates gravity and knows the
        payload, and gravity_vector is (0, 0, -9.81).
        """
        if not self.adds_gravity:
            return gravity_torque
        if (own := self.receiver_model) is None:
            return self._zero
        return gravity_torque - pin.computeGeneralizedGravity(own.model, own.workspace.data, q)

    def coriolis(self, q: Array, dq: Array) -> Array:
        """Return the Coriolis and centrifugal torque C(q, dq) dq, shape (n,) [N m]."""
        weightless = self._weightless_model
        return pin.rnea(weightless.model, weightless.workspace.data, q, dq, self._zero)

    def inertia_torque(self, q: Array, ddq: Array) -> Array:
        """Return the inertia torque M(q) ddq, shape (n,) [N m]."""
        weightless = self._weightless_model
        return pin.rnea(weightless.model, weightless.workspace.data, q, self._zero, ddq)
