# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The torques of a tree of bodies as a matrix times their inertial parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .body_tree import BodyTree
from .closed_chain_derivatives import differentiate_by_parameters
from .model import GRAVITY
from .regressor import PER_LINK
from ..errors import BaseParameterError
from ..typing import Array

# States worked on at once: wrenches of all bodies by all parameters take 60 kB each at 15 joints.
_BLOCK = 256


def tree_regressor(
    tree: BodyTree,
    q: ArrayLike,
    dq: ArrayLike,
    ddq: ArrayLike,
    gravity: ArrayLike = GRAVITY,
    *,
    rotor_inertia: bool = False,
    columns: Sequence[int] | None = None,
) -> Array:
    """
    Return H with tau = H X for a tree, as `regressor.torque_regressor` does for an arm.

    Parameters
    ----------
    tree : BodyTree
        Only its geometry is used.
    q, dq, ddq : array_like, shape (..., n)
        Positions, velocities and accelerations in joint order (rad or m, and per s, s^2).
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    rotor_inertia : bool
        Append n columns for the rotor inertias Ia_1..Ia_n, whose torque is Ia_i ddq_i.
    columns : sequence of int, optional
        Only these columns, in this order.

    Returns
    -------
    ndarray, shape (..., n, p)
        p = 10 n (11 n with rotors): XX, XY, XZ, YY, YZ, ZZ, mX, mY, mZ, m of each body about the
        origin and in the axes of its frame; or len(columns).

    Raises
    ------
    JointVectorError
        If a vector has the wrong shape or is not finite.
    BaseParameterError
        If a column does not exist.

    """
    n = tree.n
    width = (PER_LINK + int(rotor_inertia)) * n
    chosen = list(range(width)) if columns is None else [int(column) for column in columns]
    for column in chosen:
        if not 0 <= column < width:
            raise BaseParameterError(
                f'Column {column} does not exist: the regressor has columns '
                f'0..{width - 1}. Rotor columns need rotor_inertia=True.'
            )
    states = np.broadcast_arrays(
        *(tree.joint_vector(values, name) for values, name in ((q, 'q'), (dq, 'dq'), (ddq, 'ddq')))
    )
    flat = [values.reshape(-1, n) for values in states]
    out = np.empty((len(flat[0]), n, len(chosen)))
    for start in range(0, len(out), _BLOCK):
        block = slice(start, start + _BLOCK)
        position, velocity, acceleration = (values[block] for values in flat)
        by = differentiate_by_parameters(tree, position, velocity, acceleration, gravity=gravity)
        full = by.tau.reshape(len(position), n, PER_LINK * n)
        if rotor_inertia:
            rotors = acceleration[:, :, None] * np.eye(n)
            full = np.concatenate((full, rotors), axis=-1)
        out[block] = full[:, :, chosen]
    return out.reshape(*states[0].shape, len(chosen))


def tree_parameter_vector(tree: BodyTree, *, rotor_inertia: bool = False) -> Array:
    """Return the bodies' parameters in the regressor's order, shape (10 n,) or (11 n,)."""
    vector = np.concatenate([body.parameters() for body in tree.inertias])
    return np.concatenate((vector, tree.rotor_inertias)) if rotor_inertia else vector
