# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gaz's sigmoid friction, fitted joint by joint to the torque that inertias leave."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arm import SigmoidFriction
from ..errors import MissingDependencyError

Array = NDArray[np.float64]
# Amplitude [N m], slope [s/rad] and offset [rad/s]. Steeper than 100 s/rad is a step to every
# sensor, and a torque that no controller should command.
_LOWEST, _HIGHEST = (0.0, 0.5, -0.5), (100.0, 100.0, 0.5)


def fit_sigmoid(dq: ArrayLike, torque: ArrayLike) -> SigmoidFriction:
    """
    Return the sigmoid friction nearest to friction torques, by nonlinear least squares.

    tau_f = A / (1 + exp(-s (dq + d))) - A / (1 + exp(-s d)) (Gaz et al. 2019, section V), each
    joint by itself, from several starts because the slope has local minima.

    Parameters
    ----------
    dq : array_like, shape (N, n)
        Velocities [rad/s].
    torque : array_like, shape (N, n)
        Torque that friction is to explain [N m].

    Raises
    ------
    MissingDependencyError
        If scipy is not installed.

    """
    columns = zip(np.asarray(dq, dtype=float).T, np.asarray(torque, dtype=float).T)
    amplitude, slope, offset = np.array([_fit_joint(v, tau) for v, tau in columns]).T
    return SigmoidFriction(amplitude, slope, offset)


def _fit_joint(velocity: Array, torque: Array) -> Array:
    try:
        from scipy.optimize import least_squares
    except ImportError as error:
        raise MissingDependencyError("Fitting the sigmoid needs scipy: "
                                     "pip install 'franka_dynamics[identify]'.") from error

    def residual(values: Array) -> Array:
        model = SigmoidFriction(*(values[i:i + 1] for i in range(3)))
        return model.torque(velocity[:, None])[:, 0] - torque

    swing = float(np.clip(np.ptp(torque), 0.01, 50.0))
    fits = [least_squares(residual, (swing, slope, 0.0), bounds=(_LOWEST, _HIGHEST),
                          x_scale=(swing, slope, 0.05)) for slope in (3.0, 10.0, 30.0, 90.0)]
    return np.asarray(min(fits, key=lambda found: float(found.cost)).x)

