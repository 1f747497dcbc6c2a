# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated equations as a header of C functions, or as CUDA C++ with a kernel per quantity."""

from collections.abc import Sequence
import math
import re

import numpy as np

from .equations import Equations
from .file_comments import as_identifier, file_heading, quantity_summary
from .quantities import TWIST_SIZE
from .. import former_names
from ..constants import PRECISIONS, Quantity
from ..errors import OutputError


def c_functions(equations: Equations, name_prefix: str, qualifiers: str = 'static inline') -> str:
    """
    Return C99 functions that evaluate equations at one state and, if any, set run-time parameters.

    Input arrays have n numbers, a wrench six. With parameters at run time, the text begins with a
    struct of prepared values and a function that fills the struct. The names of functions and
    struct begin with `name_prefix`, an identifier, and an underscore.
    """
    program = equations.program
    name = f'{name_prefix}_{equations.function_name}'
    output = f'double {equations.output_name}' + ''.join(f'[{size}]' for size in equations.shape)
    arguments = [
        f'const double {array}[{TWIST_SIZE if array == "wrench" else equations.n}]'
        for array in equations.input_names
    ]
    # Without (void) compilers warn of unused arguments, such as q in the gravity of an arm of
    # prismatic joints.
    body = [f'  (void) {array};' for array, elements in program.inputs.items() if not elements]
    body += [f'  const double {line};' for line in program.body_lines('parameters->p')]
    body += [f'  {line};' for line in program.result_lines(equations.output_name, '][')]
    if not equations.run_time_parameters:
        return _function_text(f'{qualifiers} void {name}', [*arguments, output], body)
    if not program.prepared_names:
        body.insert(0, '  (void) parameters;')
    struct = f'{name}_parameters'
    read = program.preparation_lines(equations.run_time_parameters)
    prepare = [f'  const double {line};' for line in read]
    prepare += [f'  parameters->p[{k}] = {one};' for k, one in enumerate(program.prepared_names)]
    prepare += [] if program.prepared_names else ['  (void) X;', '  parameters->p[0] = 0.0;']
    return '\n'.join(
        [
            f'typedef struct {{ double p[{max(1, len(program.prepared_names))}]; }} {struct};\n',
            _function_text(
                f'{qualifiers} void {name_prefix}_prepare_{equations.function_name}',
                [
                    f'const double X[{len(equations.run_time_parameters)}]',
                    f'{struct} *parameters',
                ],
                prepare,
            ),
            _function_text(
                f'{qualifiers} void {name}',
                [*arguments, f'const {struct} *parameters', output],
                body,
            ),
        ]
    )


def _function_text(declaration: str, arguments: list[str], body: list[str]) -> str:
    """Return the text of a C function from its opening, arguments and lines."""
    listed = f',\n{" " * len(declaration)} '.join(arguments)
    return '\n'.join([f'{declaration}({listed})', '{', *body, '}', ''])


# Numbers of generated C that are no indices.
_REAL_NUMBER_PATTERN = re.compile(r'(?<![\w.])(\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+)')


def convert_precision(c_text: str, precision: str) -> str:
    """
    Return C functions' text converted to a precision, 'double' or 'float'; otherwise OutputError.

    Raises
    ------
    OutputError
        If the precision is neither of the two.

    """
    if precision not in PRECISIONS:
        raise OutputError(f'precision is {precision!r}; choose {" or ".join(PRECISIONS)}.')
    if precision == 'double':
        return c_text
    c_text = re.sub(r'\bdouble\b', 'float', c_text)
    return _REAL_NUMBER_PATTERN.sub(r'\1f', re.sub(r'\b(sin|cos|sqrt)\(', r'\1f(', c_text))


@former_names.of_arguments('0.3', sets='listed')
def c_header(
    listed: Sequence[Equations], *, precision: str = 'double', name: str | None = None
) -> str:
    """
    Return a C99 header with one arm's equations as functions; the header includes math.h only.

    With the `precision` float they compute in single precision, for microcontrollers. The names of
    functions and types begin with `name`, or else the arm's; headers with different names can be
    included together.

    Returns
    -------
    str
        The text of the header.

    Raises
    ------
    OutputError
        If `listed` is no list of equations, no quantity is listed, or one twice, or if the
        equations differ in arm, inertias, gravity or `ParameterMode` (baked or run-time).

    """
    head = file_heading(listed)
    prefix = as_identifier(name or listed[0].arm_name)
    comments = (comment_block([quantity_summary(each)]) for each in listed)
    codes = (convert_precision(c_functions(each, prefix), precision) for each in listed)
    functions = [f'{comment}\n{code}' for comment, code in zip(comments, codes)]
    return guarded_header(head, f'{prefix}_dynamics_h', ['#include <math.h>', '', *functions])


def comment_block(lines: Sequence[str]) -> str:
    """Return lines as a block comment of C, in which any */ is broken up."""
    return '\n'.join(['/*', *(f' * {one}'.rstrip().replace('*/', '* /') for one in lines), ' */'])


def guarded_header(heading: Sequence[str], guard_name: str, lines: Sequence[str]) -> str:
    """Return the text of a C header with a comment and an include guard around `lines`."""
    guard = guard_name.upper()
    opening = [comment_block(heading), f'#ifndef {guard}', f'#define {guard}', '']
    return '\n'.join([*opening, *lines, '#endif', ''])


# Threads of a block, a state each. 49 doubles of each state fit the 48 KiB of shared memory that a
# kernel has without asking.
THREADS_PER_BLOCK = 64
_SHARED_VALUES_PER_STATE = 49
_GRADIENT_QUANTITIES = (
    Quantity.DERIVATIVES,
    Quantity.CORIOLIS_MATRIX,
    Quantity.REGRESSOR,
)
_KERNEL_USAGE = (
    'A kernel NAME_states computes any number of states, one in each thread, in blocks of\n'
    f'{THREADS_PER_BLOCK} threads: `parts` blocks for every {THREADS_PER_BLOCK} states. Of each '
    'input array it takes the address\nof the first state and the number of values from one state '
    'to the next. A state with a value that\nis not finite gives NaN in its own results alone.'
)


def cuda_source(
    listed: Sequence[Equations], *, precision: str = 'double', name: str | None = None
) -> str:
    """
    Return CUDA C++ with a device function and a kernel for each quantity of one arm's equations.

    The text includes nothing, so that NVRTC compiles it as well as nvcc. The arguments of a kernel
    are the number of states, address and step of each input, and the address of the output, whose
    rows follow each other; the text says how many blocks it takes. Names begin with `name`, or
    else the arm's.

    Raises
    ------
    OutputError
        As `c_header`, and if parameters are set at run time.

    """
    head = file_heading(listed)
    prefix = as_identifier(name or listed[0].arm_name)
    text = []
    for each in listed:
        if each.run_time_parameters:
            raise OutputError('CUDA code has its parameters baked in; leave out run_time.')
        function = c_functions(each, prefix, 'static __device__ __forceinline__')
        code = convert_precision(f'{function}\n{_kernel_text(each, prefix)}\n', precision)
        summary = f'{quantity_summary(each)} parts: {blocks_per_state_group(each)}.'
        text += [comment_block([summary]), code]
    return guarded_header([*head, '', *_KERNEL_USAGE.split('\n')], f'{prefix}_dynamics_cuh', text)


def kernel_name(equations: Equations, prefix: str = '') -> str:
    """Return the name of the CUDA kernel that `cuda_source` writes for the equations."""
    return f'{prefix or as_identifier(equations.arm_name)}_{equations.function_name}_states'


def blocks_per_state_group(equations: Equations) -> int:
    """
    Return how many CUDA blocks share the computation for THREADS_PER_BLOCK states.

    A row of gradients is a reverse sweep of its own, and all together need more registers than a
    thread has: each row has a block.
    """
    return len(_output_indices_by_block(equations))


def _output_indices_by_block(equations: Equations) -> list[list[tuple[int, ...]]]:
    """Return the sorted indices of the output elements that each CUDA block computes."""
    if equations.quantity not in _GRADIENT_QUANTITIES and not equations.has_derivatives:
        return [sorted(place for one in equations.outputs for place in one.element_indices)]
    axis = 1 if equations.quantity is Quantity.DERIVATIVES else 0
    parts: list[list[tuple[int, ...]]] = [[] for _ in range(equations.shape[axis])]
    for one in equations.outputs:
        parts[one.element_indices[0][axis]] += one.element_indices
    return [sorted(part) for part in parts if part]


def _kernel_text(equations: Equations, prefix: str) -> str:
    """Return the text of a CUDA kernel that computes a quantity at one state in each thread."""
    arrays = equations.input_names
    output = equations.output_name
    parts = _output_indices_by_block(equations)
    rows = [f'const double *__restrict__ {one}_rows, const long long {one}_step' for one in arrays]
    arguments = ['const long long states', *rows, f'double *__restrict__ {output}_rows']
    group = 'blockIdx.x' if len(parts) == 1 else f'(blockIdx.x / {len(parts)})'
    lines = [
        f'extern "C" __global__ void __launch_bounds__({THREADS_PER_BLOCK}) '
        f'{kernel_name(equations, prefix)}(',
        '  ' + ',\n  '.join(arguments) + ')',
        '{',
        f'  const long long first = (long long) {group} * {THREADS_PER_BLOCK};',
        f'  const int count = (int) (states - first < {THREADS_PER_BLOCK} ? '
        f'states - first : {THREADS_PER_BLOCK});',
        '  const int thread = (int) threadIdx.x, own = thread < count ? thread : count - 1;',
        *_input_lines(equations),
    ]
    shape = ''.join(f'[{size}]' for size in equations.shape)
    passed = ', '.join((*arrays, output))
    call = [
        f'  double {output}{shape};',
        f'  {prefix}_{equations.function_name}({passed});',
    ]
    size = math.prod(equations.shape)
    width = min(_SHARED_VALUES_PER_STATE, max(map(len, parts)))
    if equations.shape == (size,) and size <= equations.n:
        writes = (
            f'    {output}_rows[(first + own) * {size} + {k}] = {output}[{k}] + unknown;'
            for k in range(size)
        )
        return '\n'.join([*lines, *call, '  if (thread < count) {', *writes, '  }', '}'])
    # An odd number of values between states keeps the threads of a warp in different banks.
    stride = width | 1
    lines.append(f'  __shared__ double held[{stride * THREADS_PER_BLOCK}];')
    for number, part in enumerate(parts):
        body = [*call]
        for start in range(0, len(part), width):
            body += _output_lines(output, part[start : start + width], stride, equations.shape)
        if len(parts) > 1:
            body = [f'  if (blockIdx.x % {len(parts)} == {number}) {{', *body, '  }']
        lines += body
    return '\n'.join([*lines, '}'])


def _input_lines(equations: Equations) -> list[str]:
    """Return CUDA lines that read inputs and set `unknown`: 0, or NaN if one is not finite."""
    lines = ['  double unknown = 0.0;']
    for one in equations.input_names:
        size = TWIST_SIZE if one == 'wrench' else equations.n
        lines += [
            f'  double {one}[{size}];',
            f'  for (int k = 0; k < {size}; ++k) {{',
            f'    {one}[k] = {one}_rows[(first + own) * {one}_step + k];',
            f'    unknown += {one}[k];',
            '  }',
        ]
    return [*lines, '  unknown *= 0.0;']


def _output_lines(
    output_name: str,
    indices: Sequence[tuple[int, ...]],
    stride: int,
    shape: tuple[int, ...],
) -> list[str]:
    """
    Return CUDA lines that write given elements of each state's output through shared memory.

    So threads that follow each other write to addresses that follow each other.
    """
    size = len(indices)
    at = [int(np.ravel_multi_index(place, shape)) - k for k, place in enumerate(indices)]
    where = str(at[-1])
    for k in reversed(range(1, size)):
        if at[k] != at[k - 1]:
            where = f'(k < {k} ? {at[k - 1]} : {where})'
    elements = (output_name + ''.join(f'[{index}]' for index in place) for place in indices)
    return [
        '  __syncthreads();',
        *(f'  held[thread * {stride} + {k}] = {one} + unknown;' for k, one in enumerate(elements)),
        '  __syncthreads();',
        f'  for (int t = thread; t < count * {size}; t += {THREADS_PER_BLOCK}) {{',
        f'    const int k = t % {size};',
        f'    {output_name}_rows[(first + t / {size}) * {math.prod(shape)} + k + {where}] = '
        f'held[t / {size} * {stride} + k];',
        '  }',
    ]
