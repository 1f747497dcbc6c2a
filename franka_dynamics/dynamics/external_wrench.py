# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Estimates the wrench of an arm on its surroundings from external joint torques.

Sign and axes are those of libfranka's O_F_ext_hat_K, which franka_ros2's state broadcaster
publishes as external_wrench_in_base_frame. A wrench that the robot exerts on its surroundings is
positive. Axes are those of the base; moments are about the point at which the wrench acts, by
default the flange's origin. A wrench F on the surroundings corresponds to tau_ext = J^T F in FCI's
sign.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .pinocchio_model import PinocchioModel
from ..arguments import with_argument_checks
from ..arm import ArmDescription
from ..arm.frames import FLANGE, Frame, frame_placement
from ..arrays import Array, ArrayLike, as_array
from ..errors import SettingsError, short_text

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
    An estimated wrench (force, moment) with its covariance.

    Attributes
    ----------
    wrench : ndarray, shape (6,)
        Force [N] and moment about the point where the wrench acts [N m], axes of the base, exerted
        by the arm on its surroundings (libfranka's sign).
    covariance : ndarray, shape (6, 6)
        Covariance of the undamped least squares, so that an unobservable direction has a large
        variance although its estimate is damped to a small value.
    unexplained : float
        Norm of the joint torques that `wrench` does not explain [N m], because of damping, a
        contact elsewhere or errors of the model.
    max_std : float
        Largest standard deviation of any direction [N]; a moment is divided by
        CHARACTERISTIC_LENGTH_M.

    """

    wrench: Array
    covariance: Array
    unexplained: float
    max_std: float

    @property
    def singular(self) -> bool:
        """Whether some direction of the wrench is singular and therefore damped."""
        return self.max_std > MAX_FORCE_STD_N

    def accuracy_text(self) -> str:
        """Return how accurate the wrench is, in words."""
        if self.singular:
            return 'singular pose: some directions of the wrench are unobservable and damped'
        return f'standard deviation at most {self.max_std:.1f} N in every direction'


@with_argument_checks
class WrenchEstimator:
    """
    Estimates the wrench by a damped, weighted pseudo-inverse of a frame's transposed Jacobian.

    Joint torques are divided by their standard deviations, moments by CHARACTERISTIC_LENGTH_M.
    Along a singular vector of the weighted J^T with singular value s, the inverse is s / (s^2 +
    d^2). The damping d is zero unless the standard deviation 1 / s exceeds MAX_FORCE_STD_N
    (numerical filtering: Maciejewski and Klein 1988, "Numerical filtering for the operation of
    robotic manipulators through kinematically singular configurations", Journal of Robotic Systems
    5(6)); d then grows from zero, so that the wrench does not jump.

    `frame` is a frame as `Model.jacobian` takes it. `offset`, shape (3,), is the point in `frame`
    at which the wrench acts, such as a tool centre point [m]. Raises FrameError if `frame` does
    not exist, and SettingsError if `offset` is not three numbers within 10 m.
    """

    def __init__(
        self, model: PinocchioModel, frame: Frame = FLANGE, offset: ArrayLike | None = None
    ) -> None:
        self.model, self._frame = model, frame
        frame_placement(frame, model.description)  # raises FrameError
        given = np.zeros(3) if offset is None else offset
        self._offset = as_array(given, (3,), 'offset', SettingsError)
        if np.abs(self._offset).max() > _MAX_TOOL_DISTANCE_M:
            raise SettingsError(
                f'offset is {short_text(str(offset))}; give three numbers, x y z within '
                f'{_MAX_TOOL_DISTANCE_M:g} m of the frame.'
            )
        self.torque_std = external_torque_std(model.description)
        # Factors that turn all components of a wrench into newtons.
        self._scale = np.array([1.0] * 3 + [1.0 / CHARACTERISTIC_LENGTH_M] * 3)

    def jacobian(self, q: Array) -> Array:
        """Return the (6, n) Jacobian of the point where the wrench acts, axes of the base."""
        jacobian = self.model.jacobian(q, self._frame)
        lever = self.model.frame_pose(q, self._frame)[:3, :3] @ self._offset
        return np.vstack([jacobian[:3] + np.cross(jacobian[3:].T, lever).T, jacobian[3:]])

    def estimate(self, q: Array, torque: Array) -> ExternalWrench:
        """Return the wrench that explains external torques best, (n,) [N m], signed as FCI's."""
        jacobian = self.jacobian(q)
        # In `weighed`, torques are in units of their standard deviations, wrench components in
        # newtons.
        weighed = (jacobian / self._scale[:, None]).T / self.torque_std[:, None]
        squares, directions = np.linalg.eigh(weighed.T @ weighed)
        damped = np.maximum(squares, MAX_FORCE_STD_N**-2)
        seen = directions.T @ (weighed.T @ (torque / self.torque_std))
        wrench = directions @ (seen / damped) / self._scale
        # The eigenvalue of an unobservable direction is zero but for rounding.
        known = np.maximum(squares, np.finfo(float).eps * squares[-1]) ** -0.5
        spread = directions * known / self._scale[:, None]
        return ExternalWrench(
            wrench,
            spread @ spread.T,
            float(np.linalg.norm(torque - jacobian.T @ wrench)),
            float(known[0]),
        )


def estimate_wrenches(estimator: WrenchEstimator, q: Array, torque: Array) -> tuple[Array, Array]:
    """
    Return the wrench of each state and its standard deviations, (N, 6) each [N, N m].

    `q` are positions [rad], `torque` external torques signed as FCI's [N m], (N, n) each.
    """
    estimates = [estimator.estimate(*rows) for rows in zip(q, torque, strict=True)]
    deviations = [np.sqrt(np.diagonal(one.covariance)) for one in estimates]
    return np.array([one.wrench for one in estimates]), np.array(deviations)


def external_torque_std(description: ArmDescription) -> Array:
    """
    Return the standard deviations of estimated external torques without contact, (n,) [N m].

    A joint with 1/k of the strongest joints' torque limit has a standard deviation of
    EXTERNAL_TORQUE_STD_NM / cbrt(k). If no torque limit is known, all joints have
    EXTERNAL_TORQUE_STD_NM.
    """
    effort = description.limit('effort')
    strongest = effort.max(where=np.isfinite(effort), initial=0.0) or 1.0
    shares = np.where(np.isfinite(effort), effort, strongest) / strongest
    return EXTERNAL_TORQUE_STD_NM * np.cbrt(shares)
