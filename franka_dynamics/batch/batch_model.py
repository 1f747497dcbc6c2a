# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Dynamics of many states at once: arrays of shape (N, n) in, arrays out.

    >>> import numpy as np
    >>> from franka_dynamics.arm import load
    >>> from franka_dynamics.batch.batch_model import BatchModel
    >>> q, dq, ddq = np.random.default_rng(0).normal(size=(3, 100_000, 7))
    >>> BatchModel(load('fer')).inverse_dynamics_batch(q, dq, ddq).shape
    (100000, 7)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import array_flange as any_arm_flange
from . import array_layout as any_arm_layout
from . import array_regressor as any_arm_regressor
from . import array_torques as any_arm_torques
from .generated_kernels import kernel_source, LANES, load_kernel
from .threads import available_threads, share_out
from ..arm import ArmDescription, Convention, DHRow, LinkInertia
from ..codegen.chain import build_chain
from ..codegen.equations import customised_equations, Quantity
from ..codegen.regrouping import regroup, RegroupedChain
from ..dynamics.model import GRAVITY
from ..errors import JointVectorError
from ..typing import Array

Kernel = Callable[..., object]
# Where XX, XY, XZ, YY, YZ, ZZ, mX, mY, mZ, m stand in LinkInertia.parameters(), and back.
_ORDER = [4, 5, 6, 7, 8, 9, 1, 2, 3, 0]
_INVERSE = np.argsort(_ORDER)
# Below this many states one thread is as fast as two, which have to be woken.
SERIAL_BELOW = 20_000


class BatchModel:
    """
    An arm's dynamics for N states at a time, one state a row.

    A row with a value that is not finite gives NaN in that row of the result and in no other.
    Inputs may have any memory layout and any real type; results are new, C-contiguous float64
    arrays unless `out` is given, which must be one. Rotor inertias are part of torques and mass
    matrices, not of the regressor.

    Parameters
    ----------
    description : ArmDescription
        The arm, with its hand and payload as wanted; either convention, revolute and prismatic.
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

    def __init__(self, description: ArmDescription, gravity: ArrayLike = GRAVITY, *,
                 generated: bool = True, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise JointVectorError(f'threads is {threads}; give at least 1, or None for one per '
                                   'processor.')
        self.description = description
        self.generated = generated
        self.threads = available_threads() if threads is None else threads
        self._chain = build_chain(description, gravity)
        self._gravity = np.array(self._chain.gravity, dtype=float)
        self._rows = _rows(regroup(self._chain))
        self._given_gravity = np.array(gravity, dtype=float)

    def inverse_dynamics_batch(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike,
                               out: Array | None = None) -> Array:
        """Return M ddq + C dq + g for arrays of shape (N, n), shape (N, n) [N m]."""
        states = self._states(q=q, dq=dq, ddq=ddq)
        torques = self._output(out, (len(states[0]), self.description.n))
        if self.generated:
            return self._run(self._kernel(Quantity.INVERSE_DYNAMICS), states, torques)
        return self._run(self._any_arm(self._gravity), states, torques)

    def gravity_batch(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Return g for positions of shape (N, n), shape (N, n) [N m]."""
        position, = self._states(q=q)
        torques = self._output(out, position.shape)
        if self.generated:
            return self._run(self._kernel(Quantity.GRAVITY), [position], torques)
        still = np.zeros_like(position)
        return self._run(self._any_arm(self._gravity), [position, still, still], torques)

    def mass_matrix_batch(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Return M for positions of shape (N, n), shape (N, n, n) [kg m^2]."""
        position, = self._states(q=q)
        n = self.description.n
        matrices = self._output(out, (*position.shape, n))
        if self.generated:
            return self._run(self._kernel(Quantity.MASS_MATRIX), [position], matrices)
        still, column = np.zeros_like(position), np.empty_like(position)
        for j in range(n):  # column j is the torque of a unit acceleration, without gravity
            push = np.zeros_like(position)
            push[:, j] = 1.0
            self._run(self._any_arm(np.zeros(3)), [position, still, push], column)
            matrices[:, :, j] = column
        return matrices

    def regressor_batch(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike,
                        out: Array | None = None) -> Array:
        """
        Return H with tau = H X, shape (N, n, 10 n).

        Columns are in the order of `identification.standard_parameters.parameter_names`: XX, XY,
        XZ, YY, YZ, ZZ, mX, mY, mZ, m of each link, about the origin of its DH frame (seed 002,
        eqs. 3 and 12). At seven joints a state takes 3.9 kB.
        """
        states = self._states(q=q, dq=dq, ddq=ddq)
        n = self.description.n
        result = self._output(out, (len(states[0]), n, 10 * n))
        kernel = functools.partial(any_arm_regressor.regressor, self._rows, self._gravity)
        self._run(kernel, states, result)
        if self.description.convention is Convention.STANDARD:
            _to_standard_frames(self.description, result)
        return result

    def flange_batch(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Return the flange's poses in the space frame for q of shape (N, n), (N, 4, 4)."""
        position, = self._states(q=q)
        poses = self._output(out, (len(position), 4, 4))
        self._run(self._flange(False), [position], poses, np.empty((len(position), 0, 0)))
        return poses

    def flange_jacobian_batch(self, q: ArrayLike, out: Array | None = None) -> Array:
        """
        Return the flange's Jacobians (v, omega) for q of shape (N, n), shape (N, 6, n).

        At the flange's origin, in the axes of the space frame (LOCAL_WORLD_ALIGNED).
        """
        position, = self._states(q=q)
        jacobians = self._output(out, (len(position), 6, self.description.n))
        poses = np.empty((len(position), 4, 4))
        self._run(self._flange(True), [position], poses, jacobians)
        return jacobians

    def _kernel(self, quantity: Quantity) -> Kernel:
        return _generated_kernel(self.description, quantity, tuple(self._given_gravity))

    def _any_arm(self, gravity: Array) -> Kernel:
        return functools.partial(any_arm_torques.inverse_dynamics, self._rows, gravity)

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
            for block, array in zip(rest[len(inputs):], outputs):
                array[whole:] = block[:left]
        return outputs[-1]

    def _flange(self, with_jacobians: bool) -> Kernel:
        return functools.partial(any_arm_flange.flange, self._rows, self._chain.root,
                                 self._chain.tip, with_jacobians)

    def _states(self, **arrays: ArrayLike) -> list[Array]:
        """Return the inputs as C-contiguous float64 arrays of one shape (N, n)."""
        n, found = self.description.n, []
        for name, values in arrays.items():
            array = np.asarray(values)
            if array.dtype.kind not in 'iuf':
                raise JointVectorError(f'{name} has the type {array.dtype}; it must hold real '
                                       'numbers.')
            if array.ndim != 2 or array.shape[1] != n:
                raise JointVectorError(
                    f'{name} has shape {array.shape}, expected (N, {n}): a row per state and a '
                    f'column per joint of {self.description.name}, ordered '
                    f'{", ".join(self.description.joint_names)}.')
            found.append(np.ascontiguousarray(array, dtype=float))
        first, count = next(iter(arrays)), len(found[0])
        for name, array in zip(arrays, found):
            if len(array) != count:
                raise JointVectorError(f'{name} has {len(array)} rows and {first} has {count}; '
                                       'give every state all of its values.')
        return found

    @staticmethod
    def _output(out: Array | None, shape: tuple[int, ...]) -> Array:
        if out is None:
            return np.empty(shape)
        if (not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != shape
                or not out.flags.c_contiguous or not out.flags.writeable):
            raise JointVectorError(f'out must be a writeable, C-contiguous float64 array of shape '
                                   f'{shape}.')
        return out


@functools.lru_cache(maxsize=64)
def _generated_kernel(description: ArmDescription, quantity: Quantity,
                      gravity: tuple[float, ...]) -> Kernel:
    equations = customised_equations(description, quantity, gravity)
    kernel: Kernel = load_kernel(kernel_source(equations.program, description.n)).run
    return kernel


def _rows(regrouped: RegroupedChain) -> Array:
    """Return the arm as `any_arm` reads it, shape (n + 1, ROW)."""
    rows = np.zeros((regrouped.chain.n + 1, any_arm_layout.ROW))
    for row, joint in zip(rows, regrouped.chain.joints):
        xx, xy, xz, yy, yz, _ = joint.moments.second
        numbers: list[Any] = [
            not joint.revolute, joint.cos_alpha, joint.sin_alpha, *joint.origin, joint.theta,
            joint.rotor_inertia, joint.moments.mass, *joint.moments.first, xx, xy, xz, yy, yz]
        row[:] = numbers
    return rows


def _to_standard_frames(description: ArmDescription, regressor: Array) -> None:
    """Rewrite columns for parameters in modified frames for those in the standard ones."""
    for j, joint in enumerate(description.joints):
        tail = DHRow(a=joint.row.a, alpha=joint.row.alpha).transform(Convention.MODIFIED)
        # Column k of the map: the modified parameters of a unit of standard parameter k.
        columns = [LinkInertia.from_parameters(unit[_INVERSE]).expressed_in(tail).parameters()
                   [_ORDER] for unit in np.eye(10)]
        block = regressor[:, :, 10 * j:10 * (j + 1)]
        regressor[:, :, 10 * j:10 * (j + 1)] = block @ np.array(columns).T
