# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint friction models, evaluated for all joints at once.

For a prismatic joint read N for N m and m for rad.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Protocol

import numpy as np

from .typed_file import TaggedUnion
from ..arrays import (
    Array,
    array_text,
    ArrayLike,
    as_joint_values,
    freeze_arrays,
    ValueEquality,
)
from ..errors import FrictionError

_MODEL_NAME_IN_ERRORS = 'a friction model (joints last)'


class FrictionModel(Protocol):
    """Protocol of joint friction models, which return friction torques for joint velocities."""

    def torque(self, dq: ArrayLike) -> Array:
        """Return the friction (..., n) [N m] at dq [rad/s] that the joint torque must overcome."""


@dataclass(frozen=True, eq=False)
class SigmoidFriction(ValueEquality):
    """
    Sigmoid friction A / (1 + exp(-s (dq + d))) - A / (1 + exp(-s d)) of Gaz 2019.

    Gaz's friction is smooth, and zero at rest. Arrays of shape (n,): amplitude A [N m], slope s
    [s/rad], offset d [rad/s]; `logistic_at_rest` is 1 / (1 + exp(-s d)). Source: Gaz et al. 2019,
    "Dynamic Identification of the Franka Emika Panda Robot With Retrieval of Feasible Parameters",
    section V.
    """

    amplitude: Array
    slope: Array
    offset: Array
    logistic_at_rest: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check (FrictionError) and freeze the arrays, and compute `logistic_at_rest`."""
        freeze_arrays(self, FrictionError, _MODEL_NAME_IN_ERRORS, amplitude=(None,))
        shapes = dict.fromkeys(('slope', 'offset'), self.amplitude.shape)
        freeze_arrays(self, FrictionError, _MODEL_NAME_IN_ERRORS, **shapes)
        # `logistic_at_rest` is computed once, because the friction is evaluated in control loops.
        object.__setattr__(self, 'logistic_at_rest', _logistic(self.slope * self.offset))

    def torque(self, dq: ArrayLike) -> Array:
        """Return the friction torque [N m] at dq [rad/s], shape (..., n)."""
        velocity = _as_velocity(dq, self.amplitude)
        logistic = _logistic(self.slope * (velocity + self.offset))
        return self.amplitude * (logistic - self.logistic_at_rest)


# Width of the tanh that replaces the sign in Coulomb friction, in all fits to recordings [rad/s].
COULOMB_TANH_WIDTH_RAD_S = 0.01
# Speed at which 63 % of the Stribeck friction has gone, in all fits to recordings. On two FERs, a
# UR10, a UR10e and an Airbot Play 0.3 rad/s predicts parts left out better than no such friction;
# 0.1 does not on one FER, and 1 does not on the other (benchmarks/identification).
STRIBECK_SPEED_RAD_S = 0.3
OFFSET_TERM_INDEX = 2  # the place of the offset among the coefficients
_MAX_ROUNDING_TO_COVARIANCE = 1e-6  # relative to the largest entry


def sliding_friction_terms(dq: Array, tanh_width: float = COULOMB_TANH_WIDTH_RAD_S) -> Array:
    """Return terms of viscous and Coulomb friction, dq and tanh(dq / tanh_width), (..., n, 2)."""
    return np.stack([dq, np.tanh(dq / tanh_width)], axis=-1)


class LinearFriction(ValueEquality):
    """
    Base class of friction models whose torque is linear in their coefficients.

    `load_dependent` f_l, (n,) without a unit, is None or adds f_l tanh(dq / width) |tau|, with the
    torque tau that the rigid bodies, rotors included, need: M(q) ddq + C(q, dq) dq + g(q), which
    the gears transmit. Source: Hamon, Gautier, Garrec 2011, "New dry friction model with load- and
    velocity-dependence and dynamic identification of multi-DOF robots", IEEE ICRA, pp. 1077-1084
    (without its dependence on velocity).

    `stribeck` f_s, (n,) [N m], is None or adds f_s tanh(dq / width) exp(-|dq| / stribeck_speed),
    which friction has more (or, below zero, less) at low speed than at high speed: seals and gears
    at low speed are not lubricated. It dissipates at any speed if f_c and f_c + f_s are 0 or more.
    Source: Armstrong-Helouvry, Dupont, Canudas de Wit 1994, "A survey of models, analysis tools
    and compensation methods for the control of machines with friction", Automatica 30(7), eq. 3.6
    (with Tustin's exponent of 1).

    `receiver_offset`, (n,) [N m], is None or takes the place of `offset` in torques for a robot
    that adds gravity by its own model. Recordings tell the sum of g(q) and an offset far better
    than each of them, so an offset fitted beside one g(q) is wrong beside another.
    """

    viscous: Array
    coulomb: Array
    offset: Array
    slip: Array
    width: float
    covariance: Array | None
    load_dependent: Array | None
    receiver_offset: Array | None
    stribeck: Array | None
    stribeck_speed: float

    def offset_to_command(self, receiver_adds_gravity: bool) -> Array:
        """
        Return the offset to command, (n,) [N m].

        It is `offset` beside the gravity torque of this arm's file, and `receiver_offset`, if that
        is known, where whoever receives the torque adds gravity by its own model.
        """
        if receiver_adds_gravity and self.receiver_offset is not None:
            return self.receiver_offset
        return self.offset

    @cached_property
    def coefficients(self) -> Array:
        """
        All coefficients, (m, n), m = 3 + k, and one more each with `stribeck`, `load_dependent`.

        They are those of viscous, Coulomb and offset, k slip elements, `stribeck` and
        `load_dependent`.
        """
        more = [row for row in (self.stribeck, self.load_dependent) if row is not None]
        return np.vstack([self.viscous, self.coulomb, self.offset, self.slip, *more])

    def terms(
        self,
        dq: ArrayLike,
        slip_state: ArrayLike | None = None,
        rigid_torque: ArrayLike | None = None,
    ) -> Array:
        """
        Return the terms of velocity, slip state and load, which `coefficients` multiply.

        The terms dq, tanh(dq / width), 1, z, tanh(dq / width) exp(-|dq| / stribeck_speed) and
        tanh(dq / width) |rigid_torque| have shape (..., m, n), `dq` has (..., n). `slip_state`,
        shape (..., k, n), is the state z of k Maxwell-slip elements per joint; default: that of
        steady sliding, z = tanh(dq / width).
        `rigid_torque`, (..., n) or a number [N m], is that of the rigid bodies. Raises
        FrictionError without it if the friction is `load_dependent`.
        """
        velocity = _as_velocity(dq, self.viscous)
        # Terms are filled in row by row, because np.stack would take longer in control loops.
        found = np.ones((*velocity.shape[:-1], len(self.coefficients), velocity.shape[-1]))
        sign = np.tanh(velocity / self.width)
        found[..., 0, :] = velocity
        found[..., 1, :] = sign
        count = len(self.slip)
        if count:
            states = sign[..., None, :] if slip_state is None else slip_state
            found[..., 3 : 3 + count, :] = states
        if self.stribeck is not None:
            found[..., 3 + count, :] = stribeck_term(velocity, sign, self.stribeck_speed)
        if self.load_dependent is not None:
            if rigid_torque is None:
                raise FrictionError(
                    'This friction grows with the load: rigid_torque, the torque '
                    'M ddq + C dq + g of the rigid bodies, must be given with the velocity.'
                )
            found[..., -1, :] = sign * np.abs(rigid_torque)
        return found

    def torque(
        self,
        dq: ArrayLike,
        slip_state: ArrayLike | None = None,
        rigid_torque: ArrayLike | None = None,
    ) -> Array:
        """
        Return the friction torque, (..., n) [N m], at dq, (..., n) [rad/s].

        `slip_state` and `rigid_torque` are as for `terms`.
        """
        found = self.coefficients * self.terms(dq, slip_state, rigid_torque)
        return np.asarray(found.sum(axis=-2))

    def torque_std(self, terms: Array) -> Array | float:
        """
        Return friction's standard deviation (..., n) [N m] at `terms`; 0.0 without a covariance.

        It is that of the sum of the terms, in which errors of the coefficients partly cancel.
        """
        if self.covariance is None:
            return 0.0
        columns = np.swapaxes(terms, -1, -2)[..., None]
        squares = (columns * (self.covariance @ columns)).sum(axis=(-2, -1))
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def _check_parameters(self, slip_count: int) -> None:
        """
        Raise FrictionError for wrong parameters of `slip_count` slip elements; freeze the arrays.

        A model without slip elements gets a `slip` without rows.
        """
        freeze_arrays(self, FrictionError, _MODEL_NAME_IN_ERRORS, viscous=(None,))
        n = len(self.viscous)
        if not slip_count:
            object.__setattr__(self, 'slip', np.zeros((0, n)))
        shapes = {'coulomb': (n,), 'offset': (n,), 'slip': (slip_count, n)}
        freeze_arrays(self, FrictionError, _MODEL_NAME_IN_ERRORS, **shapes)
        count = 3 + slip_count
        if self.receiver_offset is not None:
            freeze_arrays(self, FrictionError, _MODEL_NAME_IN_ERRORS, receiver_offset=(n,))
        if self.stribeck is not None:
            freeze_arrays(self, FrictionError, _MODEL_NAME_IN_ERRORS, stribeck=(n,))
            count += 1
        if not 0.0 < self.stribeck_speed < np.inf:
            raise FrictionError(
                f'A stribeck_speed of {self.stribeck_speed} rad/s is not finite and > 0.'
            )
        if self.load_dependent is not None:
            freeze_arrays(self, FrictionError, _MODEL_NAME_IN_ERRORS, load_dependent=(n,))
            if not ((self.load_dependent >= 0.0) & (self.load_dependent < 1.0)).all():
                raise FrictionError(
                    'load_dependent of a friction model is a share of the load, from 0 to below '
                    f'1 at each joint; got {array_text(self.load_dependent)}.'
                )
            count += 1
        if self.covariance is not None:
            shape = (n, count, count)
            what = 'a friction model (joints first)'
            freeze_arrays(self, FrictionError, what, covariance=shape)
            self._check_covariance()
        if not 0.0 < self.width < np.inf:
            raise FrictionError(f'A friction width of {self.width} rad/s is not finite and > 0.')

    def _check_covariance(self) -> None:
        """Raise FrictionError unless all covariances are symmetric and positive semidefinite."""
        for joint, matrix in enumerate(np.asarray(self.covariance), start=1):
            rounding = _MAX_ROUNDING_TO_COVARIANCE * np.abs(matrix).max()
            is_uneven = np.abs(matrix - matrix.T).max() > rounding
            if is_uneven or np.linalg.eigvalsh(matrix)[0] < -rounding:
                raise FrictionError(
                    f'The covariance of a friction model at joint {joint} must be symmetric and '
                    f'positive semidefinite; got {array_text(matrix)}.'
                )


@dataclass(frozen=True, eq=False)
class ViscousCoulombFriction(LinearFriction):
    """
    Viscous, Coulomb and offset friction f_v dq + f_c tanh(dq / width) + f_o of each joint.

    Arrays of shape (n,): `viscous` f_v [N m s/rad], `coulomb` f_c and `offset` f_o [N m]. tanh(dq
    / width) with `width` [rad/s] takes the place of sign(dq), because a torque that jumps at zero
    velocity cannot be commanded. `load_dependent` (n,), if given, adds friction that grows with
    the load, `stribeck` (n,) friction that falls with the speed, within about `stribeck_speed`
    [rad/s] (`LinearFriction`). `covariance`, shape (n, m, m), is that of each joint's m
    coefficients in the order of `coefficients`, if known. `receiver_offset` (n,), if
    given, takes the place of f_o beside a robot's own g(q) (`LinearFriction`).
    """

    viscous: Array
    coulomb: Array
    offset: Array
    width: float = 0.02
    covariance: Array | None = None
    load_dependent: Array | None = None
    receiver_offset: Array | None = None
    stribeck: Array | None = None
    stribeck_speed: float = STRIBECK_SPEED_RAD_S

    def __post_init__(self) -> None:
        """Check the parameters (FrictionError), freeze the arrays; there are no slip elements."""
        self._check_parameters(0)


@dataclass(frozen=True, eq=False)
class MaxwellSlipFriction(LinearFriction):
    """
    Viscous, Coulomb and offset friction, and Maxwell-slip elements for presliding.

    tau_f = f_v dq + f_c tanh(dq / width) + f_o + sum_i a_i z_i. Element i is a spring that slips:
    with every step of q, z_i <- clip(z_i + step / reach_i, -1, 1). An element's torque depends on
    the path and not on the speed, like the hysteresis of gears at a reversal. Sources: Lampaert,
    Swevers, Al-Bender 2002, "Modification of the Leuven integrated friction model structure", IEEE
    Trans. Automatic Control 47(4) (the Maxwell-slip elements); Al-Bender, Lampaert, Swevers 2005,
    "The generalized Maxwell-slip model", IEEE Trans. Automatic Control 50(11).

    The state z is not part of the model: `FrictionState` updates it with each position, and
    `slip_state_bounds` computes its bounds along a whole recording.

    Attributes
    ----------
    viscous, coulomb, offset : ndarray, shape (n,)
        f_v [N m s/rad], f_c and f_o [N m].
    slip : ndarray, shape (k, n)
        Amplitudes a_i of the k elements [N m].
    reach : ndarray, shape (k,)
        Displacement from z = 0 at which an element begins to slip [rad].
    width : float
        Width of the tanh of the Coulomb term [rad/s].
    covariance : ndarray, shape (n, m, m), optional
        Covariance of each joint's m coefficients in the order of `coefficients`, if known.
    load_dependent : ndarray, shape (n,), optional
        Friction that grows with the load, as a share of it (`LinearFriction`).
    receiver_offset : ndarray, shape (n,), optional
        The offset beside a robot's own g(q) [N m] (`LinearFriction`).
    stribeck : ndarray, shape (n,), optional
        Friction that falls with the speed [N m] (`LinearFriction`).
    stribeck_speed : float
        Speed at which 63 % of it has gone [rad/s].

    Raises
    ------
    FrictionError
        If shapes do not agree, a width or reach is not positive, a covariance is none, or two
        reaches are equal.

    """

    viscous: Array
    coulomb: Array
    offset: Array
    slip: Array
    reach: Array
    width: float = 0.01
    covariance: Array | None = None
    load_dependent: Array | None = None
    receiver_offset: Array | None = None
    stribeck: Array | None = None
    stribeck_speed: float = STRIBECK_SPEED_RAD_S

    def __post_init__(self) -> None:
        """Check the parameters (FrictionError) and freeze the arrays."""
        freeze_arrays(self, FrictionError, _MODEL_NAME_IN_ERRORS, reach=(None,))
        elements = len(self.reach)
        if not (self.reach > 0.0).all():
            raise FrictionError(f'Friction reach must be positive; got {array_text(self.reach)}.')
        self._check_parameters(elements)
        if len(set(self.reach.tolist())) < elements:
            raise FrictionError(
                f'Two slip elements have the same reach, {array_text(self.reach)}; combine them.'
            )


# The friction models, by their names in arm files.
FRICTION_CLASSES: dict[str, type] = {
    'sigmoid': SigmoidFriction,
    'viscous_coulomb': ViscousCoulombFriction,
    'maxwell_slip': MaxwellSlipFriction,
}
Friction = Annotated[FrictionModel, TaggedUnion('model', FRICTION_CLASSES, ('source',))]


def stribeck_term(dq: Array, sign: Array, speed: float = STRIBECK_SPEED_RAD_S) -> Array:
    """Return sign exp(-|dq| / speed), (..., n), the term of friction that falls with speed."""
    return np.asarray(sign * np.exp(-np.abs(dq) / speed))


def slip_state_bounds(q: ArrayLike, reach: ArrayLike) -> Array:
    """
    Return lower and upper bounds of Maxwell-slip states z at each sample, shape (2, N, k, n).

    The state at the first sample is unknown: the bounds start from z = -1 and z = 1. Each step
    z <- clip(z + step of q / reach, -1, 1) is exact if q moves in one direction between two
    samples.

    Parameters
    ----------
    q : array_like, shape (N, n)
        Positions [rad], without a filter, which would remove small reversals.
    reach : array_like, shape (k,)
        Displacement at which each element begins to slip [rad].

    Returns
    -------
    ndarray, shape (2, N, k, n)
        The lowest, then the highest z.

    """
    positions = np.asarray(q, dtype=float)
    reaches = np.asarray(reach, dtype=float)
    states = np.zeros((len(positions), 2, len(reaches), positions.shape[1]))
    states[:1, 0] = -1.0
    states[:1, 1] = 1.0
    steps = np.diff(positions, axis=0)[:, None, :] / reaches[:, None]
    for before, after, step in zip(states, states[1:], steps):
        np.add(before, step, out=after)
        np.maximum(after, -1.0, out=after)
        np.minimum(after, 1.0, out=after)
    return np.moveaxis(states, 1, 0)


def grows_with_load(model: FrictionModel | None) -> bool:
    """Return whether a model's friction needs the rigid bodies' torque (`LinearFriction`)."""
    return isinstance(model, LinearFriction) and model.load_dependent is not None


def friction_along(
    model: FrictionModel, q: ArrayLike, dq: ArrayLike, rigid_torque: ArrayLike | None = None
) -> Array:
    """
    Return a model's friction torque along a recorded motion, shape (N, n) [N m].

    `q` [rad], not filtered, and `dq` [rad/s] have shape (N, n) and no gaps in time. The state of
    Maxwell-slip elements is taken to be the mean of the `slip_state_bounds`. `rigid_torque` is as
    for `LinearFriction.terms`; models without friction that grows with the load need none.
    """
    if isinstance(model, MaxwellSlipFriction):
        slip_state = slip_state_bounds(q, model.reach).mean(axis=0)
        return model.torque(dq, slip_state, rigid_torque)
    return friction_torque(model, dq, rigid_torque)


def friction_torque(
    model: FrictionModel, dq: ArrayLike, rigid_torque: ArrayLike | None = None
) -> Array:
    """
    Return any model's friction torque (..., n) [N m] of sliding at dq (..., n) [rad/s].

    `rigid_torque` is as for `LinearFriction.terms`.
    """
    if isinstance(model, LinearFriction):
        return model.torque(dq, rigid_torque=rigid_torque)
    return model.torque(dq)


def _as_velocity(dq: ArrayLike, joint_parameter: Array) -> Array:
    """Return velocities as an array; raise JointVectorError unless there is one per joint."""
    if type(dq) is np.ndarray and dq.dtype == float and dq.shape[-1:] == joint_parameter.shape:
        return dq  # as in control loops, for which naming the joints takes long
    joints = [f'joint {i + 1}' for i in range(len(joint_parameter))]
    return as_joint_values(dq, 'dq', joints, finite=False)


def _logistic(x: Array) -> Array:
    """Return 1 / (1 + exp(-x)) without overflow for large |x|."""
    return 0.5 * (1.0 + np.tanh(0.5 * x))
