# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Arrays of libraries other than NumPy, used without a copy (DLPack).

PyTorch, JAX and others hand arrays in the processor's memory over by the protocol of the array API
standard (2023.12, `__dlpack__` and `from_dlpack`), without this package importing any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
import sys
from typing import Any

import numpy as np

from ..errors import JointVectorError
from ..typing import Array

_CPU, _CUDA_HOST = 1, 3  # device types whose memory the processor can read (dlpack.h)
_ALIGNMENT = 64  # bytes; JAX uses memory with this alignment without a copy


def exchange(
    names: Sequence[str], arrays: Sequence[Any]
) -> tuple[list[Any], Callable[[Array], Any]] | None:
    """
    Return NumPy views of another library's arrays, and the library's from_dlpack for results.

    Return None if no array needs DLPack: all are NumPy arrays or sequences of numbers.

    Raises
    ------
    JointVectorError
        If the processor cannot read an array, two libraries are mixed, or the library has no
        from_dlpack.

    """
    foreign = {
        name: array
        for name, array in zip(names, arrays)
        if not isinstance(array, np.ndarray) and hasattr(array, '__dlpack__')
    }
    if not foreign:
        return None
    first, like = next(iter(foreign.items()))
    library = _library(like)
    for name, array in foreign.items():
        if _library(array) is not library:
            raise JointVectorError(
                f'{name} is an array of {_library(array).__name__} and {first} one of '
                f'{library.__name__}; give arrays of one library.'
            )
    views = [
        _view(name, array) if name in foreign else array for name, array in zip(names, arrays)
    ]
    return views, library.from_dlpack


def aligned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an empty C-contiguous array, aligned so that other libraries need no copy."""
    block = np.empty(math.prod(shape) * dtype.itemsize + _ALIGNMENT, np.uint8)
    return np.ndarray(shape, dtype, buffer=block, offset=-block.ctypes.data % _ALIGNMENT)


def _library(array: Any) -> Any:
    """Return the library (a module with from_dlpack) to which an array belongs."""
    if hasattr(array, '__array_namespace__'):
        library = array.__array_namespace__()
    else:
        library = sys.modules[type(array).__module__.partition('.')[0]]
    if not hasattr(library, 'from_dlpack'):
        raise JointVectorError(
            f'{library.__name__} has no from_dlpack, which converts results; give NumPy arrays.'
        )
    return library


def _view(name: str, array: Any) -> np.ndarray:
    """Return a NumPy view of an array that offers DLPack."""
    try:
        if int(array.__dlpack_device__()[0]) in (_CPU, _CUDA_HOST):
            return np.from_dlpack(array)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise JointVectorError(f'{name} cannot be read in place: {reason}') from error
    raise JointVectorError(
        f'{name} is in the memory of another device, and BatchModel computes on the processor; '
        'TracedModel computes where the arrays are.'
    )
