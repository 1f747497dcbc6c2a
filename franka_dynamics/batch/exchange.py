# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Arrays of other libraries, read and written where they lie (DLPack).

PyTorch, JAX, CuPy and others hand their memory over by the protocol of the array API standard
(2023.12, `__dlpack__` and `from_dlpack`), without this package importing any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
import sys
from typing import Any, NamedTuple

import numpy as np

from ..errors import JointVectorError
from ..typing import Array

_CPU, _CUDA_HOST = 1, 3  # kinds of devices whose memory a processor reads (dlpack.h)
_ALIGNMENT = 64  # bytes, from which JAX takes memory over without a copy


class Exchange(NamedTuple):
    """
    What a call works on in place of another library's arrays.

    `arrays` and `out` are views by NumPy, `back` returns a result as the caller's kind of array.
    """

    arrays: tuple[Any, ...]
    out: Any
    back: Callable[[Array], Any]


def is_foreign(array: Any) -> bool:
    """Return whether an array is another library's than NumPy's."""
    return not isinstance(array, np.ndarray) and hasattr(array, '__dlpack__')


def exchange(names: Sequence[str], arrays: Sequence[Any], out: Any) -> Exchange | None:
    """
    Return views of other libraries' arrays, or None where all are NumPy's or plain numbers.

    Raises
    ------
    JointVectorError
        If an array cannot be read here, `out` not be written, or two libraries are mixed.

    """
    given = [*zip(names, arrays), ('out', out)]
    foreign = [(name, array) for name, array in given if is_foreign(array)]
    if not foreign:
        return None
    first, like = foreign[0]
    for name, array in foreign:
        if _library(array) is not _library(like):
            raise JointVectorError(
                f'{name} is an array of {_library(array).__name__} and {first} one of '
                f'{_library(like).__name__}; give all of one kind.'
            )
    views = {name: _view(name, array) for name, array in foreign}
    if 'out' in views and not views['out'].flags.writeable:
        views['out'] = _writeable(out, views['out'])
    return Exchange(
        tuple(views.get(name, array) for name, array in zip(names, arrays)),
        views.get('out', out),
        lambda result: out if out is not None else _library(like).from_dlpack(result),
    )


def aligned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an array to be filled, C-contiguous, whose memory any library takes over as it is."""
    block = np.empty(math.prod(shape) * dtype.itemsize + _ALIGNMENT, np.uint8)
    return np.ndarray(shape, dtype, buffer=block, offset=-block.ctypes.data % _ALIGNMENT)


def _library(array: Any) -> Any:
    """Return the module whose arrays these are."""
    if hasattr(array, '__array_namespace__'):
        library = array.__array_namespace__()
    else:
        library = sys.modules[type(array).__module__.partition('.')[0]]
    if not hasattr(library, 'from_dlpack'):
        raise JointVectorError(
            f'{library.__name__} has no from_dlpack, by which results would be given back; give '
            'NumPy arrays.'
        )
    return library


def _view(name: str, array: Any) -> np.ndarray:
    """Return another library's array as NumPy's, of the same memory."""
    try:
        if int(array.__dlpack_device__()[0]) in (_CPU, _CUDA_HOST):
            return np.from_dlpack(array)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise JointVectorError(f'{name} cannot be read where it is: {reason}') from error
    raise JointVectorError(
        f'{name} is in the memory of another device, and BatchModel computes on the processor; '
        'TracedModel computes where the arrays are.'
    )


def _writeable(out: Any, view: np.ndarray) -> np.ndarray:
    """Return a view that can be written where the library gives one otherwise, or the view."""
    # Before version 1.0 DLPack did not say whether memory may be written, and NumPy writes none.
    other = np.asarray(out)
    same = other.ctypes.data == view.ctypes.data and other.strides == view.strides
    return other if same and other.flags.writeable else view
