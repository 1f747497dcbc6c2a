# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of a tree's wrenches and torques by its bodies' inertial parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .body_tree import BASE, BodyTree
from .derivatives import tree_motion
from .lie import ad, adjoint_inverse, hat
from .model import GRAVITY

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ParameterDerivatives:
    """
    Derivatives by the ten parameters of every body, in `LinkInertia.parameters()` order.

    `wrench` (..., n, 6, n, 10): F_i by body j's parameters, in body i's frame; `tau`
    (..., n, n, 10). Both are linear: times all parameters, and with the rotors' and the tool's
    share added, they give wrench and torque themselves.
    """

    wrench: Array
    tau: Array


def differentiate_by_parameters(tree: BodyTree, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, *,
                                gravity: ArrayLike = GRAVITY) -> ParameterDerivatives:
    """
    Return dF/dphi and dtau/dphi at states of shape (..., n).

    dF_i = dG_i dV_i - ad_V^T dG_i V_i for body i itself, from (4), carried to its ancestors.

    Raises
    ------
    JointVectorError
        If a vector has the wrong shape or is not finite.

    """
    motion = tree_motion(tree, q, dq, ddq, gravity=gravity)
    n = tree.n
    own = (_momentum_matrix(motion.accelerations)
           - np.swapaxes(ad(motion.twists), -1, -2) @ _momentum_matrix(motion.twists))
    wrench = np.zeros((*motion.tau.shape[:-1], n, 6, n, 10))
    back = np.swapaxes(adjoint_inverse(motion.transforms), -1, -2)
    for i in reversed(range(n)):
        wrench[..., i, :, i, :] = own[..., i, :, :]
        if tree.parents[i] != BASE:
            wrench[..., tree.parents[i], :, :, :] += np.einsum(
                '...ij,...jkl->...ikl', back[..., i, :, :], wrench[..., i, :, :, :])
    return ParameterDerivatives(wrench, np.einsum('ij,...ijkl->...ikl', tree.twists, wrench))


def _momentum_matrix(twist: Array) -> Array:
    """Return the matrix B with G V = B phi: (m v - h x omega; h x v + I omega), (..., 6, 10)."""
    v, omega = twist[..., :3], twist[..., 3:]
    out = np.zeros((*twist.shape, 10))
    out[..., :3, 0] = v
    out[..., :3, 1:4] = hat(omega)
    out[..., 3:, 1:4] = -hat(v)
    x, y, z = (omega[..., k] for k in range(3))
    for row, columns in enumerate(((4, 5, 6), (5, 7, 8), (6, 8, 9))):
        for column, component in zip(columns, (x, y, z)):
            out[..., 3 + row, column] = component
    return out
