# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torques of many states of a tree of bodies at once: code generated for that tree."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import ArrayLike

from .batch_model import Kernel, SERIAL_BELOW, TorqueDerivatives
from .generated_kernels import available_threads, kernel_source, LANES, load_kernel, share_out
from ..codegen.equations import customised_equations, Quantity
from ..dynamics.body_tree import BodyTree
from ..dynamics.model import GRAVITY
from ..dynamics.regressor import tree_regressor
from ..errors import JointVectorError
from ..typing import Array


class TreeBatchModel:
    """
    Dynamics of a tree for stacks of states, with the names of `BatchModel`.

    The code is generated and compiled when a quantity is first asked for, and kept in the user's
    cache folder. Finding the cheapest way to write it takes a minute or so at fifteen joints, once
    in a process for each tree, quantity and gravity.

    Parameters
    ----------
    tree : BodyTree
        Every joint along the z of its body's frame, as `assemble` and `with_axes_along_z` have it.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    threads : int, optional
        How many to use at most; as many as there are processors if not given.

    Raises
    ------
    JointVectorError
        If threads is below one; and of every method, if a vector has the wrong shape or a value
        is not finite.
    TreeError
        If a joint is not along its frame's z, when a quantity is first asked for.

    """

    def __init__(
        self, tree: BodyTree, gravity: ArrayLike = GRAVITY, *, threads: int | None = None
    ) -> None:
        if threads is not None and threads < 1:
            raise JointVectorError(
                f'threads is {threads}; give at least 1, or None for one per processor.'
            )
        self.tree = tree
        self.threads = available_threads() if threads is None else threads
        self._gravity = tuple(float(part) for part in np.asarray(gravity, dtype=float))

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return M ddq + C dq + g, shape (..., n) [N m]."""
        return self._run(Quantity.INVERSE_DYNAMICS, (self.tree.n,), q=q, dq=dq, ddq=ddq)

    def gravity(self, q: ArrayLike) -> Array:
        """Return g, shape (..., n) [N m]."""
        return self._run(Quantity.GRAVITY, (self.tree.n,), q=q)

    def coriolis(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return C dq, shape (..., n) [N m]."""
        return self._run(Quantity.CORIOLIS, (self.tree.n,), q=q, dq=dq)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M, shape (..., n, n) [kg m^2]."""
        return self._run(Quantity.MASS_MATRIX, (self.tree.n, self.tree.n), q=q)

    def forward_dynamics(self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> Array:
        """Return ddq = M^-1 (tau - C dq - g), shape (..., n) [rad/s^2]."""
        return self._run(Quantity.FORWARD_DYNAMICS, (self.tree.n,), q=q, dq=dq, tau=tau)

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike
    ) -> TorqueDerivatives:
        """Return the derivatives of `inverse_dynamics`, each (..., n, n), as BatchModel does."""
        n = self.tree.n
        slopes = self._run(Quantity.DERIVATIVES, (3, n, n), q=q, dq=dq, ddq=ddq)
        return TorqueDerivatives(slopes[..., 0, :, :], slopes[..., 1, :, :], slopes[..., 2, :, :])

    def regressor(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return H with tau = H X, shape (..., n, 10 n), by `tree_regressor`, in NumPy."""
        return tree_regressor(self.tree, q, dq, ddq, self._gravity)

    def _run(self, quantity: Quantity, result: tuple[int, ...], **values: ArrayLike) -> Array:
        given = [self.tree.joint_vector(array, name) for name, array in values.items()]
        try:
            stacked = np.broadcast_arrays(*given)
        except ValueError:
            shapes = ', '.join(f'{name} {array.shape}' for name, array in zip(values, given))
            raise JointVectorError(
                f'The arrays do not broadcast: {shapes}. Give one row per '
                'state in each of them, or one for all.'
            ) from None
        stack = stacked[0].shape[:-1]
        count = int(np.prod(stack, dtype=int))
        # Whole blocks of lanes, the last one filled up with zeros.
        padded = -(-count // LANES) * LANES
        inputs = []
        for array in stacked:
            rows = np.zeros((padded, self.tree.n))
            rows[:count] = array.reshape(count, self.tree.n)
            inputs.append(rows)
        out = np.empty((padded, *result))
        if padded:
            share_out(
                _kernel(self.tree, quantity, self._gravity),
                [*inputs, out],
                1 if count < SERIAL_BELOW else self.threads,
                LANES,
            )
        return out[:count].reshape(*stack, *result)


@functools.lru_cache(maxsize=32)
def _kernel(tree: BodyTree, quantity: Quantity, gravity: tuple[float, ...]) -> Kernel:
    equations = customised_equations(tree, quantity, gravity)
    kernel: Kernel = load_kernel(kernel_source(equations.program, tree.n)).run
    return kernel
