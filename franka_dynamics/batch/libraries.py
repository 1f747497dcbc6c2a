# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds the array library that the arguments of a batch belong to.

This package has a module for arrays of NumPy, PyTorch, JAX and CuPy each. There `xp` is the array
library's own module, and KERNEL_INPUT_TYPES the type and precisions of arrays that kernels read
as they are, or None if all have to be converted. `as_array(values)` returns an argument as the
library's array, or raises TypeError or ValueError. `evaluate(model, key, arrays, batch_shape)`
returns a quantity of a `BatchModel` at arrays with leading axes `batch_shape`.
"""

from collections.abc import Container, Sequence
from importlib import import_module
import sys
from typing import Any

from . import numpy_arrays
from ..errors import JointVectorError

_DLPACK_CUDA_DEVICE_TYPES = (2, 13)  # of DLPack: device and managed memory

KernelInputTypes = tuple[Any, Container[Any]] | None


def adapter_of(arguments: Sequence[Any]) -> Any:
    """Return this package's module for the arguments' array library, by default NumPy's."""
    for name, kind in (('torch', 'Tensor'), ('jax', 'Array')):
        known = getattr(sys.modules.get(name), kind, ())
        if any(isinstance(one, known) for one in arguments):
            return _adapter_module(name)
    return _adapter_module('cupy') if any(map(is_on_gpu, arguments)) else numpy_arrays


def _adapter_module(name: str) -> Any:
    """Import and return this package's module for the array library torch, jax or cupy."""
    return import_module(f'.{name}_arrays', __package__)


def is_on_gpu(values: object) -> bool:
    """Return whether an object exposes memory of an NVIDIA GPU to other array libraries."""
    device = getattr(values, '__dlpack_device__', None)
    on_gpu = device is not None and device()[0] in _DLPACK_CUDA_DEVICE_TYPES
    return on_gpu or hasattr(values, '__cuda_array_interface__')


def are_kernel_inputs(arguments: Sequence[Any], n: int, kernel_types: KernelInputTypes) -> bool:
    """Return whether all arguments are arrays of one shape (N, n) and precision for kernels."""
    if kernel_types is None:
        return False
    first = arguments[0]
    kind, precisions = kernel_types
    if type(first) is not kind or first.dtype not in precisions:
        return False
    shape = first.shape
    dtype = first.dtype
    if len(shape) != 2 or shape[1] != n:
        return False
    for one in arguments[1:]:
        if type(one) is not kind or one.shape != shape or one.dtype is not dtype:
            return False
    return True


def second_derivative_error(library: str) -> JointVectorError:
    """Return the JointVectorError to raise where a batch is differentiated twice."""
    return JointVectorError(
        f'BatchModel gives first derivatives; for second ones use TracedModel(arm, {library}), '
        'whose equations the library differentiates itself.'
    )
