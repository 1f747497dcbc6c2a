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
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import array_functions, array_kernels
from .exchange import aligned, exchange, taken_over
from .jobs import checked_threads, DOUBLE, Form, forms, generated_job, Job, pool_for, SINGLE
from .results import empty
from ..arm import ArmDescription, Convention, DHRow, LinkInertia
from ..codegen.chain import build_chain
from ..codegen.equations import Quantity
from ..codegen.regrouping import regroup, RegroupedChain
from ..dynamics.model import GRAVITY
from ..errors import JointVectorError
from ..typing import Array

# What code is generated for; terms that others contain come from those with zeros.
_GENERATED = {
    'inverse_dynamics': Quantity.INVERSE_DYNAMICS,
    'nonlinear_effects': Quantity.INVERSE_DYNAMICS,
    'coriolis': Quantity.CORIOLIS,
    'gravity': Quantity.GRAVITY,
    'mass_matrix': Quantity.MASS_MATRIX,
    'coriolis_matrix': Quantity.CORIOLIS_MATRIX,
    'forward_dynamics': Quantity.FORWARD_DYNAMICS,
    'inverse_dynamics_derivatives': Quantity.DERIVATIVES,
}
_NAMES = ('q', 'dq', 'ddq')


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
    Inputs may have any memory layout and any real type, and are read where they are. They may be
    another library's (PyTorch, JAX and others, by DLPack, in a processor's memory); results are
    then of that library, too, without a copy; gradients are for `TorchModel` and `JaxModel`.
    Results are C-contiguous arrays, unless `out` is given, which must be one, of the result's
    type. That is float32 where all inputs are, else float64. Of large results the memory may have
    been that of earlier ones which nobody has any more. Rotor inertias are part of torques and
    mass matrices, not of the regressor.

    In float32 generated code computes in float32: torques of a Franka within 1e-4 N m of the
    exact ones, see docs/performance.md. All else is computed in float64 and rounded.

    Parameters
    ----------
    description : ArmDescription
        The arm, with its hand and payload as desired; either convention, revolute and prismatic.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    generated : bool
        True generates and compiles code for this arm, quantity by quantity when first asked
        (seconds once; the machine code stays in the user's cache folder). False runs code that
        reads the arm from arrays: about two thirds as fast, but compiled once for all arms.
        Regressor and kinematics always do.
    threads : int, optional
        How many to use at most; as many as there are processors if not given. One is taken for
        every 2,000 states; batches of several callers at a time share none.

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
        self.description = description
        self.generated = generated
        self.threads = checked_threads(threads)
        self._chain = build_chain(description, gravity)
        self._rows = _rows(regroup(self._chain))
        self._given_gravity = np.array(gravity, dtype=float)
        self._forms = forms(description.n)
        self._parameters = tuple(range(10 * description.n))
        self._jobs: dict[tuple[Any, ...], Job] = {}

    def inverse_dynamics(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, out: Array | None = None
    ) -> Array:
        """Return M ddq + C dq + g, shape (..., n) [N m]."""
        return self._evaluate('inverse_dynamics', (q, dq, ddq), out)

    def nonlinear_effects(self, q: ArrayLike, dq: ArrayLike, out: Array | None = None) -> Array:
        """Return C dq + g, shape (..., n) [N m]."""
        return self._evaluate('nonlinear_effects', (q, dq), out)

    def coriolis(self, q: ArrayLike, dq: ArrayLike, out: Array | None = None) -> Array:
        """Return C dq, shape (..., n) [N m]."""
        return self._evaluate('coriolis', (q, dq), out)

    def gravity(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Return g, shape (..., n) [N m]."""
        return self._evaluate('gravity', (q,), out)

    def mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Return M, shape (..., n, n) [kg m^2]."""
        return self._evaluate('mass_matrix', (q,), out)

    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike, out: Array | None = None) -> Array:
        """Return C of Christoffel symbols, dM/dt = C + C^T, shape (..., n, n) [N m s/rad]."""
        return self._evaluate('coriolis_matrix', (q, dq), out)

    def forward_dynamics(
        self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, out: Array | None = None
    ) -> Array:
        """Return ddq = M^-1 (tau - C dq - g), shape (..., n) [rad/s^2]."""
        return self._evaluate('forward_dynamics', (q, dq, tau), out, ('q', 'dq', 'tau'))

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, out: Array | None = None
    ) -> TorqueDerivatives:
        """
        Return the derivatives of `inverse_dynamics` by q, dq and ddq; the last one is M.

        They are views of one array of shape (..., 3, n, n), which `out` may be: by position
        [N m/rad], by velocity [N m s/rad], by acceleration [kg m^2]. Row i belongs to torque i.
        """
        slopes = self._evaluate('inverse_dynamics_derivatives', (q, dq, ddq), out)
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
        Return H with tau = H X, shape (..., n, 10 n), as `torque_regressor` does.

        Columns are in the order of `dynamics.regressor.parameter_names`: XX, XY, XZ, YY, YZ, ZZ,
        mX, mY, mZ, m of each link, about the origin of its DH frame (Gautier and Khalil 1990,
        eqs. 3 and 12). At seven joints a state takes 3.9 kB. `columns` names those that are
        requested, shape (..., n, len(columns)): those of `base_parameters(arm).columns` make the
        regressor of the base parameters.

        Raises
        ------
        JointVectorError
            If a column is not one of the 10 n, or is named twice.

        """
        n = self.description.n
        requested = self._parameters if columns is None else tuple(columns)
        if requested is not self._parameters and (
            not set(requested) <= set(self._parameters) or len(set(requested)) < len(requested)
        ):
            raise JointVectorError(
                f'columns must be different numbers from 0 to {10 * n - 1}, a link parameter '
                f'each; those of rotors are no part of this regressor.'
            )
        if self.description.convention is not Convention.STANDARD:
            return self._evaluate('regressor', (q, dq, ddq), out, columns=requested)
        exchanged = exchange(_NAMES, (q, dq, ddq), out)
        if exchanged is not None:
            q, dq, ddq = exchanged.arrays
            found = self.regressor(q, dq, ddq, exchanged.out, columns=requested)
            return exchanged.back(found if found is exchanged.out else taken_over(found))
        # Parameters of a link in standard frames are those in modified ones, mixed.
        links = sorted({column // 10 for column in requested})
        whole = [10 * link + k for link in links for k in range(10)]
        mixed = self._evaluate('regressor', (q, dq, ddq), None, columns=tuple(whole))
        _to_standard_frames(self.description, links, mixed)
        if out is None:
            return mixed if tuple(whole) == requested else mixed[..., _places(whole, requested)]
        filled = self._output(out, (*mixed.shape[:-1], len(requested)), mixed.dtype)
        filled[...] = mixed[..., _places(whole, requested)]
        return filled

    def flange_pose(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Return the flange's poses in the space frame, shape (..., 4, 4)."""
        return self._evaluate('flange_pose', (q,), out)

    def jacobian(self, q: ArrayLike, out: Array | None = None) -> Array:
        """
        Return the flange's Jacobians (v, omega), shape (..., 6, n).

        At the flange's origin, in the axes of the space frame (LOCAL_WORLD_ALIGNED).
        """
        return self._evaluate('jacobian', (q,), out)

    def _evaluate(
        self,
        name: str,
        given: tuple[Any, ...],
        out: Any,
        names: Sequence[str] = _NAMES,
        columns: tuple[int, ...] = (),
    ) -> Array:
        """Return a quantity of states: at once where nothing needs a second look."""
        q = given[0]
        if type(q) is np.ndarray and q.ndim == 2:
            job = self._jobs.get((name, q.dtype, columns) if columns else (name, q.dtype))
            if job is not None:
                found = job.run_rows(pool_for(len(q), self.threads), given, out)
                if found is not None:
                    return found
        return self._evaluate_any(name, given, out, names, columns)

    def _evaluate_any(
        self,
        name: str,
        given: tuple[Any, ...],
        out: Any,
        names: Sequence[str],
        columns: tuple[int, ...],
    ) -> Array:
        exchanged = exchange(names, given, out)
        if exchanged is not None:
            given, out = exchanged.arrays, exchanged.out
        states, shape, dtype = self._states(dict(zip(names, given)))
        n = self.description.n
        form = Form(3, (n, len(columns))) if columns or name == 'regressor' else self._forms[name]
        make = empty if exchanged is None else aligned
        filled = self._output(out, (*shape, *form.result), dtype, make)
        single = dtype == SINGLE and self.generated and name in _GENERATED
        kind = SINGLE if single else DOUBLE
        rows = filled.reshape(-1, *form.result) if filled.size else filled.reshape(0, *form.result)
        target = rows if kind == dtype else empty(rows.shape, kind)
        # What is written must not be read again in place of a state.
        arrays = [
            array.astype(kind, copy=bool(np.may_share_memory(array, filled))) for array in states
        ]
        if len(target):
            job = self._job(name, form, kind, columns)
            job.run(pool_for(len(target), self.threads), arrays, target)
        if target is not rows:
            rows[...] = target
        return filled if exchanged is None else exchanged.back(filled)

    def _job(self, name: str, form: Form, dtype: Any, columns: tuple[int, ...]) -> Job:
        """Return what computes a quantity; make it when it is first asked for."""
        key = (name, dtype, columns) if columns else (name, dtype)
        if key not in self._jobs:
            n = self.description.n
            if self.generated and name in _GENERATED:
                self._jobs[key] = generated_job(
                    self.description, _GENERATED[name], tuple(self._given_gravity), form, dtype
                )
            else:
                function = _COMPILED_AS.get(name, name)
                weightless = name == 'coriolis'
                arm = array_functions.ArmArrays(
                    self._rows,
                    np.zeros(3) if weightless else self._chain.gravity,
                    self._chain.root,
                    self._chain.tip,
                    columns if name == 'regressor' else None,
                )
                inputs = 3 if function == 'inverse_dynamics' else form.arguments
                address = array_functions.address(function)
                self._jobs[key] = Job(address, inputs, n, form, dtype, arm.address, arm)
        return self._jobs[key]

    def _states(
        self, given: dict[str, ArrayLike]
    ) -> tuple[list[np.ndarray], tuple[int, ...], Any]:
        """Return the inputs as aligned arrays (N, n), their leading axes, the result's type."""
        n, found = self.description.n, {}
        for name, values in given.items():
            if isinstance(values, np.ma.MaskedArray):
                raise JointVectorError(
                    f'{name} is a masked array, whose mask would be lost; give '
                    f'{name}.filled(nan), and its rows come out as NaN.'
                )
            try:
                array = np.asarray(values)
            except ValueError as error:  # rows of different lengths
                raise JointVectorError(f'{name} is no array of numbers: {error}') from error
            if array.dtype.kind not in 'iuf':
                raise JointVectorError(
                    f'{name} has the type {array.dtype}; it must hold real numbers.'
                )
            if array.ndim < 1 or array.shape[-1] != n:
                raise JointVectorError(
                    f'{name} has shape {array.shape}, expected (..., {n}): a column per joint of '
                    f'{self.description.name}, ordered {", ".join(self.description.joint_names)}.'
                )
            found[name] = array
        first, shape = next((name, array.shape) for name, array in found.items())
        for name, array in found.items():
            if array.shape != shape:
                raise JointVectorError(
                    f'{name} has shape {array.shape} and {first} has {shape}; '
                    'give every state all of its values.'
                )
        count = math.prod(shape[:-1])
        single = all(array.dtype == SINGLE for array in found.values())
        dtype = SINGLE if single else DOUBLE
        arrays = []
        for array in found.values():
            flat = array.reshape(count, n).astype(dtype, copy=False)
            arrays.append(flat if flat.flags.aligned else flat.copy())
        return arrays, shape[:-1], dtype

    @staticmethod
    def _output(
        out: Any, shape: tuple[int, ...], dtype: Any, make: Callable[..., Any] = empty
    ) -> Any:
        if out is None:
            return make(shape, dtype)
        if (
            not isinstance(out, np.ndarray)
            or out.dtype != dtype
            or out.shape != shape
            or not out.flags.c_contiguous
            or not out.flags.writeable
        ):
            raise JointVectorError(
                f'out must be a writeable, C-contiguous {dtype} array of shape {shape}.'
            )
        return out


# Kernels for any arm that serve other quantities as well, with zeros for what is not given.
_COMPILED_AS = dict.fromkeys(('nonlinear_effects', 'coriolis', 'gravity'), 'inverse_dynamics')


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


def _to_standard_frames(
    description: ArmDescription, links: Sequence[int], regressor: Array
) -> None:
    """Rewrite links' columns for parameters in modified frames for those in the standard ones."""
    for place, link in enumerate(links):
        row = description.joints[link].row
        tail = DHRow(a=row.a, alpha=row.alpha).transform(Convention.MODIFIED)
        # Column k of the map: the modified parameters of a unit of standard parameter k.
        columns = [
            LinkInertia.from_parameters(unit).expressed_in(tail).parameters()
            for unit in np.eye(10)
        ]
        block = regressor[..., 10 * place : 10 * (place + 1)]
        regressor[..., 10 * place : 10 * (place + 1)] = block @ np.array(columns).T


def _places(whole: Sequence[int], requested: Sequence[int]) -> list[int]:
    where = {column: place for place, column in enumerate(whole)}
    return [where[column] for column in requested]
