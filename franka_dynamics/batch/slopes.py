# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
First derivatives of what a `BatchModel` computes, for the automatic differentiation of others.

PyTorch and JAX cannot look into compiled kernels; they are given each quantity's value and its
slopes, from the generated derivatives of inverse dynamics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .batch_model import BatchModel
from .traced_model import TracedModel
from ..arm import ArmDescription
from ..spatial import hat
from ..typing import Array


class Differentiable(NamedTuple):
    """
    A quantity and its derivatives by each of its arguments.

    `value` takes arrays of shape (..., n) and returns one of shape (..., *shape); `slopes`
    returns for each argument one of shape (..., *shape, n). Both are float32 where all arguments
    are, else float64.
    """

    arguments: tuple[str, ...]
    shape: tuple[int, ...]
    value: Callable[..., Array]
    slopes: Callable[..., tuple[Array, ...]]


def differentiable(model: BatchModel) -> dict[str, Differentiable]:
    """Return a model's quantities with their slopes, by the names of its methods."""
    n = model.description.n

    def inverse_dynamics(q: Array, dq: Array, ddq: Array) -> tuple[Array, ...]:
        return tuple(model.inverse_dynamics_derivatives(q, dq, ddq))

    def nonlinear_effects(q: Array, dq: Array) -> tuple[Array, ...]:
        found = model.inverse_dynamics_derivatives(q, dq, np.zeros_like(q))
        return found.by_position, found.by_velocity

    def gravity(q: Array) -> tuple[Array, ...]:
        still = np.zeros_like(q)
        return (model.inverse_dynamics_derivatives(q, still, still).by_position,)

    def coriolis(q: Array, dq: Array) -> tuple[Array, ...]:
        by_position, by_velocity = nonlinear_effects(q, dq)
        return by_position - gravity(q)[0], by_velocity

    def mass_matrix(q: Array) -> tuple[Array, ...]:
        # Column j of M is the torque of a unit acceleration of joint j, without gravity.
        still, weight = np.zeros_like(q), gravity(q)[0]
        columns = []
        for push in np.eye(n, dtype=weight.dtype):
            found = model.inverse_dynamics_derivatives(q, still, still + push)
            columns.append(found.by_position - weight)
        return (np.stack(columns, axis=-2),)

    def forward_dynamics(q: Array, dq: Array, tau: Array) -> tuple[Array, ...]:
        # tau(q, dq, ddq) is held: M d(ddq) = d(tau) - dtau/dq dq - dtau/d(dq) d(dq).
        found = model.inverse_dynamics_derivatives(q, dq, model.forward_dynamics(q, dq, tau))
        finite = np.isfinite(found.by_acceleration).all(axis=(-2, -1), keepdims=True)
        unit = np.eye(n, dtype=found.by_acceleration.dtype)
        inverse = np.linalg.inv(np.where(finite, found.by_acceleration, unit))
        inverse = np.where(finite, inverse, unit * np.nan)
        return -inverse @ found.by_position, -inverse @ found.by_velocity, inverse

    def flange_pose(q: Array) -> tuple[Array, ...]:
        pose, jacobian = model.flange_pose(q), model.jacobian(q)
        slopes = np.zeros((*pose.shape, n), pose.dtype)
        slopes[..., :3, 3, :] = jacobian[..., :3, :]
        turns = hat(np.swapaxes(jacobian[..., 3:, :], -1, -2))  # (..., n, 3, 3)
        slopes[..., :3, :3, :] = np.moveaxis(turns @ pose[..., None, :3, :3], -3, -1)
        return (slopes,)

    state, moving = ('q', 'dq'), ('q', 'dq', 'ddq')
    return {
        'inverse_dynamics': Differentiable(moving, (n,), model.inverse_dynamics, inverse_dynamics),
        'nonlinear_effects': Differentiable(
            state, (n,), model.nonlinear_effects, nonlinear_effects
        ),
        'gravity': Differentiable(('q',), (n,), model.gravity, gravity),
        'coriolis': Differentiable(state, (n,), model.coriolis, coriolis),
        'mass_matrix': Differentiable(('q',), (n, n), model.mass_matrix, mass_matrix),
        'forward_dynamics': Differentiable(
            ('q', 'dq', 'tau'), (n,), model.forward_dynamics, forward_dynamics
        ),
        'flange_pose': Differentiable(('q',), (4, 4), model.flange_pose, flange_pose),
    }


class LibraryModel(ABC):
    """
    The methods of a model whose arrays are another library's; `_run` is the library's part.

    Parameters
    ----------
    description : ArmDescription
        The arm, with its hand and payload as desired.
    xp : module
        The library, for what is traced.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    threads : int, optional
        As `BatchModel`'s.

    """

    def __init__(
        self, description: ArmDescription, xp: Any, gravity: ArrayLike, threads: int | None
    ) -> None:
        self.description = description
        self.traced = TracedModel(description, xp, gravity)
        self._quantities = differentiable(BatchModel(description, gravity, threads=threads))

    def inverse_dynamics(self, q: Any, dq: Any, ddq: Any) -> Any:
        """Return M ddq + C dq + g, shape (..., n) [N m]."""
        return self._run('inverse_dynamics', q, dq, ddq)

    def nonlinear_effects(self, q: Any, dq: Any) -> Any:
        """Return C dq + g, shape (..., n) [N m]."""
        return self._run('nonlinear_effects', q, dq)

    def coriolis(self, q: Any, dq: Any) -> Any:
        """Return C dq, shape (..., n) [N m]."""
        return self._run('coriolis', q, dq)

    def gravity(self, q: Any) -> Any:
        """Return g, shape (..., n) [N m]."""
        return self._run('gravity', q)

    def mass_matrix(self, q: Any) -> Any:
        """Return M, shape (..., n, n) [kg m^2]."""
        return self._run('mass_matrix', q)

    def forward_dynamics(self, q: Any, dq: Any, tau: Any) -> Any:
        """Return ddq = M^-1 (tau - C dq - g), shape (..., n) [rad/s^2]."""
        return self._run('forward_dynamics', q, dq, tau)

    def flange_pose(self, q: Any) -> Any:
        """Return the flange's poses in the space frame, shape (..., 4, 4)."""
        return self._run('flange_pose', q)

    @abstractmethod
    def _run(self, name: str, *arrays: Any) -> Any:
        """Return a quantity of these arrays, as the library's own array."""
