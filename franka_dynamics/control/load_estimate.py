# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Estimates the load at the flange that nobody declared, while the arm moves; it changes no torque.

The torque of a body at the last link is linear in its mass and first moment (Atkeson, An,
Hollerbach 1986, "Estimation of Inertial Parameters of Manipulator Loads and Links", IJRR 5(3)).
These and a friction sign of each joint are fitted to the external torque of the momentum observer,
by recursive least squares that forgets. Rotational inertia about the centre of mass is left out.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from .external_torque import OBSERVER_BANDWIDTH_RAD_S, OBSERVER_DAMPING_RATIO
from .terms import MAX_REST_SPEED_RAD_S
from ..arm import ArmDescription
from ..arm.friction import MAX_STATE_GAP_S
from ..dynamics.pinocchio_model import PinocchioModel
from ..typing import Array

# External torques are averaged over so long [s], and fitted to the motion at its begin: the
# observer is late by half of it.
AVERAGING_BLOCK_S = 4.0 * OBSERVER_DAMPING_RATIO / OBSERVER_BANDWIDTH_RAD_S
FORGETTING_TIME_S = 5.0
MIN_LOAD_MOTION_TIME_S = 2.0  # before so much motion nothing is said
MIN_LOAD_STD_COUNT = 3.0  # nor of a mass that is less than so many deviations
# Errors of an average that are independent of the next one, and friction's sign, as shares of a
# joint's torque limit. With them the masses of two real FER without a hand are within 2.3
# deviations of what the model has (the recordings in test/control/test_load_estimate.py).
TORQUE_ERROR_RATIO, FRICTION_ERROR_RATIO = 0.03, 0.05
# Deviations of an unknown load: its centre is some 0.1 m from the flange.
PRIOR_LOAD_MASS_STD_KG = 2.0
PRIOR_LOAD_MOMENT_STD_KG_M = 0.1 * PRIOR_LOAD_MASS_STD_KG


class LoadEstimate:
    """Estimates mass and first moment of an undeclared load of one arm, state by state."""

    def __init__(self, arm: ArmDescription) -> None:
        effort = arm.limit('effort')
        # A joint without a torque limit counts for nothing.
        self._weight = 1.0 / (TORQUE_ERROR_RATIO * effort) ** 2
        friction = np.maximum(1.0 / (FRICTION_ERROR_RATIO * effort) ** 2, 1e-9)
        load = [1.0 / PRIOR_LOAD_MASS_STD_KG**2, *[1.0 / PRIOR_LOAD_MOMENT_STD_KG_M**2] * 3]
        self._prior = np.diag([*load, *friction])
        self.reset()

    def reset(self) -> None:
        """Reset to no known load, as when another one is declared."""
        # Information matrix and vector of mass [kg], first moment [kg m] and friction [N m].
        self._information, self._vector = self._prior.copy(), np.zeros(len(self._prior))
        self._regressor = self._prior[: len(self._weight)]  # of the latest motion
        self._moved_s = self._rested_s = 0.0
        self._discard_averages()

    def _discard_averages(self) -> None:
        """Discard the average of torques that is being taken, and the states of the last ones."""
        self._ends: list[tuple[float, Array, Array]] = []
        self._sum, self._count = np.zeros_like(self._weight), 0

    def update(
        self, stamp: float, q: Array, dq: Array, torque: Array, arm: PinocchioModel
    ) -> None:
        """
        Update the estimate by a joint state and its external torque, (n,) [N m].

        The torque is the measured one less that of `arm`; `stamp` in s, `q` and `dq`, (n,) each,
        in rad and rad/s.
        """
        self._sum, self._count = self._sum + torque, self._count + 1
        if self._ends and 0.0 < stamp - self._ends[-1][0] < AVERAGING_BLOCK_S:
            return
        mean, ends = self._sum / self._count, [*self._ends[-2:], (stamp, q, dq)]
        if len(ends) > 1 and not 0.0 < stamp - ends[-2][0] <= AVERAGING_BLOCK_S + MAX_STATE_GAP_S:
            self._discard_averages()
            ends = ends[-1:]
        self._ends, self._sum, self._count = ends, 0.0 * self._sum, 0
        if len(ends) < 3:
            return
        if np.abs(ends[1][2]).max() > MAX_REST_SPEED_RAD_S:
            self._rested_s = 0.0
            self._fit_load(mean, arm)
        elif self._rested_s < FORGETTING_TIME_S:
            self._rested_s += stamp - ends[1][0]
        else:  # a load may have been put down or taken up
            self.reset()

    def _fit_load(self, mean: Array, arm: PinocchioModel) -> None:
        """Update the load by a mean external torque, (n,) [N m], at the state where it began."""
        (before, _, slow), (begin, q, dq), (end, _, fast) = self._ends
        model, data, last = arm.model, arm.data, arm.model.njoints - 1
        pin.rnea(model, data, q, dq, (fast - slow) / (end - before))
        wrenches = pin.jointBodyRegressor(model, data, last)[:, :4]
        load = pin.computeJointJacobian(model, data, q, last).T @ wrenches
        self._regressor = np.hstack((load, np.diag(np.tanh(dq / MAX_REST_SPEED_RAD_S))))
        weighted, keep = (
            self._regressor.T * self._weight,
            math.exp(-(end - begin) / FORGETTING_TIME_S),
        )
        self._information = keep * self._information + (1.0 - keep) * self._prior
        self._information += weighted @ self._regressor
        self._vector = keep * self._vector + weighted @ mean
        self._moved_s += end - begin

    def mass_and_std(self) -> tuple[float, float]:
        """Return the mass that nobody declared and its deviation [kg]."""
        covariance = np.linalg.inv(self._information)
        return float(covariance[0] @ self._vector), math.sqrt(covariance[0, 0])

    def load_torque(self) -> Array:
        """Return the load's torque at the latest motion, (n,) [N m]."""
        return np.asarray(
            self._regressor[:, :4] @ np.linalg.solve(self._information, self._vector)[:4]
        )

    def load_text(self) -> str:
        """Return the load's mass in words; '' before enough motion or if it is next to none."""
        if self._moved_s < MIN_LOAD_MOTION_TIME_S:
            return ''
        mass, deviation = self.mass_and_std()
        if abs(mass) < MIN_LOAD_STD_COUNT * deviation:
            return ''
        what = 'at the flange that nobody declared'
        if mass < 0.0:
            what = 'less at the flange than declared'
        return f'{abs(mass):.2f} +- {deviation:.2f} kg {what}'
