# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What acts on the arm from outside, from measured torque and the model.

Two estimates of the same torque, in FCI's sign: tau_ext = tau_J - model = -J^T (wrench applied
to the arm). The plain residual is immediate and as noisy as the differentiated velocity; the
momentum observer needs no acceleration and is smooth, but lags by 1 / gain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from .interval_motion import Interval, IntervalMotion
from .settings import TargetProfile
from ..arm import ArmDescription
from ..arm.friction import FrictionModel
from ..arm.friction_state import FrictionState, LONGEST_STEP_S
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import SettingsError
from ..typing import Array

# Bandwidth of the estimate [1/s]: 50 ms to 92 % of a step.
OBSERVER_GAIN = 50.0
DAMPING = 0.71  # of the observer of second order
# Over which states are averaged before they are observed [s]; see interval_motion.
PERIOD_S = 0.004
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


class _MomentumFilter:
    """
    What the momentum p = M dq shows to act from outside, through a filter.

    Parameters
    ----------
    model : PinocchioModel
        The arm with its payload, under its true gravity.
    friction : FrictionModel, optional
        Friction tau_f that the measured torque contains; none if not given.

    """

    def __init__(self, model: PinocchioModel, friction: FrictionModel | None = None) -> None:
        self._model = model
        self._friction = None if friction is None else FrictionState(friction)
        self._still = np.zeros(model.description.n)
        self.restart()

    def restart(self) -> None:
        """Forget the past; the next state is the first."""
        self._last: tuple[float, Array] | None = None
        self._torque = self._slope = self._still
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
        rate = effort + pin.computeCoriolisMatrix(model, data, q, dq).T @ dq - gravity
        if self._friction is not None:
            rate -= self._friction.torque(dq)
        last, self._last = self._last, (stamp, momentum)
        if last is None or not 0.0 <= stamp - last[0] <= LONGEST_STEP_S:
            self._torque = self._slope = self._still
        else:
            elapsed = stamp - last[0]
            # What the momentum lacks is what acts from outside.
            self._torque = self._filtered(elapsed, elapsed * rate - (momentum - last[1]))
        return self._torque

    def _filtered(self, elapsed: float, outside: Array) -> Array:
        """Return the torque after a time [s] and the impulse (n,) [N m s] that acted meanwhile."""
        raise NotImplementedError


class MomentumObserver(_MomentumFilter):
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
        self._gain = gain
        super().__init__(model, friction)

    def _filtered(self, elapsed: float, outside: Array) -> Array:
        # Its difference from state to state; implicit, so that no gain is too large for a topic.
        return (self._torque + self._gain * outside) / (1.0 + self._gain * elapsed)


class SecondOrderObserver(_MomentumFilter):
    """
    External joint torque from the momentum by an observer of second order.

    The external torque is filtered by w^2 / (s^2 + 2 d w s + w^2). With a damping d of 0.71 that
    is the stationary Kalman filter of a momentum that is measured with white noise and a torque
    that walks at random (compare Wahrburg et al. 2018, "Motor-Current-Based Estimation of
    Cartesian Contact Forces and Torques for Robotic Manipulators and Its Application to Force
    Control", IEEE T-ASE 15(2)); of the gears' vibration it lets less through than one of first
    order that is as fast.

    Parameters
    ----------
    model : PinocchioModel
        The arm with its payload, under its true gravity.
    bandwidth : float
        w [rad/s].
    friction : FrictionModel, optional
        Friction that the measured torque contains; none if not given.

    """

    def __init__(
        self,
        model: PinocchioModel,
        bandwidth: float,
        friction: FrictionModel | None = None,
    ) -> None:
        self._bandwidth = bandwidth
        super().__init__(model, friction)

    def _filtered(self, elapsed: float, outside: Array) -> Array:
        step = self._bandwidth * elapsed  # implicit, so always stable
        self._slope = (self._slope + self._bandwidth**2 * (outside - elapsed * self._torque)) / (
            1.0 + 2.0 * DAMPING * step + step * step
        )
        return self._torque + elapsed * self._slope


class ExternalTorque(NamedTuple):
    """External torque in FCI's sign, shape (n,) [N m], and the interval it was found in."""

    torque: Array
    interval: Interval


class IntervalObserver:
    """
    An observer on means of states over short intervals, in the time the arm took.

    Real drivers report velocities that carry the gears' ripple, and stamps that jitter; observed
    state by state, both are newton metres (docs/theory/contact.md).

    Parameters
    ----------
    observer : MomentumObserver or SecondOrderObserver
        What is given the means.
    n : int
        Number of joints.
    period : float
        Least stamp time between two estimates [s]; topics slower than that are taken state by
        state.

    """

    def __init__(
        self, observer: MomentumObserver | SecondOrderObserver, n: int, period: float = PERIOD_S
    ) -> None:
        self._observer = observer
        self._motion = IntervalMotion(n, period)
        self.restart()

    def restart(self) -> None:
        """Forget the past; the next state is the first."""
        self._observer.restart()
        self._motion.restart()
        self._stamp: float | None = None
        self._time = 0.0

    def update(self, stamp: float, q: Array, dq: Array, effort: Array) -> ExternalTorque | None:
        """
        Take a state; return the external torque where it ends an interval.

        A step back or a gap of more than 50 ms starts anew. Parameters are those of
        MomentumObserver.update.
        """
        last, self._stamp = self._stamp, stamp
        if last is not None and not 0.0 <= stamp - last <= LONGEST_STEP_S:
            self.restart()
            self._stamp = stamp
        interval = self._motion.add(stamp, q, dq, effort)
        if interval is None:
            return None
        self._time += interval.seconds
        torque = self._observer.update(self._time, interval.q, interval.dq, interval.effort)
        return ExternalTorque(torque, interval)
