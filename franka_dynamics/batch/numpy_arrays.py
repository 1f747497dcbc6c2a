# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluates dynamics at batches of states in NumPy arrays or in what NumPy reads as arrays."""

from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from ..arrays import Array

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
xp = np
KERNEL_INPUT_TYPES: tuple[Any, Container[Any]] | None = np.ndarray, (_FLOAT64, _FLOAT32)


def as_array(values: Any) -> np.ndarray:
    """Return an argument as a NumPy array, read by DLPack if it has no __array__."""
    if hasattr(values, '__dlpack__') and not hasattr(values, '__array__'):
        return np.from_dlpack(values)
    return np.asarray(values)


def evaluate(model: Any, key: Any, arrays: Sequence[Any], batch_shape: tuple[int, ...]) -> Array:
    """Return a model's quantity `key` at arrays of reals (..., n), broadcast to `batch_shape`."""
    dtype = _FLOAT32 if all(array.dtype == _FLOAT32 for array in arrays) else _FLOAT64
    n = model.description.n
    alike = (np.broadcast_to(one, (*batch_shape, n)).reshape(-1, n) for one in arrays)
    rows = [one.astype(dtype, copy=False) for one in alike]
    found: Array = model.kernel(key, dtype)(rows, model.threads)
    return found.reshape(*batch_shape, *found.shape[1:])
