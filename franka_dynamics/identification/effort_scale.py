# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Torque constants: N m per unit of recorded effort of each joint, if efforts are motor currents.

The current i_j of joint j is (Y_j theta + F_j phi) / K_j: rigid-body and friction torque over one
unknown K_j per joint (Gautier, Briot 2014, "Global identification of joint drive gains and dynamic
parameters of robots", ASME J. Dyn. Syst. Meas. Control 136(5)). Motion determines the joints'
scales only relative to each other, because twice the masses with twice the scales need the same
currents. With the starting inertias each joint's current alone gives a scale. The common factor
is chosen so that the ratios of the fitted scales to these scales have the weighted median one. A
joint has more weight if its current determines its scale better. Wrong inertias of a few links
hardly change the median.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .prior import Prior, PRIOR_PRECISION
from .samples import QRFactors
from .solve import estimate, solve
from ..arm import ArmDescription
from ..errors import IdentificationError
from ..typing import Array

_FAINT = 1e-6  # weight of a prior about zero on a joint's parameters, relative to the samples
_ROUNDS = 12  # Gauss-Newton steps, each with new weights
# Relative prior standard deviation of the scales' common factor about the factor
# that the weighted median gives.
_COMMON_DEVIATION = 1e-4
# Assumed relative error, besides noise, of a joint's scale computed with the starting inertias.
_STARTING_SET_SHARE = 0.1
# Prior standard deviation of the logarithm of a joint's scale, about the scale's first guess.
_PRIOR_DEVIATION = 1.0
# A scale with a relative standard deviation above SCALE_NOT_SHOWN keeps its sign and is held at
# the median magnitude of the better determined scales.
SCALE_NOT_SHOWN = 0.25
_HELD_DEVIATION = 1e-4  # prior standard deviation of the logarithm of a scale held at the median
# A scale is doubtful if the joint's largest torque would exceed _MOST_OF_LIMIT times its torque
# limit.
_MOST_OF_LIMIT = 1.5


@dataclass(frozen=True, eq=False)
class EffortScale:
    """
    The scale of each joint's effort, (n,) [N m per unit].

    `deviation` (n,) are the scales' relative standard deviations without the error of their common
    factor. They are zero if the scales were given.
    """

    scale: Array
    deviation: Array


def find_effort_scale(
    factors: QRFactors, prior: Prior, arm: ArmDescription, inflation: float | Array = 1.0
) -> EffortScale:
    """
    Return the scale of each joint's effort [N m per unit].

    The efforts of `factors` are in the recording's unit. The prior's inertias fix the scales'
    common factor. `arm` is the starting set, for joint names and torque limits; `inflation` (n,)
    is the number of samples per independent sample. Raises IdentificationError if a joint's effort
    contains no rigid-body torque.
    """
    base, n = prior.model.base, prior.model.n
    b = len(base)
    rotors = base.matrix[:, -n:].T if base.rotor_inertia else None
    alone = _with_inertias(factors, prior.center[:b], rotors)
    limit = arm.limit('effort')
    for name, slope in zip(arm.joint_names, alone.slopes):
        if not np.isfinite(slope) or slope == 0.0:
            raise IdentificationError(
                f'The effort of {name} shows no torque of the model, so that its unit cannot be '
                "found: give every joint's with --effort-scale, or record a motion that loads "
                'it.'
            )
    sizes, relative = np.log(np.abs(alone.slopes)), alone.deviations / np.abs(alone.slopes)
    # Weight of each joint's scale in the scales' common factor.
    share = 1.0 / (relative**2 + _STARTING_SET_SHARE**2)
    share /= share.sum()
    # For a poorly determined slope the iteration starts at the weighted median magnitude of all
    # slopes, with the sign of `braking`.
    common = alone.braking * np.exp(_median(sizes, share))
    per_torque = np.where(relative < _STARTING_SET_SHARE, alone.slopes, common)
    # Prior of the logarithms of the slopes: weak about initial slopes, narrow if held at the
    # median.
    center, width = np.log(np.abs(per_torque)), np.full(n, _PRIOR_DEVIATION)
    deviation = alone.residual
    held, spread = np.zeros(n, dtype=bool), np.zeros(n)
    # For a joint without a torque limit the prior of friction depends on the largest recorded
    # effort, here converted to N m.
    stated = np.isfinite(limit) & (limit > 0.0)
    largest = np.where(stated, limit, prior.effort / np.abs(per_torque))
    scaled = replace(prior, effort=largest)
    for _ in range(_ROUNDS):
        weights = np.abs(per_torque) / np.maximum(deviation, np.finfo(float).tiny)
        weights = weights / np.sqrt(inflation)
        # A Gauss-Newton step. The equations' derivative by the logarithm of a joint's slope is the
        # torque that the latest parameters predict.
        torques = factors.scaled(1.0 / per_torque)
        theta = estimate(torques.weighted(weights), scaled, PRIOR_PRECISION).theta
        columns = np.eye(n)[:, None, :] * torques.predicted(theta)[:, :, None]
        equations = torques.with_shared(columns).weighted(weights)
        logarithms = np.log(np.abs(per_torque))
        known = np.zeros((n + 1, equations[0].shape[1]))
        known[:n, b : b + n] = np.diag(1.0 / width)
        known[n, b : b + n] = share / _COMMON_DEVIATION
        shift = _median(sizes - logarithms, share) / _COMMON_DEVIATION
        right = np.append((center - logarithms) / width, shift)
        free = scaled.rows(PRIOR_PRECISION, np.full(n, np.inf))
        found = solve([equations, free, (known, right)])
        deviation = np.abs(per_torque) * np.sqrt(torques.squares(theta) / max(factors.samples, 1))
        per_torque = per_torque * np.exp(found.theta[b : b + n])
        spread = np.where(held, spread, found.deviations[b : b + n])
        held |= spread > SCALE_NOT_SHOWN
        if not held.all():
            center = np.where(held, np.median(np.log(np.abs(per_torque))[~held]), center)
            width = np.where(held, _HELD_DEVIATION, width)
    return EffortScale(np.asarray(1.0 / per_torque), spread)


def doubts(found: EffortScale, arm: ArmDescription, strongest: Array) -> tuple[str, ...]:
    """
    Return one sentence for each reason not to believe identified scales.

    `strongest` (n,) is each joint's largest filtered |effort|, in the recording's unit.
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
    """Return each joint's effort per N m of an arm's rigid-body torque, fitted, (n,)."""
    return _with_inertias(factors, prior.model.base.values(arm)).slopes


class _JointFits(NamedTuple):
    """
    Results of separate fits of each joint's effort, with given inertias and free friction.

    `slopes` (n,) are efforts per N m of rigid-body torque, `deviations` their standard deviations,
    `residual` is the root mean square of the residual effort, and `braking` the sign that the
    slope must have for the fitted friction to oppose the motion.
    """

    slopes: Array
    deviations: Array
    residual: Array
    braking: Array


def _median(values: Array, weights: Array) -> float:
    order = np.argsort(values)
    middle = np.cumsum(weights[order]) - 0.5 * weights[order]
    return float(np.interp(0.5, middle, values[order]))


def _with_inertias(
    factors: QRFactors, base_values: Array, rotors: Array | None = None
) -> _JointFits:
    """
    Fit each joint's effort separately, to find the effort per N m of rigid-body torque.

    The unknowns are a factor on the rigid-body torque of the base parameters (b,), the joint's
    friction and, if `rotors` (n, b) is given, its rotor inertia. Row j of `rotors` holds the base
    parameters of a unit rotor inertia of joint j.
    """
    b = len(base_values)
    found = []
    for joint, rows in enumerate(factors.r_factors):
        free = [] if rotors is None else [rows[:, :b] @ rotors[joint]]
        friction = rows[:, b : b + factors.terms]
        columns = np.column_stack([rows[:, :b] @ base_values, *free, friction])
        # A nearly flat prior on the fit's unknowns, whose columns may be zero or linearly
        # dependent.
        lengths = np.linalg.norm(columns, axis=0)
        known = np.diag(_FAINT * np.where(lengths > 0.0, lengths, 1.0))
        solved = solve([(columns, rows[:, -2]), (known, np.zeros(len(lengths)))])
        rest = rows[:, -2] - columns @ solved.theta
        residual = np.sqrt(rest @ rest / max(factors.samples, 1))
        torque = friction @ solved.theta[-factors.terms :]
        braking = np.sign(torque @ friction[:, 0]) or 1.0
        found.append((solved.theta[0], residual * solved.deviations[0], residual, braking))
    return _JointFits(*np.array(found).T)
