# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluates a quantity at many states by LLVM or NumPy on CPUs, and by CUDA on NVIDIA GPUs."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
import functools
import hashlib
import math
import os
from pathlib import Path
from typing import Any
import warnings

import numpy as np

from ..arrays import Array
from ..codegen.cuda_code import (
    blocks_per_state_group,
    cuda_source,
    kernel_name,
    THREADS_PER_BLOCK,
)
from ..codegen.equations import Equations
from ..codegen.llvm_ir import vector_llvm_ir
from ..codegen.python_code import python_callable
from ..errors import MissingDependencyError, require_extra, SlowComputationWarning
from ..files import atomic_write

try:
    import cffi
    import llvmlite
    import llvmlite.binding as llvm
except ImportError:
    llvm = None
else:
    if tuple(map(int, llvmlite.__version__.split('.')[:2])) < (0, 45):
        llvm = None  # too old: its LLVM is from before opaque pointers

MACHINE_CODE_BACKEND = 'llvm'
NUMPY_BACKEND = 'numpy'
MIN_STATES_PER_THREAD = 4000
_MAX_CACHED_KERNEL_FILES = 1000  # the oldest are deleted; a kernel has 20 to 300 kB
_NUMPY_BLOCK_STATE_COUNT = 4096  # states that NumPy works on at a time, within the caches

# Computes the results of inputs (N, n) each into an output (N, *shape).
_Evaluator = Callable[[Sequence[np.ndarray], np.ndarray], None]


class Kernel:
    """
    A callable that computes one quantity at N states, by machine code or else by NumPy.

    It is compiled where llvmlite and cffi are installed. Otherwise it runs in NumPy on one thread,
    and the first such kernel of a process warns of that (SlowComputationWarning). Its machine
    code, which is its `evaluator`, takes memory as long as the kernel exists.
    """

    def __init__(self, equations: Equations, dtype: np.dtype[Any]) -> None:
        self.result_shape = equations.shape
        self._dtype = dtype
        self._is_compiled = cpu_backend() == MACHINE_CODE_BACKEND
        if not self._is_compiled:
            _warn_of_numpy()
        self.evaluator = (
            _MachineCode(equations, dtype) if self._is_compiled else _numpy_evaluator(equations)
        )

    def __call__(
        self,
        arrays: Sequence[np.ndarray],
        thread_count: int,
        out: np.ndarray | None = None,
    ) -> Array:
        """
        Return the quantity at N states, (N, *shape): a new array, or `out` if it is given.

        `arrays` are the inputs, (N, n) each, of the kernel's type, float32 or float64. At most
        one thread is used for every 4,000 states. A state with a value that is not finite gives
        NaN in its own result alone.
        """
        states = len(arrays[0])
        if out is None:
            out = np.empty((states, *self.result_shape), self._dtype)
        pieces = min(thread_count, states // MIN_STATES_PER_THREAD) if self._is_compiled else 1
        if pieces < 2:
            if out.size:
                self.evaluator(arrays, out)
            return out
        size = -(-states // pieces)

        def fill_block(start: int) -> None:
            """Compute the results of up to `size` states from number `start` on."""
            part = slice(start, start + size)
            self.evaluator([array[part] for array in arrays], out[part])

        others = [_thread_pool().submit(fill_block, start) for start in range(size, states, size)]
        fill_block(0)
        for other in others:
            other.result()
        return out


def cpu_backend() -> str:
    """Return by what kernels compute on a CPU: MACHINE_CODE_BACKEND or NUMPY_BACKEND."""
    return NUMPY_BACKEND if llvm is None else MACHINE_CODE_BACKEND


@functools.cache
def _warn_of_numpy() -> None:
    """Warn, once a process, that NumPy computes, and what to install."""
    warnings.warn(
        'llvmlite from 0.45 and cffi are not installed, so NumPy computes batches, 20 to 50 times '
        "more slowly than machine code: pip install 'llvmlite>=0.45' cffi. "
        '`BatchModel.backend` says which of the two computes.',
        SlowComputationWarning,
        stacklevel=2,
    )


def available_thread_count() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def _thread_pool() -> ThreadPoolExecutor:
    """Return the thread pool that all kernels of the process share."""
    return ThreadPoolExecutor(available_thread_count(), 'franka_dynamics batch')


if hasattr(os, 'register_at_fork'):  # a forked process does not have its parent's threads
    os.register_at_fork(after_in_child=_thread_pool.cache_clear)


def _numpy_evaluator(equations: Equations) -> _Evaluator:
    """Return a function that evaluates the equations in NumPy, at most 4,096 states at a time."""
    function = python_callable(equations, np)
    shape = equations.shape

    def fill_blocks(arrays: Sequence[np.ndarray], out: np.ndarray) -> None:
        """Compute the results of all states into `out`, block by block."""
        with np.errstate(all='ignore'):
            for start in range(0, len(out), _NUMPY_BLOCK_STATE_COUNT):
                part = slice(start, start + _NUMPY_BLOCK_STATE_COUNT)
                columns = [np.ascontiguousarray(array[part].T) for array in arrays]
                found = np.empty((*shape, len(out[part])), out.dtype)
                function(*columns, found)
                # NaN for a state that is not finite, else zero.
                found += 0.0 * sum(array.sum(axis=0) for array in columns)
                out[part] = np.moveaxis(found, -1, 0)

    return fill_blocks


class _MachineCode:
    """Equations as machine code by LLVM, a state in each lane of a vector."""

    def __init__(self, equations: Equations, dtype: np.dtype[Any]) -> None:
        lanes = _vector_register_bits() // (8 * dtype.itemsize)
        text = vector_llvm_ir(equations, lanes, single_precision=dtype == np.float32)
        self._code_owner, address = _load_machine_code(text)
        inputs = len(equations.input_names)
        # Pointers, the bytes from one state to the next, and the number of states.
        kinds = ['char *'] * (inputs + 1) + ['int64_t'] * (inputs + 2)
        self._strides = [dtype.itemsize * equations.n] * inputs
        self._strides.append(dtype.itemsize * math.prod(equations.shape))
        ffi = cffi.FFI()
        self._function = ffi.cast(f'void(*)({", ".join(kinds)})', address)
        self._pointer_to = ffi.from_buffer

    def __call__(self, arrays: Sequence[np.ndarray], out: np.ndarray) -> None:
        try:
            places = [self._pointer_to(array) for array in arrays]
        except (BufferError, ValueError):  # not C-contiguous
            places = [self._pointer_to(np.array(array, order='C')) for array in arrays]
        places.append(self._pointer_to(out))
        self._function(*places, *self._strides, len(out))


def _vector_register_bits() -> int:
    """Return the width of this processor's vector registers, 512, 256 or 128 [bit]."""
    features = llvm.get_host_cpu_features()
    if features.get('avx512vl'):
        return 512
    return 256 if features.get('avx2') else 128


def _load_machine_code(llvm_text: str) -> tuple[Any, int]:
    """Link LLVM assembly; return objects that keep the code alive, and the address of `run`."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=features,
        opt=2,
        codemodel='jitdefault',
        jit=True,
    )

    def emit_object_code() -> bytes:
        """Return the object code that LLVM makes of the assembly."""
        module = llvm.parse_assembly(llvm_text)
        module.triple = machine.triple
        return bytes(machine.emit_object(module))

    key = f'{llvm_text}{llvm.get_host_cpu_name()} {features}, LLVM {llvm.llvm_version_info}'
    builder = llvm.JITLibraryBuilder().add_object_img(cached_object_code(key, emit_object_code))
    jit = llvm.create_lljit_compiler()
    library = builder.export_symbol('run').link(jit, 'equations')
    return (jit, library), library['run']


def cached_object_code(cache_key: str, compile_code: Callable[[], bytes]) -> bytes:
    """
    Return the object code stored under `cache_key`, made by `compile_code` if absent.

    `cache_key` is all that determines the code, compiler and processor included. The folder is
    franka_dynamics in XDG_CACHE_HOME or else ~/.cache; where it cannot be written, or the user has
    no home, nothing is kept. A file begins with the hash of the rest, and a damaged one counts as
    absent.
    """
    folder = Path(os.environ.get('XDG_CACHE_HOME') or '~/.cache', 'franka_dynamics')
    path = folder / f'{hashlib.sha256(cache_key.encode()).hexdigest()}.o'
    with suppress(OSError, RuntimeError):
        digest = (text := path.expanduser().read_bytes())[:32]
        code = text[32:]
        if hashlib.sha256(code).digest() == digest:
            return code
    code = compile_code()
    with suppress(OSError, RuntimeError):
        with atomic_write(path.expanduser()) as scratch:
            scratch.write_bytes(hashlib.sha256(code).digest() + code)
        files = sorted(folder.expanduser().glob('*.o'), key=os.path.getmtime)
        for old in files[:-_MAX_CACHED_KERNEL_FILES]:
            old.unlink()
    return code


class GpuKernel:
    """
    A callable that computes one quantity at N states in the memory of a GPU.

    The equations' CUDA code is compiled by NVRTC for the GPU of number `gpu`.

    Raises
    ------
    MissingDependencyError
        If cuda-core is not installed, or cannot use the GPU.

    """

    def __init__(self, equations: Equations, dtype: np.dtype[Any], gpu: int) -> None:
        with require_extra('Arrays on a GPU need cuda-core', 'gpu'):
            from cuda import core
        self.result_shape = equations.shape
        self._cuda_core = core
        self._gpu = gpu
        self._blocks_per_state_group = blocks_per_state_group(equations)
        self._as_stream = functools.lru_cache(maxsize=64)(core.Stream.from_handle)  # takes 10 us
        text = cuda_source([equations], precision='float' if dtype == np.float32 else 'double')

        def compiler() -> bytes:
            """Return the code that NVRTC makes of the CUDA text."""
            options = core.ProgramOptions(std='c++17', arch=arch)
            return bytes(core.Program(text, 'c++', options).compile('cubin').code)

        try:
            arch = f'sm_{core.Device(gpu).arch}'
            with self._current_gpu():
                code = cached_object_code(f'{text}{arch}, cuda-core {core.__version__}', compiler)
                self._kernel = core.ObjectCode.from_cubin(code).get_kernel(kernel_name(equations))
        except Exception as error:  # of cuda-core or its bindings, also where no driver is found
            raise MissingDependencyError(
                f'cuda-core cannot use GPU {gpu}: {error} The extra gpu needs the driver of '
                "CUDA 13; for one of CUDA 12 pip install 'cuda-core[cu12]'."
            ) from error

    @contextmanager
    def _current_gpu(self) -> Iterator[None]:
        """Make the kernel's GPU the current one of this thread inside the block."""
        before = self._cuda_core.Device()
        self._cuda_core.Device(self._gpu).set_current()
        try:
            yield
        finally:
            if before.device_id != self._gpu:
                before.set_current()

    def __call__(
        self,
        stream: int,
        state_count: int,
        addresses: Sequence[tuple[int, int]],
        out_address: int,
    ) -> None:
        """
        Start the computation of the quantity at N states on a CUDA stream.

        Parameters
        ----------
        stream : int
            Address of a CUDA stream.
        state_count : int
            Number N of states.
        addresses : sequence of tuple of int
            Of each input, in the kernel's precision, the address of its first state, and the
            number of values from one state to the next.
        out_address : int
            Address of the results: N rows that follow each other.

        """
        if state_count:
            inputs = [number for at, step in addresses for number in (at, np.int64(step))]
            blocks = self._blocks_per_state_group * -(-state_count // THREADS_PER_BLOCK)
            config = self._cuda_core.LaunchConfig(grid=blocks, block=THREADS_PER_BLOCK)
            arguments = (np.int64(state_count), *inputs, out_address)
            with self._current_gpu():
                self._cuda_core.launch(self._as_stream(stream), config, self._kernel, *arguments)
