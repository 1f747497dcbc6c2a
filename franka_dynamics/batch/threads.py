# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Rows of arrays shared out over threads.

Plain Python threads around kernels that release the GIL: they sleep when there is nothing to do,
where the pools of compiled loops spin, and a core that is busy with something else only delays
the piece it has, because there are more pieces than threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
import functools
import itertools
import os

from numpy.typing import NDArray

_PIECES_PER_THREAD = 2
_SMALLEST_PIECE = 4096  # states: 0.1 ms of the Franka's torques; to hand them over takes 0.03


def available_threads() -> int:
    """Return the number of processors that this process may use."""
    return (
        len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else (os.cpu_count() or 1)
    )


def share_out(
    kernel: Callable[..., object], arrays: Sequence[NDArray], threads: int, lanes: int
) -> None:
    """Call a kernel on all rows of the arrays, in pieces where that pays."""
    count = len(arrays[0])
    pieces = min(threads * _PIECES_PER_THREAD, count // _SMALLEST_PIECE)
    if threads == 1 or pieces < 2:
        kernel(*arrays)
        return
    blocks = -(-count // lanes)
    edges = [lanes * (blocks * k // pieces) for k in range(pieces)] + [count]
    futures = [
        _pool(threads).submit(kernel, *(array[low:high] for array in arrays))
        for low, high in itertools.pairwise(edges)
    ]
    for future in futures:
        future.result()


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix='batch')


if hasattr(os, 'register_at_fork'):  # a forked child has the pool, but not its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
