# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Memory for results, used again when nobody has them any more.

Fresh memory is cleared by the system, page by page, when it is first written: that takes as long
as the torques of as many states. Blocks of earlier results are kept, up to KEPT bytes in all, and
one that no array refers to any more takes the next result. Larger results are fresh: the threads
that compute them touch them first, in huge pages where the system gives them.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import numpy as np

SMALLEST = 1 << 16  # bytes; smaller ones the C library keeps itself
KEPT = 1 << 27
_HUGE_PAGE = 1 << 21
_HUGE_FROM = 1 << 22  # from here on numpy asks for huge pages
_blocks: list[np.ndarray] = []
_lock = threading.Lock()


def _references(blocks: list[np.ndarray], index: int) -> int:
    return sys.getrefcount(blocks[index])


# Those of a block that no array refers to: the list's and the counting's.
_UNUSED = _references([np.empty(1)], 0)


def empty(shape: tuple[int, ...], dtype: Any, *, of: tuple[int, ...] | None = None) -> np.ndarray:
    """
    Return an array to be filled, C-contiguous, its memory aligned for huge pages if large.

    `of` is the shape of the results that go there, where it is another one.

    Raises
    ------
    MemoryError
        If there is not as much memory.

    """
    size = dtype.itemsize
    for length in shape:
        size *= length
    if size < SMALLEST:
        return np.empty(shape, dtype)
    large = size >= _HUGE_FROM
    needed = size + (_HUGE_PAGE if large else 0)  # room to begin at a page
    with _lock:
        for index, kept in enumerate(_sizes()):
            if needed <= kept <= 2 * needed and _references(_blocks, index) == _UNUSED:
                block = _blocks[index]
                break
        else:
            try:
                block = np.empty(needed, np.uint8)
            except MemoryError:
                raise MemoryError(
                    f'Unable to allocate {size / 2**30:.3g} GiB for results of shape '
                    f'{of or shape}; give fewer states at a time.'
                ) from None
            if needed <= KEPT // 2:
                _blocks.append(block)
            while sum(_sizes()) > KEPT:
                del _blocks[0]
        offset = -block.ctypes.data % _HUGE_PAGE if large else 0
        return np.ndarray(shape, dtype, buffer=block, offset=offset)


def _sizes() -> list[int]:
    return [block.nbytes for block in _blocks]


def _forked() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, 'register_at_fork'):  # another thread may have had the lock
    os.register_at_fork(after_in_child=_forked)
