# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torques of many states of a tree of bodies at once: code generated for that tree."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from .batch_model import TorqueDerivatives
from .jobs import checked_threads, DOUBLE, forms, generated_job, pool_for
from .results import empty
from ..codegen.equations import Quantity
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
        self.tree = tree
        self.threads = checked_threads(threads)
        self._gravity = tuple(float(part) for part in np.asarray(gravity, dtype=float))

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return M ddq + C dq + g, shape (..., n) [N m]."""
        return self._run(Quantity.INVERSE_DYNAMICS, q=q, dq=dq, ddq=ddq)

    def gravity(self, q: ArrayLike) -> Array:
        """Return g, shape (..., n) [N m]."""
        return self._run(Quantity.GRAVITY, q=q)

    def coriolis(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return C dq, shape (..., n) [N m]."""
        return self._run(Quantity.CORIOLIS, q=q, dq=dq)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M, shape (..., n, n) [kg m^2]."""
        return self._run(Quantity.MASS_MATRIX, q=q)

    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return C of Christoffel symbols, dM/dt = C + C^T, shape (..., n, n) [N m s/rad]."""
        return self._run(Quantity.CORIOLIS_MATRIX, q=q, dq=dq)

    def forward_dynamics(self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> Array:
        """Return ddq = M^-1 (tau - C dq - g), shape (..., n) [rad/s^2]."""
        return self._run(Quantity.FORWARD_DYNAMICS, q=q, dq=dq, tau=tau)

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike
    ) -> TorqueDerivatives:
        """Return the derivatives of `inverse_dynamics`, each (..., n, n), as BatchModel does."""
        slopes = self._run(Quantity.DERIVATIVES, q=q, dq=dq, ddq=ddq)
        return TorqueDerivatives(slopes[..., 0, :, :], slopes[..., 1, :, :], slopes[..., 2, :, :])

    def regressor(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return H with tau = H X, shape (..., n, 10 n), by `tree_regressor`, in NumPy."""
        return tree_regressor(self.tree, q, dq, ddq, self._gravity)

    def _run(self, quantity: Quantity, **values: ArrayLike) -> Array:
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
        count = math.prod(stack)
        name = _METHODS.get(quantity, quantity.value)
        form = forms(self.tree.n)[name]
        rows = empty((count, *form.result), DOUBLE)
        if count:
            job = generated_job(self.tree, quantity, self._gravity, form)
            states = [array.reshape(count, self.tree.n) for array in stacked]
            job.run(pool_for(count, self.threads), states, rows)
        return rows.reshape(*stack, *form.result)


_METHODS = {Quantity.DERIVATIVES: 'inverse_dynamics_derivatives'}
