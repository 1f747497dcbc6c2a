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
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .compiled import available_threads, Function, function_of
from .exchange import aligned, exchange
from ..arm import ArmDescription
from ..arrays import require_states
from ..codegen.equations import customised_equations, form, Quantity
from ..dynamics.body_tree import BodyTree
from ..dynamics.model import GRAVITY, gravity_vector
from ..errors import JointVectorError
from ..typing import Array
from ..urdf.source import described

_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def description_or_tree(
    robot: ArmDescription | BodyTree | str | Path,
) -> ArmDescription | BodyTree:
    """Return a tree of bodies or an arm's description, loaded if a name or file is given."""
    return robot if isinstance(robot, BodyTree) else described(robot)


class TorqueDerivatives(NamedTuple):
    """Derivatives of the torques tau = M ddq + C dq + g, each of shape (..., n, n)."""

    by_position: Array
    by_velocity: Array
    by_acceleration: Array


class BatchModel:
    """
    An arm's dynamics for many states at a time, with method names as in `DynamicsModel`.

    States have shape (..., n), equal for all arguments of a call; results have the same leading
    axes. A state with a value that is not finite gives NaN in this state's result alone. Inputs
    may have any memory layout and any real type. Arrays of PyTorch, JAX and others (by DLPack, in
    the CPU's memory) give results of the same library, without a copy if all are contiguous and of
    one type, float32 or float64; for gradients use `TorchModel` and `JaxModel`. New results are
    C-contiguous. `out`, if given, must be a C-contiguous NumPy array of the result's type and
    shape. Computation and results are float32 if all inputs are, with the errors that
    docs/howto/gradients.md states, and otherwise float64. Rotor inertias are part of torques and
    mass matrices, not of the regressor.

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
        self.description = description_or_tree(description)
        self.threads = available_threads() if threads is None else threads
        self._gravity = tuple(gravity_vector(gravity).tolist())
        self._functions: dict[tuple[Any, ...], tuple[Function, tuple[int, ...]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to pickle: all but the functions, which cannot be pickled."""
        return {**self.__dict__, '_functions': {}}

    def inverse_dynamics(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, out: Array | None = None
    ) -> Array:
        """Return torques M ddq + C dq + g, shape (..., n) [N m]."""
        return self._run(Quantity.INVERSE_DYNAMICS, (q, dq, ddq), out)

    def nonlinear_effects(self, q: ArrayLike, dq: ArrayLike, out: Array | None = None) -> Array:
        """Return Coriolis plus gravity torques C dq + g, shape (..., n) [N m]."""
        return self._run(Quantity.NONLINEAR_EFFECTS, (q, dq), out)

    def coriolis(self, q: ArrayLike, dq: ArrayLike, out: Array | None = None) -> Array:
        """Return Coriolis torques C dq, shape (..., n) [N m]."""
        return self._run(Quantity.CORIOLIS, (q, dq), out)

    def gravity(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Return gravity torques g, shape (..., n) [N m]."""
        return self._run(Quantity.GRAVITY, (q,), out)

    def mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Return mass matrices M, shape (..., n, n) [kg m^2]."""
        return self._run(Quantity.MASS_MATRIX, (q,), out)

    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike, out: Array | None = None) -> Array:
        """Return Coriolis matrices C (Christoffel; dM/dt = C + C^T), (..., n, n) [N m s/rad]."""
        return self._run(Quantity.CORIOLIS_MATRIX, (q, dq), out)

    def forward_dynamics(
        self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, out: Array | None = None
    ) -> Array:
        """Return accelerations M^-1 (tau - C dq - g), shape (..., n) [rad/s^2]."""
        return self._run(Quantity.FORWARD_DYNAMICS, (q, dq, tau), out)

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, out: Array | None = None
    ) -> TorqueDerivatives:
        """
        Return the derivatives of `inverse_dynamics` by q, dq and ddq (by ddq: M).

        The derivatives by position [N m/rad], velocity [N m s/rad] and acceleration [kg m^2] are
        views of one array of shape (..., 3, n, n), which may be passed as `out`. Row i of each
        matrix belongs to torque i.
        """
        slopes = self._run(Quantity.DERIVATIVES, (q, dq, ddq), out)
        return TorqueDerivatives(slopes[..., 0, :, :], slopes[..., 1, :, :], slopes[..., 2, :, :])

    def regressor(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        out: Array | None = None,
        *,
        columns: Sequence[int] | None = None,
    ) -> Array:
        """
        Return the regressor H of tau = H X, shape (..., n, 10 n), X the inertial parameters.

        H's columns are in the order of `dynamics.regressor.parameter_names`: XX, XY, XZ, YY, YZ,
        ZZ, mX, mY, mZ, m of each link, about the origin of its DH frame (Gautier and Khalil 1990,
        eqs. 3 and 12). At seven joints H takes 3.9 kB per state in float64. `columns` selects
        columns of H, shape (..., n, len(columns)); for the regressor of the base parameters give
        `base_parameters(arm, rotor_inertia=False).columns`. Each selection of columns is compiled
        separately.

        Raises
        ------
        JointVectorError
            If a column is not one of the 10 n, or is named twice.

        """
        size = 10 * self.description.n
        requested = None if columns is None else tuple(columns)
        if requested is not None and (
            not set(requested) <= set(range(size)) or len(set(requested)) < len(requested)
        ):
            raise JointVectorError(
                f'columns must be different numbers from 0 to {size - 1}, one for each link '
                'parameter; this regressor has no columns for rotors.'
            )
        return self._run(Quantity.REGRESSOR, (q, dq, ddq), out, requested)

    def flange_pose(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Return the flange's poses in the space frame, shape (..., 4, 4)."""
        return self._run(Quantity.FLANGE_POSE, (q,), out)

    def jacobian(self, q: ArrayLike, out: Array | None = None) -> Array:
        """
        Return the flange's Jacobians, shape (..., 6, n).

        Rows: velocity of the flange's origin, angular velocity of the flange, both in the axes of
        the space frame (LOCAL_WORLD_ALIGNED).
        """
        return self._run(Quantity.JACOBIAN, (q,), out)

    def evaluate(self, quantity: Quantity, *given: ArrayLike) -> Array:
        """
        Return a quantity for input arrays of shape (..., n).

        Quantity.DERIVATIVES has shape (..., 3, n, n): derivatives of the torques by q, dq, ddq.
        """
        return self._run(quantity, given)

    def slopes(self, quantity: Quantity, *given: ArrayLike) -> Array:
        """
        Return the first derivatives of a quantity by all of its input arrays.

        The result has one more axis than the quantity, at the end, with n derivatives for each
        array in `given`.
        """
        return self._run(quantity, given, slopes=True)

    def _run(
        self,
        quantity: Quantity,
        given: Sequence[Any],
        out: Any = None,
        columns: tuple[int, ...] | None = None,
        slopes: bool = False,
    ) -> Array:
        """Return a quantity at given states; float arrays (N, n) skip the conversion of inputs."""
        q = given[0]
        if type(q) is np.ndarray and q.ndim == 2 and (out is None or type(out) is np.ndarray):
            found = self._functions.get((quantity, q.dtype, columns, slopes))
            if found is not None and _alike(given, q.shape, q.dtype, self.description.n):
                return self._filled(found, given, q.shape[:1], q.dtype, out)
        names = form(quantity, self.description.n).arrays
        exchanged = exchange(names, given)
        if exchanged is not None:
            given = exchanged[0]
        arrays, lead, dtype = self._states(dict(zip(names, given)))
        key = (quantity, dtype, columns, slopes)
        if key not in self._functions:
            self._functions[key] = _function(self.description, self._gravity, *key)
        make = aligned if exchanged else np.empty
        filled = self._filled(self._functions[key], arrays, lead, dtype, out, make)
        return exchanged[1](filled) if exchanged else filled

    def _filled(
        self,
        found: tuple[Function, tuple[int, ...]],
        arrays: Sequence[np.ndarray],
        lead: tuple[int, ...],
        dtype: Any,
        out: Any,
        make: Any = np.empty,
    ) -> Any:
        """Fill and return `out`, or a new array of `dtype`, with leading axes `lead`."""
        function, shape = found
        whole = lead + shape
        if out is None:
            out = make(whole, dtype)
        else:
            _require_output(out, whole, dtype)
            # Inputs that overlap `out` are copied, because writing would change states not read
            # yet.
            arrays = [
                array.copy() if np.may_share_memory(array, out) else array for array in arrays
            ]
        if out.size:
            rows = out if len(lead) == 1 else out.reshape(len(arrays[0]), *shape)
            function(arrays, rows, self.threads)
        return out

    def _states(
        self, given: dict[str, ArrayLike]
    ) -> tuple[list[np.ndarray], tuple[int, ...], Any]:
        """Return the inputs as arrays (N, n) of one type, the leading axes, and the type."""
        found = {}
        for name, values in given.items():
            if isinstance(values, np.ma.MaskedArray):
                raise JointVectorError(
                    f'{name} is a masked array, whose mask would be lost; give '
                    f'{name}.filled(nan), and its rows come out as NaN.'
                )
            try:
                array = np.asarray(values)
            except ValueError as error:  # rows of different lengths
                raise JointVectorError(f'{name} is not an array of numbers: {error}') from error
            if array.dtype.kind not in 'iuf':
                raise JointVectorError(
                    f'{name} has the type {array.dtype}; it must hold real numbers.'
                )
            found[name] = array
        require_states(
            {name: array.shape for name, array in found.items()}, self.description.joint_names
        )
        single = all(array.dtype == _SINGLE for array in found.values())
        dtype = _SINGLE if single else _DOUBLE
        lead = next(iter(found.values())).shape[:-1]
        rows = (math.prod(lead), self.description.n)
        arrays = [array.reshape(rows).astype(dtype, copy=False) for array in found.values()]
        return arrays, lead, dtype


@functools.lru_cache(maxsize=128)
def _function(
    description: ArmDescription | BodyTree,
    gravity: tuple[float, ...],
    quantity: Quantity,
    dtype: Any,
    columns: tuple[int, ...] | None,
    slopes: bool,
) -> tuple[Function, tuple[int, ...]]:
    """Return the function that computes a quantity, and the shape of one state's result."""
    equations = customised_equations(
        description, quantity, gravity, columns=columns, slopes=slopes
    )
    return function_of(equations, dtype), equations.shape


def _alike(given: Sequence[Any], shape: tuple[int, ...], dtype: Any, n: int) -> bool:
    if shape[1] != n:
        return False
    for array in given:
        if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype:
            return False
    return True


def _require_output(out: Any, shape: tuple[int, ...], dtype: Any) -> None:
    if (
        not isinstance(out, np.ndarray)
        or out.dtype != dtype
        or out.shape != shape
        or not out.flags.c_contiguous
        or not out.flags.writeable
    ):
        raise JointVectorError(
            f'out must be a writeable, C-contiguous NumPy array of {dtype} and shape {shape}.'
        )
