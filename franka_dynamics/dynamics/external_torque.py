# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Estimates external joint torques by a momentum observer, and the load that nobody declared.

The torque of a body at the last link is linear in its mass and first moment (Atkeson, An,
Hollerbach 1986, "Estimation of Inertial Parameters of Manipulator Loads and Links", IJRR 5(3)).
These and a friction sign of each joint are fitted to the external torque while the arm moves, by
recursive least squares that forgets. Rotational inertia about the centre of mass is left out.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from .pinocchio_model import PinocchioModel
from ..arm import ArmDescription
from ..arm.friction import MAX_STATE_GAP_S
from ..arrays import Array

# At 1 kHz the estimate reaches 91 % of a step of the external torque after 24 ms.
OBSERVER_BANDWIDTH_RAD_S = 120.0
OBSERVER_DAMPING_RATIO = 0.71
OBSERVER_SETTLING_TIME_S = 6.0 / OBSERVER_BANDWIDTH_RAD_S
# External torques are averaged over so long [s], and fitted to the motion at its begin: the
# observer is late by half of it.
AVERAGING_BLOCK_S = 4.0 * OBSERVER_DAMPING_RATIO / OBSERVER_BANDWIDTH_RAD_S
FORGETTING_TIME_S = 5.0
MIN_LOAD_FIT_TIME_S = 2.0  # before so much motion nothing is said
MIN_LOAD_STD_COUNT = 3.0  # nor of a mass that is less than so many deviations
# Errors of an average that are independent of the next one, and friction's sign, as shares of a
# joint's torque limit. With them the masses of two real FER without a hand are within 2.3
# deviations of what the model has (the recordings in test/control/test_external.py).
TORQUE_ERROR_RATIO, FRICTION_ERROR_RATIO = 0.03, 0.05
# Deviations of an unknown load: its centre is some 0.1 m from the flange.
PRIOR_LOAD_MASS_STD_KG = 2.0
PRIOR_LOAD_MOMENT_STD_KG_M = 0.1 * PRIOR_LOAD_MASS_STD_KG


class MomentumObserver:
    """
    Estimates external joint torques from the generalised momentum p = M dq, without accelerations.

    The estimate is the torque missing in the momentum balance (De Luca, Albu-Schaeffer, Haddadin,
    Hirzinger 2006, "Collision Detection and Safe Reaction with the DLR-III Lightweight Manipulator
    Arm", eq. 13), filtered by w^2 / (s^2 + 2 d w s + w^2). With a damping ratio d of 0.71 this is
    the stationary Kalman filter for a momentum measured with white noise and an external torque
    modelled as a random walk (compare Wahrburg et al. 2018, "Motor-Current-Based Estimation of
    Cartesian Contact Forces and Torques for Robotic Manipulators and Its Application to Force
    Control", IEEE T-ASE 15(2)); it passes less of the gears' vibration than an equally fast
    first-order filter.

    The sign is that of FCI: tau_ext = tau_J - model = -J^T (wrench applied to the arm).

    `model` is the arm with its payload, under the gravity that acts on the arm.
    """

    def __init__(self, model: PinocchioModel) -> None:
        self._model = model
        self._still = np.zeros(model.description.n)
        # Stamp and momentum of the last state; the momentum is None before and by another model.
        self._last: tuple[float, Array | None] = -np.inf, None
        self._external = self._slope = self._still

    def reset_estimate(self, external: Array) -> None:
        """Restart the observer from an external torque, in the shape of the estimate [N m]."""
        self._external, self._slope = external, 0.0 * external

    def change_model(self, model: PinocchioModel, torque_change: Array) -> None:
        """Use another model from now on; add a change to the estimate, in its shape [N m]."""
        self._model, self._external = model, self._external + torque_change
        self._last = self._last[0], None

    def update(
        self, stamp: float, q: Array, dq: Array, torque: Array, gravity: Array | None = None
    ) -> Array:
        """
        Return the external torque, signed as FCI's tau_ext_hat_filtered, in the shape of `torque`.

        `torque`, shape (n,) or (k, n), is the joint torque [N m], gravity included, friction
        subtracted. Each of the k rows of `torque`, for instance measured and commanded torque,
        gets an estimate. `gravity` is g(q), shape (n,) [N m]; None: `update` computes g(q). A
        stamp [s] that goes back or leaves a gap of more than 50 ms restarts the observer.
        """
        model, data = self._model.model, self._model.data
        if gravity is None:
            gravity = pin.computeGeneralizedGravity(model, data, q).copy()
        # M dq from one recursive Newton-Euler pass with the acceleration dq, so that M is never
        # computed.
        momentum = pin.rnea(model, data, q, self._still, dq) - gravity
        rate = torque + (pin.computeCoriolisMatrix(model, data, q, dq).T @ dq - gravity)
        (before, last), self._last = self._last, (stamp, momentum)
        if last is None and before > -np.inf:
            return self._external
        elapsed = stamp - before
        if last is None or not 0.0 <= elapsed <= MAX_STATE_GAP_S:
            # The initial estimate of the external torque assumes constant momentum, which is exact
            # at rest; in motion the error of the estimate decays within 30 ms.
            self._external, self._slope = rate, np.zeros_like(rate)
            return self._external
        # Implicit integration makes the filter stable for any time step.
        step = OBSERVER_BANDWIDTH_RAD_S * elapsed
        lacks = elapsed * (rate - self._external) - (momentum - last)
        self._slope = (self._slope + OBSERVER_BANDWIDTH_RAD_S**2 * lacks) / (
            1.0 + 2.0 * OBSERVER_DAMPING_RATIO * step + step**2
        )
        self._external = self._external + elapsed * self._slope
        return self._external


class LoadEstimator:
    """
    Estimates mass and first moment of an undeclared load of one arm, state by state.

    Joints up to `rest_speed` [rad/s] are at rest.
    """

    def __init__(self, arm: ArmDescription, rest_speed: float) -> None:
        self._rest_speed = rest_speed
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
        if np.abs(ends[1][2]).max() > self._rest_speed:
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
        self._regressor = np.hstack((load, np.diag(np.tanh(dq / self._rest_speed))))
        weighted = self._regressor.T * self._weight
        keep = math.exp(-(end - begin) / FORGETTING_TIME_S)
        self._information = keep * self._information + (1.0 - keep) * self._prior
        self._information += weighted @ self._regressor
        self._vector = keep * self._vector + weighted @ mean
        self._moved_s += end - begin

    def load_torque(self) -> Array:
        """Return the load's torque at the latest motion, (n,) [N m]."""
        return np.asarray(
            self._regressor[:, :4] @ np.linalg.solve(self._information, self._vector)[:4]
        )

    def load_text(self) -> str:
        """Return the load's mass in words; '' before enough motion or if it is next to none."""
        if self._moved_s < MIN_LOAD_FIT_TIME_S:
            return ''
        covariance = np.linalg.inv(self._information)
        mass, deviation = float(covariance[0] @ self._vector), math.sqrt(covariance[0, 0])
        if abs(mass) < MIN_LOAD_STD_COUNT * deviation:
            return ''
        what = 'at the flange that nobody declared'
        if mass < 0.0:
            what = 'less at the flange than declared'
        return f'{abs(mass):.2f} +- {deviation:.2f} kg {what}'
