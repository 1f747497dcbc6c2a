# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The check that a matrix is a rigid motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InertiaError

# How far R R^T may be from 1: looser than rounding, far tighter than a typed rotation's error.
_RIGID_EPS = 1e-9


def rigid_transform(transform: ArrayLike) -> NDArray[np.float64]:
    """
    Return a homogeneous transform as a float array of shape (4, 4).

    Raises
    ------
    InertiaError
        If it is no rigid motion: rotation not orthonormal and right-handed, or last row not
        (0, 0, 0, 1), to 1e-9.

    """
    matrix = np.asarray(transform, dtype=float)
    if matrix.shape != (4, 4):
        raise InertiaError(f'A transform needs shape (4, 4); got {matrix.shape}.')
    rotation = matrix[:3, :3]
    rigid = (np.isfinite(matrix).all()
             and np.abs(rotation @ rotation.T - np.eye(3)).max() <= _RIGID_EPS
             and np.linalg.det(rotation) > 0.0 and np.array_equal(matrix[3], (0, 0, 0, 1)))
    if not rigid:
        raise InertiaError('A transform must be a rigid motion [R, p; 0, 1] with R a rotation; '
                           f'got {matrix.tolist()}.')
    return matrix
