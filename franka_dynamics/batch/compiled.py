# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Equations as functions over arrays of states: machine code by LLVM, or NumPy without LLVM.

Machine code is compiled at its first use in a process, and stays as long as a model uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
import functools
from itertools import count
import math
import os
import threading
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ..codegen.emit import python_callable
from ..codegen.equations import Equations

try:
    import cffi
    import llvmlite
    import llvmlite.binding as llvm
except ImportError:
    llvm = None
else:
    if tuple(map(int, llvmlite.__version__.split('.')[:2])) < (0, 45):
        llvm = None  # too old: its LLVM is from before opaque pointers

MIN_STATES_PER_THREAD = 4000
_STATES_PER_BLOCK = 4096  # states that NumPy works on at a time, so that they stay in the caches

Function = Callable[[Sequence[np.ndarray], np.ndarray, int], None]


def compile_equations(equations: Equations, dtype: np.dtype[Any]) -> Function:
    """
    Return f(rows, out, threads), which evaluates the equations at N states.

    `rows` are the input arrays, (N, n) each; `out`, (N, *equations.shape), receives the results.
    `rows` and `out` have the type `dtype`, float64 or float32; `out` is C-contiguous and does not
    overlap `rows`. A state with a value that is not finite gives NaN in this state's result
    alone.
    """
    if not equations.outputs:
        return lambda rows, out, threads: None
    if llvm is None:
        return _columns_function(equations)
    return _vector_function(equations, dtype)


def available_threads() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _columns_function(equations: Equations) -> Function:
    """Return a function that evaluates the equations in NumPy, at most 4,096 states at a time."""
    function, shape = python_callable(equations, np.sin, np.cos), equations.shape

    def run(rows: Sequence[np.ndarray], out: np.ndarray, threads: int) -> None:
        del threads
        with np.errstate(all='ignore'):
            for start in range(0, len(out), _STATES_PER_BLOCK):
                part = slice(start, start + _STATES_PER_BLOCK)
                columns = [np.ascontiguousarray(array[part].T) for array in rows]
                found = np.empty((*shape, len(out[part])), out.dtype)
                function(*columns, found)
                found += 0.0 * sum(array.sum(axis=0) for array in columns)
                out[part] = np.moveaxis(found, -1, 0)

    return run


def _vector_function(equations: Equations, dtype: np.dtype[Any]) -> Function:
    """Return a function that runs machine code, from 8,000 states on in several threads."""
    from ..codegen.vector_ir import vector_ir

    lanes = _vector_bits() // (8 * dtype.itemsize)
    text = vector_ir(equations, lanes, single=dtype == np.float32)
    code = _loaded(text, len(equations.arrays) + 1)
    from_buffer, cast = code.ffi.from_buffer, code.ffi.cast
    # Bytes from one state to the next in contiguous arrays.
    steps = [dtype.itemsize * equations.n] * len(equations.arrays)
    steps.append(dtype.itemsize * math.prod(equations.shape))

    def run(rows: Sequence[np.ndarray], out: np.ndarray, threads: int) -> None:
        states = len(out)
        try:
            places = [from_buffer('char[]', array) for array in rows]
        except (BufferError, ValueError):  # not C-contiguous
            places = [from_buffer('char[]', np.array(array, order='C')) for array in rows]
        places.append(from_buffer('char[]', out))
        pieces = min(threads, states // MIN_STATES_PER_THREAD)
        if pieces < 2:
            code.run(*places, *steps, states)
            return
        size = -(-states // pieces)

        def piece(start: int) -> None:
            at = [cast('char *', place) + start * step for place, step in zip(places, steps)]
            code.run(*at, *steps, min(size, states - start))

        others = [_executor().submit(piece, start) for start in range(size, states, size)]
        piece(0)
        for other in others:
            other.result()

    return run


@functools.cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_threads(), 'franka_dynamics batch')


if hasattr(os, 'register_at_fork'):  # a forked process does not have its parent's threads
    os.register_at_fork(after_in_child=_executor.cache_clear)


def _vector_bits() -> int:
    """Return the width of this processor's vector registers [bit]: 512, 256 or 128."""
    features = llvm.get_host_cpu_features()
    if features.get('avx512vl'):
        return 512
    return 256 if features.get('avx2') else 128


class _MachineCode:
    """The function `run` of LLVM assembly; its memory is given back with this object."""

    def __init__(self, text: str, pointers: int) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(),
            features=llvm.get_host_cpu_features().flatten(),
            opt=2,
            codemodel='jitdefault',
            jit=True,
        )
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        code = machine.emit_object(module)
        self._jit = llvm.create_lljit_compiler()
        library = llvm.JITLibraryBuilder().add_object_img(code).export_symbol('run')
        self._tracker = library.link(self._jit, f'equations{next(_numbers)}')
        self.ffi = cffi.FFI()
        kinds = ['char *'] * pointers + ['int64_t'] * (pointers + 1)
        self.run = self.ffi.cast(f'void(*)({", ".join(kinds)})', self._tracker['run'])


_numbers = count()  # of libraries, whose names must differ
_lock = threading.Lock()
loaded_by_text: WeakValueDictionary[str, _MachineCode] = WeakValueDictionary()


def _loaded(text: str, pointers: int) -> _MachineCode:
    """Load or compile LLVM assembly, whose function `run` takes so many pointers."""
    with _lock:
        found = loaded_by_text.get(text)
        if found is None:
            found = loaded_by_text[text] = _MachineCode(text, pointers)
        return found
