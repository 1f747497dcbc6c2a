# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Batches for JAX: jit, vmap and grad over the compiled kernels, or over traced equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .slopes import Differentiable, LibraryModel
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..errors import JointVectorError, MissingDependencyError

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise MissingDependencyError(
        "JAX arrays need JAX: pip install 'franka_dynamics[jax]'"
    ) from error


class JaxModel(LibraryModel):
    """
    An arm's dynamics for JAX arrays; methods as those of `BatchModel`.

    On a processor JAX calls the kernels of `BatchModel` (jax.pure_callback), many times faster
    than its own code for these equations; derivatives are analytic, forward and reverse, of first
    order. For second derivatives, and on an accelerator, the equations are traced (`traced`, a
    `TracedModel`): slow to compile, at home wherever the arrays are.

    JAX's arrays are float32 unless jax_enable_x64 is set, and the kernels then compute in float32,
    with the errors that docs/howto/gradients.md states.

    Parameters
    ----------
    description : ArmDescription
        The arm, with its hand and payload as desired.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    threads : int, optional
        As `BatchModel`'s.

    Raises
    ------
    MissingDependencyError
        If JAX or numba is not installed (on import of this module).
    JointVectorError
        By the methods, if an argument's shape is not (..., n).

    """

    def __init__(
        self,
        description: ArmDescription,
        gravity: ArrayLike = GRAVITY,
        *,
        threads: int | None = None,
    ) -> None:
        super().__init__(description, jnp, gravity, threads)
        self._functions = {
            name: _called_back(quantity, description.n)
            for name, quantity in self._quantities.items()
        }

    def _run(self, name: str, *arrays: Any) -> Any:
        return self._functions[name](*arrays)


def _called_back(quantity: Differentiable, n: int) -> Callable[..., Any]:
    """Return a quantity as a function that JAX can compile, map and differentiate once."""

    def on_host(function: Callable[..., Any], dtype: Any, *arrays: Any) -> Any:
        kind = dtype if dtype == np.float32 else np.float64
        found = function(*(np.asarray(array, kind) for array in arrays))
        if isinstance(found, tuple):
            return tuple(np.asarray(each, dtype) for each in found)
        return np.asarray(found, dtype)

    @jax.custom_jvp
    def function(*arrays: Any) -> Any:
        lead, dtype = arrays[0].shape[:-1], jnp.result_type(*arrays)
        shape = jax.ShapeDtypeStruct((*lead, *quantity.shape), dtype)
        return jax.pure_callback(
            lambda *given: on_host(quantity.value, dtype, *given),
            shape,
            *arrays,
            vmap_method='broadcast_all',
        )

    @function.defjvp
    def derivative(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        lead, dtype = primals[0].shape[:-1], jnp.result_type(*primals)
        shape = jax.ShapeDtypeStruct((*lead, *quantity.shape, n), dtype)
        slopes = jax.pure_callback(
            lambda *given: on_host(quantity.slopes, dtype, *given),
            (shape,) * len(primals),
            *primals,
            vmap_method='broadcast_all',
        )
        letters = 'ab'[: len(quantity.shape)]
        change = sum(
            jnp.einsum(f'...{letters}k,...k->...{letters}', slope, tangent)
            for slope, tangent in zip(slopes, tangents)
        )
        return function(*primals), change

    def checked(*arrays: Any) -> Any:
        found = []
        for name, array in zip(quantity.arguments, arrays):
            try:
                found.append(jnp.asarray(array))
            except (TypeError, ValueError) as error:
                raise JointVectorError(f'{name} is no array of numbers: {error}') from error
        for name, array in zip(quantity.arguments, found):
            if not any(jnp.issubdtype(array.dtype, kind) for kind in (jnp.floating, jnp.integer)):
                raise JointVectorError(
                    f'{name} has the type {array.dtype}; it must hold real numbers.'
                )
        if not all(jnp.issubdtype(array.dtype, jnp.floating) for array in found):
            found = [array.astype(jnp.result_type(float)) for array in found]
        for name, array in zip(quantity.arguments, found):
            if array.ndim < 1 or array.shape[-1] != n or array.shape != found[0].shape:
                raise JointVectorError(
                    f'{name} has shape {array.shape}, expected (..., {n}), the same for '
                    f'{", ".join(quantity.arguments)}.'
                )
        return function(*found)

    return checked
