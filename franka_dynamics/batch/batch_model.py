# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Dynamics at many states at once, for arrays (..., n) of NumPy, PyTorch, JAX or CuPy.

    >>> import numpy as np
    >>> import franka_dynamics as fd
    >>> q, dq, ddq = np.random.default_rng(0).normal(size=(3, 100_000, 7))
    >>> fd.BatchModel(fd.load('fer')).inverse_dynamics(q, dq, ddq).shape
    (100000, 7)
"""

import functools
from numbers import Integral
from typing import Any

import numpy as np

from . import numpy_arrays
from .generated_model import EquationsKey, GeneratedModel
from .kernel import available_thread_count, cpu_backend, GpuKernel, Kernel
from .libraries import adapter_of, are_kernel_inputs
from ..arm import ArmDescription
from ..arrays import ArrayLike
from ..codegen.quantities import INPUT_NAMES, output_shape
from ..constants import GRAVITY, Quantity
from ..dynamics.body_tree import BodyTree, RobotLike
from ..errors import JointVectorError, short_repr


class BatchModel(GeneratedModel):
    """
    An arm's dynamics at many states (..., n) at once, with all but two methods of `fd.Model`.

    Arguments are arrays of NumPy (or what it reads as arrays), PyTorch, JAX or CuPy; results are
    new arrays of the same library on the same device. Arrays of other libraries on an NVIDIA GPU
    are read as CuPy's. Leading axes broadcast, and results have them. A state with a value that is
    not finite, or with no answer (operational-space inertia at most singular postures, positions
    beyond 8.8e14, in float32 1.65e6, on a CPU), gives NaN in this state's result alone. Inputs may
    have any memory layout. Computation and results are float32 if all inputs are, with the errors
    that docs/howto/gradients.md states, else float64; results in PyTorch and JAX have the type
    to which inputs are promoted. Rotors are in torques and mass matrices, not in the regressor.

    PyTorch and JAX differentiate every method once, by analytic derivatives, forward and reverse;
    for second derivatives and devices that are neither CPUs nor NVIDIA GPUs use `TracedModel`.

    The first use of a quantity generates code. On a CPU llvmlite from 0.45 and cffi compile it,
    which pip installs with this package. Where apt's ROS is used without them, NumPy runs it on
    one thread, 20 to 50 times more slowly; then a SlowComputationWarning says so, and `backend`
    is 'numpy'. On a GPU NVRTC compiles it (extra `gpu`). Compiled code is kept in the user's cache
    folder.

    Parameters
    ----------
    description : ArmDescription, str, Path or BodyTree
        The arm with hand and payload, in either DH convention, or the arm's name or file; or a
        tree of bodies, whose tool frame is used as the flange.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    threads : int, optional
        Largest number of threads of a CPU; by default the number of processors. At most one
        is used for every 4,000 states.

    Raises
    ------
    JointVectorError
        If gravity is not three finite numbers, or threads no whole number from 1. By the methods,
        if an argument is not an array of real numbers of shape (..., n), or on another device.
    MissingDependencyError
        By the methods, if arrays are on a GPU and the extra `gpu` or CuPy is missing.

    """

    def __init__(
        self,
        description: RobotLike,
        gravity: ArrayLike = GRAVITY,
        *,
        threads: int | None = None,
    ) -> None:
        if threads is not None and (
            isinstance(threads, bool) or not isinstance(threads, Integral) or threads < 1
        ):
            raise JointVectorError(
                f'threads is {short_repr(threads)}; give a whole number from 1, or None for one '
                'per processor.'
            )
        super().__init__(description, gravity)
        self.threads = available_thread_count() if threads is None else threads
        self._kernels: dict[tuple[Any, ...], Any] = {}
        self.jax_functions: dict[EquationsKey, Any] = {}  # differentiable, by jax_arrays

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to pickle: all but compiled code, which cannot be pickled."""
        return {**self.__dict__, '_kernels': {}, 'jax_functions': {}}

    @property
    def backend(self) -> str:
        """By what states are computed on a CPU: 'llvm', which is machine code, or 'numpy'."""
        return cpu_backend()

    def library(self, *arguments: Any) -> Any:
        """Return the module of this package for the array library that the arguments belong to."""
        return adapter_of(arguments)

    def evaluate(
        self, quantity: Quantity, *arguments: Any, out: np.ndarray | None = None, **options: Any
    ) -> Any:
        """
        Return a quantity at states (..., n); `options` are those of `customised_equations`.

        Parameters
        ----------
        quantity : Quantity or str
            The quantity.
        *arguments : array_like, shape (..., n)
            What it takes, such as q, dq and ddq.
        out : ndarray, shape (N, ...), optional
            Where to write the result of NumPy arrays (N, n), which is then returned: a C-ordered
            array of their number type. In a loop over large batches it saves the time in which
            the system hands out new memory.
        **options
            Those of `customised_equations`.

        Raises
        ------
        SettingsError
            If there is no such quantity.
        JointVectorError
            If the quantity takes another number of arrays, one is no array of shape (..., n), or
            the result does not fit `out`.

        """
        key = self._make_key(quantity, len(arguments), options)
        n = self.description.n
        if are_kernel_inputs(arguments, n, numpy_arrays.KERNEL_INPUT_TYPES):
            if out is not None:
                self._require_fitting(out, arguments[0], key)
            return self.kernel(key, arguments[0].dtype)(arguments, self.threads, out)
        if out is not None:
            names = ', '.join(INPUT_NAMES[key.quantity])
            raise JointVectorError(
                f'out is for {names} as NumPy arrays of one shape (N, {n}), all float64 or all '
                'float32; give such arrays, or leave out= away.'
            )
        library = adapter_of(arguments)
        if are_kernel_inputs(arguments, n, library.KERNEL_INPUT_TYPES):
            return library.evaluate(self, key, arguments, arguments[0].shape[:-1])
        states = self._real_states(key.quantity, arguments, library.as_array)
        return library.evaluate(self, key, *states)

    def _require_fitting(self, out: Any, states: np.ndarray, key: EquationsKey) -> None:
        """Raise JointVectorError unless a kernel can write the result at `states` to `out`."""
        shape = (len(states), *self.shape(key))
        fits = isinstance(out, np.ndarray) and out.shape == shape and out.dtype == states.dtype
        if not (fits and out.flags.c_contiguous and out.flags.writeable):
            raise JointVectorError(
                f'out must be a writeable C-ordered array of {states.dtype} of shape {shape}; '
                f'np.empty({shape}, np.{states.dtype}) is one.'
            )

    def kernel(self, key: EquationsKey, dtype: Any, gpu: int | None = None) -> Any:
        """Return the `Kernel` of a quantity for the CPU, or its `GpuKernel` for a GPU."""
        known = key, dtype, gpu
        kernel = self._kernels.get(known)
        if kernel is None:
            kernel = self._kernels[known] = shared_kernel(self.description, self._gravity, *known)
        return kernel

    def shape(self, key: EquationsKey) -> tuple[int, ...]:
        """Return the shape of a quantity's result at one state."""
        n = self.description.n
        return output_shape(key.quantity, n, key.columns, derivatives=key.derivatives)


@functools.lru_cache(maxsize=128)
def shared_kernel(
    description: ArmDescription | BodyTree,
    gravity: tuple[float, ...],
    key: EquationsKey,
    dtype: Any,
    gpu: int | None,
) -> Kernel | GpuKernel:
    """
    Return the kernel of a quantity, shared by all models of the same arm and gravity.

    `shared_kernel.cache_clear()` frees the kernels that no model uses.
    """
    equations = key.equations(description, gravity)
    return Kernel(equations, dtype) if gpu is None else GpuKernel(equations, dtype, gpu)
