# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Brakes a moving arm to rest and holds the arm there, without a reference.

The torque is g(q) + C(q, dq) dq, a PD torque towards the pose where braking began, M(q) a as far
as kd damps less, and the disturbance torque, as far as it was there when braking began or
is small. What has grown since may be braking's own torque, which a wrong sensor cannot tell from a
load.
"""

from __future__ import annotations

import numpy as np

from .disturbance import MAX_START_DISTURBANCE_RATIO
from .external_torque import OBSERVER_SETTLING_TIME_S
from .limits import (
    MAX_BRAKING_DECELERATION_RAD_S2,
    MAX_STEP_S,
    MAX_TORQUE_RATE_NM_S,
    RUNAWAY_DETECTION_TIME_S,
)
from .reason import Code, Reason
from .state_check import MIN_GOOD_STATE_COUNT
from .terms import MAX_REST_SPEED_RAD_S, StateTerms, TermModel
from .watchers import MAX_SPEED_RATIO
from ..arm import ArmDescription
from ..typing import Array

# Time constant with which braking makes velocities decay [s]: thirty cycles of 1 ms, so that a
# delay of two cycles causes no overshoot; but at least MIN_TIME_CONSTANT_TO_AGE_RATIO times the
# age of the state. The pull to the stop pose damps critically with it, or is kp if that is larger.
BRAKING_TIME_CONSTANT_S = 30.0 * MAX_STEP_S
MIN_TIME_CONSTANT_TO_AGE_RATIO = 3.0
# Speed of a joint [rad/s] from which no disturbance is compensated along the motion: it would keep
# that up.
MAX_COMPENSATION_SPEED_RAD_S = 0.1
# A braked arm is driven by something else (the model, a sensor or the wiring is wrong) if a joint
# is faster than at first for RUNAWAY_DETECTION_TIME_S by this share of its velocity limit: one
# that was braked because of its speed has reached the limit then.
MAX_SPEED_INCREASE_RATIO = 1.0 - MAX_SPEED_RATIO
# Before this the torque from before braking may still act [s]; longer where the limit of its rate
# holds it back.
MIN_BRAKING_TIME_S = 0.02
# After MAX_BRAKING_TIME_S [s] the arm counts as held, even if it still moves.
MAX_BRAKING_TIME_S = 1.0


class BrakingController:
    """
    Computes the torque that brakes one arm to rest and holds the arm.

    Attributes
    ----------
    disturbance : ndarray, shape (n,)
        The compensated part of the torque that the model does not explain [N m], in FCI's sign.
    at_rest : bool
        Whether the arm has come to rest since `begin`.
    driven : Reason or None
        Why braking cannot succeed: something drives the arm.

    """

    def __init__(self, description: ArmDescription) -> None:
        self._names = description.joint_names
        self._faster = MAX_SPEED_INCREASE_RATIO * description.limit('velocity')
        # A disturbance that a start would allow is compensated whenever it comes: else one who
        # pushes a held arm with 80 N moves it so far that it is let go.
        self._small = MAX_START_DISTURBANCE_RATIO * description.limit('effort')
        self.begin(np.zeros(description.n))

    def begin(self, disturbance: Array, gains: tuple[Array, Array] | None = None) -> None:
        """
        Start braking at the next joint state.

        `disturbance` is the present disturbance torque, (n,) [N m]; `gains` are kp and kd of a PD
        torque, (n,) each [N m/rad, N m s/rad]. None: there is no PD torque.
        """
        self.disturbance = self._largest = disturbance
        self._gains = np.zeros((2, *disturbance.shape)) if gains is None else np.array(gains)
        self._pulls = gains is not None
        self.at_rest = False
        self.driven: Reason | None = None
        self._held_back = np.zeros_like(disturbance)
        self._turned_s: Array | None = None  # when each joint's torque has been turned [s]
        self._stop_pose: Array | None = None
        self._time = self._gaining = 0.0
        self._speed, self._resting = np.zeros_like(disturbance), 0

    def torque(
        self,
        state: StateTerms,
        terms: TermModel,
        disturbance: Array,
        elapsed: float,
        age: float = 0.0,
    ) -> Array:
        """
        Return the torque that brakes and then holds the arm, shape (n,) [N m].

        `disturbance` is the torque that the model does not explain now, (n,) [N m], `elapsed` the
        time since the state before [s], `age` the age of `state` [s]. With old states, and in a
        slow loop, whose torques are late, too, gains are scaled down until kd alone would not slow
        a joint within MIN_TIME_CONSTANT_TO_AGE_RATIO ages.
        """
        late = MIN_TIME_CONSTANT_TO_AGE_RATIO * (age + max(0.0, elapsed - MAX_STEP_S))
        q, dq, mass = state.q, state.dq, terms.true.mass_matrix(state.q)
        self._watch(np.abs(dq), elapsed)
        inertia, decay = mass.diagonal(), max(BRAKING_TIME_CONSTANT_S, late)
        kp, kd = self._gains / np.maximum(1.0, late * self._gains[1] / inertia)
        if self._stop_pose is None:
            self._stop_pose = q
        elif not self.at_rest:
            # Where limits hold back the torque, a pull to where braking began would come too late,
            # and make a joint with firm gains faster than it was.
            self._stop_pose = np.where(self._held_back != 0.0, q, self._stop_pose)
        # At first the observer lags behind an arm that falls: an FR3 mounted upside down,
        # undeclared, was not held without this.
        if self._time < OBSERVER_SETTLING_TIME_S:
            self._largest = np.where(
                np.abs(disturbance) > np.abs(self._largest), disturbance, self._largest
            )
        # States or torques may be late though no age says so: compensated at once, the torque
        # would drive a held arm with firm gains.
        filtered = min(1.0, elapsed / BRAKING_TIME_CONSTANT_S)
        disturbance = self.disturbance + filtered * (disturbance - self.disturbance)
        most, small = self._largest, self._small
        self.disturbance = np.clip(disturbance, np.minimum(-small, most), np.maximum(small, most))
        along = np.maximum(0.0, 1.0 - np.abs(dq) / MAX_COMPENSATION_SPEED_RAD_S)
        compensated = self.disturbance * np.where(self.disturbance * dq > 0.0, along, 1.0)
        # It yields where M(q) a would reach its bound, and the arm stays where it was pushed to.
        bound, time_squared = MAX_BRAKING_DECELERATION_RAD_S2, (2.0 * decay) ** 2
        yields = bound * time_squared
        away = np.clip(q - self._stop_pose, -yields, yields)
        self._stop_pose = q - away
        missing = 1.0 - np.minimum(1.0, kd * decay / inertia)
        slowing = self._pulls / time_squared * away + np.clip(dq / decay, -bound, bound)
        feedforward = terms.gravity_to_command(q, state.gravity) + state.coriolis + compensated
        return feedforward - kp * away - kd * dq - mass @ (missing * slowing)

    def change_load(self, added_gravity: Array) -> None:
        """Keep a held arm's torque unchanged when g(q) grows by `added_gravity`, (n,) [N m]."""
        self.disturbance = self.disturbance - added_gravity
        self._largest = self._largest - added_gravity

    def limit(self, desired: Array, sent: Array) -> None:
        """Record a desired torque and what limits left of it, (n,) each [N m]."""
        self._held_back = desired - sent
        if self._turned_s is None:
            turning = np.abs(self._held_back) / MAX_TORQUE_RATE_NM_S
            self._turned_s = np.maximum(MIN_BRAKING_TIME_S, turning)

    def _watch(self, speed: Array, elapsed: float) -> None:
        """Set `at_rest` and `driven`."""
        self._time += elapsed
        # Gears ripple.
        self._resting = self._resting + 1 if speed.max() < 2.0 * MAX_REST_SPEED_RAD_S else 0
        self.at_rest = (
            self.at_rest
            or self._resting >= MIN_GOOD_STATE_COUNT
            or self._time > MAX_BRAKING_TIME_S
        )
        turning = True if self._turned_s is None else self._time < self._turned_s
        self._speed = np.where(turning, np.maximum(self._speed, speed), self._speed)
        faster = speed - self._speed
        joint = int((faster - self._faster).argmax())
        gains = not self.at_rest and faster[joint] > self._faster[joint]
        self._gaining = self._gaining + elapsed if gains else 0.0
        if self._gaining >= RUNAWAY_DETECTION_TIME_S:
            name, more = self._names[joint], float(faster[joint])
            self.driven = Code.BRAKING_DRIVES(joint=name, faster=more)
