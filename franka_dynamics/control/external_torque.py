# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What acts on the arm from outside, from measured torque and the model.

Two estimates of the same torque, in FCI's sign: tau_ext = tau_J - model = -J^T (wrench applied
to the arm). The plain residual is immediate and as noisy as the differentiated velocity; the
momentum observer needs no acceleration and is smooth, but lags by 1 / gain.
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

# Bandwidth of the estimate [1/s]: 50 ms to 92 % of a step.
OBSERVER_GAIN = 50.0
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
        self._friction = None if friction is None else FrictionState(friction)
        self.restart()

    def restart(self) -> None:
        """Forget the past; the next state is the first."""
        self._last: tuple[float, Array] | None = None
        if self._friction is not None:
            self._friction.restart()

    def update(self, stamp: float, q: Array, dq: Array, effort: Array) -> Array | None:
        """
        Return the residual in FCI's sign, shape (n,) [N m].

        None for the first state, and for one whose predecessor is not at most 50 ms older: there
        is no acceleration then. Parameters are those of MomentumObserver.update.
        """
        last, self._last = self._last, (stamp, dq)
        if self._friction is not None:
            self._friction.follow(stamp, q)
        if last is None or not 0.0 < stamp - last[0] <= LONGEST_STEP_S:
            return None
        acceleration = (dq - last[1]) / (stamp - last[0])
        residual = effort - pin.rnea(self._model.model, self._model.data, q, dq, acceleration)
        return residual if self._friction is None else residual - self._friction.torque(dq)


class MomentumObserver:
    """
    External joint torque from the generalised momentum p = M dq, without accelerations.

    r = K (p - integral of (tau_J - tau_f + C^T dq - g + r)), De Luca, Albu-Schaeffer, Haddadin,
    Hirzinger 2006, "Collision Detection and Safe Reaction with the DLR-III Lightweight
    Manipulator Arm", eq. 13; r follows J^T (wrench on the arm) with bandwidth K. Returned in
    FCI's sign: tau_ext = tau_J - model = -J^T (wrench applied to the arm).

    Parameters
    ----------
    model : PinocchioModel
        The arm with its payload, under its true gravity.
    gain : float
        Observer gain K [1/s].
    friction : FrictionModel, optional
        Friction tau_f that the measured torque contains; none if not given.

    """

    def __init__(
        self,
        model: PinocchioModel,
        gain: float = OBSERVER_GAIN,
        friction: FrictionModel | None = None,
    ) -> None:
        self._model = model
        self._gain = gain
        self._friction = None if friction is None else FrictionState(friction)
        self._still = np.zeros(model.description.n)
        self.restart()

    def restart(self) -> None:
        """Forget the past; the next state is the first."""
        self._stamp: float | None = None
        self._integral = np.zeros(self._model.description.n)
        self._residual = np.zeros(self._model.description.n)
        if self._friction is not None:
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
        if self._friction is not None:
            self._friction.follow(stamp, q)
        gravity = pin.computeGeneralizedGravity(model, data, q).copy()
        # M dq by one recursion instead of M: the torque that would accelerate the arm by dq.
        momentum = pin.rnea(model, data, q, self._still, dq) - gravity
        elapsed = 0.0 if self._stamp is None else stamp - self._stamp
        if self._stamp is None or not 0.0 <= elapsed <= LONGEST_STEP_S:
            self._integral, self._residual = momentum, np.zeros_like(momentum)
        else:
            coriolis = pin.computeCoriolisMatrix(model, data, q, dq)
            rate = effort + coriolis.T @ dq - gravity
            if self._friction is not None:
                rate -= self._friction.torque(dq)
            # Implicit in the residual, so that no gain makes a slow topic unstable.
            self._integral = self._integral + elapsed * rate
            self._residual = (
                self._gain * (momentum - self._integral) / (1.0 + self._gain * elapsed)
            )
            self._integral = self._integral + elapsed * self._residual
        self._stamp = stamp
        return -self._residual
