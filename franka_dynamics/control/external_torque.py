# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What acts on the arm from outside, from measured torque and the model.

Two estimates of the same torque, in FCI's sign: tau_ext = tau_J - model = -J^T (wrench applied
to the arm). The plain residual is immediate and as noisy as the differentiated velocity; the
momentum observer needs no acceleration and is smooth, but lags by 12 ms.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from .settings import TargetProfile
from ..arm import ArmDescription
from ..arm.friction import FrictionModel
from ..arm.friction_state import FrictionState, LONGEST_STEP_S
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import SettingsError
from ..typing import Array

# Of the observer [rad/s]: 22 ms to 92 % of a step.
BANDWIDTH, DAMPING = 120.0, 0.71
EFFORT_FRICTION = ('auto', 'included', 'excluded')


def friction_in_effort(
    choice: str, description: ArmDescription, profile: TargetProfile
) -> FrictionModel | None:
    """
    Return the friction model that measured efforts contain, or None if they contain none.

    `choice` is one of EFFORT_FRICTION. On a real arm the joint torque sensors see the friction
    that the arm file holds; plain simulators have none of it, so `auto` goes by the target.

    Raises
    ------
    SettingsError
        If it is `included` but the arm file has no friction model.

    """
    if choice == 'included' and description.friction is None:
        raise SettingsError(
            f'effort_friction is included, but {description.file or description.name} has no '
            'friction model; add one to the arm file (identify writes it) or choose auto.'
        )
    included = profile.receiver_adds_friction if choice == 'auto' else choice == 'included'
    return description.friction if included else None


class TorqueResidual:
    """
    The plain residual tau_J - (M ddq + C dq + g + tau_f), with ddq differenced from velocities.

    Parameters
    ----------
    model : PinocchioModel
        The arm with its payload, under its true gravity.
    friction : FrictionModel, optional
        Friction that the measured torque contains; none if not given.

    """

    def __init__(self, model: PinocchioModel, friction: FrictionModel | None = None) -> None:
        self._model = model
        self._friction = FrictionState(friction)
        self.restart()

    def restart(self) -> None:
        """Forget the past; the next state is the first."""
        self._last: tuple[float, Array] | None = None
        self._friction.restart()

    def update(self, stamp: float, q: Array, dq: Array, effort: Array) -> Array | None:
        """
        Return the residual in FCI's sign, shape (n,) [N m].

        None for the first state, and for one whose predecessor is not at most 50 ms older: there
        is no acceleration then. Parameters are those of MomentumObserver.update.
        """
        last, self._last = self._last, (stamp, dq)
        self._friction.follow(stamp, q)
        if last is None or not 0.0 < stamp - last[0] <= LONGEST_STEP_S:
            return None
        acceleration = (dq - last[1]) / (stamp - last[0])
        residual = effort - pin.rnea(self._model.model, self._model.data, q, dq, acceleration)
        return residual - self._friction.torque(dq)


class MomentumObserver:
    """
    External joint torque from the generalised momentum p = M dq, without accelerations.

    The torque that the momentum lacks (De Luca, Albu-Schaeffer, Haddadin, Hirzinger 2006,
    "Collision Detection and Safe Reaction with the DLR-III Lightweight Manipulator Arm", eq. 13),
    filtered by w^2 / (s^2 + 2 d w s + w^2). With a damping d of 0.71 that is the stationary
    Kalman filter of a momentum that is measured with white noise and a torque that walks at
    random (compare Wahrburg et al. 2018, "Motor-Current-Based Estimation of Cartesian Contact
    Forces and Torques for Robotic Manipulators and Its Application to Force Control", IEEE T-ASE
    15(2)); of the gears' vibration it lets less through than one of first order that is as fast.
    Returned in FCI's sign: tau_ext = tau_J - model = -J^T (wrench applied to the arm).

    Parameters
    ----------
    model : PinocchioModel
        The arm with its payload, under its true gravity.
    friction : FrictionModel, optional
        Friction tau_f that the measured torque contains; none if not given.

    """

    def __init__(self, model: PinocchioModel, friction: FrictionModel | None = None) -> None:
        self._model = model
        self._friction = FrictionState(friction)
        self._still = np.zeros(model.description.n)
        self.restart()

    def restart(self) -> None:
        """Forget the past; the next state is the first."""
        self._last: tuple[float, Array] | None = None
        self._torque = self._slope = self._still
        self._friction.restart()

    def update(self, stamp: float, q: Array, dq: Array, effort: Array) -> Array:
        """
        Return the external torque in FCI's sign, shape (n,) [N m].

        Parameters
        ----------
        stamp : float
            Stamp of the state [s]; a step back or a gap of more than 50 ms restarts the observer.
        q, dq, effort : ndarray, shape (n,)
            Position, velocity and measured link-side torque, gravity included.

        """
        model, data = self._model.model, self._model.data
        self._friction.follow(stamp, q)
        gravity = pin.computeGeneralizedGravity(model, data, q).copy()
        # M dq by one recursion instead of M: the torque that would accelerate the arm by dq.
        momentum = pin.rnea(model, data, q, self._still, dq) - gravity
        rate = effort + pin.computeCoriolisMatrix(model, data, q, dq).T @ dq - gravity
        rate -= self._friction.torque(dq)
        last, self._last = self._last, (stamp, momentum)
        if last is None or not 0.0 <= stamp - last[0] <= LONGEST_STEP_S:
            self._torque = self._slope = self._still
        else:
            elapsed = stamp - last[0]
            # What the momentum lacks is what acts from outside. Implicit, so always stable.
            lacks = elapsed * (rate - self._torque) - (momentum - last[1])
            step = BANDWIDTH * elapsed
            self._slope = (self._slope + BANDWIDTH**2 * lacks) / (
                1.0 + 2.0 * DAMPING * step + step * step
            )
            self._torque = self._torque + elapsed * self._slope
        return self._torque
