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

from collections.abc import Callable, Sequence
import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import array_kernels, array_recursions
from .generated_kernels import available_threads, kernel_source, LANES, load_kernel, share_out
from ..arm import ArmDescription, Convention, DHRow, LinkInertia
from ..codegen.chain import build_chain
from ..codegen.equations import customised_equations, Quantity
from ..codegen.regrouping import regroup, RegroupedChain
from ..dynamics.body_tree import BodyTree
from ..dynamics.derivatives import differentiate
from ..dynamics.model import GRAVITY
from ..errors import JointVectorError
from ..typing import Array

Kernel = Callable[..., object]
# Below this many states one thread is as fast as two, which have to be woken.
SERIAL_BELOW = 20_000


class TorqueDerivatives(NamedTuple):
    """Derivatives of tau = M ddq + C dq + g, each of shape (..., n, n)."""

    by_position: Array
    by_velocity: Array
    by_acceleration: Array


class BatchModel:
    """
    An arm's dynamics for many states at a time; methods are named as those of `DynamicsModel`.

    Stacks have shape (..., n), equal for all arguments of a call; results have the same leading
    axes. A state with a value that is not finite gives NaN in its own result and in no other.
    Inputs may have any memory layout and any real type; results are new, C-contiguous float64
    arrays unless `out` is given, which must be one. Rotor inertias are part of torques and mass
    matrices, not of the regressor.

    Parameters
    ----------
    description : ArmDescription
        The arm, with its hand and payload as desired; either convention, revolute and prismatic.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    generated : bool
        True generates and compiles code for this arm, quantity by quantity when first asked
        (seconds once; the machine code stays in the user's cache folder). False runs code that
        reads the arm from arrays: about half as fast, but compiled once for all arms.
    threads : int, optional
        How many to use at most; as many as there are processors if not given. Batches below
        SERIAL_BELOW states run on the caller's thread.

    Raises
    ------
    MissingDependencyError
        If numba is not installed (on import of this module).

    """

    def __init__(
        self,
        description: ArmDescription,
        gravity: ArrayLike = GRAVITY,
        *,
        generated: bool = True,
        threads: int | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise JointVectorError(
                f'threads is {threads}; give at least 1, or None for one per processor.'
            )
        self.description = description
        self.generated = generated
        self.threads = available_threads() if threads is None else threads
        self._chain = build_chain(description, gravity)
        self._gravity = np.array(self._chain.gravity, dtype=float)
        self._rows = _rows(regroup(self._chain))
        self._given_gravity = np.array(gravity, dtype=float)

    def inverse_dynamics(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, out: Array | None = None
    ) -> Array:
        """Return M ddq + C dq + g, shape (..., n) [N m]."""
        states, shape = self._states(q=q, dq=dq, ddq=ddq)
        torques = self._output(out, (*shape, self.description.n))
        kernel = (
            self._kernel(Quantity.INVERSE_DYNAMICS)
            if self.generated
            else self._array_kernel(self._gravity)
        )
        self._run(kernel, states, _flat(torques, 1))
        return torques

    def nonlinear_effects(self, q: ArrayLike, dq: ArrayLike, out: Array | None = None) -> Array:
        """Return C dq + g, shape (..., n) [N m]."""
        return self.inverse_dynamics(q, dq, np.zeros(np.shape(q)), out)

    def coriolis(self, q: ArrayLike, dq: ArrayLike, out: Array | None = None) -> Array:
        """Return C dq, shape (..., n) [N m]."""
        states, shape = self._states(q=q, dq=dq)
        torques = self._output(out, (*shape, self.description.n))
        if self.generated:
            self._run(self._kernel(Quantity.CORIOLIS), states, _flat(torques, 1))
        else:
            states.append(np.zeros_like(states[0]))
            self._run(self._array_kernel(np.zeros(3)), states, _flat(torques, 1))
        return torques

    def gravity(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Return g, shape (..., n) [N m]."""
        (position,), shape = self._states(q=q)
        torques = self._output(out, (*shape, self.description.n))
        if self.generated:
            self._run(self._kernel(Quantity.GRAVITY), [position], _flat(torques, 1))
        else:
            still = np.zeros_like(position)
            self._run(
                self._array_kernel(self._gravity), [position, still, still], _flat(torques, 1)
            )
        return torques

    def mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Return M, shape (..., n, n) [kg m^2]."""
        (position,), shape = self._states(q=q)
        n = self.description.n
        matrices = self._output(out, (*shape, n, n))
        rows = _flat(matrices, 2)
        if self.generated:
            self._run(self._kernel(Quantity.MASS_MATRIX), [position], rows)
            return matrices
        still, column = np.zeros_like(position), np.empty_like(position)
        for j in range(n):  # column j is the torque of a unit acceleration, without gravity
            push = np.zeros_like(position)
            push[:, j] = 1.0
            self._run(self._array_kernel(np.zeros(3)), [position, still, push], column)
            rows[:, :, j] = column
        return matrices

    def forward_dynamics(
        self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, out: Array | None = None
    ) -> Array:
        """Return ddq = M^-1 (tau - C dq - g), shape (..., n) [rad/s^2]."""
        states, shape = self._states(q=q, dq=dq, tau=tau)
        accelerations = self._output(out, (*shape, self.description.n))
        rows = _flat(accelerations, 1)
        if self.generated:
            self._run(self._kernel(Quantity.FORWARD_DYNAMICS), states, rows)
            return accelerations
        position, velocity, torque = states
        left = torque - self.nonlinear_effects(position, velocity)
        known = np.isfinite(left).all(axis=-1)
        rows[~known] = np.nan
        matrices = self.mass_matrix(position[known])
        rows[known] = np.linalg.solve(matrices, left[known, :, None])[..., 0]
        return accelerations

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, out: Array | None = None
    ) -> TorqueDerivatives:
        """
        Return the derivatives of `inverse_dynamics` by q, dq and ddq; the last one is M.

        They are views of one array of shape (..., 3, n, n), which `out` may be: by position
        [N m/rad], by velocity [N m s/rad], by acceleration [kg m^2]. Row i belongs to torque i.
        Without generated code they come from the differentiated recursion of
        `dynamics.derivatives`, state by state slower.
        """
        states, shape = self._states(q=q, dq=dq, ddq=ddq)
        n = self.description.n
        slopes = self._output(out, (*shape, 3, n, n))
        rows = _flat(slopes, 3)
        if self.generated:
            self._run(self._kernel(Quantity.DERIVATIVES), states, rows)
        else:
            known = np.isfinite(states).all(axis=(0, -1))
            rows[~known] = np.nan
            found = differentiate(
                BodyTree.from_description(self.description),
                *(array[known] for array in states),
                gravity=self._given_gravity,
            ).tau
            rows[known] = np.stack([found.by_q, found.by_dq, found.by_ddq], axis=1)
        return TorqueDerivatives(slopes[..., 0, :, :], slopes[..., 1, :, :], slopes[..., 2, :, :])

    def regressor(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, out: Array | None = None
    ) -> Array:
        """
        Return H with tau = H X, shape (..., n, 10 n), as `torque_regressor` does.

        Columns are in the order of `dynamics.regressor.parameter_names`: XX, XY, XZ, YY, YZ, ZZ,
        mX, mY, mZ, m of each link, about the origin of its DH frame (Gautier and Khalil 1990,
        eqs. 3 and 12). At seven joints a state takes 3.9 kB.
        """
        states, shape = self._states(q=q, dq=dq, ddq=ddq)
        n = self.description.n
        result = self._output(out, (*shape, n, 10 * n))
        kernel = functools.partial(array_recursions.regressor, self._rows, self._gravity)
        rows = self._run(kernel, states, _flat(result, 2))
        if self.description.convention is Convention.STANDARD:
            _to_standard_frames(self.description, rows)
        return result

    def flange_pose(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Return the flange's poses in the space frame, shape (..., 4, 4)."""
        (position,), shape = self._states(q=q)
        poses = self._output(out, (*shape, 4, 4))
        self._run(
            self._flange(False), [position], _flat(poses, 2), np.empty((len(position), 0, 0))
        )
        return poses

    def jacobian(self, q: ArrayLike, out: Array | None = None) -> Array:
        """
        Return the flange's Jacobians (v, omega), shape (..., 6, n).

        At the flange's origin, in the axes of the space frame (LOCAL_WORLD_ALIGNED).
        """
        (position,), shape = self._states(q=q)
        jacobians = self._output(out, (*shape, 6, self.description.n))
        poses = np.empty((len(position), 4, 4))
        self._run(self._flange(True), [position], poses, _flat(jacobians, 2))
        return jacobians

    def _kernel(self, quantity: Quantity) -> Kernel:
        return _generated_kernel(self.description, quantity, tuple(self._given_gravity))

    def _array_kernel(self, gravity: Array) -> Kernel:
        return functools.partial(array_recursions.inverse_dynamics, self._rows, gravity)

    def _run(self, kernel: Kernel, inputs: Sequence[Array], *outputs: Array) -> Array:
        """Fill the outputs block by block, what is left over in a block filled up with zeros."""
        count = len(outputs[-1])
        whole, left = count - count % LANES, count % LANES
        threads = 1 if count < SERIAL_BELOW else self.threads
        share_out(kernel, [array[:whole] for array in (*inputs, *outputs)], threads, LANES)
        if left:
            rest = [np.zeros((LANES, *array.shape[1:])) for array in (*inputs, *outputs)]
            for block, array in zip(rest, inputs):
                block[:left] = array[whole:]
            kernel(*rest)
            for block, array in zip(rest[len(inputs) :], outputs):
                array[whole:] = block[:left]
        return outputs[-1]

    def _flange(self, with_jacobians: bool) -> Kernel:
        return functools.partial(
            array_recursions.flange, self._rows, self._chain.root, self._chain.tip, with_jacobians
        )

    def _states(self, **arrays: ArrayLike) -> tuple[list[Array], tuple[int, ...]]:
        """Return the inputs as C-contiguous float64 arrays (N, n), and their leading axes."""
        n, found = self.description.n, {}
        for name, values in arrays.items():
            array = np.asarray(values)
            if array.dtype.kind not in 'iuf':
                raise JointVectorError(
                    f'{name} has the type {array.dtype}; it must hold real numbers.'
                )
            if array.ndim < 1 or array.shape[-1] != n:
                raise JointVectorError(
                    f'{name} has shape {array.shape}, expected (..., {n}): a column per joint of '
                    f'{self.description.name}, ordered {", ".join(self.description.joint_names)}.'
                )
            found[name] = np.ascontiguousarray(array, dtype=float)
        first, shape = next((name, array.shape) for name, array in found.items())
        for name, array in found.items():
            if array.shape != shape:
                raise JointVectorError(
                    f'{name} has shape {array.shape} and {first} has {shape}; '
                    'give every state all of its values.'
                )
        return [_flat(array, 1) for array in found.values()], shape[:-1]

    @staticmethod
    def _output(out: Array | None, shape: tuple[int, ...]) -> Array:
        if out is None:
            return np.empty(shape)
        if (
            not isinstance(out, np.ndarray)
            or out.dtype != np.float64
            or out.shape != shape
            or not out.flags.c_contiguous
            or not out.flags.writeable
        ):
            raise JointVectorError(
                f'out must be a writeable, C-contiguous float64 array of shape {shape}.'
            )
        return out


def _flat(array: Array, axes: int) -> Array:
    """Return a view of a C-contiguous array with all but its last axes made one, the first."""
    leading, kept = array.shape[: array.ndim - axes], array.shape[array.ndim - axes :]
    return array.reshape((math.prod(leading), *kept))


@functools.lru_cache(maxsize=64)
def _generated_kernel(
    description: ArmDescription, quantity: Quantity, gravity: tuple[float, ...]
) -> Kernel:
    equations = customised_equations(description, quantity, gravity)
    kernel: Kernel = load_kernel(kernel_source(equations.program, description.n)).run
    return kernel


def _rows(regrouped: RegroupedChain) -> Array:
    """Return the arm as the array kernels read it, shape (n + 1, ROW)."""
    rows = np.zeros((regrouped.chain.n + 1, array_kernels.ROW))
    for row, joint in zip(rows, regrouped.chain.joints):
        xx, xy, xz, yy, yz, _ = joint.moments.second
        numbers: list[Any] = [
            not joint.revolute,
            joint.cos_alpha,
            joint.sin_alpha,
            *joint.origin,
            joint.theta,
            joint.rotor_inertia,
            joint.moments.mass,
            *joint.moments.first,
            xx,
            xy,
            xz,
            yy,
            yz,
        ]
        row[:] = numbers
    return rows


def _to_standard_frames(description: ArmDescription, regressor: Array) -> None:
    """Rewrite columns for parameters in modified frames for those in the standard ones."""
    for j, joint in enumerate(description.joints):
        tail = DHRow(a=joint.row.a, alpha=joint.row.alpha).transform(Convention.MODIFIED)
        # Column k of the map: the modified parameters of a unit of standard parameter k.
        columns = [
            LinkInertia.from_parameters(unit).expressed_in(tail).parameters()
            for unit in np.eye(10)
        ]
        block = regressor[:, :, 10 * j : 10 * (j + 1)]
        regressor[:, :, 10 * j : 10 * (j + 1)] = block @ np.array(columns).T
