# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The identified model of joint torques, linear in base and friction parameters."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .prior_widths import PriorWidths
from ..arm import ArmDescription, MaxwellSlipFriction, ViscousCoulombFriction
from ..arm.friction import (
    COULOMB_TANH_WIDTH_RAD_S,
    sliding_friction_terms,
    slip_state_bounds,
    stribeck_term,
)
from ..arrays import Array, ArrayLike, NDArray
from ..constants import GRAVITY
from ..dynamics.regressor import N_LINK_PARAMETERS, parameter_transform
from ..parameters.base_parameters import base_parameters, BaseParameters
from ..recordings.preprocessing import Motion

MASS_AND_MOMENT_INDICES = [9, 6, 7, 8]  # of m, mX, mY and mZ among a body's ten parameters
VISCOUS_SYMBOL = 'fv'
COULOMB_SYMBOL = 'fc'
OFFSET_SYMBOL = 'fo'
SLIP_SYMBOL = 'fz'
STRIBECK_SYMBOL = 'fs'
LOAD_SYMBOL = 'fl'
# The width of a term's prior (`PriorWidths`), by its symbol.
WIDTH_OF_SYMBOL = {
    VISCOUS_SYMBOL: 'friction',
    COULOMB_SYMBOL: 'friction',
    OFFSET_SYMBOL: 'offset',
    SLIP_SYMBOL: 'slip',
    STRIBECK_SYMBOL: 'stribeck',
    LOAD_SYMBOL: 'load',
}
_SLIDING_TERM_COUNT = 3  # viscous, Coulomb and offset, which every joint has, come first
# Displacements [rad] at which a joint's two slip elements saturate: one for the pre-sliding of
# bearings and seals, one for the wind-up of the drive. A slip element that saturates above 0.3 rad
# acts as a spring in most motions and is confused with gravity: on a real FER 0.6 rad raises E on
# a left-out stretch from 0.25 to 0.50 N m.
SLIP_REACHES_RAD = (0.004, 0.3)
# The largest share of the load that friction takes is below that of a gear that locks itself.
MAX_LOAD_FRICTION = 0.9
_LOAD_BLOCK_SAMPLE_COUNT = 1024  # samples whose regressor is in memory at once
# An offset above MAX_OFFSET_STD_COUNT standard deviations of its prior is a fault: above 0.5 N m
# at a limit of 87 N m. Of two real FER the largest are 1.4.
MAX_OFFSET_STD_COUNT = 3.0
# Shares of the torque limit that `expected_residual` is: the first if that is 50 N m or more.
MIN_STRONG_JOINT_LIMIT_NM = 50.0
STRONG_JOINT_RESIDUAL_TO_LIMIT = 0.006
WEAK_JOINT_RESIDUAL_TO_LIMIT = 0.018


def expected_residual(effort_limit: Array) -> Array:
    """Return the rms residual (n,) [N m] expected of a good fit, from joint torque limits."""
    residual_to_limit = np.where(
        effort_limit >= MIN_STRONG_JOINT_LIMIT_NM,
        STRONG_JOINT_RESIDUAL_TO_LIMIT,
        WEAK_JOINT_RESIDUAL_TO_LIMIT,
    )
    return np.asarray(residual_to_limit * effort_limit)


@dataclass(frozen=True)
class FrictionTerms:
    """
    Friction torque tau_f of each of n joints, linear in the friction parameters.

    tau_f = fv dq + fc tanh(dq / tanh_width) + fo, and for each of `slip_reaches` [rad] a
    Maxwell-slip element fz z, whose state changes by z <- clip(z + change of q / reach, -1, 1)
    (Al-Bender, Lampaert and Swevers 2005, "The generalized Maxwell-slip model", IEEE T-AC 50(11),
    without the model's memory of velocity). With `stribeck` there is fs tanh(dq / tanh_width)
    exp(-|dq| / 0.3 rad/s). A sign function in place of tanh would turn the
    velocity noise of a resting joint into torque. With `load_dependent` there is also fl tanh(dq /
    tanh_width) |tau|, tau the torque of the rigid bodies (`arm.friction.LinearFriction`).
    """

    n: int
    tanh_width: float = COULOMB_TANH_WIDTH_RAD_S
    slip_reaches: tuple[float, ...] = ()
    load_dependent: bool = False
    stribeck: bool = False

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Symbols of one joint's friction terms, `regressor_columns`' first, the load's last."""
        slip = [f'{SLIP_SYMBOL}{1e3 * reach:g}mrad' for reach in self.slip_reaches]
        load = (LOAD_SYMBOL,) if self.load_dependent else ()
        falling = (STRIBECK_SYMBOL,) if self.stribeck else ()
        return (VISCOUS_SYMBOL, COULOMB_SYMBOL, OFFSET_SYMBOL, *slip, *falling, *load)

    @property
    def term_count(self) -> int:
        """Number of friction terms of one joint."""
        return len(self.symbols)

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of all friction parameters joint by joint, such as fv_1, fc_1 and fo_1."""
        joints = range(1, self.n + 1)
        return tuple(f'{symbol}_{joint}' for joint in joints for symbol in self.symbols)

    def regressor_columns(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """
        Return friction regressor columns of every joint along a motion, (N, n, terms of a joint).

        They are those of all terms but the load's, which needs more than q and dq
        (`with_load_column`). `q` and `dq` (N, n) are consecutive positions [rad] and velocities
        [rad/s]; slip elements need recorded, not filtered positions.
        """
        velocity = np.asarray(dq, dtype=float)
        viscous, coulomb = np.moveaxis(sliding_friction_terms(velocity, self.tanh_width), -1, 0)
        terms = [viscous, coulomb, np.ones_like(velocity)]
        if self.slip_reaches:
            # A slip element's initial state is unknown: the mean of the columns for the initial
            # states -1 and 1 is used.
            slip_states = slip_state_bounds(q, self.slip_reaches).mean(axis=0)
            terms.extend(np.moveaxis(slip_states, 1, 0))
        if self.stribeck:
            terms.append(stribeck_term(velocity, coulomb))
        return np.stack(terms, axis=-1)

    def with_load_column(self, columns: Array, rigid_torque: Array) -> Array:
        """
        Return `columns` (N, n, k) of `regressor_columns`, filtered or not, and the load's.

        `rigid_torque` (N, n) is that of the rigid bodies [N m].
        """
        coulomb_column = columns[..., self.symbols.index(COULOMB_SYMBOL)]  # tanh(dq / width)
        load_column = coulomb_column * np.abs(rigid_torque)
        return np.append(columns, load_column[..., None], axis=-1)

    def prior_std(
        self,
        effort_limit: ArrayLike,
        velocity_limit: ArrayLike,
        widths: PriorWidths | None = None,
    ) -> Array:
        """
        Return the prior standard deviation of every friction parameter, shape (n terms,).

        `effort_limit` and `velocity_limit` (n,) are those of the joints [N m], [rad/s]. `widths`
        are those before torques choose, if they are not given.
        """
        widths = PriorWidths() if widths is None else widths
        limit = np.asarray(effort_limit, dtype=float)  # (n,), N m
        width_of_term = [getattr(widths, WIDTH_OF_SYMBOL[symbol[:2]]) for symbol in self.symbols]
        std = limit[:, None] * np.array(width_of_term)
        # One standard deviation of viscous friction reaches this torque at half of the velocity
        # limit, or at 1 rad/s if half of the limit is lower or there is no limit.
        speed = np.maximum(1.0, 0.5 * np.asarray(velocity_limit, dtype=float))
        std[:, self.symbols.index(VISCOUS_SYMBOL)] /= np.where(np.isfinite(speed), speed, 1.0)
        if self.load_dependent:
            std[:, -1] = widths.load
        return std.ravel()

    def without_terms(self, widths: PriorWidths) -> 'FrictionTerms':
        """Return the friction without the terms to which `widths` give a width of zero."""
        return replace(
            self,
            slip_reaches=self.slip_reaches if widths.slip else (),
            load_dependent=self.load_dependent and bool(widths.load),
            stribeck=self.stribeck and bool(widths.stribeck),
        )

    @cached_property
    def bounded_sums(self) -> Array:
        """
        The matrix (n terms, n terms) from friction parameters to sums that have bounds.

        Each parameter is bounded itself, but in place of fs there is fc + fs, Coulomb friction at
        the lowest speed. With fc and fc + fs of zero or more friction dissipates at any speed, as
        fc + fs exp(-|dq| / speed) lies between them.
        """
        sums = np.eye(self.n * self.term_count)
        if self.stribeck:
            first = self.term_count * np.arange(self.n)
            falling = first + self.symbols.index(STRIBECK_SYMBOL)
            sums[falling, first + self.symbols.index(COULOMB_SYMBOL)] = 1.0
        return sums

    def from_bounded_sums(self, sums: Array) -> Array:
        """Return the friction parameters (n terms,) of their `bounded_sums`."""
        # The matrix is the unit matrix and one whose square is zero.
        return np.asarray((2.0 * np.eye(len(sums)) - self.bounded_sums) @ sums)

    @cached_property
    def nonnegative_mask(self) -> NDArray[np.bool_]:
        """Mask of the `bounded_sums` that must be nonnegative for friction to dissipate."""
        return np.array([not name.startswith(OFFSET_SYMBOL) for name in self.parameter_names])

    @cached_property
    def maxima(self) -> Array:
        """Largest values of the `bounded_sums`, infinity but for the load's, (n terms,)."""
        return np.array(
            [
                MAX_LOAD_FRICTION if name.startswith(LOAD_SYMBOL) else np.inf
                for name in self.parameter_names
            ]
        )

    def friction_model(
        self, parameters: ArrayLike, covariance: Array
    ) -> ViscousCoulombFriction | MaxwellSlipFriction:
        """
        Return the friction model, for an arm's description, that has the given parameters.

        `parameters` (n terms,) are in the order of `parameter_names`, `covariance` (n
        terms, n terms) theirs, of which each joint's own block is kept. Slip elements whose
        amplitude is zero at all joints are left out, and so is friction that grows with no load or
        falls with no speed.
        """
        term_values = np.array(parameters, dtype=float).reshape(self.n, -1).T  # (terms, n)
        if self.load_dependent:
            # A fit keeps its bounds to within rounding errors only.
            term_values[-1] = np.clip(term_values[-1], 0.0, MAX_LOAD_FRICTION)
        used_terms = [
            term
            for term, values in enumerate(term_values)
            if term < _SLIDING_TERM_COUNT or values.any()
        ]
        joint_covariances = []
        for joint in range(self.n):
            joint_terms = self.term_count * joint + np.array(used_terms)
            joint_covariances.append(covariance[np.ix_(joint_terms, joint_terms)])
        own_covariances = np.array(joint_covariances)  # (n, used terms, used terms)
        viscous, coulomb, offset = term_values[:_SLIDING_TERM_COUNT]
        load = None
        if self.load_dependent and term_values[-1].any():
            load = term_values[-1]
        stribeck = None
        if self.stribeck:
            falling = term_values[self.symbols.index(STRIBECK_SYMBOL)]
            stribeck = falling if falling.any() else None
        if not self.slip_reaches:
            return ViscousCoulombFriction(
                viscous,
                coulomb,
                offset,
                self.tanh_width,
                own_covariances,
                load,
                stribeck=stribeck,
            )
        reach_of_term = dict(enumerate(self.slip_reaches, _SLIDING_TERM_COUNT))
        slip_terms = [term for term in used_terms if term in reach_of_term]
        amplitudes = term_values[slip_terms]  # (slip elements, n), N m
        reaches = np.array([reach_of_term[term] for term in slip_terms])
        return MaxwellSlipFriction(
            viscous,
            coulomb,
            offset,
            amplitudes,
            reaches,
            self.tanh_width,
            own_covariances,
            load,
            stribeck=stribeck,
        )


@dataclass(frozen=True, eq=False)
class TorqueModel:
    """
    A torque model tau = Y(q, dq, ddq) theta, with base and friction parameters theta.

    Friction that grows with the load would make it nonlinear: its load is the torque of the base
    parameters `load_parameters` (b,), None without such friction.
    """

    base: BaseParameters
    friction: FrictionTerms
    load_parameters: Array | None = None

    @classmethod
    def for_arm(
        cls,
        arm: ArmDescription,
        *,
        gravity: ArrayLike = GRAVITY,
        rotor_inertia: bool = False,
        slip_reaches: tuple[float, ...] = (),
    ) -> 'TorqueModel':
        """Return an arm's torque model, whose regressor does not depend on the arm's inertias."""
        base = base_parameters(arm, gravity, rotor_inertia=rotor_inertia)
        return cls(base, FrictionTerms(arm.n, slip_reaches=slip_reaches))

    def with_gravity(self, gravity: ArrayLike) -> 'TorqueModel':
        """Return the model of the same arm under another gravity (3,) [m/s^2]."""
        base = base_parameters(self.arm, gravity, rotor_inertia=self.base.rotor_inertia)
        return replace(self, base=base)

    def with_stribeck_friction(self) -> 'TorqueModel':
        """Return the model with friction that falls with the speed."""
        return replace(self, friction=replace(self.friction, stribeck=True))

    def with_load_friction(self, load_parameters: Array) -> 'TorqueModel':
        """Return the model with friction that grows with the load of base parameters (b,)."""
        friction = replace(self.friction, load_dependent=True)
        return replace(self, friction=friction, load_parameters=load_parameters)

    @property
    def arm(self) -> ArmDescription:
        """The arm, with the inertias from which identification starts."""
        assert isinstance(self.base.description, ArmDescription)
        return self.base.description

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.friction.n

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of all parameters, base parameters first."""
        return (*self.base.names, *self.friction.parameter_names)

    @property
    def friction_slice(self) -> slice:
        """Slice of the friction parameters among all parameters."""
        return slice(len(self.base), len(self.base) + len(self.friction.parameter_names))

    @property
    def gravity(self) -> Array:
        """Gravity in the space frame, (3,) [m/s^2]."""
        return np.asarray(self.base.gravity[0])

    def friction_columns(self, motion: Motion) -> Array:
        """Return regressor columns of friction, filtered like the torque, (N, n, terms)."""
        columns = motion.filter(self.friction.regressor_columns)
        if self.load_parameters is None:
            return columns
        rigid_torque = np.empty(motion.q.shape)  # (N, n), N m
        for first in range(0, len(motion), _LOAD_BLOCK_SAMPLE_COUNT):
            block = slice(first, first + _LOAD_BLOCK_SAMPLE_COUNT)
            regressor = self.base.regressor(motion.q[block], motion.dq[block], motion.ddq[block])
            rigid_torque[block] = regressor @ self.load_parameters
        return self.friction.with_load_column(columns, rigid_torque)

    def regressor_blocks(self, motion: Motion) -> tuple[Array, Array]:
        """Return regressor columns of base parameters, (N, n, b), and friction, (N, n, terms)."""
        return self.base.regressor(motion.q, motion.dq, motion.ddq), self.friction_columns(motion)

    @cached_property
    def payload_to_base_matrix(self) -> Array:
        """The matrix (b, 10) from a load's ten parameters in the flange frame to base ones."""
        flange = self.arm.flange_transform()  # in the last link's frame, (4, 4)
        to_last_link = parameter_transform(flange[:3, :3], flange[:3, 3])  # (10, 10)
        last_link = slice(N_LINK_PARAMETERS * (self.n - 1), N_LINK_PARAMETERS * self.n)
        return self.base.matrix[:, last_link] @ to_last_link

    def regressor(self, base_columns: Array, friction_columns: Array) -> Array:
        """Return the regressor of all parameters, (..., n, p), from its two `regressor_blocks`."""
        # Each joint's friction terms become columns of their own, zero in other joints' rows.
        of_all_joints = friction_columns[..., None, :] * np.eye(self.n)[..., None]
        friction_block = of_all_joints.reshape(*base_columns.shape[:-1], -1)  # (..., n, n terms)
        return np.append(base_columns, friction_block, axis=-1)

    def torque(self, motion: Motion, theta: ArrayLike) -> Array:
        """Return the model's torque, Y theta, at every sample of a motion, shape (N, n) [N m]."""
        base_columns, friction_columns = self.regressor_blocks(motion)
        values = np.asarray(theta, dtype=float)
        base_parameters, friction_parameters = np.split(values, [len(self.base)])
        joint_friction = friction_parameters.reshape(self.n, -1)  # (n, terms)
        friction_torque = np.einsum('tjk,jk->tj', friction_columns, joint_friction)
        return np.asarray(base_columns @ base_parameters + friction_torque)
