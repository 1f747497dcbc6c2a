# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What one unit of recorded effort is in N m, joint by joint, where efforts are motor currents.

A current i_j is c_j (Y_j theta + F_j phi) with one unknown c_j per joint (Gautier and Briot 2014,
"Global identification of joint drive gains and dynamic parameters of robots", ASME J. Dyn. Syst.
Meas. Control 136(5)). Motion tells the joints' scales relative to each other; what all of them
amount to is told by the prior on the masses alone, because twice the masses with half the scales
need the same currents.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .prior import Pull
from .qr_factors import QRFactors
from ..arm import ArmDescription
from ..errors import IdentificationError, MissingDependencyError
from ..typing import Array

_STRENGTH = 10.0  # of the prior on inertias while scales are sought
_ROUNDS = 3  # of weights and scales in turn
# All scales together are what they are with the starting set's inertias, within this part.
_AS_A_WHOLE = 1e-4


def find_effort_scale(factors: QRFactors, pull: Pull, arm: ArmDescription) -> Array:
    """
    Return what one unit of each joint's effort is, shape (n,) [N m per unit].

    Parameters
    ----------
    factors : QRFactors
        Of the samples, their efforts as recorded.
    pull : Pull
        The prior; its inertias say what the scales amount to as a whole.
    arm : ArmDescription
        The starting set: its joints' names and torque limits.

    Raises
    ------
    IdentificationError
        If a joint's effort shows no torque of the model.
    MissingDependencyError
        If scipy is not installed.

    """
    try:
        from scipy.optimize import least_squares
    except ImportError as error:
        raise MissingDependencyError(
            "Finding the effort's scale needs scipy: pip install 'franka_dynamics[identify]'."
        ) from error
    per_torque, deviation = _with_inertias(factors, pull.center[: len(pull.model.base)])
    limit = arm.limit('effort')
    for name, slope in zip(arm.joint_names, per_torque):
        if not np.isfinite(slope) or slope == 0.0:
            raise IdentificationError(
                f'The effort of {name} shows no torque of the model, so that its unit cannot be '
                "found: give every joint's with --effort-scale, or record a motion that loads "
                'it.'
            )
    start, logarithm = per_torque, np.zeros(len(per_torque))
    # Without torque limits friction is measured by the largest torque, which is now in N m.
    scaled = replace(pull, effort=np.where(np.isfinite(limit), limit, pull.effort / abs(start)))
    for _ in range(_ROUNDS):
        weights = 1.0 / np.maximum(deviation, np.finfo(float).tiny)
        found = least_squares(
            lambda x, weights=weights: np.append(
                _residual(factors, scaled, start * np.exp(x), weights), x.mean() / _AS_A_WHOLE
            ),
            logarithm,
            method='lm',
        )
        logarithm = found.x
        per_torque = start * np.exp(logarithm)
        squares = found.fun[: factors.r_factors.shape[0] * factors.r_factors.shape[1]]
        own = np.sum(squares.reshape(len(start), -1) ** 2, axis=1) / weights**2
        deviation = np.sqrt(own / max(factors.samples, 1))
    return np.asarray(1.0 / per_torque)


def relative_scale(factors: QRFactors, pull: Pull, arm: ArmDescription) -> Array:
    """
    Return by how much a set's rigid torques are multiplied to fit the efforts best, shape (n,).

    A published set is given its own scale per joint where the effort's unit had to be found, so
    that it is compared alike.
    """
    return _with_inertias(factors, pull.model.base.values(arm))[0]


def _with_inertias(factors: QRFactors, base_values: Array) -> tuple[Array, Array]:
    """Return effort per rigid torque and what is left, for given base parameters, (n,) each."""
    b = len(base_values)
    slopes, left = [], []
    for rows in factors.r_factors:
        columns = np.column_stack([rows[:, :b] @ base_values, rows[:, b : b + factors.terms]])
        lengths = np.linalg.norm(columns, axis=0)
        columns, lengths = columns[:, lengths > 0.0], lengths[lengths > 0.0]
        solution = np.linalg.lstsq(columns / lengths, rows[:, -2], rcond=1e-6)[0] / lengths
        slopes.append(solution[0])
        rest = rows[:, -2] - columns @ solution
        left.append(np.sqrt(rest @ rest / max(factors.samples, 1)))
    return np.array(slopes), np.array(left)


def _residual(factors: QRFactors, pull: Pull, per_torque: Array, weights: Array) -> Array:
    """Return the weighted rows that the best inertias and friction leave of effort and prior."""
    b, n = len(pull.model.base), len(per_torque)
    rows = np.zeros((n, factors.r_factors.shape[1], b + n * factors.terms))
    gain = (weights * per_torque)[:, None, None]
    rows[:, :, :b] = gain * factors.r_factors[:, :, :b]
    for joint in range(n):
        place = b + joint * factors.terms
        rows[joint, :, place : place + factors.terms] = (
            gain[joint] * factors.r_factors[joint, :, b : b + factors.terms]
        )
    effort = (weights[:, None] * factors.r_factors[:, :, -2]).ravel()
    root = np.sqrt(_STRENGTH) * pull.root
    matrix = np.concatenate([rows.reshape(len(effort), -1), root, pull.friction_root])
    target = np.concatenate([effort, root @ pull.center, np.zeros(len(pull.fitted))])
    theta = np.linalg.lstsq(matrix, target, rcond=None)[0]
    return np.asarray(target - matrix @ theta)
