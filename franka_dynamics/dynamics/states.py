# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Random joint states within an arm's limits, for checks that must not depend on a pose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arm import ArmDescription

# What stands in for a limit that an arm does not state: rad or m, rad/s, rad/s^2.
_UNLIMITED_POSITION, _UNLIMITED_VELOCITY, _UNLIMITED_ACCELERATION = np.pi, 2.0, 10.0


class JointStates(NamedTuple):
    """Positions, velocities and accelerations, each of shape (count, n)."""

    q: NDArray[np.float64]
    dq: NDArray[np.float64]
    ddq: NDArray[np.float64]


def sample_states(description: ArmDescription, count: int, seed: int) -> JointStates:
    """Return `count` states, uniform within the arm's position, velocity and acceleration."""
    rng = np.random.default_rng(seed)

    def bound(name: str, unlimited: float) -> NDArray[np.float64]:
        limit = description.limit(name)
        return np.where(np.isfinite(limit), limit, np.copysign(unlimited, limit))

    def uniform(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
        return rng.uniform(low, high, (count, description.n))

    velocity = bound('velocity', _UNLIMITED_VELOCITY)
    acceleration = bound('acceleration', _UNLIMITED_ACCELERATION)
    return JointStates(
        uniform(bound('lower', _UNLIMITED_POSITION), bound('upper', _UNLIMITED_POSITION)),
        uniform(-velocity, velocity), uniform(-acceleration, acceleration))
