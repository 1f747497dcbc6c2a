# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Base parameters from the numerical rank of the regressor: a check that knows no theory.

The regressor of many random states, stacked, has one independent column per base parameter
(Gautier 1991, "Numerical calculation of the base inertial parameters of robots"): its singular
values count them, and a QR factorisation without pivoting says which columns depend on those
before them. It shares the torque regressor with the direct method, and no energy, no regrouping
relation and no criterion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .elimination import elimination_order
from ..arm import ArmDescription, JointKind
from ..arm.sampling import sample_states
from ..dynamics.body_tree import BodyTree, joint_twists
from ..dynamics.model import GRAVITY
from ..dynamics.regressor import PER_LINK, torque_regressor
from ..typing import Array

# Between the smallest singular value that counts (1e-5 for odd geometries; 0.1 for real arms) and
# rounding (1e-15), relative to the largest, columns being of unit length.
_RANK_TOLERANCE = 1e-9
# Joint positions, velocities and accelerations of random states of a tree, which has no limits.
_TREE_REACH = 2.0


@dataclass(frozen=True, eq=False)
class NumericalBaseParameters:
    """Which columns are independent, what the others are made of, and how sure the count is."""

    columns: tuple[int, ...]  # independent standard parameters, ascending
    matrix: Array  # (b, p): base parameters = matrix @ standard parameters
    singular_values: Array  # of the scaled regressor, descending, relative to the first

    @property
    def rank(self) -> int:
        """Number of singular values that count."""
        return int(np.sum(self.singular_values > _RANK_TOLERANCE))


def numerical_base_parameters(
    description: ArmDescription | BodyTree,
    gravity: ArrayLike = GRAVITY,
    *,
    rotor_inertia: bool = False,
    count: int = 100,
    seed: int = 0,
) -> NumericalBaseParameters:
    """
    Return base parameters found from random states.

    Parameters
    ----------
    description : ArmDescription or BodyTree
        The arm, or a tree of bodies; only its geometry is used.
    gravity : array_like, shape (3,) or (k, 3)
        Gravity in the space frame; the torques of several vectors are stacked.
    rotor_inertia : bool
        Whether each joint's rotor is one more parameter.
    count, seed : int
        How many random states, and from which seed. Ten per joint are plenty.

    """
    stacked = _stacked_regressor(
        description, np.atleast_2d(np.asarray(gravity, dtype=float)), rotor_inertia, count, seed
    )
    lengths = np.linalg.norm(stacked, axis=0)
    present = lengths > _RANK_TOLERANCE * lengths.max(initial=0.0)
    scaled = np.where(present, stacked / np.where(present, lengths, 1.0), 0.0)
    values = np.linalg.svd(scaled, compute_uv=False)
    singular = values / values[0] if values[0] > 0.0 else values
    columns = _independent_columns(scaled, _keep_order(description, rotor_inertia))
    # Solve for all parameters in terms of the independent columns, then undo the scaling.
    solution, *_ = np.linalg.lstsq(scaled[:, columns], scaled, rcond=None)
    matrix = solution * lengths / lengths[columns][:, None]
    return NumericalBaseParameters(tuple(columns), matrix, singular)


def _stacked_regressor(
    description: ArmDescription | BodyTree,
    gravity: Array,
    rotor_inertia: bool,
    count: int,
    seed: int,
) -> Array:
    if isinstance(description, BodyTree):
        shape = (3, count, description.n)
        q, dq, ddq = np.random.default_rng(seed).uniform(-_TREE_REACH, _TREE_REACH, shape)
    else:
        q, dq, ddq = sample_states(description, count, seed)
    stacked = np.concatenate(
        [
            torque_regressor(description, q, dq, ddq, vector, rotor_inertia=rotor_inertia)
            for vector in gravity
        ]
    )
    # The triangular factor has the same column lengths, singular values and dependencies, and as
    # few rows as columns.
    return np.asarray(np.linalg.qr(stacked.reshape(-1, stacked.shape[-1]), mode='r'))


def _independent_columns(matrix: Array, order: list[int]) -> list[int]:
    """Return the columns that do not depend on those before them in the order, ascending."""
    diagonal = np.abs(np.diag(np.linalg.qr(matrix[:, order], mode='r')))
    kept = [column for column, size in zip(order, diagonal) if size > _RANK_TOLERANCE]
    return sorted(kept)


def _keep_order(description: ArmDescription | BodyTree, rotor_inertia: bool) -> list[int]:
    """Return the columns from the base outwards, and in a link from the last to be eliminated."""
    screws = description.twists if isinstance(description, BodyTree) else joint_twists(description)
    order: list[int] = []
    for i, screw in enumerate(screws):
        kind = JointKind.REVOLUTE if screw[3:].any() else JointKind.PRISMATIC
        for place in reversed(elimination_order(kind, screw, rotor_inertia=rotor_inertia)):
            order.append(
                PER_LINK * i + place if place < PER_LINK else PER_LINK * description.n + i
            )
    return order
