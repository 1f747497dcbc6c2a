# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Kinetic and potential energy, linear in the inertial parameters.

Gautier and Khalil 1990, eq. 5-12, appendix: E = DE X and U = DU X, with one
recursion for a link's ten entries of each:

    DE^j = lambda^j DE^{j-1} + f^j,    DU^j = lambda^j DU^{j-1}          (17)-(19)

The matrices are the appendix's, in its letters: alpha and d are the twist and the length before
the joint (Craig's alpha_{j-1} and a_{j-1}), theta and r the angle and the length along its axis
(`DHRow.theta` and `DHRow.d`). The printed DE_7..DE_9 have lost their minus signs, and the factor
dq_j of f^j belongs to both of its brackets.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arm import ArmDescription, Convention, DHRow, JointKind
from ..dynamics.body_tree import joint_twists
from ..dynamics.model import broadcast_states, GRAVITY, gravity_vector
from ..dynamics.regressor import PER_LINK
from ..dynamics.tree_rows import TreeRow
from ..spatial import twists_seen_from
from ..typing import Array


class LinkStep(NamedTuple):
    """
    How a link's energies follow from those of the link before.

    DE^j = transfer DE^{j-1} + dq_j coupling V_{j-1} + 1/2 dq_j^2 quadratic, with V_{j-1} the twist
    (v, omega) of the link before, in its frame. A parameter vector goes the other way:
    transfer^T X^j are the parameters of link j, held still, as a part of link j-1.
    """

    transfer: Array  # (..., 10, 10), lambda^j
    coupling: Array  # (..., 10, 6), both brackets of f^j
    quadratic: Array  # (10,)


def link_step(description: ArmDescription, index: int, position: ArrayLike) -> LinkStep:
    """
    Return the recursion's matrices of one link at positions of its joint.

    Parameters
    ----------
    description : ArmDescription
        The arm, in either convention. The appendix's formulas are for the modified one; a row of
        the standard one is a joint without twist and length, followed by a fixed twist and length.
    index : int
        Which link, from 0.
    position : array_like, shape (...)
        Positions of the joint [rad or m].

    Returns
    -------
    LinkStep
        One matrix per position, and the constant quadratic part.

    """
    joint = description.joints[index]
    row, at = joint.row, np.asarray(position, dtype=float)
    revolute = joint.kind is JointKind.REVOLUTE
    theta = row.theta + at if revolute else np.full(at.shape, row.theta)
    r = np.full(at.shape, row.d) if revolute else row.d + at
    still = np.zeros(at.shape)
    if description.convention is Convention.MODIFIED:
        return LinkStep(
            transfer_matrix(row.alpha, row.a, theta, r),
            coupling_matrix(row.alpha, row.a, theta, r, revolute=revolute),
            _quadratic(revolute),
        )
    behind = transfer_matrix(row.alpha, row.a, still, still)
    return LinkStep(
        behind @ transfer_matrix(0.0, 0.0, theta, r),
        behind @ coupling_matrix(0.0, 0.0, theta, r, revolute=revolute),
        transfer_matrix(row.alpha, row.a, 0.0, 0.0) @ _quadratic(revolute),
    )


def tree_link_step(row: TreeRow, position: ArrayLike) -> LinkStep:
    """
    Return the recursion's matrices of one body of a tree at positions of its joint.

    The row's gamma and b are a fixed turn and way in front of the appendix's joint:
    lambda^j = lambda(alpha, d, theta, r) lambda(0, 0, gamma, b), and the antecedent's twist is
    seen from behind them.

    Parameters
    ----------
    row : TreeRow
        The joint.
    position : array_like, shape (...)
        Positions of the joint [rad or m].

    """
    at = np.asarray(position, dtype=float)
    revolute = row.kind is JointKind.REVOLUTE
    alpha, a = row.row.alpha, row.row.a
    theta = row.row.theta + at if revolute else np.full(at.shape, row.row.theta)
    r = np.full(at.shape, row.row.d) if revolute else row.row.d + at
    seen = twists_seen_from(row.before, np.eye(6)).T
    return LinkStep(
        transfer_matrix(alpha, a, theta, r) @ transfer_matrix(0.0, 0.0, row.gamma, row.b),
        coupling_matrix(alpha, a, theta, r, revolute=revolute) @ seen,
        _quadratic(revolute),
    )


def energy_regressors(
    description: ArmDescription, q: ArrayLike, dq: ArrayLike, gravity: ArrayLike = GRAVITY
) -> tuple[Array, Array]:
    """
    Return DE and DU: kinetic energy E = DE X and potential energy U = DU X.

    Gautier and Khalil 1990, eq. 10, 11.

    Parameters
    ----------
    description : ArmDescription
        The arm; only its geometry is used.
    q, dq : array_like, shape (..., n)
        Positions and velocities in joint order [rad or m, and per s].
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].

    Returns
    -------
    tuple of ndarray, each of shape (..., 10 n)
        In the order of `dynamics.regressor.parameter_names`. U is zero for masses at the origin
        of the space frame. Rotors add 1/2 Ia_i dq_i^2, and nothing to U.

    Raises
    ------
    JointVectorError
        If a vector has the wrong shape or a value is not finite.

    """
    position, velocity = broadcast_states(description, q=q, dq=dq)
    screws = joint_twists(description)
    twist = np.zeros((*position.shape[:-1], 1, 6))
    kinetic = np.zeros((*position.shape[:-1], PER_LINK))
    potential = np.broadcast_to(
        base_potential(np.asarray(description.base, dtype=float), gravity_vector(gravity)),
        kinetic.shape,
    )
    kinetics, potentials = [], []
    for i, pose in enumerate(description.joint_transforms(position)):
        step = link_step(description, i, position[..., i])
        rate = velocity[..., i, None]
        kinetic = (
            _times(step.transfer, kinetic)
            + rate * _times(step.coupling, twist[..., 0, :])
            + 0.5 * rate**2 * step.quadratic
        )
        potential = _times(step.transfer, potential)
        twist = twists_seen_from(pose, twist) + rate[..., None] * screws[i]
        kinetics.append(kinetic)
        potentials.append(potential)
    return np.concatenate(kinetics, axis=-1), np.concatenate(potentials, axis=-1)


def base_potential(base: Array, gravity: Array) -> Array:
    """
    Return DU^0, shape (..., 10), for gravity of shape (..., 3) in the space frame [m/s^2].

    `base` (4, 4) is the pose of frame {0} in the space frame.
    """
    out = np.zeros((*gravity.shape[:-1], PER_LINK))
    out[..., 6:9] = -gravity @ base[:3, :3]
    out[..., 9] = -gravity @ base[:3, 3]
    return out


def transfer_matrix(alpha: float, d: float, theta: ArrayLike, r: ArrayLike) -> Array:
    """
    Return lambda of (17) with DJ1, DS1 and DM1 of the appendix, shape (..., 10, 10).

    Parameters
    ----------
    alpha, d : float
        Twist [rad] and length [m] before the joint.
    theta, r : array_like, shape (...)
        Angle [rad] and length [m] along the joint's axis.

    """
    theta, r = np.broadcast_arrays(np.asarray(theta, dtype=float), np.asarray(r, dtype=float))
    c, s = np.cos(theta), np.sin(theta)
    ca, sa = _cos_sin(alpha)
    csa = ca * sa
    one, zero = np.ones_like(c), np.zeros_like(c)
    out = np.zeros((*theta.shape, PER_LINK, PER_LINK))
    out[..., :6, :6] = _stack(
        [
            [c * c, c * s * ca, c * s * sa, s * s * ca * ca, s * s * csa, s * s * sa * sa],
            [
                -2 * c * s,
                (c * c - s * s) * ca,
                (c * c - s * s) * sa,
                2 * c * s * ca * ca,
                2 * c * s * csa,
                2 * c * s * sa * sa,
            ],
            [zero, -c * sa, c * ca, -2 * s * csa, s * (ca * ca - sa * sa), 2 * s * csa],
            [s * s, -c * s * ca, -c * s * sa, c * c * ca * ca, c * c * csa, c * c * sa * sa],
            [zero, s * sa, -s * ca, -2 * c * csa, c * (ca * ca - sa * sa), 2 * c * csa],
            [zero, zero, zero, sa * sa * one, -csa * one, ca * ca * one],
        ]
    )
    turn = sa * sa - ca * ca
    out[..., 6:9, :6] = np.swapaxes(
        _stack(
            [
                [zero, zero, 2 * r],
                [c * sa * r - s * ca * d, -c * ca * d - s * sa * r, sa * d * one],
                [-c * ca * r - s * sa * d, -c * sa * d + s * ca * r, -ca * d * one],
                [2 * (c * d + s * csa * r), 2 * (c * csa * r - s * d), 2 * ca * ca * r],
                [s * r * turn, c * r * turn, 2 * csa * r],
                [2 * (c * d - s * csa * r), 2 * (-c * csa * r - s * d), 2 * sa * sa * r],
            ]
        ),
        -1,
        -2,
    )
    out[..., 9, :6] = np.stack(
        [
            r * r,
            sa * d * r,
            -ca * d * r,
            ca * ca * r * r + d * d,
            csa * r * r,
            sa * sa * r * r + d * d,
        ],
        axis=-1,
    )
    # Behind them the transposed homogeneous transform of eq. (1).
    out[..., 6:9, 6:9] = _stack(
        [[c, s * ca, s * sa], [-s, c * ca, c * sa], [zero, -sa * one, ca * one]]
    )
    out[..., 9, 6:] = np.stack([d * one, -sa * r, ca * r, one], axis=-1)
    return out


def coupling_matrix(
    alpha: float,
    d: float,
    theta: ArrayLike,
    r: ArrayLike,
    *,
    revolute: bool,
) -> Array:
    """
    Return B with f^j = dq B (v, omega) + 1/2 dq^2 (...), shape (..., 10, 6).

    DJ2, DS3, DS4 of the appendix for a revolute joint, DS2, DM2, DM3 for a prismatic one. The
    printed f^j shows dq in front of the first bracket only; it multiplies both.
    """
    theta, r = np.broadcast_arrays(np.asarray(theta, dtype=float), np.asarray(r, dtype=float))
    c, s = np.cos(theta), np.sin(theta)
    ca, sa = _cos_sin(alpha)
    out = np.zeros((*theta.shape, PER_LINK, 6))
    v, omega = slice(0, 3), slice(3, 6)
    if revolute:
        out[..., 2, omega] = np.stack([c, s * ca, s * sa], axis=-1)  # DJ2
        out[..., 4, omega] = np.stack([-s, c * ca, c * sa], axis=-1)
        out[..., 5, omega] = (0.0, -sa, ca)
        out[..., 6, omega] = np.stack(
            [-c * r, -c * sa * d - s * ca * r, c * ca * d - s * sa * r], axis=-1
        )  # DS3
        out[..., 7, omega] = np.stack(
            [s * r, -c * ca * r + s * sa * d, -c * sa * r - s * ca * d], axis=-1
        )
        out[..., 6, v] = np.stack([-s, c * ca, c * sa], axis=-1)  # DS4
        out[..., 7, v] = np.stack([-c, -s * ca, -s * sa], axis=-1)
    else:
        out[..., 6, omega] = np.stack([s, -c * ca, -c * sa], axis=-1)  # DS2
        out[..., 7, omega] = np.stack([c, s * ca, s * sa], axis=-1)
        out[..., 9, omega] = (0.0, -ca * d, -sa * d)  # DM2
        out[..., 9, v] = (0.0, -sa, ca)  # DM3
    return out


def _quadratic(revolute: bool) -> Array:
    """Return the factor of 1/2 dq^2 in f^j: ZZ of a revolute joint, m of a prismatic one."""
    out = np.zeros(PER_LINK)
    out[5 if revolute else 9] = 1.0
    return out


@lru_cache
def _cos_sin(alpha: float) -> tuple[float, float]:
    """Return cos and sin of a twist as the description's own transforms have them."""
    twist = DHRow(alpha=alpha).transform(Convention.MODIFIED)
    return float(twist[2, 2]), float(-twist[1, 2])


def _stack(rows: list[list[Array]]) -> Array:
    """Return a matrix per state from a table of arrays."""
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def _times(matrix: Array, vector: Array) -> Array:
    return (matrix @ vector[..., None])[..., 0]
