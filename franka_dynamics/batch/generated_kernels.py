# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Programs as numba kernels over many states, shared out over threads.

States are taken in blocks of 32, turned from rows into columns: each joint's 32 positions lie side
by side in one flat scratch array that fits the first cache, at places known when the kernel is
compiled. Then the program's statements run over the block, one loop, one state per lane, and the
compiler makes vector instructions of them.

Rows of arrays are shared out over plain Python threads around kernels that release the GIL: they
sleep when there is nothing to do, where the pools of compiled loops spin, and a core that is busy
with something else only delays the piece it has, because there are more pieces than threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
import functools
import hashlib
from importlib.util import module_from_spec, spec_from_file_location
import itertools
import os
from pathlib import Path
import re
import sys
import tempfile
from types import ModuleType

from numpy.typing import NDArray

from . import simd as sine_cosine
from .simd import TILE, tile_columns
from .. import __version__
from ..codegen.program import Program, Statement

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


LANES = 32
KERNEL = 'run'
_NAME = re.compile(r'\b[A-Za-z_]\w*')
_INPUT = re.compile(r'\b([a-z]+)(\d+)\b')


def kernel_source(program: Program, n: int) -> str:
    """
    Return a module whose function `run` fills an output array for many states.

    It takes the program's input arrays, each of shape (N, n), and the output, of shape (N, n) or
    (N, n, n), all C-contiguous, with N a multiple of LANES. It releases the GIL and starts no
    threads.
    """
    return _Kernel(program, n).source()


class _Kernel:
    def __init__(self, program: Program, n: int) -> None:
        self.program, self.n = program, n
        self.places: dict[str, int] = {}
        self.elements = [(array, element + 1) for array in program.inputs for element in range(n)]
        for array, element in self.elements:
            self._place(f'{array}{element}')
        for statement in program.statements:
            if statement.function:
                self._place(statement.target)
        self.columns = _columns(program, n)
        self.size = 1 + max(self.columns)
        for column in range(self.size):
            self._place(f'result {column}')

    def _place(self, name: str) -> None:
        self.places[name] = len(self.places) * LANES

    def _at(self, name: str) -> str:
        return f'W[{self.places[name]} + i]'

    def source(self) -> str:
        arguments = ', '.join([*self.program.inputs, 'out'])
        lines = [
            f'"""{self.program.name} over blocks of {LANES} states; generated."""',
            'from numba import njit',
            'import numpy as np',
            '',
            'from franka_dynamics.batch.simd import sine_cosine',
            'from franka_dynamics.batch.simd import transpose_tile',
            '',
            '',
            "@njit(fastmath={'contract'}, error_model='numpy', nogil=True, cache=True)",
            f'def {KERNEL}({arguments}):',
            f'    W = np.empty({len(self.places) * LANES})',
            f'    for start in range(0, out.shape[0], {LANES}):',
            *self._load(),
            *self._turns(),
            f'        for i in range({LANES}):',
            *(f'            {line}' for line in self._body()),
            *self._store(),
        ]
        return '\n'.join(lines) + '\n'

    def _load(self) -> list[str]:
        first = {array: self.places[f'{array}1'] for array in self.program.inputs}
        if self.n < TILE:
            return [
                f'        for i in range({LANES}):',
                *(
                    f'            {self._at(f"{array}{k}")} = {array}[start + i, {k - 1}]'
                    for array, k in self.elements
                ),
            ]
        return [
            f'        for i in range(0, {LANES}, {TILE}):',
            *(
                f'            transpose_tile({array}, (start + i)*{self.n} + {k}, {self.n}, '
                f'W, {place + k * LANES} + i, {LANES})'
                for array, place in first.items()
                for k in tile_columns(self.n)
            ),
        ]

    def _turns(self) -> list[str]:
        """Compute the sines and cosines of one angle after the other."""
        defined = {s.target: s.expression for s in self.program.statements if not s.function}
        pairs: dict[str, dict[str, Statement]] = {}
        for statement in self.program.statements:
            if statement.function:
                pairs.setdefault(statement.expression, {})[statement.function] = statement
        lines = []
        for angle, pair in pairs.items():
            text = _opened(angle, defined)
            text = _INPUT.sub(lambda found: self._at(found[0]), text)
            targets = (self._at(pair[f].target) if f in pair else '_' for f in ('sin', 'cos'))
            lines += [
                f'        for i in range({LANES}):',
                f'            {", ".join(targets)} = sine_cosine({text})',
            ]
        return lines

    def _body(self) -> list[str]:
        elements = [f'{array}{element}' for array, element in self.elements]
        lines = [f'{name} = {self._at(name)}' for name in self.places if 'result' not in name]
        # A torque need not depend on every value: 0, or NaN for a state that is not finite.
        lines += [f'nan_mask = 0.0*({" + ".join(elements)})']
        lines += [
            f'{s.target} = {s.expression}' for s in self.program.statements if not s.function
        ]
        for column, k in self.columns.items():
            text = f'{self.program.results[k].expression} + nan_mask'
            lines.append(f'{self._at(f"result {column}")} = {text}')
        return lines

    def _store(self) -> list[str]:
        first = self.places['result 0']
        if self.size >= TILE:
            return [
                f'        for i in range(0, {LANES}, {TILE}):',
                *(
                    f'            transpose_tile(W, {first + k * LANES} + i, {LANES}, '
                    f'out, (start + i)*{self.size} + {k}, {self.size})'
                    for k in tile_columns(self.size)
                ),
            ]
        return [
            f'        for i in range({LANES}):',
            *(
                f'            out[start + i, {", ".join(map(str, place))}] = '
                f'{self._at(f"result {column}")}'
                for column, k in self.columns.items()
                for place in self.program.results[k].places
                if _column(place, self.n) == column
            ),
        ]


def _columns(program: Program, n: int) -> dict[int, int]:
    """Return which result each element of a state's output is, its axes taken as one."""
    columns = {
        _column(place, n): k for k, result in enumerate(program.results) for place in result.places
    }
    return dict(sorted(columns.items()))


def _column(place: tuple[int, ...], n: int) -> int:
    column = 0
    for index in place:
        column = column * n + index
    return column


def _opened(text: str, defined: Mapping[str, str]) -> str:
    """Return an expression with the statements it reads written out, down to the inputs."""
    inner = _NAME.sub(
        lambda found: f'({defined[found[0]]})' if found[0] in defined else found[0], text
    )
    return inner if inner == text else _opened(inner, defined)


def load_kernel(source: str) -> ModuleType:
    """Return the module of a kernel's source, from a file that stays."""
    import numba

    shared = [Path(file).read_text(encoding='utf-8') for file in (sine_cosine.__file__,) if file]
    identity = '\n'.join([__version__, numba.__version__, sys.version, *shared, source])
    name = f'kernel_{hashlib.sha256(identity.encode()).hexdigest()[:24]}'
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, _written(f'{name}.py', source))
    assert spec is not None and spec.loader is not None  # a .py file always has both
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    return module


def _written(name: str, source: str) -> Path:
    """Write a source where it is not yet; without a writable cache, into a temporary folder."""
    root = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache')
    path = root / 'franka_dynamics' / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not (path.is_file() and path.read_text(encoding='utf-8') == source):
            _replace(path, source)
    except OSError:
        path = Path(tempfile.mkdtemp(prefix='franka_dynamics-')) / name
        _replace(path, source)
    return path


def _replace(path: Path, source: str) -> None:
    """Write a file that another process, which may load it just now, sees whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix='.kernel-', suffix='.py')
    with open(handle, 'w', encoding='utf-8') as file:
        file.write(source)
    os.replace(name, path)
