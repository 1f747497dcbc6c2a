# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The base class of models that evaluate generated equations, and one for any array library."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
import math
import sys
from typing import Any, NamedTuple

from ..arm import ArmDescription
from ..arm.frames import FLANGE, Frame
from ..arm_io import as_description
from ..arrays import (
    ArrayLike,
    batch_shape,
    broadcast_leading_shape,
    joint_values_text,
    not_numbers_error,
    require_real,
    shape_error,
    WRENCH_MEANING,
)
from ..codegen.chain import tree_and_frame
from ..codegen.equations import customised_equations, Equations
from ..codegen.python_code import python_callable
from ..codegen.quantities import INPUT_NAMES
from ..constants import GRAVITY, Quantity
from ..dynamics import model
from ..dynamics.body_tree import BodyTree, RobotLike
from ..dynamics.model import AccelerationDerivatives, as_gravity_vector, TorqueDerivatives
from ..dynamics.regressor import as_column_indices, N_LINK_PARAMETERS
from ..errors import as_enum, JointVectorError, SettingsError


class EquationsKey(NamedTuple):
    """A quantity and options of its equations, the key under which compiled code is stored."""

    quantity: Quantity
    classical: bool = False
    columns: tuple[int, ...] | None = None
    derivatives: bool = False
    frame: Frame = FLANGE
    reference_frame: str = model.ALIGNED_FRAME

    def equations(
        self, description: ArmDescription | BodyTree, gravity: tuple[float, ...]
    ) -> Equations:
        """Return the generated equations of the quantity for an arm or a tree of bodies."""
        return customised_equations(description, gravity=gravity, **self._asdict())


class GeneratedModel(ABC):
    """
    Base class of models that evaluate generated equations, with all but two methods of `fd.Model`.

    Arguments are arrays of shape (..., n), a wrench (..., 6), whose leading axes broadcast; a
    state with a value that is not finite gives NaN in this state's result alone. Of the methods of
    `fd.Model` only `link_twists` and `joint_wrenches` are missing.
    """

    def __init__(self, description: RobotLike, gravity: ArrayLike) -> None:
        self.description: ArmDescription | BodyTree = (
            description if isinstance(description, BodyTree) else as_description(description)
        )
        self._gravity = tuple(as_gravity_vector(gravity).tolist())

    def __repr__(self) -> str:
        """Return the model's kind, arm and number of joints in one line."""
        name = getattr(self.description, 'name', 'a tree')
        return f'<{type(self).__name__} of {name}, {self.description.n} joints>'

    @abstractmethod
    def library(self, *arguments: Any) -> Any:
        """Return the object that adapts the arguments' array library, by `xp` and `as_array`."""

    @abstractmethod
    def evaluate(self, quantity: Quantity, *arguments: Any, **options: Any) -> Any:
        """
        Return a quantity at states (..., n), as an array of the arguments' array library.

        `options` are those of `customised_equations` that a quantity has: classical, columns,
        derivatives, frame and reference_frame. With derivatives=True return the first derivatives
        by all inputs: one more axis, at the end, with n derivatives for each array in `arguments`.

        Raises
        ------
        SettingsError
            If there is no such quantity.
        JointVectorError
            If the quantity takes another number of arrays, or one is no array of shape (..., n).

        """

    def _make_key(self, quantity: Quantity, arity: int, options: dict[str, Any]) -> EquationsKey:
        """
        Return the `EquationsKey` of a quantity that takes `arity` arrays, and its options.

        Raises SettingsError if there is no such quantity, JointVectorError for another number of
        arrays than it takes, and BaseParameterError for a column that a regressor does not have.
        """
        if not isinstance(quantity, Quantity):
            quantity = as_enum(Quantity, quantity, 'quantity', SettingsError)
        if arity != len(INPUT_NAMES[quantity]):
            names = ', '.join(INPUT_NAMES[quantity])
            raise JointVectorError(f'{quantity.value} takes {names}; got {arity} arrays.')
        if 'columns' in options:
            column_count = N_LINK_PARAMETERS * self.description.n
            # A key must be hashable, and a list of columns is not.
            columns = as_column_indices(options['columns'], column_count)
            options = {**options, 'columns': columns}
        return EquationsKey(quantity, **options)

    def _checked_frame(self, frame: Frame) -> Frame:
        """Return `frame`; raise FrameError if its type is not that of a number, name or FLANGE."""
        if type(frame) not in (int, str, type(None)):
            tree_and_frame(self.description, frame)  # also for True, which equals 1
        return frame

    def _real_arrays(self, args: Mapping[str, Any], adapt: Callable[[Any], Any]) -> dict[str, Any]:
        """Return arguments by name as arrays of real numbers, or raise JointVectorError."""
        found = {}
        arm = self.description
        for name, values in args.items():
            try:
                found[name] = adapt(values)
                require_real(values, found[name].dtype)
            except (TypeError, ValueError, RuntimeError, BufferError) as error:
                # Also rows of different lengths, tensors on another device or with a gradient.
                is_wrench = name == 'wrench'
                joint_values = joint_values_text(arm.joint_names, getattr(arm, 'name', ''))
                meaning = WRENCH_MEANING if is_wrench else joint_values
                raise not_numbers_error(name, error, meaning) from error
        return found

    def _real_states(
        self, quantity: Quantity, arguments: Sequence[Any], adapt: Callable[[Any], Any]
    ) -> tuple[list[Any], tuple[int, ...]]:
        """
        Return a quantity's arguments as arrays of real numbers, and their broadcast leading axes.

        Raises
        ------
        JointVectorError
            If one is no array of real numbers of shape (..., n), or the leading axes do not
            broadcast; the message names the argument.

        """
        found = self._real_arrays(dict(zip(INPUT_NAMES[quantity], arguments)), adapt)
        shapes = {name: tuple(array.shape) for name, array in found.items()}
        return list(found.values()), batch_shape(
            shapes, self.description.joint_names, getattr(self.description, 'name', '')
        )

    def inverse_dynamics(self, q: Any, dq: Any, ddq: Any, wrench: Any = None) -> Any:
        """Return the torque M ddq + C dq + g - J^T w for a flange wrench w, (..., n) [N m]."""
        if wrench is None:
            return self.evaluate(Quantity.INVERSE_DYNAMICS, q, dq, ddq)
        q, exerted = self._position_and_wrench_torque(q, wrench)
        return self.evaluate(Quantity.INVERSE_DYNAMICS, q, dq, ddq) - exerted

    def forward_dynamics(self, q: Any, dq: Any, tau: Any, wrench: Any = None) -> Any:
        """Return ddq = M^-1 (tau - C dq - g + J^T w), flange wrench w, (..., n) [rad/s^2]."""
        if wrench is not None:
            library = self.library(q, dq, tau)
            given = (q, dq, tau)
            (_, _, tau), _ = self._real_states(Quantity.FORWARD_DYNAMICS, given, library.as_array)
            q, exerted = self._position_and_wrench_torque(q, wrench)
            tau = tau + exerted
        return self.evaluate(Quantity.FORWARD_DYNAMICS, q, dq, tau)

    def nonlinear_effects(self, q: Any, dq: Any) -> Any:
        """Return Coriolis plus gravity torques C dq + g, shape (..., n) [N m]."""
        return self.evaluate(Quantity.NONLINEAR_EFFECTS, q, dq)

    def coriolis(self, q: Any, dq: Any) -> Any:
        """Return Coriolis torques C dq, shape (..., n) [N m]."""
        return self.evaluate(Quantity.CORIOLIS, q, dq)

    def gravity(self, q: Any) -> Any:
        """Return gravity torques g, shape (..., n) [N m]."""
        return self.evaluate(Quantity.GRAVITY, q)

    def mass_matrix(self, q: Any) -> Any:
        """Return mass matrices M, rotors included, shape (..., n, n) [kg m^2]."""
        return self.evaluate(Quantity.MASS_MATRIX, q)

    def coriolis_matrix(self, q: Any, dq: Any) -> Any:
        """Return Coriolis matrices C (Christoffel; dM/dt = C + C^T), (..., n, n) [N m s/rad]."""
        return self.evaluate(Quantity.CORIOLIS_MATRIX, q, dq)

    def kinetic_energy(self, q: Any, dq: Any) -> Any:
        """Return the kinetic energy 1/2 dq^T M dq, rotors included, shape (...) [J]."""
        library = self.library(q, dq)
        (q, rates), _ = self._real_states(Quantity.CORIOLIS, (q, dq), library.as_array)
        q, rates = _masked_to_common_type(library.xp, q, rates)
        return 0.5 * (rates * (self.mass_matrix(q) * rates[..., None, :]).sum(-1)).sum(-1)

    def potential_energy(self, q: Any) -> Any:
        """Return the potential energy, zero for a mass at the origin of {S}, shape (...) [J]."""
        moment = self.evaluate(Quantity.FIRST_MOMENT, q)
        x, y, z = self._gravity
        return -(x * moment[..., 0] + y * moment[..., 1] + z * moment[..., 2])

    def center_of_mass(self, q: Any) -> Any:
        """Return the centre of mass of the moving links in {S}, shape (..., 3) [m]."""
        return self.evaluate(Quantity.FIRST_MOMENT, q) / model.total_mass(self.description)

    def inverse_dynamics_derivatives(self, q: Any, dq: Any, ddq: Any) -> TorqueDerivatives:
        """
        Return the derivatives of `inverse_dynamics` by q, dq and ddq (the last is M), (..., n, n).

        The derivatives by position [N m/rad], velocity [N m s/rad] and acceleration [kg m^2] are
        parts of one array of shape (..., 3, n, n). Row i of each matrix belongs to torque i.
        """
        derivatives = self.evaluate(Quantity.DERIVATIVES, q, dq, ddq)
        return TorqueDerivatives(*(derivatives[..., k, :, :] for k in range(3)))

    def forward_dynamics_derivatives(self, q: Any, dq: Any, tau: Any) -> AccelerationDerivatives:
        """
        Return the derivatives of `forward_dynamics` by q, dq, tau (the last is M^-1), (..., n, n).

        Units are 1/s^2, 1/s and 1/(kg m^2); row i belongs to acceleration i.
        """
        found = self.evaluate(Quantity.FORWARD_DYNAMICS, q, dq, tau, derivatives=True)
        n = self.description.n
        return AccelerationDerivatives(*(found[..., k : k + n] for k in (0, n, 2 * n)))

    def regressor(self, q: Any, dq: Any, ddq: Any, *, columns: Sequence[int] | None = None) -> Any:
        """
        Return H (..., n, 10 n), or its `columns`, of tau = H X, X the links' inertial parameters.

        H's columns are in the order of `parameter_names`: XX, XY, XZ, YY, YZ, ZZ, mX, mY, mZ, m
        of each link, about the origin of its DH frame (Gautier and Khalil 1990, eqs. 3 and 12),
        without rotors. At seven joints H takes 3.9 kB per state in float64. `columns` selects
        columns of H, shape (..., n, len(columns)); for the regressor of the base parameters give
        `base_parameters(arm, rotor_inertia=False).columns`. Each selection of columns is compiled
        separately.

        Raises
        ------
        BaseParameterError
            If a column is not one of the 10 n, or is named twice.

        """
        chosen = as_column_indices(columns, N_LINK_PARAMETERS * self.description.n)
        options = {} if chosen is None else {'columns': chosen or (0,)}
        found = self.evaluate(Quantity.REGRESSOR, q, dq, ddq, **options)
        return found[..., :0] if chosen == () else found

    def frames(self, q: Any) -> Any:
        """Return the poses of frames 1..n and of the flange in {S}, shape (..., n + 1, 4, 4)."""
        return self.evaluate(Quantity.FRAMES, q)

    def frame_pose(self, q: Any, frame: Frame = FLANGE) -> Any:
        """Return the poses in {S} of a frame (number or name), shape (..., 4, 4)."""
        return self.evaluate(Quantity.FLANGE_POSE, q, frame=self._checked_frame(frame))

    def flange_pose(self, q: Any) -> Any:
        """Return the flange's poses in {S}, shape (..., 4, 4)."""
        return self.evaluate(Quantity.FLANGE_POSE, q)

    def jacobian(
        self, q: Any, frame: Frame = FLANGE, reference_frame: str = model.ALIGNED_FRAME
    ) -> Any:
        """Return a frame's geometric Jacobians (v, omega) in `reference_frame`, (..., 6, n)."""
        axes = model.require_reference_frame(reference_frame)
        tip = self._checked_frame(frame)
        return self.evaluate(Quantity.JACOBIAN, q, frame=tip, reference_frame=axes)

    def bias_acceleration(self, q: Any, dq: Any, frame: Frame = FLANGE) -> Any:
        """Return dJ/dt dq of a frame's LOCAL_WORLD_ALIGNED Jacobian, (..., 6) [m/s^2, rad/s^2]."""
        return self.evaluate(Quantity.BIAS_ACCELERATION, q, dq, frame=self._checked_frame(frame))

    def operational_space_inertia(self, q: Any, frame: Frame = FLANGE) -> Any:
        """
        Return the operational-space inertia (J M^-1 J^T)^-1 at a frame, shape (..., 6, 6).

        It is NaN at 99 % of singular postures, in float32 at half; at others it is huge.

        Raises
        ------
        InertiaError
            If fewer than six joints move the frame.

        """
        tip = self._checked_frame(frame)
        return self.evaluate(Quantity.OPERATIONAL_SPACE_INERTIA, q, frame=tip)

    def _position_and_wrench_torque(self, q: Any, wrench: Any) -> tuple[Any, Any]:
        """Return q, NaN where a flange wrench w is not finite, and torque J^T w, each (..., n)."""
        library = self.library(q, wrench)
        (q,), _ = self._real_states(Quantity.FLANGE_POSE, (q,), library.as_array)
        (forces,) = self._real_arrays({'wrench': wrench}, library.as_array).values()
        shape = tuple(forces.shape)
        if shape[-1:] != (6,):
            raise shape_error('wrench', shape, '(..., 6)', WRENCH_MEANING)
        broadcast_leading_shape({'q': tuple(q.shape), 'wrench': shape})
        q, forces = _masked_to_common_type(library.xp, q, forces)
        return q, (self.jacobian(q) * forces[..., None]).sum(-2)


def _masked_to_common_type(xp: Any, q: Any, other: Any) -> tuple[Any, Any]:
    """
    Return positions, NaN where `other` is not finite, and `other`, in their common number type.

    Where a value of the other array is not finite, both are NaN.
    """
    other = xp.where(xp.isfinite(other), other, math.nan)
    return q + (0.0 * other).sum(-1)[..., None], other


class TracedModel(GeneratedModel):
    """
    An arm's dynamics in an array library's own operations, with all but two methods of `fd.Model`.

    The generated equations are run on one array per joint and input: sines, cosines, products,
    sums, reciprocals and square roots that the library can trace, compile and differentiate
    (jax.jit, vmap, grad; torch.compile, autograd), on the device and in the precision of the given
    arrays. On CPUs and NVIDIA GPUs `BatchModel` is faster: this class is for other devices and
    second derivatives.

    States have shape (..., n) and a floating-point type; leading axes broadcast. A state with a
    value that is not finite gives NaN in this state's result alone. Code compiled by the library
    (torch.compile) reads arrays fastest in which a joint's values follow each other in memory:
    transposes of contiguous (n, N) arrays. Call a method once before you pass the method to
    torch.compile, which cannot trace the code generator that the first call runs.

    Parameters
    ----------
    description : ArmDescription, str, Path or BodyTree
        The arm with hand and payload, or a tree of bodies, as for `BatchModel`.
    xp : module
        The library, such as numpy, jax.numpy, torch or cupy; JointVectorError for anything else.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].

    """

    def __init__(self, description: RobotLike, xp: Any, gravity: ArrayLike = GRAVITY) -> None:
        needed = ('sin', 'cos', 'sqrt', 'stack', 'where', 'isfinite')
        missing = [name for name in needed if not hasattr(xp, name)]
        if missing:
            raise JointVectorError(
                f'{getattr(xp, "__name__", type(xp).__name__)} has no {missing[0]}; give the '
                'module of an array library, such as jax.numpy or torch.'
            )
        super().__init__(description, gravity)
        self.xp = xp
        # Functions that were called, because torch.compile cannot trace the code generator.
        self._functions: dict[EquationsKey, tuple[Callable[..., None], tuple[int, ...]]] = {}

    def library(self, *arguments: Any) -> Any:
        """Return the model itself, which has `xp` and `as_array` of its own array library."""
        return self

    def evaluate(self, quantity: Quantity, *arguments: Any, **options: Any) -> Any:
        """Return a quantity at states (..., n); `options` are those of `customised_equations`."""
        key = self._make_key(quantity, len(arguments), options)
        if key not in self._functions:
            equations = key.equations(self.description, self._gravity)
            self._functions[key] = python_callable(equations, self.xp), equations.shape
        function, shape = self._functions[key]
        n = self.description.n
        arrays, _ = self._real_states(key.quantity, arguments, self.as_array)
        states = [[array[..., k] for k in range(n)] for array in arrays]
        # Added to every result: NaN for a state that is not finite, else zero.
        zero = 0.0 * sum(values for each in states for values in each)
        elements: dict[Any, Any] = {}
        function(*states, elements)
        if self.xp.__name__ == 'jax.numpy':
            # XLA else computes the equations again for every element of a stack.
            values = sys.modules['jax'].lax.optimization_barrier([*elements.values()])
            elements = dict(zip(elements, values))

        def stacked_output(indices: tuple[int, ...]) -> Any:
            """Return the subarray of the result at the first `indices`."""
            axes = len(shape) - len(indices)
            if not axes:
                return zero + elements.get(indices if len(indices) > 1 else indices[0], 0.0)
            parts = [stacked_output((*indices, k)) for k in range(shape[-axes])]
            return self.xp.stack(parts, -axes)

        return stacked_output(())

    def as_array(self, values: Any) -> Any:
        """Return an array of floating-point numbers as it is; TypeError for anything else."""
        if 'float' not in str(getattr(values, 'dtype', '')):
            raise TypeError(f'no array of a floating-point type of {self.xp.__name__}')
        return values
