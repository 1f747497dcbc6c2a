# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Batches for JAX: jit, vmap and grad over the compiled kernels, or over traced equations."""

from __future__ import annotations

from collections.abc import Callable
import functools
from typing import Any

import numpy as np

from .batch_model import BatchModel
from .traced_model import KernelModel
from ..codegen.equations import function_signature, Quantity
from ..errors import require_extra

with require_extra('JAX arrays need JAX', 'jax'):
    import jax
    import jax.numpy as jnp


class JaxModel(KernelModel):
    """
    An arm's dynamics for JAX arrays: the methods of `fd.Model`, by the kernels of `BatchModel`.

    On a CPU JAX calls the kernels of `BatchModel` (jax.pure_callback), many times faster than code
    that JAX compiles for the equations; derivatives are analytic, forward and reverse, of first
    order. For second derivatives and on accelerators use `traced`, a `TracedModel`: `traced` is
    slow to compile and runs on the arrays' device.

    Unless jax_enable_x64 is set, JAX's arrays are float32, and the kernels compute in float32,
    with the errors that docs/howto/gradients.md states.

    Raises
    ------
    MissingDependencyError
        If JAX is not installed (on import of this module).
    JointVectorError
        By the methods, if an argument is not an array of real numbers of shape (..., n).

    """

    xp = jnp

    def evaluate(
        self, quantity: Quantity, *arrays: Any, columns: tuple[int, ...] | None = None
    ) -> Any:
        """Return a quantity at states (..., n), by `BatchModel`'s kernels, called from JAX."""
        found, lead = self._states(quantity, arrays)
        if not all(jnp.issubdtype(array.dtype, jnp.floating) for array in found):
            found = [array.astype(jnp.result_type(float)) for array in found]
        called = _called_back(self._model, quantity, columns)
        return called(*(jnp.broadcast_to(array, (*lead, self.description.n)) for array in found))


@functools.lru_cache(maxsize=64)
def _called_back(
    model: BatchModel, quantity: Quantity, columns: tuple[int, ...] | None
) -> Callable[..., Any]:
    """Return a quantity of arrays (..., n) as a function that JAX can differentiate once."""
    n = model.description.n
    names, _, result = function_signature(quantity, n, columns)
    evaluate = functools.partial(model.evaluate, quantity, columns=columns)

    def on_host(call: Callable[..., Any], shape: tuple[int, ...], *arrays: Any) -> Any:
        dtype = jnp.result_type(*arrays)
        kind = dtype if dtype == np.float32 else np.float64
        return jax.pure_callback(
            lambda *given: np.asarray(call(*(np.asarray(array, kind) for array in given)), dtype),
            jax.ShapeDtypeStruct((*arrays[0].shape[:-1], *shape), dtype),
            *arrays,
            vmap_method='broadcast_all',
        )

    @jax.custom_jvp
    def function(*arrays: Any) -> Any:
        return on_host(evaluate, result, *arrays)

    @function.defjvp
    def derivative(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        derivatives = on_host(
            functools.partial(evaluate, derivatives=True), (*result, n * len(names)), *primals
        )
        letters = 'abc'[: len(result)]
        change = jnp.concatenate(tangents, axis=-1)
        return function(*primals), jnp.einsum(
            f'...{letters}k,...k->...{letters}', derivatives, change
        )

    return function
