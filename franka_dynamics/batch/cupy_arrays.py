# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Evaluates dynamics at batches of states in arrays of CuPy or others on an NVIDIA GPU, into CuPy's.

Arrays of other libraries are read through `__cuda_array_interface__` or DLPack, without a copy;
results are CuPy's.
"""

from collections.abc import Sequence
import math
from typing import Any

import numpy as np

from .libraries import is_on_gpu
from ..errors import JointVectorError, MissingDependencyError

try:
    import cupy
except ImportError as error:
    raise MissingDependencyError(
        'Arrays on a GPU that are neither PyTorch nor JAX need CuPy: pip install cupy-cuda13x; or '
        'give tensors, such as torch.as_tensor(array, device="cuda").'
    ) from error

xp = cupy
KERNEL_INPUT_TYPES = None  # all arguments are converted


def as_array(values: Any) -> Any:
    """Return a GPU array as a CuPy array of the same memory; TypeError for other values."""
    if not is_on_gpu(values):
        raise TypeError('it is not on the GPU, as others are; give cupy.asarray(array).')
    known = hasattr(values, '__cuda_array_interface__')
    return cupy.asarray(values) if known else cupy.from_dlpack(values)


def evaluate(model: Any, key: Any, arrays: Sequence[Any], batch_shape: tuple[int, ...]) -> Any:
    """
    Return the quantity `key` at arrays broadcast to `batch_shape`, on the current stream.

    Raises
    ------
    JointVectorError
        If the arrays are on different GPUs.

    """
    devices = sorted({array.device.id for array in arrays})
    if len(devices) > 1:
        raise JointVectorError(f'The arrays are on the GPUs {devices}; give all on one.')
    single = all(array.dtype == np.float32 for array in arrays)
    dtype = np.dtype(np.float32 if single else np.float64)
    states = math.prod(batch_shape)
    n = model.description.n
    with cupy.cuda.Device(devices[0]):
        alike = (cupy.broadcast_to(one, (*batch_shape, n)).reshape(states, n) for one in arrays)
        rows = [array.astype(dtype, order='C', copy=False) for array in alike]
        kernel = model.kernel(key, dtype, devices[0])
        found = cupy.empty((states, *kernel.result_shape), dtype)
        stream = cupy.cuda.get_current_stream().ptr
        kernel(stream, states, [(row.data.ptr, n) for row in rows], found.data.ptr)
    return found.reshape(*batch_shape, *kernel.result_shape)
