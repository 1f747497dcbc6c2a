# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Batches in pieces, each a call of a kernel, over threads; one compiled entry from Python.

A kernel is a C function (`native.KERNEL_TYPE`) that takes the addresses of its arrays, rows
without gaps, and any number of states. A batch is described by a table of words, so that every
thread can run any piece of it. Inputs whose numbers do not lie one after the other are gathered
piece by piece, in scratch that stays in the cache.

Workers are Python threads that stay in compiled code without the GIL (`serve`): each waits for a
semaphore of its own, takes pieces until none is left, and waits again. The caller wakes as many
as the batch is worth, works on pieces itself from the start, and waits for those that others have
begun: a worker that comes late, because its core is busy with something else, delays nobody.
"""

# numba infers the types of compiled functions from their arguments: words, and arrays of them.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import ctypes
import functools
import os
import threading
from typing import Any

import numpy as np

from .native import (
    add_word,
    call_kernel,
    load_word,
    singles_at,
    store_word,
    swap_word,
    words_at,
)
from .simd import numba

LARGEST_PIECE = 1024  # states; in between so that each thread has several pieces
SMALLEST_PIECE = 128
PIECES_PER_THREAD = 8
STATES_PER_WORKER = 2000  # from as many on it pays to wake a thread

# Words of a job, which says what is to be done with a batch: the kernel, what belongs to the arm,
# how many inputs the kernel takes, how many of them are given (the others are zeros, of which a
# piece's worth lies at ZEROS), bytes of a number, columns of an input and of the output.
KERNEL, FIXED, INPUTS, GIVEN, ZEROS, ITEM, WIDTH, OUT_WIDTH, JOB = range(9)
# Words of a table, which describes a batch; it begins with the first words of its job. Of each
# array follow address, bytes from row to row, bytes from column to column and columns.
COUNT, PIECE, PIECES, ARRAYS = JOB, JOB + 1, JOB + 2, JOB + 3
ADDRESS, ROW, COLUMN, COLUMNS, ARRAY = range(5)
MOST_ARRAYS = 4
TABLE = ARRAYS + MOST_ARRAYS * ARRAY

# Places in a pool's memory in bytes; what threads write lies in cache lines of its own.
LINE = 64
BUSY, POOL_TABLE, LEFT, DONE, WORKERS, SEMAPHORES = (LINE * k for k in range(6))

COMPILE: dict[str, Any] = {'nogil': True, 'cache': True, 'error_model': 'numpy'}

_wait_semaphore = numba.types.ExternalFunction('sem_wait', numba.intc(numba.intp))
_post_semaphore = numba.types.ExternalFunction('sem_post', numba.intc(numba.intp))
_yield_processor = numba.types.ExternalFunction('sched_yield', numba.intc())


@numba.njit(**COMPILE)
def store(address, value):
    """Write a word of a pool's memory."""
    store_word(address, value)


@numba.njit(**COMPILE)
def _gather(target, item, address, row, column, count, columns):
    """Copy numbers to where they lie one after the other."""
    if item == 8:
        wide = words_at(target, count * columns)
        for i in range(count):
            for k in range(columns):
                wide[i * columns + k] = words_at(address + i * row + k * column, 1)[0]
    else:
        narrow = singles_at(target, count * columns)
        for i in range(count):
            for k in range(columns):
                narrow[i * columns + k] = singles_at(address + i * row + k * column, 1)[0]


@numba.njit(**COMPILE)
def _run_piece(table, index):
    """Run the kernel on a piece."""
    item, start = table[ITEM], index * table[PIECE]
    count = min(table[PIECE], table[COUNT] - start)
    pointers = np.empty(MOST_ARRAYS, np.int64)
    scratch = np.empty(0)
    used = 0
    inputs, given = table[INPUTS], table[GIVEN]
    for k in range(given, inputs):
        pointers[k] = table[ZEROS]
    for k in range(given + 1):
        array, place = ARRAYS + ARRAY * k, k if k < given else inputs
        row, column, columns = table[array + ROW], table[array + COLUMN], table[array + COLUMNS]
        address = table[array + ADDRESS] + start * row
        pointers[place] = address
        if row != item * columns or column != item:
            if not len(scratch):
                scratch = np.empty(given * table[WIDTH] * table[PIECE])
            target = scratch.ctypes.data + 8 * used
            _gather(target, item, address, row, column, count, columns)
            used += count * columns
            pointers[place] = target
    call_kernel(table[KERNEL], pointers.ctypes.data, table[FIXED], count)
    # Arrays live as long as they are used: without these lines, until their address was read.
    if len(scratch):
        scratch[0] = 0.0
    pointers[0] = 0


@numba.njit(**COMPILE)
def _take_pieces(pool):
    """Run pieces until none is left."""
    while True:
        left = load_word(pool + LEFT)
        if left <= 0:
            return
        if swap_word(pool + LEFT, left, left - 1):
            table = words_at(load_word(pool + POOL_TABLE), TABLE)
            _run_piece(table, table[PIECES] - left)
            add_word(pool + DONE, 1)


@numba.njit(**COMPILE)
def serve(pool, worker):
    """Take pieces whenever woken; never returns."""
    while True:
        if _wait_semaphore(pool + SEMAPHORES + LINE * worker) == 0:
            _take_pieces(pool)


@numba.njit(**COMPILE)
def _run_table(pool, table):
    """Run a batch: alone, or with those workers of a pool that it is worth to wake."""
    count = table[COUNT]
    helpers = 0
    if pool != 0:
        helpers = min(load_word(pool + WORKERS), count // STATES_PER_WORKER)
    if helpers > 0 and swap_word(pool + BUSY, 0, 1):
        share = count // ((helpers + 1) * PIECES_PER_THREAD)
        table[PIECE] = min(LARGEST_PIECE, max(SMALLEST_PIECE, share - share % 32))
        pieces = -(-count // table[PIECE])
        table[PIECES] = pieces
        store_word(pool + DONE, 0)
        store_word(pool + POOL_TABLE, table.ctypes.data)
        store_word(pool + LEFT, pieces)
        for worker in range(helpers):
            _post_semaphore(pool + SEMAPHORES + LINE * worker)
        _take_pieces(pool)
        while load_word(pool + DONE) < pieces:
            _yield_processor()
        store_word(pool + BUSY, 0)
    else:
        table[PIECE] = LARGEST_PIECE
        for index in range(-(-count // LARGEST_PIECE)):
            _run_piece(table, index)


@numba.njit(**COMPILE)
def run_table(pool, job, arrays):
    """
    Run a batch whose arrays are described by words (ARRAYS, ARRAY), in any layout.

    `pool` and `job` are addresses of their memory; a pool of 0 has no threads.
    """
    table = np.empty(TABLE, np.int64)
    table[:JOB] = words_at(job, JOB)
    table[COUNT] = arrays[0]
    table[ARRAYS:] = arrays[1:]
    _run_table(pool, table)


def _enter(pool, job, q, dq, ddq, out):
    """
    Run a batch of C-contiguous arrays; return whether their shapes fit, and nothing was done.

    A job of fewer inputs is given the first of them in place of the others. An output that lies
    upon an input is only taken where both begin at the same place.
    """
    count, item, width = q.shape[0], q.itemsize, q.shape[1]
    table = np.empty(TABLE, np.int64)
    table[:JOB] = words_at(job, JOB)
    if (
        width != table[WIDTH]
        or q.shape != dq.shape
        or q.shape != ddq.shape
        or out.shape[0] != count
        or out.shape[1] != table[OUT_WIDTH]
        or item != table[ITEM]
    ):
        return False
    table[COUNT] = count
    addresses = (q.ctypes.data, dq.ctypes.data, ddq.ctypes.data)
    place = ARRAYS
    target = out.ctypes.data
    for k in range(table[GIVEN]):
        address = addresses[k]
        if (
            address != target
            and address < target + count * item * table[OUT_WIDTH]
            and target < address + count * item * width
        ):
            return False
        if address == target and table[OUT_WIDTH] != width:
            return False
        table[place + ADDRESS] = address
        table[place + ROW] = item * width
        table[place + COLUMN] = item
        table[place + COLUMNS] = width
        place += ARRAY
    table[place + ADDRESS] = target
    table[place + ROW] = item * table[OUT_WIDTH]
    table[place + COLUMN] = item
    table[place + COLUMNS] = table[OUT_WIDTH]
    _run_table(pool, table)
    return True


def _signature(number: Any) -> Any:
    given = numba.types.Array(number, 2, 'C', readonly=True)
    filled = numba.types.Array(number, 2, 'C')
    return numba.boolean(numba.intp, numba.intp, given, given, given, filled)


enter: Any = numba.njit([_signature(numba.float64), _signature(numba.float32)], **COMPILE)(_enter)


def available_threads() -> int:
    """Return the number of processors that this process may use."""
    return (
        len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else (os.cpu_count() or 1)
    )


@functools.cache
def pool(workers: int) -> int:
    """
    Return the address of the memory of a pool of so many threads, started once in a process.

    0, which stands for none, where the system has no semaphores in a process's own memory.
    """
    words = SEMAPHORES + LINE * (workers + 1)
    memory = np.zeros(words // 8, np.int64)
    _KEPT.append(memory)  # threads read it as long as the process lives
    address = memory.ctypes.data + -memory.ctypes.data % LINE
    try:
        initialise = ctypes.CDLL(None).sem_init
    except (AttributeError, OSError, TypeError):
        return 0
    initialise.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint]
    for worker in range(workers):
        if initialise(address + SEMAPHORES + LINE * worker, 0, 0):
            return 0
    for worker in range(workers):
        thread = threading.Thread(
            target=serve, args=(address, worker), name=f'batch-{worker}', daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # the system gives no more threads
            break
        store(address + WORKERS, worker + 1)
    return address


_KEPT: list[np.ndarray] = []

if hasattr(os, 'register_at_fork'):  # a forked child has the pool, but not its threads
    os.register_at_fork(after_in_child=pool.cache_clear)
