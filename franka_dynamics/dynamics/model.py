# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Conventions, argument checks and the base class of the models of a serial arm's dynamics.

The rigid-body dynamics are tau = M(q) ddq + C(q, dq) dq + g(q) - J(q)^T w. All quantities are in
SI units and joint order; for a prismatic joint read N for N m and m for rad. Frames are those of
`arm.frames`; poses are in the space frame {S}. Twists are (v, omega), wrenches (force, moment).
`wrench` w is the force and moment that the surroundings exert on the flange, about the flange's
origin, in the axes of {S}. Busellato 2023, section 3, has h_e = -w, the wrench that the arm exerts
on its surroundings. Energies and the centre of mass leave out the fixed base.

Every method takes vectors of shape (n,) or stacks of shape (..., n), whose leading axes broadcast,
returns a new array with these leading axes, which the caller owns, and raises JointVectorError if
a vector has another shape. Where a value is not finite every model gives NaN in that state's
result alone, as batches do, so that one bad sample of a recording costs no other.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
import functools
import inspect
from typing import Any, Concatenate, NamedTuple, ParamSpec

import numpy as np

from ..arm import ArmDescription
from ..arm.frames import FLANGE, Frame, frame_placement
from ..arm_io import ArmLike, as_description
from ..arrays import (
    Array,
    ArrayLike,
    as_array,
    as_joint_values,
    as_wrenches,
    broadcast_leading_shape,
    WRENCH_MEANING,
)
from ..constants import GRAVITY
from ..errors import FrameError, InertiaError, JointVectorError

ALIGNED_FRAME = 'LOCAL_WORLD_ALIGNED'
REFERENCE_FRAMES = ('LOCAL', 'WORLD', ALIGNED_FRAME)

_Arguments = ParamSpec('_Arguments')
_Method = Callable[Concatenate[Any, _Arguments], Array]


class TorqueDerivatives(NamedTuple):
    """Derivatives of tau = M ddq + C dq + g by q, dq and ddq, each of shape (..., n, n)."""

    by_position: Any
    by_velocity: Any
    by_acceleration: Any


class AccelerationDerivatives(NamedTuple):
    """Derivatives of ddq = M^-1 (tau - C dq - g) by q, dq and tau, each of shape (..., n, n)."""

    by_position: Any
    by_velocity: Any
    by_torque: Any


def nan_where_not_finite(*names: str) -> Callable[[_Method[_Arguments]], _Method[_Arguments]]:
    """
    Return a decorator for methods on stacks: NaN is the result at states that are not finite.

    `names` are the arguments that are states. The method itself computes with zeros there, because
    some numbers, such as the inertia that a sliding joint moves, do not depend on the state.
    """

    def extend_method(method: _Method[_Arguments]) -> _Method[_Arguments]:
        """Return the method with NaN at states that are not finite."""
        signature = inspect.signature(method)

        @functools.wraps(method)
        def checked_method(
            self: Any, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs
        ) -> Array:
            """Return the method's results, NaN at states that are not finite."""
            given = signature.bind(self, *args, **kwargs)
            states = {name: given.arguments[name] for name in names if name in given.arguments}
            if states.get('wrench', ()) is None:
                del states['wrench']
            stacks = broadcast_states(self.description, finite=False, **states)
            finite = np.all([np.isfinite(stack).all(axis=-1) for stack in stacks], axis=0)
            if finite.all():
                return method(self, *args, **kwargs)
            for name, stack in zip(states, stacks):
                stack[~finite] = 0.0
                given.arguments[name] = stack
            results = np.asarray(method(*given.args, **given.kwargs))
            inner = (1,) * (results.ndim - finite.ndim)
            return np.where(finite.reshape(finite.shape + inner), results, np.nan)

        return checked_method

    return extend_method


class DynamicsFormulation(ABC):
    """
    Base class of an arm's dynamics models, which define frames, M and inverse dynamics.

    Parameters
    ----------
    description : ArmDescription, str or Path
        The arm, revolute and prismatic joints in either convention; or its name or file.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].

    """

    def __init__(self, description: ArmLike, gravity: ArrayLike = GRAVITY) -> None:
        self.description = as_description(description)
        self._gravity = as_gravity_vector(gravity)

    def __repr__(self) -> str:
        """Return one line that names the model and its arm."""
        return f'<{type(self).__name__} of {self.description.name}, {self.description.n} joints>'

    @abstractmethod
    def frames(self, q: ArrayLike) -> Array:
        """Return the poses of frames 1..n and flange in the space frame, (..., n + 1, 4, 4)."""

    @nan_where_not_finite('q')
    def frame_pose(self, q: ArrayLike, frame: Frame = FLANGE) -> Array:
        """Return the pose in {S} of a frame (number, name), (..., 4, 4); FrameError if unknown."""
        joint, offset = frame_placement(frame, self.description)
        poses = self.frames(q)
        if joint == 0:
            return np.array(np.broadcast_to(offset, (*poses.shape[:-3], 4, 4)))
        return poses[..., joint - 1, :, :] @ offset

    @abstractmethod
    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return the mass matrix M(q), rotor inertias included, shape (..., n, n) [kg m^2]."""

    @abstractmethod
    def inverse_dynamics(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        wrench: ArrayLike | None = None,
    ) -> Array:
        """Return the torque M ddq + C dq + g - J^T w for a flange wrench w, (..., n) [N m]."""

    @nan_where_not_finite('q', 'dq', 'tau', 'wrench')
    def forward_dynamics(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        tau: ArrayLike,
        wrench: ArrayLike | None = None,
    ) -> Array:
        """
        Return ddq with M ddq = tau - C dq - g + J^T w, flange wrench w, (..., n) [rad/s^2].

        Source: Walker and Orin 1982, method 1. Raises InertiaError if M is singular.
        """
        arm = self.description
        q, dq, tau, *acting = broadcast_states(arm, q=q, dq=dq, tau=tau, wrench=wrench)
        rest = self.inverse_dynamics(q, dq, np.zeros_like(dq), *acting)
        return solve_acceleration(self.mass_matrix(q), tau - rest)

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return moving links' centre of mass in {S}, (..., 3) [m]; InertiaError if massless."""
        return self._first_moment(q) / total_mass(self.description)

    def potential_energy(self, q: ArrayLike) -> Array:
        """Return the potential energy, zero for a mass at the origin of {S}, shape (...) [J]."""
        return -self._first_moment(q) @ self._gravity

    def _first_moment(self, q: ArrayLike) -> Array:
        """Return the first moment of the moving links about the origin of {S}, (..., 3) [kg m]."""
        moments = np.array([[*link.first_moment, link.mass] for link in self.description.links])
        return np.einsum('...lab,lb->...a', self.frames(q)[..., :-1, :3, :], moments)


def as_gravity_vector(gravity: ArrayLike) -> Array:
    """
    Return gravity as floats (3,) [m/s^2].

    Raises
    ------
    JointVectorError
        If `gravity` has another shape or is not finite.

    """
    words = f'The gravity vector [m/s^2] in the space frame, such as {GRAVITY},'
    return as_array(gravity, (3,), words, JointVectorError)


def require_reference_frame(name: str) -> str:
    """Return `name` if it is one of REFERENCE_FRAMES, or raise FrameError."""
    if not isinstance(name, str) or name not in REFERENCE_FRAMES:
        raise FrameError(
            f'There is no reference frame {name!r}; the choices are {", ".join(REFERENCE_FRAMES)}.'
        )
    return name


def as_joint_stack(
    description: Any, values: ArrayLike | None, name: str, *, finite: bool = True
) -> Array:
    """
    Return `values` as floats (..., n); JointVectorError for wrong shape or, if `finite`, NaN, inf.

    `description` is an arm or a tree of n joints.

    Raises
    ------
    JointVectorError
        If the last axis is not n long or, if they are to be `finite`, a value is not; the message
        names the joint.

    """
    arm = getattr(description, 'name', '')  # a tree has none
    return as_joint_values(values, name, description.joint_names, arm, finite=finite)


def broadcast_states(
    description: Any, *, finite: bool = True, **values: ArrayLike | None
) -> list[Array]:
    """
    Return the given arrays (q=..., dq=..., wrench=...), broadcast to common leading axes.

    `description` is an arm or a tree. A wrench that is None is left out of the list.

    Raises
    ------
    JointVectorError
        If a last dimension is not n (6 of a wrench), the leading axes do not broadcast, or values
        are to be `finite` and one is not.

    """
    wrench = values.pop('wrench', None)
    arrays = {}
    for name, value in values.items():
        arrays[name] = as_joint_stack(description, value, name, finite=finite)
    if wrench is not None:
        arrays['wrench'] = as_wrenches(wrench)
        if finite and not np.isfinite(arrays['wrench']).all():
            raise JointVectorError(f'wrench must be finite numbers: {WRENCH_MEANING}.')
    shape = broadcast_leading_shape({name: array.shape for name, array in arrays.items()})
    return [
        np.array(np.broadcast_to(array, (*shape, array.shape[-1]))) for array in arrays.values()
    ]


def require_centers_of_mass(description: ArmDescription) -> None:
    """
    Raise InertiaError if a link has a first moment but no mass, as regrouping may leave it.

    Raises
    ------
    InertiaError
        If a link has a first moment but no mass. `NewtonEulerModel` accepts such links.

    """
    for joint, link in zip(description.joints, description.links):
        if link.mass == 0.0 and link.first_moment.any():
            raise InertiaError(
                f'The link behind {joint.name} of {description.name} has no mass but the first '
                f'moment {link.first_moment.tolist()} kg m, so it has no centre of mass. Only '
                'NewtonEulerModel takes such regrouped parameters.'
            )


def total_mass(description: Any) -> float:
    """
    Return the mass of the moving links of an arm or a tree [kg].

    Raises
    ------
    InertiaError
        If this mass is zero, because there is then no centre of mass.

    """
    is_arm = isinstance(description, ArmDescription)
    bodies = description.links if is_arm else description.inertias
    mass = float(sum(body.mass for body in bodies))
    if mass != 0.0:
        return mass
    owner = 'The bodies of the tree'
    if is_arm:
        source = description.inertial_set
        if description.urdf:
            source = description.urdf.name_in_messages
        owner = f'{description.name} ({source}): {", ".join(description.link_names)}'
    raise InertiaError(
        f'{owner} have no mass, so M, C dq and g are zero and there is no centre of mass.'
    )


def symmetrize(matrix: Array) -> Array:
    """Return (A + A^T) / 2 of a stack of matrices A, without asymmetric rounding errors."""
    return 0.5 * (matrix + np.swapaxes(matrix, -1, -2))


# M is singular if the inertia that a joint moves while the other joints are free, 1/(M^-1)_jj, is
# smaller than MIN_FREE_TO_MAX_INERTIA times the largest M_ii. The shipped arms without rotors have
# ratios above 3e-5, a point mass on the last joint's axis has 1e-16.
MIN_FREE_TO_MAX_INERTIA = 1e-12


def solve_acceleration(M: Array, torque: Array) -> Array:
    """
    Return M^-1 tau (..., n) for M (..., n, n).

    Raises
    ------
    InertiaError
        If M is singular, or so nearly that MIN_FREE_TO_MAX_INERTIA counts it as singular.

    """
    # The inverse is solved for in the same call, because the check of singularity needs it.
    stack = np.broadcast_shapes(M.shape[:-1], torque.shape)
    unit = np.broadcast_to(np.eye(M.shape[-1]), (*stack, M.shape[-1]))
    right_sides = np.concatenate([np.broadcast_to(torque, stack)[..., None], unit], axis=-1)
    try:
        solved = np.asarray(np.linalg.solve(M, right_sides), dtype=float)
    except np.linalg.LinAlgError:
        raise singular_mass_matrix_error() from None
    _require_regular(M, solved[..., 1:])
    return solved[..., 0]


def _require_regular(M: Array, inverse: Array) -> None:
    """Raise InertiaError if M (..., n, n), whose inverse is given, is singular or nearly so."""
    least_free = 1.0 / np.abs(np.diagonal(inverse, axis1=-2, axis2=-1)).max(axis=-1)
    largest = np.diagonal(M, axis1=-2, axis2=-1).max(axis=-1)
    if np.any(least_free < MIN_FREE_TO_MAX_INERTIA * largest):
        raise singular_mass_matrix_error()


def inverse_mass_matrix(M: Array) -> Array:
    """
    Return M^-1 (..., n, n).

    Raises
    ------
    InertiaError
        If M is singular, or so nearly that MIN_FREE_TO_MAX_INERTIA counts it as singular.

    """
    try:
        inverse = np.asarray(np.linalg.inv(M), dtype=float)
    except np.linalg.LinAlgError:
        raise singular_mass_matrix_error() from None
    _require_regular(M, inverse)
    return inverse


def operational_space_inertia(M: Array, jacobian: Array) -> Array:
    """
    Return operational-space inertias (J M^-1 J^T)^-1, (..., 6, 6).

    Rows and columns are v, then omega: kg, kg m and kg m^2 (Khatib 1987, "A unified approach for
    motion and force control of robot manipulators").

    Raises
    ------
    InertiaError
        If the frame cannot move in every direction, or M is singular.

    """
    mobility = jacobian @ inverse_mass_matrix(M) @ np.swapaxes(jacobian, -1, -2)
    sizes = np.linalg.eigvalsh(mobility)
    if np.any(sizes[..., 0] <= MIN_FREE_TO_MAX_INERTIA * sizes[..., -1]):
        raise singular_frame_error()
    return symmetrize(np.asarray(np.linalg.inv(mobility), dtype=float))


def singular_mass_matrix_error() -> InertiaError:
    """Return the InertiaError to raise for a singular mass matrix."""
    return InertiaError(
        'The mass matrix is singular: some joint without rotor inertia moves no mass, or '
        'only as other joints do, so its acceleration is undetermined.'
    )


def singular_frame_error() -> InertiaError:
    """Return the InertiaError to raise for a frame without operational-space inertia."""
    return InertiaError(
        'The frame cannot move in every direction: the posture is singular, or fewer than six '
        'joints move it. Use J M^-1 J^T of the directions that it has.'
    )
