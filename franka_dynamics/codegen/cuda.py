# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated equations as CUDA kernels: each thread computes one state after another."""

from __future__ import annotations

from collections.abc import Sequence
import math
import re

from .emit import c_functions, heading, identifier, summary
from .equations import Equations
from ..errors import OutputError

# Finds the number literals of the equations. Number literals are written as real(...), because
# double literals would make the arithmetic of REAL=float double.
_NUMBER = re.compile(r'(?<![\w.])(\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+)(?![\w.])')

_PREAMBLE = """\
// The kernels take device pointers and strides in elements: joint k of state i is
// array[i * state_stride + k * joint_stride]. Strides (n, 1) mean an array of shape (count, n),
// strides (1, count) one of shape (n, count), which is faster, because neighbouring threads then
// read neighbouring numbers. Results have strides of their own; the elements of a matrix are
// numbered row by row. Launch any one-dimensional grid:
//   kernel<<<(count + 255) / 256, 256>>>(count, q, ..., out, state_stride, joint_stride,
//                                        out_state_stride, out_element_stride)
// REAL is double unless set (-DREAL=float). A host compiler compiles the file as C++; one call
// of a kernel then computes all states.
#ifndef REAL
#define REAL double
#endif
typedef REAL real;

#ifdef __CUDACC__
#define DYNAMICS_INLINE __device__ __forceinline__
#else
#include <cmath>
using std::cos;
using std::sin;
#define DYNAMICS_INLINE static inline
#define __global__
namespace
{
struct Index
{
  unsigned x;
};
const Index blockIdx{0}, threadIdx{0}, blockDim{1}, gridDim{1};
}  // namespace
#endif
"""


def cuda_source(listed: Sequence[Equations]) -> str:
    """
    Return the text of a .cu file: for each of an arm's equations a device function and a kernel.

    The kernel's name is the device function's name followed by `_batch`.

    Raises
    ------
    OutputError
        If parameters are to be set at run time, or for the reasons of `heading`.

    """
    comment = heading(listed)
    if listed[0].parameters:
        raise OutputError(
            'CUDA kernels have inertial parameters as numbers; leave --parameters run_time out.'
        )
    prefix = identifier(listed[0].arm)
    parts = [*(f'// {line}'.rstrip() for line in comment), '//', _PREAMBLE]
    for equations in listed:
        device = c_functions(equations.program, prefix, equations.n)
        device = device.replace('static inline void', 'DYNAMICS_INLINE void')
        device = _NUMBER.sub(r'real(\1)', device.replace('double', 'real'))
        parts += [f'// {summary(equations)}', device, _kernel(equations, prefix)]
    return '\n'.join(parts)


def _kernel(equations: Equations, prefix: str) -> str:
    program, n = equations.program, equations.n
    name, output = f'{prefix}_{program.name}', program.results[0].array
    count = math.prod(program.shape)
    inputs = tuple(program.inputs)
    local = ''.join(f'[{size}]' for size in program.shape)
    return '\n'.join(
        [
            f'extern "C" __global__ void {name}_batch(',
            '  long long count, '
            + ', '.join(f'const real * {array}' for array in inputs)
            + f', real * {output},',
            '  long long state_stride, long long joint_stride,',
            '  long long out_state_stride, long long out_element_stride)',
            '{',
            '  const long long step = (long long) gridDim.x * blockDim.x;',
            '  long long i = (long long) blockIdx.x * blockDim.x + threadIdx.x;',
            '  for (; i < count; i += step) {',
            f'    real {", ".join(f"{array}_[{n}]" for array in inputs)}, result{local};',
            f'    for (int k = 0; k < {n}; ++k) {{',
            *(
                f'      {array}_[k] = {array}[i * state_stride + k * joint_stride];'
                for array in inputs
            ),
            '    }',
            f'    {name}({", ".join(f"{array}_" for array in inputs)}, result);',
            '    const real * element = (const real *) result;',
            f'    for (int k = 0; k < {count}; ++k) {{',
            f'      {output}[i * out_state_stride + k * out_element_stride] = element[k];',
            '    }',
            '  }',
            '}',
            '',
        ]
    )
