# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Programs as numba kernels over many states.

States are taken in blocks of 32, turned from rows into columns: each joint's 32 positions lie
side by side in one flat scratch array that fits the first cache, at places known when the kernel
is compiled. Then the program's statements run over the block, one loop, one state per lane, and
the compiler makes vector instructions of them. numba is spared the statements: see
`straight_line`.
"""

from __future__ import annotations

from collections.abc import Mapping
import hashlib
from importlib.util import module_from_spec, spec_from_file_location
import os
from pathlib import Path
import re
import sys
import tempfile
from types import ModuleType

from . import native, simd, straight_line
from .simd import TILE, tile_columns
from .. import __version__
from ..codegen.program import Program, Statement

LANES = 32
STEP = 8  # a last block takes a multiple of these: two vectors of AVX2, one of AVX-512
KERNEL = 'run'
_NAME = re.compile(r'\b[A-Za-z_]\w*')
_INPUT = re.compile(r'\b([a-z]+)(\d+)\b')
_NUMBER = re.compile(r'(?<![\w.])(?:\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+)(?![\w.])')
_DOUBLE = ('doubles_at', 'turn')


def kernel_source(program: Program, n: int, *, single: bool = False) -> str:
    """
    Return a module whose C function `run` fills an output array for any number of states.

    Its type is `native.KERNEL_TYPE`; the arrays are the program's inputs, each of shape (N, n),
    and the output, of shape (N, n), (N, n, n) or (N, 3, n, n), all rows without gaps. It starts
    no threads.

    Parameters
    ----------
    program : Program
        What to compute.
    n : int
        Number of joints.
    single : bool
        Whether arrays and arithmetic are float32 instead of float64.

    """
    return _Kernel(program, n, single).source()


class _Kernel:
    def __init__(self, program: Program, n: int, single: bool) -> None:
        self.program, self.n, self.single = program, n, single
        self.places: dict[str, int] = {}
        self.elements = [(array, element + 1) for array in program.inputs for element in range(n)]
        for array, element in self.elements:
            self._place(f'{array}{element}')
        self.loaded = len(self.places)
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

    def _element(self, name: str) -> str:
        return f'W[{self.places[name]}]'

    def source(self) -> str:
        numbers: dict[str, str] = {}

        def named(found: re.Match[str]) -> str:
            return numbers.setdefault(found[0], f'number_{len(numbers)}')

        # In single precision a number written in Python would make doubles of all around it.
        turns = [_NUMBER.sub(named, line) if self.single else line for line in self._turns()]
        arrays = [*self.program.inputs, 'out']
        sizes = [self.n] * len(self.program.inputs) + [self.size]
        step = 2 * STEP if self.single else STEP  # as many bytes
        at, turn = ('singles_at', 'turn_single') if self.single else _DOUBLE
        lines = [
            f'"""{self.program.name} over blocks of {LANES} states; generated."""',
            'from numba import cfunc',
            'import numpy as np',
            '',
            f'from franka_dynamics.batch.native import {at}',
            'from franka_dynamics.batch.native import KERNEL_TYPE',
            'from franka_dynamics.batch.native import wide_vectors',
            'from franka_dynamics.batch.native import words_at',
            f'from franka_dynamics.batch.simd import {turn}',
            'from franka_dynamics.batch.simd import transpose_tile',
            'from franka_dynamics.batch.straight_line import straight_line',
            '',
            *(f'{name} = np.float32({number})' for number, name in numbers.items()),
            '',
            "body = straight_line('''",
            *self._body(),
            "''')",
            '',
            "@cfunc(KERNEL_TYPE, fastmath={'contract'}, error_model='numpy', cache=True)",
            f'def {KERNEL}(pointers, fixed, count):',
            '    wide_vectors()',
            f'    addresses = words_at(pointers, {len(arrays)})',
            *(
                f'    {array} = {at}(addresses[{k}], count*{size})'
                for k, (array, size) in enumerate(zip(arrays, sizes))
            ),
            f'    W = np.empty({len(self.places) * LANES}, np.float{32 if self.single else 64})',
            f'    for start in range(0, count, {LANES}):',
            f'        left = min({LANES}, count - start)',
            f'        width = (left + {step - 1}) // {step} * {step}',
            *([f'        whole = left - left % {TILE}'] if self.size >= TILE else []),
            *self._load(),
            *turns,
            '        for i in range(width):',
            '            body(W, i)',
            *self._store(),
        ]
        return '\n'.join(lines) + '\n'

    def _load(self) -> list[str]:
        """Turn rows into columns, by tiles as far as they go."""
        first = {array: self.places[f'{array}1'] for array in self.program.inputs}
        whole = 'whole' if self.n >= TILE else '0'
        by_number = [
            f'for k in range({self.n}):',
            f'    for i in range({whole}, left):',
            *(
                f'        W[{place} + {LANES}*k + i] = {array}[(start + i)*{self.n} + k]'
                for array, place in first.items()
            ),
            '    for i in range(left, width):',
            *(f'        W[{place} + {LANES}*k + i] = 0.0' for place in first.values()),
        ]
        by_tile = [
            f'transpose_tile({array}, (start + i)*{self.n} + {k}, {self.n}, '
            f'W, {place + k * LANES} + i, {LANES})'
            for array, place in first.items()
            for k in tile_columns(self.n)
        ]
        return _in_blocks(by_tile if self.n >= TILE else [], by_number)

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
            turn = 'turn_single' if self.single else 'turn'
            lines += [
                '        for i in range(width):',
                f'            {", ".join(targets)} = {turn}({text})',
            ]
        return lines

    def _body(self) -> list[str]:
        """Return the statements (see `straight_line`)."""
        elements = [f'{array}{element}' for array, element in self.elements]
        lines = [f'{name} = {self._element(name)}' for name in self.places if 'result' not in name]
        # A torque need not depend on every value: 0, or NaN for a state that is not finite.
        lines += [f'nan_mask = 0.0*({" + ".join(elements)})']
        lines += [
            f'{s.target} = {s.expression}' for s in self.program.statements if not s.function
        ]
        for column, k in self.columns.items():
            text = f'{self.program.results[k].expression} + nan_mask'
            lines.append(f'{self._element(f"result {column}")} = {text}')
        return lines

    def _store(self) -> list[str]:
        """Turn columns into rows, as `_load` does."""
        first = self.places['result 0']
        whole = 'whole' if self.size >= TILE else '0'
        by_number = [
            f'for k in range({self.size}):',
            f'    for i in range({whole}, left):',
            f'        out[(start + i)*{self.size} + k] = W[{first} + {LANES}*k + i]',
        ]
        by_tile = [
            f'transpose_tile(W, {first + k * LANES} + i, {LANES}, '
            f'out, (start + i)*{self.size} + {k}, {self.size})'
            for k in (tile_columns(self.size) if self.size >= TILE else ())
        ]
        return _in_blocks(by_tile, by_number)


def _in_blocks(by_tile: list[str], by_number: list[str]) -> list[str]:
    """Return lines of a block: whole tiles of rows, if there are, then what is left by number."""
    if not by_tile:
        return [f'        {line}' for line in by_number]
    return [
        f'        for i in range(0, whole, {TILE}):',
        *(f'            {line}' for line in by_tile),
        '        if whole < width:',
        *(f'            {line}' for line in by_number),
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

    files = (native.__file__, simd.__file__, straight_line.__file__)
    shared = [Path(file).read_text(encoding='utf-8') for file in files if file]
    identity = '\n'.join([__version__, numba.__version__, sys.version, *shared, source])
    name = f'kernel_{hashlib.sha256(identity.encode()).hexdigest()[:24]}'
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, _written(f'{name}.py', source))
    assert spec is not None and spec.loader is not None  # a .py file always has both
    module = module_from_spec(spec)
    sys.modules[name] = module  # before it is compiled: numba's cache goes by it
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
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
