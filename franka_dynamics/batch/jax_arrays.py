# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluates dynamics at batches of states in JAX arrays, also under jit, vmap and grad."""

from collections.abc import Sequence
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .libraries import second_derivative_error
from ..errors import require_extra

with require_extra('JAX arrays need JAX 0.6.1 or newer', 'jax'):
    from jax.experimental.buffer_callback import buffer_callback

_DLPACK_CPU_DEVICE_TYPE = 1  # a CPU, of DLPack
xp = jnp
KERNEL_INPUT_TYPES = None  # all arguments are converted


def as_array(values: Any) -> Any:
    """Return an argument as a JAX array."""
    return jnp.asarray(values)


def evaluate(model: Any, key: Any, arrays: Sequence[Any], batch_shape: tuple[int, ...]) -> Any:
    """Return a model's quantity at arrays with leading axes `batch_shape`, differentiable once."""
    if not all(jnp.issubdtype(array.dtype, jnp.floating) for array in arrays):
        arrays = [array.astype(jnp.result_type(float)) for array in arrays]
    dtype = jnp.result_type(*arrays)
    kind = dtype if dtype == np.float32 else jnp.result_type(float)
    alike = (jnp.broadcast_to(array, (*batch_shape, model.description.n)) for array in arrays)
    function = _differentiable_function(model, key)
    return function(*(array.astype(kind) for array in alike)).astype(dtype)


def _differentiable_function(model: Any, equations_key: Any) -> Any:
    """Return a quantity of arrays (..., n) as a function that JAX can differentiate once."""
    if equations_key in model.jax_functions:
        return model.jax_functions[equations_key]

    @jax.custom_jvp
    def quantity(*arrays: Any) -> Any:
        """Return the quantity at arrays (..., n)."""
        return _compute_quantity(model, equations_key, arrays)

    @quantity.defjvp
    def quantity_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return the quantity and its change along tangents; JointVectorError for second ones."""
        if equations_key.derivatives:
            raise second_derivative_error('jax.numpy')
        found = _differentiable_function(model, equations_key._replace(derivatives=True))(*primals)
        letters = 'abc'[: found.ndim - primals[0].ndim]
        change = jnp.concatenate(tangents, axis=-1)
        return quantity(*primals), jnp.einsum(f'...{letters}k,...k->...{letters}', found, change)

    model.jax_functions[equations_key] = quantity
    return quantity


def _compute_quantity(model: Any, key: Any, arrays: Sequence[Any]) -> Any:
    """Return a quantity at arrays (..., n) of one shape and type."""
    dtype = np.dtype(arrays[0].dtype)
    n = model.description.n
    shape = model.shape(key)
    kernel_of = functools.partial(model.kernel, key, dtype)
    if jax.default_backend() in ('gpu', 'cuda'):
        kernel_of(0)  # compiled now, because XLA may be recording a graph when it calls back

    def callback(context: Any, out: Any, *buffers: Any) -> None:
        """Compute the quantity in XLA's callback, from buffers on the CPU or a GPU into `out`."""
        kind, device = out.__dlpack_device__()
        states = math.prod(out.shape[: len(out.shape) - len(shape)])
        if kind == _DLPACK_CPU_DEVICE_TYPE:
            rows = [np.asarray(one).reshape(states, n) for one in buffers]
            kernel_of()(rows, model.threads, np.asarray(out).reshape(states, *shape))
        else:
            *places, target = (one.__cuda_array_interface__['data'][0] for one in (*buffers, out))
            kernel_of(device)(context.stream, states, [(one, n) for one in places], target)

    result = jax.ShapeDtypeStruct((*arrays[0].shape[:-1], *shape), dtype)
    return buffer_callback(
        callback, result, vmap_method='broadcast_all', command_buffer_compatible=True
    )(*arrays)
