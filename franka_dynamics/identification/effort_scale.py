# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Torque constants: N m per unit of recorded effort of each joint, if efforts are motor currents.

A current i_j is (Y_j theta + F_j phi) / K_j with one unknown K_j per joint (Gautier, Briot 2014,
"Global identification of joint drive gains and dynamic parameters of robots", ASME J. Dyn. Syst.
Meas. Control 136(5)). Motion determines the joints' scales only relative to each other, because
twice the masses with twice the scales need the same currents. The common scale is fixed to the
median over the joints, computed with the starting inertias; joints whose current determines the
scale better have more weight. So wrong inertias of one joint's links hardly change it, and a joint
with a small load hardly counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .prior import Prior, PRIOR_PRECISION
from .samples import QRFactors
from .solve import solve
from ..arm import ArmDescription
from ..errors import IdentificationError, needing
from ..typing import Array

_ROUNDS = 4  # rounds, in which weights and scales are computed alternately
# Relative standard deviation allowed to the common scale about its value with starting inertias.
_COMMON_DEVIATION = 1e-4
# Relative error of each joint's scale computed with the starting inertias, even without noise.
_STARTING_SET_PART = 0.1
# Prior standard deviation of the logarithm of a joint's scale, about its initial value.
_PRIOR_DEVIATION = 1.0
# If the relative standard deviation is larger, the motion does not determine a joint's scale, and
# it is set to the median of the others.
SCALE_NOT_SHOWN = 0.25
_HELD_DEVIATION = 1e-4  # prior standard deviation of the logarithm of a scale held at the median
# A scale is doubted if the joint's largest torque would be more than this multiple of its limit.
_MOST_OF_LIMIT = 1.5


@dataclass(frozen=True, eq=False)
class EffortScale:
    """
    The scale of each joint's effort.

    Attributes
    ----------
    scale : ndarray, shape (n,)
        [N m per unit].
    deviation : ndarray, shape (n,)
        Relative standard deviation of each scale with respect to the others; zeros if the scales
        were given.

    """

    scale: Array
    deviation: Array

    @classmethod
    def given(cls, scale: Array) -> EffortScale:
        """Return known scales (n,), with zero deviations."""
        return cls(scale, np.zeros(len(scale)))


def find_effort_scale(
    factors: QRFactors, prior: Prior, arm: ArmDescription, inflation: float | Array = 1.0
) -> EffortScale:
    """
    Return the scale of each joint's effort [N m per unit].

    Parameters
    ----------
    factors : QRFactors
        The samples' factors, their efforts as recorded.
    prior : Prior
        The prior; its inertias fix the common scale.
    arm : ArmDescription
        The starting set: its joints' names and torque limits.
    inflation : float or ndarray, shape (n,)
        Number of samples per independent sample.

    Raises
    ------
    IdentificationError
        If a joint's effort shows no torque of the model.
    MissingDependencyError
        If scipy is not installed.

    """
    with needing("Finding the effort's scale needs scipy", 'identify'):
        from scipy.optimize import least_squares
    alone = _with_inertias(factors, prior.center[: len(prior.model.base)], _rotors(prior))
    limit = arm.limit('effort')
    for name, slope in zip(arm.joint_names, alone.slopes):
        if not np.isfinite(slope) or slope == 0.0:
            raise IdentificationError(
                f'The effort of {name} shows no torque of the model, so that its unit cannot be '
                "found: give every joint's with --effort-scale, or record a motion that loads "
                'it.'
            )
    n = len(alone.slopes)
    per_torque = alone.starts()
    start, logarithm, deviation = per_torque, np.zeros(n), alone.residual
    place, known = np.zeros(n), np.full(n, _PRIOR_DEVIATION)
    hidden, spread = np.zeros(n, dtype=bool), np.zeros(n)
    # Without torque limits the prior of friction depends on the largest torque, which is now in N
    # m.
    scaled = replace(prior, effort=np.where(np.isfinite(limit), limit, prior.effort / abs(start)))
    for _ in range(_ROUNDS):
        from_starting_set = alone.logarithms - np.log(np.abs(per_torque))
        whole = float(alone.share @ logarithm) + _median(from_starting_set, alone.share)
        weights = 1.0 / np.maximum(deviation, np.finfo(float).tiny) / np.sqrt(inflation)
        found = least_squares(
            lambda x, weights=weights, whole=whole, place=place, known=known: np.concatenate(
                [
                    _residual(factors, scaled, start * np.exp(x), weights),
                    (x - place) / known,
                    [(alone.share @ x - whole) / _COMMON_DEVIATION],
                ]
            ),
            logarithm,
            method='lm',
        )
        logarithm = found.x
        per_torque = start * np.exp(logarithm)
        squares = found.fun[: factors.r_factors.shape[0] * factors.r_factors.shape[1]]
        own = np.sum(squares.reshape(n, -1) ** 2, axis=1) / weights**2
        deviation = np.sqrt(own / max(factors.samples, 1))
        held = hidden.copy()
        found_spread = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
        spread = np.where(held, spread, found_spread)
        hidden = held | (spread > SCALE_NOT_SHOWN)
        shown = np.log(np.abs(per_torque))[~hidden]
        if len(shown):
            place = np.where(hidden, np.median(shown) - np.log(np.abs(start)), place)
            known = np.where(hidden, _HELD_DEVIATION, known)
    return EffortScale(np.asarray(1.0 / per_torque), spread)


def doubts(found: EffortScale, arm: ArmDescription, strongest: Array) -> tuple[str, ...]:
    """
    Return one sentence for each reason not to believe identified scales.

    Parameters
    ----------
    found : EffortScale
        The scales.
    arm : ArmDescription
        Its joints' names and torque limits.
    strongest : ndarray, shape (n,)
        The largest effort of each joint, as recorded.

    """
    names, said = arm.joint_names, []
    signs = [name for name, scale in zip(names, found.scale) if scale < 0.0]
    if 0 < len(signs) < len(names):
        said.append(
            f'the scales of {", ".join(signs)} have the opposite sign to the other joints: '
            'these motors turn the other way round, or their currents are not those of torque'
        )
    torque, limit = np.abs(found.scale) * strongest, arm.limit('effort')
    beyond = np.isfinite(limit) & (limit > 0.0) & (torque > _MOST_OF_LIMIT * limit)
    said += [
        f'{names[k]} would have exerted {torque[k]:.3g} N m (N), and its limit is {limit[k]:g}'
        for k in np.flatnonzero(beyond)
    ]
    hidden = [name for name, part in zip(names, found.deviation) if part > SCALE_NOT_SHOWN]
    if 2 * len(hidden) > len(names):
        said.append(f'the motion does not determine the scales of {", ".join(hidden)}')
    return tuple(said)


def relative_scale(factors: QRFactors, prior: Prior, arm: ArmDescription) -> Array:
    """
    Return the factor on each joint's rigid-body torque of a set that fits the efforts best, (n,).

    If the effort scales were identified, each published set gets its own scales as well, so that
    the comparison is fair.
    """
    return _with_inertias(factors, prior.model.base.values(arm)).slopes


@dataclass(frozen=True, eq=False)
class _JointFits:
    """
    The result of fitting each joint's effort separately, with given inertias and free friction.

    All have shape (n,): `slopes` is the effort per N m of rigid-body torque, `deviations` its
    standard deviation, `residual` the root mean square of the residual effort, and `braking` the
    sign of the effort scale for which friction brakes.
    """

    slopes: Array
    deviations: Array
    residual: Array
    braking: Array

    @property
    def share(self) -> Array:
        """Weight of each joint in the common scale; the weights sum to one."""
        relative = self.deviations / np.abs(self.slopes)
        weights = 1.0 / (relative**2 + _STARTING_SET_PART**2)
        return np.asarray(weights / weights.sum())

    @property
    def logarithms(self) -> Array:
        """Logarithms of the absolute slopes."""
        return np.asarray(np.log(np.abs(self.slopes)))

    def starts(self) -> Array:
        """Return initial slopes (n,); poorly determined ones get the size of the median slope."""
        relative = self.deviations / np.abs(self.slopes)
        shown = relative < _STARTING_SET_PART
        common = np.exp(_median(self.logarithms, self.share))
        sign = np.where(shown, np.sign(self.slopes), self.braking)
        return np.asarray(sign * np.where(shown, np.abs(self.slopes), common))


def _median(values: Array, weights: Array) -> float:
    """Return the weighted median: half of the weight lies on either side."""
    order = np.argsort(values)
    middle = np.cumsum(weights[order]) - 0.5 * weights[order]
    return float(np.interp(0.5, middle, values[order]))


def _rotors(prior: Prior) -> Array | None:
    """Return the base parameters of each joint's unit rotor inertia, (n, b), if identified."""
    base = prior.model.base
    return base.matrix[:, -prior.model.n :].T if base.rotor_inertia else None


def _with_inertias(
    factors: QRFactors, base_values: Array, rotors: Array | None = None
) -> _JointFits:
    """
    Fit each joint's effort separately.

    The fitted parameters are a factor on the rigid-body torque of the base parameters (b,), the
    joint's friction, and its rotor inertia if `rotors` (n, b) are given.
    """
    b = len(base_values)
    found = []
    for joint, rows in enumerate(factors.r_factors):
        free = [] if rotors is None else [rows[:, :b] @ rotors[joint]]
        friction = rows[:, b : b + factors.terms]
        columns = np.column_stack([rows[:, :b] @ base_values, *free, friction])
        lengths = np.linalg.norm(columns, axis=0)
        kept = lengths > 0.0
        scaled = columns[:, kept] / lengths[kept]
        inverse = np.linalg.pinv(scaled, rcond=1e-6)
        solution = np.zeros(len(lengths))
        solution[kept] = inverse @ rows[:, -2] / lengths[kept]
        rest = rows[:, -2] - columns @ solution
        residual = np.sqrt(rest @ rest / max(factors.samples, 1))
        spread = residual * np.linalg.norm(inverse[0]) / lengths[0] if kept[0] else np.inf
        friction_effort = friction @ solution[-factors.terms :]
        found.append(
            (solution[0], spread, residual, np.sign(friction_effort @ friction[:, 0]) or 1.0)
        )
    return _JointFits(*np.array(found).T)


def _residual(factors: QRFactors, prior: Prior, per_torque: Array, weights: Array) -> Array:
    """Return the weighted residuals of efforts and prior after fitting inertias and friction."""
    b, k = factors.base_count, factors.terms
    found = np.swapaxes(factors.r_factors, 0, 1)  # (rows, n, columns), as a regressor has them
    rows = prior.model.regressor(found[:, :, :b], found[:, :, b : b + k])
    rows = np.swapaxes((weights * per_torque)[:, None] * rows, 0, 1).reshape(-1, rows.shape[-1])
    effort = (weights[:, None] * factors.r_factors[:, :, -2]).ravel()
    known, center = prior.rows(PRIOR_PRECISION)
    theta = solve([(rows, effort), (known, center)]).theta
    return np.concatenate([effort - rows @ theta, center - known @ theta])
