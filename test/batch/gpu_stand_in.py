# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for cuda-core and CuPy whose GPU is the CPU: kernels run as compiled C++."""

from contextlib import contextmanager
import functools
import sys
from types import ModuleType, SimpleNamespace

import numpy as np

from ..codegen.cuda_on_cpu import built

GPUS = 2
STREAM = 0xABC  # address of the current stream
_built = functools.cache(built)


class Core(ModuleType):
    """cuda.core: what was compiled, and on which stream and GPU kernels were launched."""

    __version__ = '1.2.2'

    def __init__(self):
        super().__init__('cuda.core')
        self.compiled = []
        self.launched = []
        self.current = 0

    def Device(self, number=None):
        number = self.current if number is None else number
        if number >= GPUS:
            raise RuntimeError('CUDA_ERROR_INVALID_DEVICE: invalid device ordinal')

        def set_current():
            self.current = number

        return SimpleNamespace(device_id=number, arch='90', set_current=set_current)

    def ProgramOptions(self, *, std, arch):
        assert std == 'c++17'
        return arch

    def Program(self, text, kind, arch):
        assert kind == 'c++'

        def compiled(target):
            assert target == 'cubin'
            self.compiled.append(arch)
            return SimpleNamespace(code=text.encode())

        return SimpleNamespace(compile=compiled)

    @property
    def ObjectCode(self):
        def from_cubin(code):
            run = _built(code.decode())
            return SimpleNamespace(get_kernel=lambda name: functools.partial(run, name))

        return SimpleNamespace(from_cubin=from_cubin)

    LaunchConfig = SimpleNamespace
    Stream = SimpleNamespace(from_handle=int)

    def launch(self, stream, config, kernel, *arguments):
        # As cuda-core: Python's int is an address, a 64-bit number is NumPy's.
        assert {type(one) for one in arguments} == {int, np.int64}
        self.launched.append((stream, self.current))
        assert config.block == 64
        kernel(config.grid, *arguments)


class ndarray(np.ndarray):
    """CuPy's array."""

    number = 0

    def __array_finalize__(self, other):
        self.number = getattr(other, 'number', 0)

    @property
    def device(self):
        return SimpleNamespace(id=self.number)

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    @property
    def __cuda_array_interface__(self):
        return self.__array_interface__


def cupy_module(core):
    """Return a module with what is used of CuPy."""
    module = ModuleType('cupy')

    @contextmanager
    def device(number):
        before = core.current
        core.current = number
        yield
        core.current = before

    def asarray(values):
        shared = SimpleNamespace(__array_interface__=values.__cuda_array_interface__, of=values)
        found = np.asarray(shared).view(ndarray)
        found.number = getattr(values, 'number', 0)
        return found

    def empty(shape, dtype):
        found = np.full(shape, np.nan, dtype).view(ndarray)
        found.number = core.current
        return found

    module.ndarray = ndarray
    module.asarray = asarray
    module.empty = empty
    module.from_dlpack = lambda values: np.asarray(values.held).view(ndarray)
    module.broadcast_to = functools.partial(np.broadcast_to, subok=True)
    module.isfinite = np.isfinite
    module.where = lambda *given: np.where(*given).view(ndarray)
    stream = SimpleNamespace(ptr=STREAM)
    module.cuda = SimpleNamespace(Device=device, get_current_stream=lambda: stream)
    return module


def installed(monkeypatch, cache):
    """Put both stand-ins in the place of the libraries; return cuda-core's."""
    core = Core()
    cuda = ModuleType('cuda')
    cuda.core = core
    for name, module in {
        'cuda': cuda,
        'cuda.core': core,
        'cupy': cupy_module(core),
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, 'franka_dynamics.batch.cupy_arrays', raising=False)
    monkeypatch.setenv('XDG_CACHE_HOME', str(cache))
    return core
