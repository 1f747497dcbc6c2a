# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a motion for identification is judged by: its limits and its condition number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from .clearance import Skeleton
from .prior import Pull
from .torque_model import TorqueModel
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..dynamics.newton_euler import NewtonEulerModel
from ..errors import IdentificationError
from ..typing import Array

_TYPICAL_FRICTION = 0.3  # [N m, N m s/rad]: what a friction parameter is measured by
_RESTING = 1e-9  # [rad/s]; what may be divided by where a limit is zero


@dataclass(frozen=True)
class ExcitationLimits:
    """
    What a trajectory keeps away from.

    Attributes
    ----------
    fraction : float
        Part of the arm's velocity, acceleration and torque limits that is used.
    position_margin : float
        Kept from each end of every joint [rad].
    table : float
        Height of a table in the space frame [m].
    table_margin : float
        Kept above it by every frame from the elbow on, and by the tool's tip [m].
    clearance : float
        Kept between bars through the links that are not neighbours [m].
    tool : float
        Length of what is mounted, along the flange's z [m].

    """

    fraction: float = 0.7
    position_margin: float = 0.1
    table: float = 0.0
    table_margin: float = 0.15
    clearance: float = 0.1
    tool: float = 0.15

    def __post_init__(self) -> None:
        """Refuse a fraction that is none."""
        if not 0.0 < self.fraction <= 1.0:
            raise IdentificationError(f'The fraction of the limits is {self.fraction}; it must '
                                      'lie between 0 and 1.')


@dataclass(frozen=True, eq=False)
class ExcitationProblem:
    """
    What an arm's excitation is judged by.

    Attributes
    ----------
    arm : ArmDescription
        Geometry, limits, and inertias for the torque limit.
    limits : ExcitationLimits
        What to keep away from.
    gravity : array_like, shape (3,)
        In the space frame [m/s^2].

    """

    arm: ArmDescription
    limits: ExcitationLimits
    gravity: ArrayLike = GRAVITY

    @cached_property
    def model(self) -> TorqueModel:
        """What is to be identified."""
        return TorqueModel.of(self.arm, gravity=self.gravity)

    @cached_property
    def units(self) -> Array:
        """What each parameter is measured by, shape (p,)."""
        friction = np.full(len(self.model.friction.names), _TYPICAL_FRICTION)
        return np.concatenate([Pull.towards(self.arm, self.model).deviations, friction])

    def condition_number(self, q: Array, dq: Array, ddq: Array) -> Array:
        """
        Return the condition number of stacked regressors, shape (...).

        Every column is in units of its parameter (the deviation of a prior that knows masses to
        100 %; 0.3 N m of friction), every row in units of its joint's torque limit to the power
        of one half, because small joints have finer sensors.

        Parameters
        ----------
        q, dq, ddq : ndarray, shape (..., samples, n)
            States [rad, rad/s, rad/s^2].

        """
        rigid = self.model.base.regressor(q, dq, ddq)
        rubbing = self.model.friction.regressor(self.model.friction.columns(q, dq))
        rows = np.concatenate([rigid, rubbing], axis=-1) * self.units / self._row_units()[:, None]
        stacked = rows.reshape(*q.shape[:-2], -1, rows.shape[-1])
        values = np.linalg.svd(np.swapaxes(stacked, -1, -2) @ stacked, compute_uv=False)
        return np.asarray(np.sqrt(values[..., 0] / values[..., -1]))

    def _row_units(self) -> Array:
        effort = self.arm.limit('effort')
        return np.sqrt(np.where(np.isfinite(effort), effort, 1.0))

    def margins(self, q: Array, dq: Array, ddq: Array) -> Array:
        """
        Return how far stacked motions are within each limit, negative where beyond, (..., m).

        Per joint: position below and above, velocity, acceleration, torque (each a part of its
        limit); then height and clearance [m].

        Parameters
        ----------
        q, dq, ddq : ndarray, shape (..., samples, n)
            States.

        """
        limits, arm = self.limits, self.arm
        skeleton = Skeleton(arm, limits.tool)
        parts = [(q - arm.limit('lower') - limits.position_margin).min(axis=-2),
                 (arm.limit('upper') - q - limits.position_margin).min(axis=-2),
                 self._velocity_margin(q, dq),
                 _part(ddq, arm.limit('acceleration'), limits.fraction)]
        torque = NewtonEulerModel(arm, self.gravity).inverse_dynamics(q, dq, ddq)
        parts.append(_part(torque, arm.limit('effort'), limits.fraction))
        parts.append((skeleton.height(q, limits.table) - limits.table_margin)
                     .min(axis=-1)[..., None])
        parts.append((skeleton.clearance(q) - limits.clearance).min(axis=-1)[..., None])
        return np.concatenate(parts, axis=-1)

    def _velocity_margin(self, q: Array, dq: Array) -> Array:
        """Return the least part of the velocity limit left, which may depend on the position."""
        arm = self.arm
        ahead = np.where(dq < 0.0, q - arm.limit('lower'), arm.limit('upper') - q)
        # As ArmDescription.velocity_bounds, for stacks; not a number where it is constant.
        braking = np.sqrt(np.maximum(0.0, 2.0 * arm.limit('velocity_deceleration') * ahead))
        reach = np.maximum(0.0, braking - arm.limit('velocity_offset'))
        allowed = np.fmin(arm.limit('velocity'), reach)
        left = self.limits.fraction - np.abs(dq) / np.maximum(allowed, _RESTING)
        return np.asarray(left.min(axis=-2))


def _part(values: Array, limit: Array, fraction: float) -> Array:
    """Return the least part of a symmetric limit that is left below the fraction used."""
    return np.asarray((fraction - np.abs(values) / limit).min(axis=-2))
