# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is identified: base parameters and friction, in which joint torque is linear."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base_parameters import base_parameters, BaseParameters
from ..arm import ArmDescription, MaxwellSlipFriction, SigmoidFriction, ViscousCoulombFriction
from ..arm.slip_states import middle_slip_states
from ..dynamics.model import GRAVITY
from ..errors import IdentificationError, MissingDependencyError
from ..recordings.preprocessing import Motion
from ..typing import Array

VISCOUS, COULOMB, OFFSET, STRIBECK, SLIP = 'fv', 'fc', 'fo', 'fs', 'fz'
# What joints of such arms have, as parts of their torque limits: the prior's standard deviations.
# Coefficients of friction; drag at the velocity limit is of the same size. An offset of a torque
# sensor is ten times less, which keeps it from taking over what gravity explains.
FRICTION_PART, OFFSET_PART = 0.02, 0.002
# The same where effort is what the motor takes: gears rub more than bearings behind a torque
# sensor do (a UR10e's Coulomb friction is 4 to 7 %).
DRIVE_FRICTION_PART = 0.1
# Amplitude [N m], slope [s/rad] and offset [rad/s] of the sigmoid. Steeper than 100 s/rad is a
# step to every sensor, and a torque that no controller should command.
_LOWEST, _HIGHEST = (0.0, 0.5, -0.5), (100.0, 100.0, 0.5)


def slip_symbol(reach: float) -> str:
    """Return the symbol of a Maxwell-slip element's amplitude, by its reach [rad]."""
    return f'{SLIP}{1e3 * reach:g}mrad'


@dataclass(frozen=True)
class FrictionTerms:
    """
    Terms of each of n joints' friction, linear in their parameters.

    tau_f = fv dq + fc tanh(dq / width) + fo, and, where `stribeck_velocity` [rad/s] is given,
    fs tanh(dq / width) exp(-(dq / stribeck_velocity)^2) and for each of `reaches` [rad] a
    Maxwell-slip element fz z, z <- clip(z + step of q / reach, -1, 1) (Al-Bender, Lampaert and
    Swevers 2005, "The generalized Maxwell-slip model", IEEE T-AC 50(11), without its memory of
    velocity). A sign in place of the tanh would turn the noise of a resting joint into torque.
    """

    n: int
    width: float = 0.02
    stribeck_velocity: float | None = None
    reaches: tuple[float, ...] = ()
    part: float = FRICTION_PART  # of the torque limit that the prior takes friction for

    def __post_init__(self) -> None:
        """Refuse widths that no term can have."""
        if not 0.0 < self.width < np.inf:
            raise IdentificationError(
                f'The width of Coulomb friction is {self.width} rad/s; it must be positive.'
            )
        for reach in self.reaches:
            if not 0.0 < reach < np.inf:
                raise IdentificationError(
                    f'The reach of a Maxwell-slip element is {reach} rad; it must be positive.'
                )

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Symbols of one joint's terms, in the order of its columns."""
        stribeck = () if self.stribeck_velocity is None else (STRIBECK,)
        slips = tuple(slip_symbol(reach) for reach in self.reaches)
        return (VISCOUS, COULOMB, OFFSET, *stribeck, *slips)

    @property
    def terms(self) -> int:
        """Number of terms of one joint."""
        return len(self.symbols)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names fv_1, fc_1, fo_1, ... of all parameters, joint by joint."""
        return tuple(
            f'{symbol}_{joint}' for joint in range(1, self.n + 1) for symbol in self.symbols
        )

    def columns(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """
        Return every term of every joint along a motion, shape (N, n, terms of a joint).

        Parameters
        ----------
        q, dq : array_like, shape (N, n)
            Consecutive positions [rad] and velocities [rad/s], as recorded.

        """
        velocity = np.asarray(dq, dtype=float)
        turned = np.tanh(velocity / self.width)
        terms = [velocity, turned, np.ones_like(velocity)]
        if self.stribeck_velocity is not None:
            terms.append(turned * np.exp(-((velocity / self.stribeck_velocity) ** 2)))
        if self.reaches:
            # What the elements' state was before is not known: the middle of both extremes.
            terms.extend(np.moveaxis(middle_slip_states(q, self.reaches), 1, 0))
        return np.stack(terms, axis=-1)

    def regressor(self, columns: ArrayLike) -> Array:
        """Return `columns` as a regressor of all joints' parameters, shape (..., n, n terms)."""
        terms = np.asarray(columns, dtype=float)
        wide = np.zeros((*terms.shape[:-1], self.n, terms.shape[-1]))
        joints = np.arange(self.n)
        wide[..., joints, joints, :] = terms
        return wide.reshape(*terms.shape[:-1], -1)

    def deviations(self, effort: ArrayLike, velocity: ArrayLike) -> Array:
        """
        Return the prior's standard deviation of every parameter, shape (n terms,).

        Parameters
        ----------
        effort, velocity : array_like, shape (n,)
            The joints' torque [N m] and velocity limits [rad/s].

        """
        torque = self.part * np.asarray(effort, dtype=float)[:, None]
        scale = np.broadcast_to(torque, (self.n, self.terms)).copy()
        # Half of the velocity limit is a fast motion; slower than 1 rad/s is no unit of speed.
        speed = np.maximum(1.0, 0.5 * np.asarray(velocity, dtype=float))
        scale[:, self.symbols.index(VISCOUS)] /= np.where(np.isfinite(speed), speed, 1.0)
        scale[:, self.symbols.index(OFFSET)] *= OFFSET_PART / FRICTION_PART
        return scale.ravel()

    @cached_property
    def braking(self) -> NDArray[np.bool_]:
        """Which parameters cannot be negative, or friction would drive; all but the offsets."""
        return np.array([not name.startswith(OFFSET) for name in self.names])

    def chosen(self, reaches: tuple[float, ...]) -> NDArray[np.bool_]:
        """Return which parameters belong to a model with these of the reaches."""
        names = {slip_symbol(reach) for reach in reaches}
        one = [not symbol.startswith(SLIP) or symbol in names for symbol in self.symbols]
        return np.tile(one, self.n)

    def model(
        self,
        values: ArrayLike,
        deviations: ArrayLike | None = None,
    ) -> ViscousCoulombFriction | MaxwellSlipFriction:
        """
        Return the friction model with some parameters.

        Parameters
        ----------
        values : array_like, shape (n terms,)
            As `names` lists them; an element without any amplitude is left out.
        deviations : array_like, shape (n terms,), optional
            Their standard deviations.

        """
        table = np.asarray(values, dtype=float).reshape(self.n, -1).T
        spread = None if deviations is None else np.asarray(deviations).reshape(self.n, -1).T
        if self.stribeck_velocity is None:
            viscous, coulomb, offset = table
            return ViscousCoulombFriction(viscous, coulomb, offset, self.width, spread)
        used = [row for row, amplitude in enumerate(table[4:]) if amplitude.any()]
        kept = [0, 1, 3, 2, *(4 + row for row in used)]
        viscous, coulomb, stribeck, offset, *slip = table[kept]
        return MaxwellSlipFriction(
            viscous,
            coulomb,
            stribeck,
            offset,
            np.reshape(slip, (-1, self.n)),
            np.array([self.reaches[row] for row in used]),
            self.width,
            self.stribeck_velocity,
            None if spread is None else spread[kept],
        )


def fit_sigmoid(dq: ArrayLike, torque: ArrayLike) -> SigmoidFriction:
    """
    Return the sigmoid friction nearest to friction torques, by nonlinear least squares.

    tau_f = A / (1 + exp(-s (dq + d))) - A / (1 + exp(-s d)) (Gaz et al. 2019, section V), each
    joint by itself, from several starts because the slope has local minima.

    Parameters
    ----------
    dq : array_like, shape (N, n)
        Velocities [rad/s].
    torque : array_like, shape (N, n)
        Torque that friction is to explain [N m].

    Raises
    ------
    MissingDependencyError
        If scipy is not installed.

    """
    columns = zip(np.asarray(dq, dtype=float).T, np.asarray(torque, dtype=float).T)
    amplitude, slope, offset = np.array([_fit_joint(v, tau) for v, tau in columns]).T
    return SigmoidFriction(amplitude, slope, offset)


def _fit_joint(velocity: Array, torque: Array) -> Array:
    try:
        from scipy.optimize import least_squares
    except ImportError as error:
        raise MissingDependencyError(
            "Fitting the sigmoid needs scipy: pip install 'franka_dynamics[identify]'."
        ) from error

    def residual(values: Array) -> Array:
        model = SigmoidFriction(*(values[i : i + 1] for i in range(3)))
        return model.torque(velocity[:, None])[:, 0] - torque

    swing = float(np.clip(np.ptp(torque), 0.01, 50.0))
    fits = [
        least_squares(
            residual, (swing, slope, 0.0), bounds=(_LOWEST, _HIGHEST), x_scale=(swing, slope, 0.05)
        )
        for slope in (3.0, 10.0, 30.0, 90.0)
    ]
    return np.asarray(min(fits, key=lambda found: float(found.cost)).x)


@dataclass(frozen=True, eq=False)
class TorqueModel:
    """
    tau = Y(q, dq, ddq) theta, theta = (base parameters, friction parameters).

    Attributes
    ----------
    base : BaseParameters
        Which parameters the arm's geometry lets motion show, and the map to them.
    friction : FrictionTerms
        The columns behind them.

    """

    base: BaseParameters
    friction: FrictionTerms

    @classmethod
    def of(
        cls,
        arm: ArmDescription,
        *,
        gravity: ArrayLike = GRAVITY,
        rotor_inertia: bool = False,
        width: float = FrictionTerms.width,
        stribeck_velocity: float | None = None,
        reaches: tuple[float, ...] = (),
        friction_part: float = FRICTION_PART,
    ) -> TorqueModel:
        """Return the model of an arm's geometry; nothing depends on its inertias."""
        return cls(
            base_parameters(arm, gravity, rotor_inertia=rotor_inertia),
            FrictionTerms(arm.n, width, stribeck_velocity, reaches, friction_part),
        )

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.friction.n

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters, base parameters first."""
        return (*self.base.names, *self.friction.names)

    def blocks(self, motion: Motion) -> tuple[Array, Array]:
        """
        Return the regressor's base columns and each joint's own friction columns.

        Friction is what `prepare` filtered like the torque, with these terms as its `columns`; a
        motion prepared without them has the terms of its filtered velocities.

        Returns
        -------
        tuple of ndarray, shapes (N, n, b) and (N, n, terms of a joint)

        Raises
        ------
        IdentificationError
            If the motion lacks what Maxwell-slip elements need.

        """
        rubbing = motion.columns
        if rubbing is None:
            if self.friction.reaches:
                raise IdentificationError(
                    'Maxwell-slip friction is integrated over the recorded positions: prepare '
                    'the recording with columns=model.friction.columns.'
                )
            rubbing = self.friction.columns(motion.q, motion.dq)
        return self.base.regressor(motion.q, motion.dq, motion.ddq), rubbing

    def regressor(self, motion: Motion) -> Array:
        """Return Y for every sample of a motion, shape (N, n, p)."""
        rigid, rubbing = self.blocks(motion)
        return np.concatenate([rigid, self.friction.regressor(rubbing)], axis=-1)

    def torque(self, motion: Motion, theta: ArrayLike) -> Array:
        """Return Y theta for every sample of a motion, shape (N, n) [N m]."""
        rigid, rubbing = self.blocks(motion)
        base, friction = self.split(theta)
        return np.asarray(rigid @ base + np.einsum('tjk,jk->tj', rubbing, friction))

    def split(self, theta: ArrayLike) -> tuple[Array, Array]:
        """Return base parameters (b,) and friction (n, terms of a joint) of parameters (p,)."""
        values = np.asarray(theta, dtype=float)
        b = len(self.base)
        return values[:b], values[b:].reshape(self.n, -1)

    def without_friction(self, theta: ArrayLike) -> Array:
        """Return parameters (p,) with all friction and offset zero."""
        values = np.array(theta, dtype=float)
        values[len(self.base) :] = 0.0
        return values
