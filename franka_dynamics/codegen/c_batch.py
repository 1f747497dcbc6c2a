# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Generated equations as C over many states: vectors of states, OpenMP threads, a file for make.

As in the vectors of `vector_ir`, a few states lie side by side,
one per lane, and every statement becomes vector instructions; sines and cosines are polynomials
without branches, so that they do as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import math
import re
from typing import NamedTuple

from .emit import heading, identifier, Origin, summary
from .equations import Equations, Parameters
from .program import Program, Statement
from ..errors import OutputError

# A number of the equations, cast so that single precision stays single.
_NUMBER = re.compile(r'(?<![\w.])(\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+)(?![\w.])')

_HEADER = """\
// Arrays are read and written where they lie: joint k of state i is
// array[i * state_stride + k * joint_stride], so rows are (n, 1) and columns (1, count); the
// elements of a state's result are in the order of rows. A state with a value that is not finite
// gives NaN in its own result and in no other. An output may not lie upon an input. From
// THREADS_FROM states on OpenMP's threads share the work. REAL is double unless set
// (-DREAL=float), here and where the functions are called.
#include <stddef.h>
#ifndef REAL
#define REAL double
#endif
"""

# Constants and polynomials as in vector_ir.py: pi/2 in parts (Cody and Waite 1980), rounding to
# the nearest quarter by a large number, after which the quarter stands in the last bits.
_PREAMBLE = """\
#include <stdint.h>
#include <string.h>

typedef REAL real;

enum {LANES = 64 / sizeof(real), THREADS_FROM = 4000, CHUNK = 16};

#ifdef _OPENMP
#define LANES_SIDE_BY_SIDE _Pragma("omp simd")
#define SHARED_BY_THREADS _Pragma("omp parallel for schedule(static) if(count >= THREADS_FROM)")
#else
#define LANES_SIDE_BY_SIDE
#define SHARED_BY_THREADS
#endif

static inline double flipped(double value, int64_t flips)
{
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits ^= flips & INT64_MIN;
  memcpy(&value, &bits, sizeof bits);
  return value;
}

static inline void sine_cosine_double(double x, double * sine, double * cosine)
{
  const double rounded = x * 0.6366197723675814 + 6755399441055744.0;
  const double k = rounded - 6755399441055744.0;
  const double y = x - k * 1.5707963267341256 - k * 6.077100506506192e-11, z = y * y;
  const double s = y + z * y * (-1.66666666666666324348e-01 + z * (8.33333333332248946124e-03
    + z * (-1.98412698298579493134e-04 + z * (2.75573137070700676789e-06
    + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
  const double c = 1.0 + z * (-0.5 + z * (4.16666666666666019037e-02
    + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05
    + z * (-2.75573143513906633035e-07
    + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))))));
  uint64_t quarter;
  memcpy(&quarter, &rounded, sizeof quarter);
  const double a = quarter & 1 ? c : s, b = quarter & 1 ? s : c;
  *sine = flipped(a, (int64_t) (quarter << 62));
  *cosine = flipped(b, (int64_t) ((quarter + 1) << 62));
}

static inline float flipped_single(float value, int32_t flips)
{
  int32_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits ^= flips & INT32_MIN;
  memcpy(&value, &bits, sizeof bits);
  return value;
}

static inline void sine_cosine_single(float x, float * sine, float * cosine)
{
  const float rounded = x * 0.6366197723675814f + 12582912.0f, k = rounded - 12582912.0f;
  const float y = x - k * 1.5703125f - k * 4.837512969970703125e-4f - k * 7.54978995489188e-8f;
  const float z = y * y;
  const float s = y + z * y * (-1.6666654611e-1f + z * (8.3321608736e-3f
    + z * -1.9515295891e-4f));
  const float c = 1.0f + z * (-0.5f + z * (4.166664568298827e-2f
    + z * (-1.388731625493765e-3f + z * 2.443315711809948e-5f)));
  uint32_t quarter;
  memcpy(&quarter, &rounded, sizeof quarter);
  const float a = quarter & 1 ? c : s, b = quarter & 1 ? s : c;
  *sine = flipped_single(a, (int32_t) (quarter << 30));
  *cosine = flipped_single(b, (int32_t) ((quarter + 1) << 30));
}

#define SINE_COSINE(x, sine, cosine) \\
  _Generic((x), float: sine_cosine_single, default: sine_cosine_double)(x, sine, cosine)

/* Turn the rows of a block into columns; zeros where the block has no states. */
static inline void take(
  const real * array, real * columns, ptrdiff_t n, ptrdiff_t left, ptrdiff_t state_stride,
  ptrdiff_t joint_stride)
{
  for (ptrdiff_t k = 0; k < n; ++k) {
    for (ptrdiff_t i = 0; i < LANES; ++i) {
      columns[k * LANES + i] = i < left ? array[i * state_stride + k * joint_stride] : 0;
    }
  }
}

static inline void put(
  const real * columns, real * array, ptrdiff_t elements, ptrdiff_t left,
  ptrdiff_t state_stride, ptrdiff_t element_stride)
{
  for (ptrdiff_t i = 0; i < left; ++i) {
    for (ptrdiff_t k = 0; k < elements; ++k) {
      array[i * state_stride + k * element_stride] = columns[k * LANES + i];
    }
  }
}
"""

# Contraction gives fused operations; nothing else may change what is written (NaN, signs).
_MAKE = """\
# make -f {name}.mk        a shared library for this processor, with threads
# make -f {name}.mk REAL=float VECTORS= CC=clang
CC ?= cc
REAL ?= double
CFLAGS ?= -O2 -march=native $(VECTORS)
VECTORS ?= {vectors}

lib{name}.so: {name}.c {name}.h
\t$(CC) -std=c11 $(CFLAGS) -ffp-contract=fast -fno-math-errno -fopenmp -DREAL=$(REAL) \\
\t  -Wall -Wextra -shared -fPIC -o $@ {name}.c
"""
# On x86 gcc takes 256 bits where there are 512; other processors do not know the option.
_VECTORS = '$(if $(filter x86_64,$(shell uname -m)),-mprefer-vector-width=512)'


class CBatch(NamedTuple):
    """A header, its source and a file for make, without their suffixes' names."""

    header: str
    source: str
    make: str


def c_batch(origin: Origin, listed: Sequence[Equations]) -> CBatch:
    """
    Return C11 files with a function named ..._batch for each quantity.

    Parameters
    ----------
    origin : Origin
        Where the equations come from, for the heading.
    listed : sequence of Equations
        With their parameters as numbers.

    Raises
    ------
    OutputError
        If parameters are to be set at run time.

    """
    if origin.parameters is Parameters.RUN_TIME:
        raise OutputError(
            'C over many states has its parameters as numbers; leave --parameters run_time out.'
        )
    prefix = identifier(origin.arm)
    name, about = f'{prefix}_batch', [f'// {line}'.rstrip() for line in heading(origin)]
    guard = f'{name.upper()}_H'
    header = [*about, '//', f'#ifndef {guard}', f'#define {guard}', _HEADER]
    header += ['#ifdef __cplusplus', 'extern "C" {', '#endif', '']
    source = [*about, f'#include "{name}.h"', _PREAMBLE]
    for equations in listed:
        header += [f'// {summary(equations)}', f'{_signature(equations, prefix, "REAL")};', '']
        source += [f'/* {summary(equations)} */', _block(equations), _batch(equations, prefix)]
    header += ['#ifdef __cplusplus', '}', '#endif', '#endif', '']
    make = _MAKE.format(name=name, vectors=_VECTORS)
    return CBatch('\n'.join(header), '\n'.join(source), make)


def _signature(equations: Equations, prefix: str, real: str) -> str:
    program = equations.program
    arrays = ', '.join(f'const {real} * {array}' for array in program.inputs)
    return (
        f'void {prefix}_{program.name}_batch(\n'
        f'  ptrdiff_t count, {arrays}, {real} * {program.results[0].array},\n'
        '  ptrdiff_t state_stride, ptrdiff_t joint_stride,\n'
        '  ptrdiff_t out_state_stride, ptrdiff_t out_element_stride)'
    )


def _block(equations: Equations) -> str:
    """Return the function that computes a block from columns of its inputs."""
    program, n = equations.program, equations.n
    elements = [f'{array}{k + 1}' for array in program.inputs for k in range(n)]
    read = {f'{array}{k}' for array, ks in program.inputs.items() for k in ks}
    sizes = program.shape
    places = {
        _flat(place, sizes): result.expression
        for result in program.results
        for place in result.places
    }
    arrays = ', '.join(f'const real * restrict {array}' for array in program.inputs)
    lines = [
        f'static void {program.name}_block({arrays}, real * restrict result)',
        '{',
        '  LANES_SIDE_BY_SIDE',
        '  for (ptrdiff_t i = 0; i < LANES; ++i) {',
        *(
            f'    const real {array}{k + 1} = {array}[{k} * LANES + i];'
            for array in program.inputs
            for k in range(n)
            if f'{array}{k + 1}' in read
        ),
        '    /* A result need not depend on every value: 0, or NaN if one is not finite. */',
        '    const real unknown = 0 * (',
        *_sum(
            element
            if element in read
            else f'{element.rstrip("0123456789")}[{_index(element)} * LANES + i]'
            for element in elements
        ),
        '    );',
        *(f'    {line}' for line in _statements(program)),
        *(
            f'    result[{k} * LANES + i] = {_numbers(text)} + unknown;'
            for k, text in sorted(places.items())
        ),
        '  }',
        '}',
        '',
    ]
    return '\n'.join(lines)


def _sum(terms: Iterable[str]) -> list[str]:
    listed = list(terms)
    return [
        '      ' + ('' if start == 0 else '+ ') + ' + '.join(listed[start : start + 4])
        for start in range(0, len(listed), 4)
    ]


def _index(element: str) -> int:
    found = re.search(r'\d+$', element)
    assert found is not None  # elements are an array's name and a number
    return int(found[0]) - 1


def _statements(program: Program) -> list[str]:
    """Return the statements in C, sine and cosine of an angle together."""
    pairs: dict[str, dict[str, Statement]] = {}
    for statement in program.statements:
        if statement.function:
            pairs.setdefault(statement.expression, {})[statement.function] = statement
    lines, done = [], set()
    for k, statement in enumerate(program.statements):
        if not statement.function:
            lines.append(f'const real {statement.target} = {_numbers(statement.expression)};')
        elif statement.expression not in done:
            done.add(statement.expression)
            pair = pairs[statement.expression]
            names = [
                pair[function].target if function in pair else f'unused_{function}_{k}'
                for function in ('sin', 'cos')
            ]
            angle = _numbers(statement.expression)
            lines.append(f'real {names[0]}, {names[1]};')
            lines.append(f'SINE_COSINE((real) ({angle}), &{names[0]}, &{names[1]});')
            lines += [f'(void) {name};' for name in names if name.startswith('unused')]
    return lines


def _numbers(text: str) -> str:
    return _NUMBER.sub(r'(real) \1', text)


def _flat(place: tuple[int, ...], sizes: Sequence[int]) -> int:
    flat = 0
    for index, size in zip(place, sizes):
        flat = flat * size + index
    return flat


def _batch(equations: Equations, prefix: str) -> str:
    program, n = equations.program, equations.n
    output, count = program.results[0].array, math.prod(program.shape)
    inputs = list(program.inputs)
    columns = ', '.join(f'{array}_columns[{n} * LANES]' for array in inputs)
    passed = ', '.join(f'{array}_columns' for array in inputs)
    lines = [
        _signature(equations, prefix, 'real'),
        '{',
        '  const ptrdiff_t blocks = (count + LANES - 1) / LANES;',
        '  SHARED_BY_THREADS',
        '  for (ptrdiff_t first = 0; first < blocks; first += CHUNK) {',
        f'    real {columns}, result[{count} * LANES];',
        '    for (ptrdiff_t b = first; b < first + CHUNK && b < blocks; ++b) {',
        '      const ptrdiff_t start = b * LANES, rest = count - start;',
        '      const ptrdiff_t left = rest < LANES ? rest : LANES;',
        *(
            f'      take({array} + start * state_stride, {array}_columns, {n}, left, state_stride,'
            ' joint_stride);'
            for array in inputs
        ),
        f'      {program.name}_block({passed}, result);',
        f'      put(result, {output} + start * out_state_stride, {count}, left, out_state_stride,',
        '        out_element_stride);',
        '    }',
        '  }',
        '}',
        '',
    ]
    return '\n'.join(lines)
