# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Columns beside the regressor, with which `explanations` searches for faults of recordings."""

from __future__ import annotations

import numpy as np

from .torque_model import TorqueModel
from ..arm import ArmDescription
from ..dynamics.newton_euler import NewtonEulerModel
from ..recordings.preprocessing import Motion
from ..typing import Array

# Indices of columns that `witnesses` puts after the n efforts; columns before ACCELERATION are
# efforts or derivatives of efforts.
RATE, CURVATURE, ACCELERATION, LEVEL = 0, 1, 2, slice(3, 5)
_BEHIND = 5


def witnesses(model: TorqueModel, motion: Motion) -> Array:
    """
    Return the columns of each joint for the search for faults, shape (N, n, n + 5).

    For each of N samples and n joints: the efforts of all n joints, the first and second time
    derivative of the joint's effort, the joint's acceleration, and two gravity torques of the
    joint, computed with the starting set and each vector of `level` in place of gravity.
    """
    arm = model.base.description
    assert isinstance(arm, ArmDescription)
    count, n = motion.q.shape
    found = np.zeros((count, n, n + _BEHIND))
    found[:, :, :n] = motion.effort[:, None, :]
    step = 1.0 / motion.options.rate
    for number in np.unique(motion.piece):
        piece = np.flatnonzero(motion.piece == number)
        if len(piece) > 1:
            rate = np.gradient(motion.effort[piece], step, axis=0)
            found[piece, :, n + RATE] = rate
            found[piece, :, n + CURVATURE] = np.gradient(rate, step, axis=0)
    found[:, :, n + ACCELERATION] = motion.ddq
    for column, direction in zip(range(n + LEVEL.start, n + LEVEL.stop), level(model)):
        found[:, :, column] = NewtonEulerModel(arm, direction).gravity(motion.q)
    return found


def level(model: TorqueModel) -> Array:
    """Return two vectors (2, 3) [m/s^2] as long as gravity and orthogonal to it and each other."""
    gravity = model.base.gravity[0]
    size = float(np.linalg.norm(gravity))
    if size == 0.0:
        return np.zeros((2, 3))
    return np.asarray(size * np.linalg.svd(gravity[None, :])[2][1:])
