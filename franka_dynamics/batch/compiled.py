# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Equations as functions over arrays of states: machine code by LLVM, or NumPy without LLVM.

Machine code stays in the user's cache folder, in files named by a digest of the processor, LLVM's
version and the LLVM assembly; the MOST_FILES files used last are kept. Each file begins with a
digest of its machine code, because damaged machine code would crash the process. In memory machine
code stays as long as a model uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
import contextlib
import functools
import hashlib
import math
import os
from pathlib import Path
import tempfile
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

STATES_PER_THREAD = 4000  # least number of states for each thread
_COLUMNS = 4096  # states that NumPy works on at a time, so that they stay in the caches
MOST_FILES = 500  # of machine code in the cache folder; the eleven quantities of an arm take 1 MB
_DIGEST = hashlib.sha256().digest_size

Function = Callable[[Sequence[np.ndarray], np.ndarray, int], None]


def function_of(equations: Equations, dtype: np.dtype[Any]) -> Function:
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
            for start in range(0, len(out), _COLUMNS):
                part = slice(start, start + _COLUMNS)
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
        count = len(out)
        try:
            places = [from_buffer('char[]', array) for array in rows]
        except (BufferError, ValueError):  # not C-contiguous
            places = [from_buffer('char[]', np.array(array, order='C')) for array in rows]
        places.append(from_buffer('char[]', out))
        pieces = min(threads, count // STATES_PER_THREAD)
        if pieces < 2:
            code.run(*places, *steps, count)
            return
        size = -(-count // pieces)

        def piece(start: int) -> None:
            at = [cast('char *', place) + start * step for place, step in zip(places, steps)]
            code.run(*at, *steps, min(size, count - start))

        others = [_executor().submit(piece, start) for start in range(size, count, size)]
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
    """The function `run` of an object file; its memory is given back with this object."""

    def __init__(self, code: bytes, name: str, pointers: int) -> None:
        self._jit = llvm.create_lljit_compiler()
        library = llvm.JITLibraryBuilder().add_object_img(code).export_symbol('run')
        self._tracker = library.link(self._jit, name)
        self.ffi = cffi.FFI()
        kinds = ['char *'] * pointers + ['int64_t'] * (pointers + 1)
        self.run = self.ffi.cast(f'void(*)({", ".join(kinds)})', self._tracker['run'])


_lock = threading.Lock()
loaded_by_name: WeakValueDictionary[str, _MachineCode] = WeakValueDictionary()


def _loaded(text: str, pointers: int) -> _MachineCode:
    """Load or compile LLVM assembly, whose function `run` takes so many pointers."""
    features = llvm.get_host_cpu_features().flatten()
    identity = '\n'.join(
        [llvm.get_host_cpu_name(), features, '.'.join(map(str, llvm.llvm_version_info)), text]
    )
    name = hashlib.sha256(identity.encode()).hexdigest()[:32]
    with _lock:
        found = loaded_by_name.get(name)
        if found is None:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            code = _cached(name) or _compiled(name, text, features)
            found = loaded_by_name[name] = _MachineCode(code, name, pointers)
        return found


def _compiled(name: str, text: str, features: str) -> bytes:
    """Return LLVM assembly compiled for this processor, and keep the code in the cache folder."""
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, codemodel='jitdefault', jit=True
    )
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    code: bytes = machine.emit_object(module)
    path = _path(name)
    # If the cache folder cannot be written, the next process compiles again.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=_UNFINISHED)
        with open(handle, 'wb') as file:
            file.write(hashlib.sha256(code).digest() + code)
        os.replace(temporary, path)  # another process sees the file whole or not at all
        _prune(path.parent)
    return code


_UNFINISHED = '.batch-'


def _prune(folder: Path) -> None:
    """Remove all but the MOST_FILES files that were used last."""
    files = [*folder.glob('*.o'), *folder.glob(f'{_UNFINISHED}*')]
    for path in sorted(files, key=lambda path: path.stat().st_mtime_ns)[:-MOST_FILES]:
        path.unlink(missing_ok=True)


def _cached(name: str) -> bytes | None:
    path = _path(name)
    try:
        data = path.read_bytes()
    except OSError:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # so that `_prune` knows when the file was used last
    code = data[_DIGEST:]
    return code if code and hashlib.sha256(code).digest() == data[:_DIGEST] else None


def _path(name: str) -> Path:
    root = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache')
    return root / 'franka_dynamics' / f'{name}.o'
