# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm's dynamics by Pinocchio, with which `feedforward_node` computes its torque commands."""

from collections.abc import Callable, Mapping, Sequence
import functools
import inspect
import math
import threading
from typing import Any, Concatenate, ParamSpec

import numpy as np
from numpy.typing import NDArray
import pinocchio as pin

from . import model
from .model import broadcast_states, total_mass
from .pinocchio_builder import (
    build_pinocchio_model,
    has_regular_mass_matrix,
    pinocchio_frame_name,
    PINOCCHIO_PARAMETER_ORDER,
)
from .regressor import as_column_indices, N_LINK_PARAMETERS, parameter_transform
from ..arm import Convention
from ..arm.frames import FLANGE, Frame, frame_placement, frame_table
from ..arm_io import ArmLike
from ..arrays import Array, ArrayLike
from ..constants import GRAVITY

_FRAME_TYPES = {int, str, type(FLANGE)}
_REFERENCE_FRAMES = {name: getattr(pin.ReferenceFrame, name) for name in model.REFERENCE_FRAMES}

_Arguments = ParamSpec('_Arguments')
_Method = Callable[Concatenate['PinocchioModel', _Arguments], Array]
_FLOAT_DTYPE = np.dtype(float)


def _accept_stacks_of(
    *names: str,
) -> Callable[[_Method[_Arguments]], _Method[_Arguments]]:
    """
    Return a decorator that lets a method for one state take stacks of states, too.

    `names` are of the method's first arguments, which are states. Stacks are broadcast, and
    Pinocchio is called for each state; a state with a value that is not finite gives NaN.
    """

    def extend_method(method: _Method[_Arguments]) -> _Method[_Arguments]:
        """Return the method extended to stacks of states."""
        parameters = inspect.signature(method)

        @functools.wraps(method)
        def checked_method(
            self: 'PinocchioModel',
            /,
            *args: _Arguments.args,
            **kwargs: _Arguments.kwargs,
        ) -> Array:
            """Return the method's result at one state, or at each of a stack of states."""
            # Fast path for control loops at 1 kHz: arrays of one state, given by place.
            if not kwargs and _is_finite_state(args, names, self._argument_shapes):
                return method(self, *args, **kwargs)
            return _stack_results(method, names, self, parameters.bind(self, *args, **kwargs))

        return checked_method

    return extend_method


def _is_finite_state(
    values: Sequence[Any], names: Sequence[str], shapes: Mapping[str, tuple[int, ...]]
) -> bool:
    """Return whether the named values are float arrays of one state, all of them finite."""
    total = 0.0
    for value, name in zip(values, names):
        is_float_array = type(value) is np.ndarray and value.dtype is _FLOAT_DTYPE
        if not is_float_array or value.shape != shapes[name]:
            return False
        total = sum(value.tolist(), total)
    # A sum is finite only if all its terms are.
    return math.isfinite(total)


def _stack_results(
    method: Callable[..., Array],
    vector_names: Sequence[str],
    dynamics: 'PinocchioModel',
    bound_arguments: inspect.BoundArguments,
) -> Array:
    """Return a method's results at each of a stack of states, NaN where a state is not finite."""
    others = {name: value for name, value in bound_arguments.arguments.items() if name != 'self'}
    vectors = {name: others.pop(name) for name in vector_names if name in others}
    stacks = broadcast_states(dynamics.description, finite=False, **vectors)
    # A wrench of None is left out of the stacks; it is the last argument of every method.
    stack_by_name = dict(zip(vectors, stacks))
    shape = stacks[0].shape[:-1]
    finite = np.all([np.isfinite(stack).all(axis=-1) for stack in stacks], axis=0)
    results = {}
    for place in np.ndindex(shape):
        if finite[place]:
            state = {name: stack[place] for name, stack in stack_by_name.items()}
            results[place] = method(dynamics, **state, **others)
    if results:
        example = next(iter(results.values()))
    else:  # the shape is that of a result at a posture that is hardly singular, as q = 0 often is
        state = {
            name: np.arange(1.0, stack.shape[-1] + 1) for name, stack in stack_by_name.items()
        }
        example = method(dynamics, **state, **others)
    out = np.full((*shape, *np.shape(example)), np.nan)
    for place, result in results.items():
        out[place] = result
    return out


class _ThreadWorkspace(threading.local):
    """A separate work space (pinocchio.Data) of a model for each thread, as calls overwrite it."""

    def __init__(self, pinocchio_model: pin.Model) -> None:
        """Allocate the calling thread's data of a Pinocchio model."""
        self.data = pinocchio_model.createData()


class PinocchioModel(model.DynamicsFormulation):
    """
    Dynamics of an arm, computed by Pinocchio.

    Every method takes vectors of shape (n,) or stacks of shape (..., n), which are broadcast;
    Pinocchio computes the states of a stack one by one. For millions of states use `BatchModel`.
    A state with a value that is not finite gives NaN in this state's result alone.

    Parameters
    ----------
    description : ArmDescription, str or Path
        The arm, or its name or file; its links include the hand and the payload, if there are any.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].

    """

    def __init__(self, description: ArmLike, gravity: ArrayLike = GRAVITY) -> None:
        super().__init__(description, gravity)
        description = self.description
        n = self.description.n
        self.model = build_pinocchio_model(description)
        self.model.gravity.linear = self._gravity
        self._weightless_model = self.model.copy()
        self._weightless_model.gravity = pin.Motion.Zero()
        self._workspace = _ThreadWorkspace(self.model)
        self._argument_shapes = {
            'q': (n,),
            'dq': (n,),
            'ddq': (n,),
            'tau': (n,),
            'wrench': (6,),
        }
        self._id_by_frame = {
            frame: self.model.getFrameId(pinocchio_frame_name(frame))
            for frame in frame_table(description)
        }
        self._frame_ids = [self._id_by_frame[i + 1] for i in range(n + 1)]
        self._M_may_be_singular = not has_regular_mass_matrix(description, self.model)

    @property
    def data(self) -> pin.Data:
        """Pinocchio's data of `model` for the calling thread, which every call overwrites."""
        return self._workspace.data

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the work spaces of threads."""
        return {name: value for name, value in vars(self).items() if name != '_workspace'}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes from a pickled state, with new work spaces."""
        vars(self).update(state, _workspace=_ThreadWorkspace(state['model']))

    @_accept_stacks_of('q')
    def frames(self, q: ArrayLike) -> Array:
        """Return the poses of frames 1..n and of the flange in {S}, shape (n + 1, 4, 4)."""
        pin.framesForwardKinematics(self.model, self._workspace.data, q)
        return np.array([self._workspace.data.oMf[i].homogeneous for i in self._frame_ids])

    @_accept_stacks_of('q')
    def frame_pose(self, q: ArrayLike, frame: Frame = FLANGE) -> Array:
        """Return the pose in {S} of a frame (number, name), (..., 4, 4); FrameError if unknown."""
        pin.framesForwardKinematics(self.model, self._workspace.data, q)
        return self._workspace.data.oMf[self._frame_id(frame)].homogeneous

    def flange_pose(self, q: ArrayLike) -> Array:
        """Return the pose of the flange in the space frame {S}, shape (..., 4, 4)."""
        return self.frame_pose(q)

    def _frame_id(self, frame: Frame) -> int:
        """Return a frame's number in the Pinocchio model; raise FrameError if there is none."""
        # Of equal keys True and 1 the table has 1: only these types are looked up.
        if type(frame) not in _FRAME_TYPES or frame not in self._id_by_frame:
            frame_placement(frame, self.description)  # raises FrameError
        return self._id_by_frame[frame]

    @_accept_stacks_of('q')
    def jacobian(
        self,
        q: ArrayLike,
        frame: Frame = FLANGE,
        reference_frame: str = model.ALIGNED_FRAME,
    ) -> Array:
        """
        Return a frame's geometric Jacobian (v, omega) in `reference_frame`, shape (6, n).

        Rows of v are in m/rad (1 for prismatic joints), of omega in 1. `frame` is a number or name
        of the table in `arm.frames`, such as 'fr3_link8'.
        """
        try:
            reference = _REFERENCE_FRAMES[reference_frame]
        except (KeyError, TypeError):
            model.require_reference_frame(reference_frame)  # raises FrameError
            raise
        place = self._frame_id(frame)
        jacobian = pin.computeFrameJacobian(self.model, self._workspace.data, q, place, reference)
        # For n = 1 Pinocchio's Python bindings return the Jacobian as a vector.
        return jacobian if jacobian.ndim == 2 else jacobian[:, None]

    @_accept_stacks_of('q', 'dq')
    def bias_acceleration(self, q: ArrayLike, dq: ArrayLike, frame: Frame = FLANGE) -> Array:
        """Return dJ/dt dq of a frame's LOCAL_WORLD_ALIGNED Jacobian, (6,) [m/s^2, rad/s^2]."""
        still = np.zeros(self.description.n)
        pin.forwardKinematics(self.model, self._workspace.data, q, dq, still)
        at = self._frame_id(frame), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return pin.getFrameClassicalAcceleration(self.model, self._workspace.data, *at).vector

    @_accept_stacks_of('q')
    def operational_space_inertia(self, q: ArrayLike, frame: Frame = FLANGE) -> Array:
        """Return the inertia (J M^-1 J^T)^-1 at a frame, (6, 6); InertiaError if singular."""
        return model.operational_space_inertia(self.mass_matrix(q), self.jacobian(q, frame))

    @_accept_stacks_of('q')
    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M(q), rotors included, by the composite-rigid-body algorithm, (n, n) [kg m^2]."""
        return pin.crba(self.model, self._workspace.data, q)

    @_accept_stacks_of('q', 'dq')
    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return Pinocchio's Coriolis matrix C(q, dq), (n, n) [N m s/rad]; dM/dt = C + C^T."""
        return pin.computeCoriolisMatrix(self.model, self._workspace.data, q, dq).copy()

    @_accept_stacks_of('q', 'dq')
    def coriolis(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the Coriolis torques C(q, dq) dq, shape (n,) [N m]."""
        # Without gravity, not as a difference, of which a slow motion would leave no digit.
        return pin.nonLinearEffects(self._weightless_model, self._workspace.data, q, dq)

    @_accept_stacks_of('q')
    def gravity(self, q: ArrayLike) -> Array:
        """Return the gravity torques g(q), shape (n,) [N m]."""
        return pin.computeGeneralizedGravity(self.model, self._workspace.data, q)

    @_accept_stacks_of('q', 'dq')
    def nonlinear_effects(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return Coriolis plus gravity torques C(q, dq) dq + g(q), shape (n,) [N m]."""
        return pin.nonLinearEffects(self.model, self._workspace.data, q, dq)

    @_accept_stacks_of('q', 'dq', 'ddq', 'wrench')
    def inverse_dynamics(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        wrench: ArrayLike | None = None,
    ) -> Array:
        """Return torques M ddq + C dq + g - J^T w for a flange wrench w, shape (n,) [N m]."""
        torque = pin.rnea(self.model, self._workspace.data, q, dq, ddq)
        return torque if wrench is None else torque - np.matmul(self.jacobian(q).T, wrench)

    @_accept_stacks_of('q', 'dq', 'tau', 'wrench')
    def forward_dynamics(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        tau: ArrayLike,
        wrench: ArrayLike | None = None,
    ) -> Array:
        """
        Return ddq by the articulated-body algorithm, (n,) [rad/s^2]; InertiaError at singular M.

        Raises
        ------
        InertiaError
            If the mass matrix is singular.

        """
        if wrench is not None:
            tau = np.add(tau, np.matmul(self.jacobian(q).T, wrench))
        accelerations = pin.aba(self.model, self._workspace.data, q, dq, tau)
        if self._M_may_be_singular:
            # Reciprocals of the inertias that joints move while the later joints are free.
            found = [abs(float(joint.Dinv[0, 0])) for joint in self._workspace.data.joints[1:]]
            singular = model.MIN_FREE_TO_MAX_INERTIA * max(found) > min(found)
            if singular or not np.isfinite(accelerations).all():
                raise model.singular_mass_matrix_error()
        return accelerations

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike
    ) -> model.TorqueDerivatives:
        """
        Return the derivatives of `inverse_dynamics` by q, dq and ddq (the last is M), each (n, n).

        Units are N m/rad, N m s/rad and kg m^2; row i belongs to torque i.
        """
        slopes = self._torque_derivatives(q, dq, ddq)
        return model.TorqueDerivatives(
            slopes[..., 0, :, :],
            slopes[..., 1, :, :],
            slopes[..., 2, :, :],
        )

    @_accept_stacks_of('q', 'dq', 'ddq')
    def _torque_derivatives(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return the derivatives of inverse dynamics by q, dq and ddq, (3, n, n)."""
        slopes = pin.computeRNEADerivatives(self.model, self._workspace.data, q, dq, ddq)
        # For n = 1 Pinocchio's Python bindings return vectors.
        return np.array(slopes).reshape(3, self.description.n, self.description.n)

    def forward_dynamics_derivatives(
        self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike
    ) -> model.AccelerationDerivatives:
        """
        Return the derivatives of `forward_dynamics` by q, dq, tau (the last is M^-1), (n, n) each.

        Units are 1/s^2, 1/s and 1/(kg m^2); row i belongs to acceleration i. Raises InertiaError
        if the mass matrix is singular.
        """
        slopes = self._acceleration_derivatives(q, dq, tau)
        return model.AccelerationDerivatives(
            slopes[..., 0, :, :],
            slopes[..., 1, :, :],
            slopes[..., 2, :, :],
        )

    @_accept_stacks_of('q', 'dq', 'tau')
    def _acceleration_derivatives(self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> Array:
        """Return the derivatives of forward dynamics by q, dq and tau, (3, n, n)."""
        self.forward_dynamics(q, dq, tau)  # raises InertiaError
        slopes = pin.computeABADerivatives(self.model, self._workspace.data, q, dq, tau)
        return np.array(slopes).reshape(3, self.description.n, self.description.n)

    def regressor(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        *,
        columns: Sequence[int] | None = None,
    ) -> Array:
        """
        Return H (n, 10 n), or its `columns`, of tau = H X, links' parameters X, without rotors.

        The columns, or those chosen, are in the order of `parameter_names`, each link's about the
        origin of its DH frame.

        Raises
        ------
        BaseParameterError
            If a column is not one of the 10 n, or is named twice.

        """
        chosen = as_column_indices(columns, N_LINK_PARAMETERS * self.description.n)
        return self._regressor(q, dq, ddq, chosen)

    @_accept_stacks_of('q', 'dq', 'ddq')
    def _regressor(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        columns: tuple[int, ...] | None,
    ) -> Array:
        """Return the regressor, or its checked columns, at one state."""
        whole = pin.computeJointTorqueRegressor(self.model, self._workspace.data, q, dq, ddq)
        n = self.description.n
        if self.description.convention is Convention.MODIFIED:
            # Links' frames are the joints': parameters differ in their order alone.
            regressor = whole.reshape(n, -1).take(self._regressor_columns, axis=1)
        else:
            by_link = whole.reshape(n, n, N_LINK_PARAMETERS).swapaxes(0, 1)
            by_link = by_link @ self._link_to_joint_parameters
            regressor = by_link.swapaxes(0, 1).reshape(n, -1)
        return regressor if columns is None else regressor[:, list(columns)]

    @functools.cached_property
    def _regressor_columns(self) -> NDArray[np.intp]:
        """The places in Pinocchio's regressor of the columns of `parameter_names`, (10 n,)."""
        places = np.arange(N_LINK_PARAMETERS * self.description.n).reshape(-1, N_LINK_PARAMETERS)
        return places[:, np.argsort(PINOCCHIO_PARAMETER_ORDER)].ravel()

    @functools.cached_property
    def _link_to_joint_parameters(self) -> Array:
        """Matrices from links' parameters to Pinocchio's, of joints' frames, (n, 10, 10)."""
        placements = self.description.joint_placements()
        transforms = [parameter_transform(pose[:3, :3], pose[:3, 3]) for _, pose in placements]
        return np.array(transforms, dtype=float)[:, list(PINOCCHIO_PARAMETER_ORDER)]

    @_accept_stacks_of('q')
    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the moving links' centre of mass in {S}, (3,) [m]; InertiaError if massless."""
        total_mass(self.description)
        return pin.centerOfMass(self.model, self._workspace.data, q).copy()

    @_accept_stacks_of('q', 'dq')
    def kinetic_energy(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the links' and the rotors' kinetic energy, shape () [J]."""
        return np.asarray(pin.computeKineticEnergy(self.model, self._workspace.data, q, dq))

    @_accept_stacks_of('q')
    def potential_energy(self, q: ArrayLike) -> Array:
        """Return the potential energy U(q), zero for a mass at the origin of {S}, shape () [J]."""
        return np.asarray(pin.computePotentialEnergy(self.model, self._workspace.data, q))

    @_accept_stacks_of('q', 'dq')
    def link_twists(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the twists of frames 1..n, LOCAL_WORLD_ALIGNED, shape (n, 6) [m/s, rad/s]."""
        pin.forwardKinematics(self.model, self._workspace.data, q, dq)
        reference = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        frames = [(self.model, self._workspace.data, i, reference) for i in self._frame_ids[:-1]]
        return np.array([pin.getFrameVelocity(*frame).vector for frame in frames])

    @_accept_stacks_of('q', 'dq', 'ddq')
    def joint_wrenches(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return the wrenches of link i - 1 on link i about frame i's origin, {S} axes, (n, 6)."""
        self.inverse_dynamics(q, dq, ddq)
        # pin.rnea stores the joints' wrenches in `data.f`, but computes no poses in the world.
        pin.framesForwardKinematics(self.model, self._workspace.data, q)
        wrenches = []
        for i, place in enumerate(self._frame_ids[:-1]):
            # The wrench in `data.f` is about the origin and in the axes of the joint's frame.
            local = self.model.frames[place].placement.actInv(self._workspace.data.f[i + 1])
            turn = pin.SE3(self._workspace.data.oMf[place].rotation, np.zeros(3))
            wrenches.append(turn.act(local).vector)
        return np.array(wrenches)
