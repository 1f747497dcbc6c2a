# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Batches on a CUDA device: generated equations as numba's kernels, a thread a state."""

from __future__ import annotations

from collections.abc import Sequence
import functools
import re
import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .jobs import DOUBLE, Form, forms, SINGLE
from ..arm import ArmDescription
from ..codegen.equations import customised_equations, Quantity
from ..codegen.program import Program
from ..dynamics.model import GRAVITY, gravity_vector
from ..errors import JointVectorError, MissingDependencyError

_THREADS = 128  # of a block
_NUMBER = re.compile(r'(?<![\w.])(?:\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+)(?![\w.])')


class CudaModel:
    """
    An arm's dynamics for arrays in the memory of a CUDA device; methods as those of `BatchModel`.

    Arrays are taken where they lie, of any strides, by `__cuda_array_interface__`: CuPy's,
    PyTorch's tensors of a device, JAX's, numba's. Shapes are (N, n), equal for all arguments of a
    call; results are of the first argument's kind and type, float64 or float32, in which all is
    computed. A state with a value that is not finite gives NaN in its own result and in no other.
    Kernels are launched on the default stream and not waited for.

    Parameters
    ----------
    description : ArmDescription
        The arm, with its hand and payload as desired; either convention, revolute and prismatic.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].

    Raises
    ------
    MissingDependencyError
        If numba is not installed (on import of this module), or finds no CUDA device.
    JointVectorError
        By the methods, if an argument is no array of a device, or of the wrong shape or type.

    """

    def __init__(self, description: ArmDescription, gravity: ArrayLike = GRAVITY) -> None:
        from numba import cuda

        if not cuda.is_available():
            raise MissingDependencyError(
                'numba finds no CUDA device, which needs a driver and pip install '
                "'franka_dynamics[cuda]'; BatchModel computes on the processor."
            )
        self.description = description
        self._cuda = cuda
        self._gravity = tuple(float(part) for part in gravity_vector(gravity))
        self._forms = forms(description.n)

    def inverse_dynamics(self, q: Any, dq: Any, ddq: Any, out: Any = None) -> Any:
        """Return M ddq + C dq + g, shape (N, n) [N m]."""
        return self._run(Quantity.INVERSE_DYNAMICS, out, q=q, dq=dq, ddq=ddq)

    def nonlinear_effects(self, q: Any, dq: Any, out: Any = None) -> Any:
        """Return C dq + g, shape (N, n) [N m]."""
        return self._run(Quantity.INVERSE_DYNAMICS, out, q=q, dq=dq)

    def coriolis(self, q: Any, dq: Any, out: Any = None) -> Any:
        """Return C dq, shape (N, n) [N m]."""
        return self._run(Quantity.CORIOLIS, out, q=q, dq=dq)

    def gravity(self, q: Any, out: Any = None) -> Any:
        """Return g, shape (N, n) [N m]."""
        return self._run(Quantity.GRAVITY, out, q=q)

    def mass_matrix(self, q: Any, out: Any = None) -> Any:
        """Return M, shape (N, n, n) [kg m^2]."""
        return self._run(Quantity.MASS_MATRIX, out, q=q)

    def coriolis_matrix(self, q: Any, dq: Any, out: Any = None) -> Any:
        """Return C of Christoffel symbols, dM/dt = C + C^T, shape (N, n, n) [N m s/rad]."""
        return self._run(Quantity.CORIOLIS_MATRIX, out, q=q, dq=dq)

    def forward_dynamics(self, q: Any, dq: Any, tau: Any, out: Any = None) -> Any:
        """Return ddq = M^-1 (tau - C dq - g), shape (N, n) [rad/s^2]."""
        return self._run(Quantity.FORWARD_DYNAMICS, out, q=q, dq=dq, tau=tau)

    def inverse_dynamics_derivatives(self, q: Any, dq: Any, ddq: Any, out: Any = None) -> Any:
        """Return the derivatives of `inverse_dynamics` by q, dq and ddq, shape (N, 3, n, n)."""
        return self._run(Quantity.DERIVATIVES, out, q=q, dq=dq, ddq=ddq)

    def _run(self, quantity: Quantity, out: Any, **states: Any) -> Any:
        arrays = list(states.values())
        for name, array in states.items():
            self._look_at(name, array, next(iter(states)), arrays[0])
        count, dtype = arrays[0].shape[0], np.dtype(_type_of(arrays[0]))
        shape = (count, *_form(self._forms, quantity).result)
        if out is None:
            filled = self._cuda.device_array(shape, dtype)
        else:
            if not _is_on_device(out) or tuple(out.shape) != shape or _type_of(out) != dtype.name:
                raise JointVectorError(
                    f'out must be an array of the same device, {dtype} and of shape {shape}.'
                )
            filled = out
        if count:
            kernel = _kernel(self.description, quantity, self._gravity, tuple(states), dtype)
            blocks = -(-count // _THREADS)
            kernel[blocks, _THREADS](*arrays, filled)
        return filled if out is not None else _as_like(filled, arrays[0])

    def _look_at(self, name: str, array: Any, first: str, like: Any) -> None:
        n = self.description.n
        if not _is_on_device(array):
            raise JointVectorError(
                f'{name} is no array of a CUDA device but a {type(array).__name__}; BatchModel '
                'takes those of a processor.'
            )
        if len(array.shape) != 2 or array.shape[1] != n:
            raise JointVectorError(
                f'{name} has shape {tuple(array.shape)}, expected (N, {n}): a column per joint of '
                f'{self.description.name}, ordered {", ".join(self.description.joint_names)}.'
            )
        dtype, other = _type_of(array), _type_of(like)
        if dtype != other or dtype not in (DOUBLE.name, SINGLE.name):
            raise JointVectorError(
                f'{name} has the type {dtype}'
                + (f' and {first} has {other}' * (dtype != other))
                + '; give all as float64 or all as float32.'
            )
        if tuple(array.shape) != tuple(like.shape):
            raise JointVectorError(
                f'{name} has shape {tuple(array.shape)} and {first} has {tuple(like.shape)}; '
                'give every state all of its values.'
            )


def _is_on_device(array: Any) -> bool:
    # numba's simulator of a device has arrays that know the first name alone.
    return hasattr(array, '__cuda_ndarray__') or hasattr(array, '__cuda_array_interface__')


def _type_of(array: Any) -> str:
    """Return the name of an array's type, which for PyTorch's begins with the library's."""
    return str(array.dtype).rpartition('.')[2]


def _as_like(filled: Any, like: Any) -> Any:
    """Return a device array of numba's as one of the caller's library, of the same memory."""
    if hasattr(like, '__cuda_ndarray__'):
        return filled
    if hasattr(like, '__array_namespace__'):
        return like.__array_namespace__().asarray(filled)
    library = sys.modules[type(like).__module__.partition('.')[0]]
    return library.as_tensor(filled, device=like.device)


def _form(listed: dict[str, Form], quantity: Quantity) -> Form:
    name = quantity.value
    return listed['inverse_dynamics_derivatives' if name == 'derivatives' else name]


@functools.lru_cache(maxsize=64)
def _kernel(
    description: ArmDescription,
    quantity: Quantity,
    gravity: tuple[float, ...],
    given: tuple[str, ...],
    dtype: Any,
) -> Any:
    program = customised_equations(description, quantity, gravity).program
    names: dict[str, Any] = {}
    source = cuda_kernel_source(program, description.n, given, single=dtype == SINGLE)
    exec(compile(source, f'<{quantity.value} of {description.name} on a device>', 'exec'), names)
    return names['run']


def cuda_kernel_source(
    program: Program, n: int, given: Sequence[str], *, single: bool = False
) -> str:
    """
    Return a module whose numba.cuda kernel `run` takes arrays (N, n) and fills an output.

    Parameters
    ----------
    program : Program
        What to compute.
    n : int
        Number of joints.
    given : sequence of str
        The input arrays that the kernel takes; the others are zeros.
    single : bool
        Whether numbers are float32 instead of float64.

    """
    numbers: dict[str, str] = {}
    body = [
        f'{array}{k + 1} = {f"{array}[s, {k}]" if array in given else "0.0"}'
        for array in program.inputs
        for k in range(n)
    ]
    elements = [f'{array}{k + 1}' for array in given for k in range(n)]
    body += [f'unknown = 0.0*({" + ".join(elements)})']
    body += [
        f'{s.target} = {s.function}({s.expression})'
        if s.function
        else f'{s.target} = {s.expression}'
        for s in program.statements
    ]
    for result in program.results:
        places = ' = '.join(f'out[s, {", ".join(map(str, place))}]' for place in result.places)
        body.append(f'{places} = {result.expression} + unknown')
    if single:
        # A number written in Python would make doubles of all around it.
        body = [
            _NUMBER.sub(lambda found: numbers.setdefault(found[0], f'n{len(numbers)}'), line)
            for line in body
        ]
    return '\n'.join(
        [
            f'"""{program.name} of a state in each thread; generated."""',
            'from math import cos, sin',
            'from numba import cuda',
            'import numpy as np',
            '',
            *(f'{name} = np.float32({number})' for number, name in numbers.items()),
            '',
            '@cuda.jit',
            f'def run({", ".join(given)}, out):',
            '    for s in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):',
            *(f'        {line}' for line in body),
            '',
        ]
    )
