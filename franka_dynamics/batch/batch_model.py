# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Dynamics of many states at once: arrays of shape (..., n) in, arrays out.

    >>> import numpy as np
    >>> import franka_dynamics as fd
    >>> q, dq, ddq = np.random.default_rng(0).normal(size=(3, 100_000, 7))
    >>> fd.BatchModel(fd.load('fer')).inverse_dynamics(q, dq, ddq).shape
    (100000, 7)
"""

from __future__ import annotations

from collections.abc import Sequence
import functools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .generated_model import GeneratedModel
from .kernel import available_threads, Kernel
from ..arm import ArmDescription
from ..codegen.equations import customised_equations, Quantity
from ..dynamics.body_tree import BodyTree
from ..dynamics.model import GRAVITY
from ..errors import JointVectorError
from ..typing import Array

_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)


class BatchModel(GeneratedModel):
    """
    An arm's dynamics at many states at once: the methods of `fd.Model` for arrays (..., n).

    States have shape (..., n); leading axes broadcast, results have them. A state with a value
    that is not finite gives NaN in this state's result alone. Inputs may have any memory layout
    and any real type; arrays of other libraries are read as NumPy arrays (for results of the same
    library, and gradients, use `TorchModel` and `JaxModel`). Results are C-contiguous. Computation
    and results are float32 if all inputs are, with the errors that docs/howto/gradients.md
    states, and otherwise float64. Rotor inertias are part of torques and mass matrices, not of the
    regressor.

    The first use of a quantity generates code. With llvmlite and cffi (extra `batch`) the code is
    compiled once and kept in the user's cache folder. If one of them is missing, or llvmlite is
    older than 0.45, the equations run in NumPy on one thread; inverse dynamics then takes about
    half as long as `pinocchio.rneaInParallel` on one thread.

    Parameters
    ----------
    description : ArmDescription, str, Path or BodyTree
        The arm with hand and payload, in either DH convention, or the arm's name or file; or a
        tree of bodies, whose tool frame is used as the flange.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    threads : int, optional
        Largest number of threads; by default the number of processors. At most one
        is used for every 4,000 states.

    Raises
    ------
    JointVectorError
        If gravity is not three finite numbers, or threads is below one.

    """

    xp = np

    def __init__(
        self,
        description: ArmDescription | BodyTree | str | Path,
        gravity: ArrayLike = GRAVITY,
        *,
        threads: int | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise JointVectorError(
                f'threads is {threads}; give at least 1, or None for one per processor.'
            )
        super().__init__(description, gravity)
        self.threads = available_threads() if threads is None else threads
        self._kernels: dict[tuple[Any, ...], Kernel] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to pickle: all but the kernels, which cannot be pickled."""
        return {**self.__dict__, '_kernels': {}}

    def evaluate(
        self,
        quantity: Quantity,
        *given: ArrayLike,
        columns: tuple[int, ...] | None = None,
        derivatives: bool = False,
    ) -> Array:
        """
        Return a quantity at states (..., n), or with `derivatives` its derivatives by the inputs.

        With `derivatives` return its first derivatives by all of its inputs: one more axis, at the
        end, with n derivatives for each array in `given`.
        """
        arrays, lead = self._plain(given) or self._converted(quantity, given)
        key = quantity, arrays[0].dtype, columns, derivatives
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = _kernel(self.description, self._gravity, *key)
        found = kernel(arrays, self.threads)
        return found if len(lead) == 1 else found.reshape(*lead, *found.shape[1:])

    def _plain(self, given: Sequence[Any]) -> tuple[Sequence[Any], tuple[int, ...]] | None:
        """Return arrays (N, n) that a kernel takes as they are, and (N,); None for others."""
        first = given[0]
        if type(first) is not np.ndarray or first.dtype not in (_DOUBLE, _SINGLE):
            return None
        shape, dtype = first.shape, first.dtype
        if len(shape) != 2 or shape[1] != self.description.n:
            return None
        for array in given[1:]:
            if type(array) is not np.ndarray or array.shape != shape or array.dtype is not dtype:
                return None
        return given, shape[:1]

    def _converted(
        self, quantity: Quantity, given: Sequence[Any]
    ) -> tuple[Sequence[Any], tuple[int, ...]]:
        """Return other arguments as arrays (N, n) of one type, and their leading axes."""
        listed, lead = self._states(quantity, given)
        dtype = _SINGLE if all(array.dtype == _SINGLE for array in listed) else _DOUBLE
        n = self.description.n
        alike = [np.broadcast_to(array, (*lead, n)).reshape(-1, n) for array in listed]
        return [array.astype(dtype, copy=False) for array in alike], lead

    def _read(self, values: Any) -> Any:
        if isinstance(values, np.ma.MaskedArray):
            raise TypeError('it is a masked array, whose mask would be lost; give .filled(nan).')
        return np.asarray(values)


@functools.lru_cache(maxsize=128)
def _kernel(
    description: ArmDescription | BodyTree,
    gravity: tuple[float, ...],
    quantity: Quantity,
    dtype: Any,
    columns: tuple[int, ...] | None,
    derivatives: bool,
) -> Kernel:
    """Return the kernel of a quantity, the same for models of the same arm."""
    equations = customised_equations(
        description, quantity, gravity, columns=columns, derivatives=derivatives
    )
    return Kernel(equations, dtype)
