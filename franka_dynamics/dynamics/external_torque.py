# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Estimates external joint torques, and from these the undeclared load and external wrench.

The torque of a body at the last link is linear in its mass and first moment (Atkeson, An,
Hollerbach 1986, "Estimation of Inertial Parameters of Manipulator Loads and Links", IJRR 5(3)).
These and a friction sign of each joint are fitted to the external torque while the arm moves, by
recursive least squares that forgets. Rotational inertia about the centre of mass is left out.
Sensors behind the drives do not measure what accelerates rotors, others do: where a model has
rotors, a part of their inertia is fitted as well. Else it would count as less load.

Sign and axes of wrenches are those of libfranka's O_F_ext_hat_K, which franka_ros2's state
broadcaster publishes as external_wrench_in_base_frame. A wrench that the robot exerts on its
surroundings is positive. Axes are those of the base; moments are about the point at which the
wrench acts, by default the flange's origin. A wrench F on the surroundings corresponds to
tau_ext = J^T F in FCI's sign.
"""

import math
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from .pinocchio_model import PinocchioModel
from ..arguments import with_argument_checks
from ..arm import ArmDescription
from ..arm.frames import FLANGE, Frame, frame_placement
from ..arm.friction_state import MAX_STATE_GAP_S
from ..arrays import Array, ArrayLike, as_array
from ..errors import SettingsError, short_text

# At 1 kHz the estimate reaches 91 % of a step of the external torque after 24 ms.
OBSERVER_BANDWIDTH_RAD_S = 120.0
OBSERVER_DAMPING_RATIO = 0.71
OBSERVER_SETTLING_TIME_S = 6.0 / OBSERVER_BANDWIDTH_RAD_S
# External torques are averaged over blocks of this duration [s], and fitted to the motion at the
# block's begin, because the observer is late by half of it.
AVERAGING_BLOCK_S = 4.0 * OBSERVER_DAMPING_RATIO / OBSERVER_BANDWIDTH_RAD_S
# Time constant with which earlier motion is forgotten [s]. After a rest that lasts longer the
# estimate begins anew.
LOAD_FORGETTING_TIME_S = 5.0
# Nothing is said of a load before so much motion [s].
MIN_LOAD_FIT_TIME_S = 2.0
# Nothing is said of a mass that is smaller than so many of its standard deviations.
MIN_LOAD_MASS_TO_STD = 3.0
# Information on the friction of a joint without a torque limit, small beside that of any other.
_MIN_FRICTION_INFORMATION = 1e-9
# Standard deviation of an average's error that is independent of the next one's, as a share of a
# joint's torque limit. With it and the next constant the masses of two real FER without a hand are
# within 2.3 deviations of what the model has (the recordings in test/control/test_external.py).
TORQUE_STD_TO_EFFORT_LIMIT = 0.03
# Standard deviation of a friction that keeps its sign, as a share of the torque limit.
FRICTION_STD_TO_EFFORT_LIMIT = 0.05
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
        self._zero_velocity = np.zeros(model.description.n)
        self._last_stamp = -np.inf
        # Momentum at the last stamp by the present model; None before the first state, and until
        # the next one after the model has changed.
        self._last_momentum: Array | None = None
        self._estimate = self._zero_velocity
        self._estimate_rate = self._zero_velocity

    def reset_estimate(self, external_torque: Array) -> None:
        """Set the estimate to an external torque of its shape [N m], and its rate to zero."""
        self._estimate = external_torque
        self._estimate_rate = 0.0 * external_torque

    def change_model(self, model: PinocchioModel, torque_change: Array) -> None:
        """Replace the model, and add a change [N m] to the estimate of external torque."""
        self._model = model
        self._estimate = self._estimate + torque_change
        self._last_momentum = None

    def update(
        self,
        stamp: float,
        q: Array,
        dq: Array,
        torque: Array,
        gravity_torque: Array | None = None,
    ) -> Array:
        """
        Update and return the external torque, signed as FCI's, in the shape of `torque` [N m].

        `torque`, shape (n,) or (k, n), is the joint torque [N m], gravity included, friction
        subtracted. Each of the k rows of `torque`, for instance measured and commanded torque,
        gets an estimate. `gravity_torque` is g(q), shape (n,) [N m]; None: `update` computes g(q).
        A stamp [s] that goes back or leaves a gap of more than 50 ms restarts the observer.
        """
        model = self._model.model
        data = self._model.data
        if gravity_torque is None:
            gravity_torque = pin.computeGeneralizedGravity(model, data, q).copy()
        # M dq from one recursive Newton-Euler pass with the acceleration dq, so that M is never
        # computed.
        momentum = pin.rnea(model, data, q, self._zero_velocity, dq) - gravity_torque
        rate = torque + (dq @ pin.computeCoriolisMatrix(model, data, q, dq) - gravity_torque)
        elapsed = stamp - self._last_stamp
        last_momentum = self._last_momentum
        self._last_stamp = stamp
        self._last_momentum = momentum
        if not 0.0 <= elapsed <= MAX_STATE_GAP_S:
            # The initial estimate of the external torque assumes constant momentum, which is exact
            # at rest; in motion the error of the estimate decays within 30 ms.
            self._estimate = rate
            self._estimate_rate = np.zeros_like(rate)
            return self._estimate
        if last_momentum is None:  # the model has changed: there is none to compare with
            return self._estimate
        # Implicit integration makes the filter stable for any time step.
        step = OBSERVER_BANDWIDTH_RAD_S * elapsed
        missing = elapsed * (rate - self._estimate) - (momentum - last_momentum)
        self._estimate_rate = (self._estimate_rate + OBSERVER_BANDWIDTH_RAD_S**2 * missing) / (
            1.0 + 2.0 * OBSERVER_DAMPING_RATIO * step + step**2
        )
        self._estimate = self._estimate + elapsed * self._estimate_rate
        return self._estimate


class _TimedState(NamedTuple):
    """A joint state, (n,) each, at its stamp [s]."""

    stamp: float
    q: Array
    dq: Array


class LoadEstimator:
    """
    Estimates mass and first moment of an undeclared load of one arm, state by state.

    Joints up to `rest_speed` [rad/s] are at rest.
    """

    def __init__(self, arm: ArmDescription, rest_speed: float) -> None:
        self._rest_speed = rest_speed
        effort = arm.limit('effort')
        # A joint without a torque limit counts for nothing.
        self._torque_weights = 1.0 / (TORQUE_STD_TO_EFFORT_LIMIT * effort) ** 2
        friction = np.maximum(
            1.0 / (FRICTION_STD_TO_EFFORT_LIMIT * effort) ** 2, _MIN_FRICTION_INFORMATION
        )
        load = [
            1.0 / PRIOR_LOAD_MASS_STD_KG**2,
            *[1.0 / PRIOR_LOAD_MOMENT_STD_KG_M**2] * 3,
        ]
        rotors = np.array([joint.rotor_inertia for joint in arm.joints])
        self._has_rotor = rotors > 0.0
        self._prior = np.diag([*load, *friction, *(1.0 / rotors[self._has_rotor] ** 2)])
        self.reset()

    def reset(self) -> None:
        """Reset the estimate to no undeclared load, for instance when a load is declared."""
        # Information matrix and vector of mass [kg], first moment [kg m], friction [N m] and
        # inertia of rotors [kg m^2].
        self._info_matrix = self._prior.copy()
        self._info_vector = np.zeros(len(self._prior))
        # Columns of load, friction and rotors at the latest motion, (n, parameters).
        self._latest_regressor = np.zeros((len(self._torque_weights), len(self._prior)))
        self._motion_time_s = 0.0
        self._rest_time_s = 0.0
        self._discard_averages()

    def _discard_averages(self) -> None:
        """Discard the average of external torque, and the states at which averages ended."""
        self._end_states: list[_TimedState] = []
        self._tau_sum = np.zeros_like(self._torque_weights)
        self._sample_count = 0

    def update(
        self,
        stamp: float,
        q: Array,
        dq: Array,
        external_torque: Array,
        model: PinocchioModel,
    ) -> None:
        """
        Update the estimate by a state and its external torque, (n,) [N m].

        The torque is the measured one less that of `model`; `stamp` in s, `q` and `dq`, (n,) each,
        in rad and rad/s. After a rest of LOAD_FORGETTING_TIME_S the estimate begins anew, because
        a load may have been put down or taken up.
        """
        self._tau_sum = self._tau_sum + external_torque
        self._sample_count = self._sample_count + 1
        if self._end_states and 0.0 < stamp - self._end_states[-1].stamp < AVERAGING_BLOCK_S:
            return
        mean = self._tau_sum / self._sample_count
        ends = [*self._end_states[-2:], _TimedState(stamp, q, dq)]
        longest = AVERAGING_BLOCK_S + MAX_STATE_GAP_S
        if len(ends) > 1 and not 0.0 < stamp - ends[-2].stamp <= longest:
            self._discard_averages()
            ends = ends[-1:]
        self._end_states = ends
        self._tau_sum = 0.0 * self._tau_sum
        self._sample_count = 0
        if len(ends) < 3:
            return
        begin = ends[1]
        if np.abs(begin.dq).max() > self._rest_speed:
            self._rest_time_s = 0.0
            self._fit_load(mean, model)
        elif self._rest_time_s < LOAD_FORGETTING_TIME_S:
            self._rest_time_s += stamp - begin.stamp
        else:
            self.reset()

    def _fit_load(self, mean_external_torque: Array, arm_model: PinocchioModel) -> None:
        """
        Update the load estimate by a time average of external torque, (n,) [N m].

        The average is that of the block between the last two of the three end states; the motion
        is that at the block's begin.
        """
        before, begin, end = self._end_states
        model = arm_model.model
        data = arm_model.data
        last_joint = arm_model.model.njoints - 1
        ddq = (end.dq - before.dq) / (end.stamp - before.stamp)
        pin.rnea(model, data, begin.q, begin.dq, ddq)
        wrenches = pin.jointBodyRegressor(model, data, last_joint)[:, :4]
        jacobian = pin.computeJointJacobian(model, data, begin.q, last_joint).reshape(6, -1)
        load = jacobian.T @ wrenches
        friction = np.diag(np.tanh(begin.dq / self._rest_speed))
        rotors = np.diag(ddq)[:, self._has_rotor]
        self._latest_regressor = np.hstack((load, friction, rotors))
        weighted = self._latest_regressor.T * self._torque_weights
        duration = end.stamp - begin.stamp
        kept = math.exp(-duration / LOAD_FORGETTING_TIME_S)
        self._info_matrix = kept * self._info_matrix + (1.0 - kept) * self._prior
        self._info_matrix += weighted @ self._latest_regressor
        self._info_vector = kept * self._info_vector + weighted @ mean_external_torque
        self._motion_time_s += duration

    def load_torque(self) -> Array:
        """Return joint torques of the undeclared load at the latest motion, (n,) [N m]."""
        load = np.linalg.solve(self._info_matrix, self._info_vector)[:4]
        return np.asarray(self._latest_regressor[:, :4] @ load)

    def load_mass_text(self) -> str:
        """Return an undeclared load's mass as text; '' if insignificant or after little motion."""
        if self._motion_time_s < MIN_LOAD_FIT_TIME_S:
            return ''
        covariance = np.linalg.inv(self._info_matrix)
        mass = float(covariance[0] @ self._info_vector)
        deviation = math.sqrt(covariance[0, 0])
        if abs(mass) < MIN_LOAD_MASS_TO_STD * deviation:
            return ''
        what = 'at the flange that nobody declared'
        if mass < 0.0:
            what = 'less at the flange than declared'
        return f'{abs(mass):.2f} +- {deviation:.2f} kg {what}'


# Standard deviation of the estimated external torque of the strongest joints while nobody touches
# the arm [N m]. The momentum observer's estimates had standard deviations of 0.5 to 0.9 N m on
# recordings of two real FERs that moved at up to 85 % and 53 % of their velocity limits. The
# standard deviation of weaker joints shrinks with the cube root of the torque limit.
EXTERNAL_TORQUE_STD_NM = 0.5
# Makes moments comparable to forces: of the order of the distance of a Franka's flange from joint
# axis 6, 0.14 m.
CHARACTERISTIC_LENGTH_M = 0.2
# A direction is singular, and its estimate damped, if one standard deviation of the joint torques
# corresponds to a force above this, or to a moment above this times CHARACTERISTIC_LENGTH_M.
MAX_FORCE_STD_N = 20.0
_MAX_TOOL_DISTANCE_M = 10.0  # of a tool centre point from its frame


class ExternalWrench(NamedTuple):
    """
    An estimated wrench of the arm on its surroundings (force [N], moment [N m]), and covariance.

    Attributes
    ----------
    wrench : ndarray, shape (6,)
        Force [N] and moment about the point where the wrench acts [N m], axes of the base, exerted
        by the arm on its surroundings (libfranka's sign).
    covariance : ndarray, shape (6, 6)
        Covariance of the undamped least squares, so that an unobservable direction has a large
        variance although its estimate is damped to a small value.
    unexplained_torque : float
        Norm of the joint torques that `wrench` does not explain [N m], because of damping, a
        contact elsewhere or errors of the model.
    max_force_std : float
        Largest standard deviation of any direction [N]; a moment is divided by
        CHARACTERISTIC_LENGTH_M.

    """

    wrench: Array
    covariance: Array
    unexplained_torque: float
    max_force_std: float

    @property
    def is_singular(self) -> bool:
        """Whether a direction of the wrench is nearly unobservable and therefore damped."""
        return self.max_force_std > MAX_FORCE_STD_N

    def accuracy_text(self) -> str:
        """Return text on the wrench's standard deviation, or that the pose is singular."""
        if self.is_singular:
            return 'singular pose: some directions of the wrench are unobservable and damped'
        return f'standard deviation at most {self.max_force_std:.1f} N in every direction'


@with_argument_checks
class WrenchEstimator:
    """
    Estimates the arm's wrench on its surroundings by a damped, weighted pseudo-inverse of J^T.

    Joint torques are divided by their standard deviations, moments by CHARACTERISTIC_LENGTH_M.
    Along a singular vector of the weighted J^T with singular value s, the inverse is s / (s^2 +
    d^2). The damping d is zero unless the standard deviation 1 / s exceeds MAX_FORCE_STD_N
    (numerical filtering: Maciejewski and Klein 1988, "Numerical filtering for the operation of
    robotic manipulators through kinematically singular configurations", Journal of Robotic Systems
    5(6)); d then grows from zero, so that the wrench does not jump.

    `frame` is a frame as `Model.jacobian` takes it. `offset`, shape (3,), is the point in `frame`
    at which the wrench acts, such as a tool centre point [m]. `torque_std`, shape (n,), are
    standard deviations of the external torques [N m], by default the observer's. Raises
    FrameError if `frame` does not exist, and SettingsError if `offset` is not three numbers
    within 10 m.
    """

    def __init__(
        self,
        model: PinocchioModel,
        frame: Frame = FLANGE,
        offset: ArrayLike | None = None,
        torque_std: ArrayLike | None = None,
    ) -> None:
        self.model = model
        self._frame = frame
        frame_placement(frame, model.description)  # raises FrameError
        given = np.zeros(3) if offset is None else offset
        self._offset = as_array(given, (3,), 'offset', SettingsError)
        if np.abs(self._offset).max() > _MAX_TOOL_DISTANCE_M:
            raise SettingsError(
                f'offset is {short_text(str(offset))}; give three numbers, x y z within '
                f'{_MAX_TOOL_DISTANCE_M:g} m of the frame.'
            )
        std = external_torque_std(model.description) if torque_std is None else torque_std
        self.torque_std = as_array(std, (model.description.n,), 'torque_std', SettingsError)
        if not (self.torque_std > 0.0).all():
            joint = int(np.argmin(self.torque_std))
            raise SettingsError(
                f'torque_std of {model.description.joint_names[joint]} is '
                f'{self.torque_std[joint]:g}; a standard deviation must be above zero.'
            )
        # Factors that turn all components of a wrench into newtons.
        self._wrench_scales = np.array([1.0] * 3 + [1.0 / CHARACTERISTIC_LENGTH_M] * 3)

    def jacobian(self, q: Array) -> Array:
        """Return the Jacobian (6, n), in the axes of {S}, of the point where the wrench acts."""
        jacobian = self.model.jacobian(q, self._frame)
        lever = self.model.frame_pose(q, self._frame)[:3, :3] @ self._offset
        return np.vstack([jacobian[:3] + np.cross(jacobian[3:].T, lever).T, jacobian[3:]])

    def estimate(self, q: Array, external_torque: Array) -> ExternalWrench:
        """Return the wrench, damped if singular, for external torques (n,) [N m] of FCI's sign."""
        jacobian = self.jacobian(q)
        # In `weighted`, torques are in units of their standard deviations, wrench components in
        # newtons.
        weighted = (jacobian / self._wrench_scales[:, None]).T / self.torque_std[:, None]
        squares, directions = np.linalg.eigh(weighted.T @ weighted)
        damped_squares = np.maximum(squares, MAX_FORCE_STD_N**-2)
        by_direction = directions.T @ (weighted.T @ (external_torque / self.torque_std))
        wrench = directions @ (by_direction / damped_squares) / self._wrench_scales
        # The eigenvalue of an unobservable direction is zero but for rounding.
        stds = np.maximum(squares, np.finfo(float).eps * squares[-1]) ** -0.5
        deviations = directions * stds / self._wrench_scales[:, None]
        unexplained = np.linalg.norm(external_torque - jacobian.T @ wrench)
        return ExternalWrench(
            wrench=wrench,
            covariance=deviations @ deviations.T,
            unexplained_torque=float(unexplained),
            max_force_std=float(stds[0]),
        )


def estimate_wrenches(estimator: WrenchEstimator, q: Array, torque: Array) -> tuple[Array, Array]:
    """
    Return the wrench on the surroundings at each state, and its deviations, (N, 6) [N, N m].

    `q` are positions [rad], `torque` external torques signed as FCI's [N m], (N, n) each.
    """
    estimates = [estimator.estimate(*rows) for rows in zip(q, torque, strict=True)]
    wrenches = [estimate.wrench for estimate in estimates]
    deviations = [np.sqrt(np.diagonal(estimate.covariance)) for estimate in estimates]
    return np.array(wrenches), np.array(deviations)


def external_torque_std(description: ArmDescription) -> Array:
    """
    Return the standard deviations of estimated external torques without contact, (n,) [N m].

    They are those of the arm's `torque_deviation` that the momentum observer shows. Without it a
    joint with 1/k of the strongest joints' torque limit has a standard deviation of
    EXTERNAL_TORQUE_STD_NM / cbrt(k), one without known limit EXTERNAL_TORQUE_STD_NM.
    """
    if description.torque_deviation is not None:
        return description.torque_deviation.observed
    effort = description.limit('effort')
    strongest = effort.max(where=np.isfinite(effort), initial=0.0) or 1.0
    shares = np.where(np.isfinite(effort), effort, strongest) / strongest
    return EXTERNAL_TORQUE_STD_NM * np.cbrt(shares)
