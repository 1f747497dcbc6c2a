# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated equations as CUDA C++, with a device function and a kernel for each quantity."""

from collections.abc import Sequence
import math

import numpy as np

from .c_code import c_functions, c_indices, comment_block, convert_precision, guarded_header
from .equations import Equations
from .file_comments import as_identifier, file_heading, quantity_summary
from ..constants import Quantity
from ..errors import OutputError

# Threads of a block, a state each.
THREADS_PER_BLOCK = 64
# Values of each state that are held in shared memory at a time, as many as a matrix of seven
# joints has: with 64 threads they take 25 of the 48 KiB that a kernel has without asking.
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
    for equations in listed:
        if equations.run_time_parameters:
            raise OutputError('CUDA code has its parameters baked in; leave out run_time.')
        function = c_functions(equations, prefix, 'static __device__ __forceinline__')
        kernel = _kernel_text(equations, prefix)
        summary = f'{quantity_summary(equations)} parts: {blocks_per_state_group(equations)}.'
        text.append(comment_block([summary]))
        text.append(convert_precision(f'{function}\n{kernel}\n', precision))
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
        places = [place for output in equations.outputs for place in output.element_indices]
        return [sorted(places)]
    row_axis = 1 if equations.quantity is Quantity.DERIVATIVES else 0
    parts: list[list[tuple[int, ...]]] = [[] for _ in range(equations.shape[row_axis])]
    for output in equations.outputs:
        row = output.element_indices[0][row_axis]
        parts[row] += output.element_indices
    return [sorted(part) for part in parts if part]


def _kernel_text(equations: Equations, prefix: str) -> str:
    """
    Return the text of a CUDA kernel that computes a quantity at one state in each thread.

    A small output is written by each thread itself. A larger one goes through shared memory, and
    one with several parts has a branch for each, of which a block takes one.
    """
    output = equations.output_name
    parts = _output_indices_by_block(equations)
    lines = [*_opening_lines(equations, prefix, len(parts)), *_input_lines(equations)]
    call = [
        f'  double {output}{c_indices(equations.shape)};',
        f'  {prefix}_{equations.function_name}({", ".join((*equations.input_names, output))});',
    ]
    size = math.prod(equations.shape)
    if equations.shape == (size,) and size <= equations.n:
        writes = [
            f'    {output}_rows[(first + own) * {size} + {k}] = {output}[{k}] + unknown;'
            for k in range(size)
        ]
        return '\n'.join([*lines, *call, '  if (thread < count) {', *writes, '  }', '}'])
    width = min(_SHARED_VALUES_PER_STATE, max(map(len, parts)))
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


def _opening_lines(equations: Equations, prefix: str, part_count: int) -> list[str]:
    """
    Return the CUDA lines of a kernel's declaration, and of the states that its block has.

    `first` is the block's first state, `count` the number of its states, and `own` the thread's
    state; threads beyond the last state compute the last one again.
    """
    pointers = [
        f'const double *__restrict__ {array}_rows, const long long {array}_step'
        for array in equations.input_names
    ]
    output = f'double *__restrict__ {equations.output_name}_rows'
    arguments = ['const long long states', *pointers, output]
    group = 'blockIdx.x' if part_count == 1 else f'(blockIdx.x / {part_count})'
    return [
        f'extern "C" __global__ void __launch_bounds__({THREADS_PER_BLOCK}) '
        f'{kernel_name(equations, prefix)}(',
        '  ' + ',\n  '.join(arguments) + ')',
        '{',
        f'  const long long first = (long long) {group} * {THREADS_PER_BLOCK};',
        f'  const int count = (int) (states - first < {THREADS_PER_BLOCK} ? '
        f'states - first : {THREADS_PER_BLOCK});',
        '  const int thread = (int) threadIdx.x, own = thread < count ? thread : count - 1;',
    ]


def _input_lines(equations: Equations) -> list[str]:
    """Return CUDA lines that read inputs and set `unknown`: 0, or NaN if one is not finite."""
    lines = ['  double unknown = 0.0;']
    for array in equations.input_names:
        size = equations.input_size(array)
        lines += [
            f'  double {array}[{size}];',
            f'  for (int k = 0; k < {size}; ++k) {{',
            f'    {array}[k] = {array}_rows[(first + own) * {array}_step + k];',
            f'    unknown += {array}[k];',
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
    elements = [output_name + c_indices(place) for place in indices]
    return [
        '  __syncthreads();',
        *(
            f'  held[thread * {stride} + {k}] = {element} + unknown;'
            for k, element in enumerate(elements)
        ),
        '  __syncthreads();',
        f'  for (int t = thread; t < count * {size}; t += {THREADS_PER_BLOCK}) {{',
        f'    const int k = t % {size};',
        f'    {output_name}_rows[(first + t / {size}) * {math.prod(shape)} + k + '
        f'{_offset_text(indices, shape)}] = held[t / {size} * {stride} + k];',
        '  }',
    ]


def _offset_text(indices: Sequence[tuple[int, ...]], shape: tuple[int, ...]) -> str:
    """
    Return C text for the flat index of the k-th of some elements, less k.

    It is a number where the elements follow each other, and a choice where they do not: elements
    3, 4, 9 of a row give (k < 2 ? 3 : 7).
    """
    offsets = [int(np.ravel_multi_index(place, shape)) - k for k, place in enumerate(indices)]
    text = str(offsets[-1])
    for k in reversed(range(1, len(indices))):
        if offsets[k] != offsets[k - 1]:
            text = f'(k < {k} ? {offsets[k - 1]} : {text})'
    return text
