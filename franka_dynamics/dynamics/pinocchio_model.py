# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm's dynamics by Pinocchio, with which `feedforward_node` computes its torque commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import functools
import inspect
from pathlib import Path
import threading
from typing import Any, Concatenate, ParamSpec

import numpy as np
from numpy.typing import ArrayLike
import pinocchio as pin

from .model import (
    broadcast_states,
    FLANGE,
    frame_index,
    GRAVITY,
    gravity_vector,
    MIN_FREE_INERTIA_RATIO,
    require_centers_of_mass,
    require_reference_frame,
    singular_mass_matrix_error,
    TorqueDerivatives,
    total_mass,
)
from .regressor import chosen_columns, LINK_PARAMETERS
from ..arm import ArmDescription, JointKind, LinkInertia
from ..arm_io import as_description
from ..typing import Array

# Pinocchio's order of the six tensor elements is xx, xy, yy, xz, yz, zz.
PINOCCHIO_PARAMETER_ORDER = (9, 6, 7, 8, 0, 1, 3, 2, 4, 5)
_JOINT_MODELS = {JointKind.REVOLUTE: pin.JointModelRZ, JointKind.PRISMATIC: pin.JointModelPZ}


def pinocchio_inertia(inertia: LinkInertia) -> pin.Inertia:
    """Return a link's inertia as a Pinocchio object, about the centre of mass."""
    if inertia.mass == 0.0:
        return pin.Inertia(0.0, np.zeros(3), np.array(inertia.inertia))
    return pin.Inertia.FromDynamicParameters(inertia.parameters()[list(PINOCCHIO_PARAMETER_ORDER)])


def build_pinocchio(description: ArmDescription) -> pin.Model:
    """
    Return a Pinocchio model with one frame per DH frame ('1', ..., 'n') and one 'flange'.

    Raises
    ------
    InertiaError
        If a link has a first moment but no mass, because Pinocchio needs a centre of mass.

    """
    require_centers_of_mass(description)
    model = pin.Model()
    model.name = description.name
    parent = 0
    pending = pin.SE3(np.array(description.base))  # previous frame in the parent joint
    for i, (joint, link, places) in enumerate(
        zip(description.joints, description.links, description.joint_placements())
    ):
        placement, offset = pending * pin.SE3(places[0]), pin.SE3(places[1])
        limits = joint.limits
        parent = model.addJoint(
            parent,
            _JOINT_MODELS[joint.kind](),
            placement,
            joint.name,
            np.array([limits.effort]),
            np.array([limits.velocity]),
            np.array([limits.lower]),
            np.array([limits.upper]),
        )
        model.appendBodyToJoint(parent, pinocchio_inertia(link), offset)
        model.addFrame(pin.Frame(str(i + 1), parent, 0, offset, pin.FrameType.OP_FRAME))
        pending = offset
    flange = pending * pin.SE3(description.flange_transform())
    model.addFrame(pin.Frame(FLANGE, parent, 0, flange, pin.FrameType.OP_FRAME))
    model.armature = np.array([joint.rotor_inertia for joint in description.joints])
    return model


_Arguments = ParamSpec('_Arguments')
_VECTOR_ARGUMENTS = ('q', 'dq', 'ddq', 'tau', 'wrench')


def _each_state(
    method: Callable[Concatenate[PinocchioModel, _Arguments], Array],
) -> Callable[Concatenate[PinocchioModel, _Arguments], Array]:
    """
    Extend a method for one state of finite float arrays to all that can be read as states.

    Stacks are broadcast, and Pinocchio is called for each state; a state with a value that is not
    finite gives NaN.
    """
    parameters = inspect.signature(method)
    # An argument's place after self, and its length if that is not the number of joints.
    vectors = [
        (place, 6 if name == 'wrench' else None)
        for place, name in enumerate(list(parameters.parameters)[1:])
        if name in _VECTOR_ARGUMENTS
    ]

    @functools.wraps(method)
    def checked_method(
        self: PinocchioModel, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs
    ) -> Array:
        # Fast path for control loops at 1 kHz: arrays of one state, given by place.
        if not kwargs:
            for place, length in vectors[: len(args)]:
                if not _is_state(args[place], length or self.description.n):
                    break
            else:
                return method(self, *args, **kwargs)
        return _over_stack(method, self, parameters.bind(self, *args, **kwargs))

    return checked_method


def _is_state(value: object, length: int) -> bool:
    return (
        type(value) is np.ndarray
        and value.shape == (length,)
        and value.dtype == np.float64
        and bool(np.isfinite(value).all())
    )


def _over_stack(
    method: Callable[..., Array], model: PinocchioModel, given: inspect.BoundArguments
) -> Array:
    """Return a method's results for arguments of shape (..., n), broadcast to one stack."""
    vectors = {name: value for name, value in given.arguments.items() if name in _VECTOR_ARGUMENTS}
    others = {
        name: value for name, value in given.arguments.items() if name not in (*vectors, 'self')
    }
    stacks = broadcast_states(model.description, finite=False, **vectors)
    named = dict(zip(vectors, stacks))  # the wrench, which may be None and left out, is last
    shape = stacks[0].shape[:-1]
    finite = np.all([np.isfinite(stack).all(axis=-1) for stack in stacks], axis=0)
    results = {
        at: method(model, **{name: stack[at] for name, stack in named.items()}, **others)
        for at in np.ndindex(shape)
        if finite[at]
    }
    if results:
        one = next(iter(results.values()))
    else:  # the shape of a result is taken from q = 0
        zeros = {name: np.zeros(stack.shape[-1]) for name, stack in named.items()}
        one = method(model, **zeros, **others)
    out = np.full((*shape, *np.shape(one)), np.nan)
    for at, result in results.items():
        out[at] = result
    return out


class PinocchioModel:
    """
    The dynamics of a described arm, computed by Pinocchio.

    Every method takes vectors of shape (n,) or stacks of shape (..., n), which are broadcast;
    Pinocchio computes the states of a stack one by one. For millions of states use `BatchModel`.
    A state with a value that is not finite gives NaN in this state's result alone.

    Parameters
    ----------
    description : ArmDescription
        The arm; its links include the hand and the payload, if there are any.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].

    """

    def __init__(
        self, description: ArmDescription | str | Path, gravity: ArrayLike = GRAVITY
    ) -> None:
        description = self.description = as_description(description)
        self.model = build_pinocchio(description)
        self.model.gravity.linear = gravity_vector(gravity)
        self._own = threading.local()
        self._frame_ids = [self.model.getFrameId(str(i + 1)) for i in range(description.n)]
        self._frame_ids.append(self.model.getFrameId(FLANGE))

    @property
    def data(self) -> pin.Data:
        """Pinocchio's work space; each thread has its own, because calls overwrite it."""
        try:
            return self._own.data
        except AttributeError:
            self._own.data = self.model.createData()
            return self._own.data

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the work spaces of threads."""
        return {name: value for name, value in vars(self).items() if name != '_own'}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes from a pickled state."""
        vars(self).update(state, _own=threading.local())

    @_each_state
    def frames(self, q: ArrayLike) -> Array:
        """Return the poses of frames 1..n and of the flange in {S}, shape (n + 1, 4, 4)."""
        pin.framesForwardKinematics(self.model, self.data, q)
        return np.array([self.data.oMf[i].homogeneous for i in self._frame_ids])

    def flange_pose(self, q: ArrayLike) -> Array:
        """Return the pose of the flange in {S}, shape (4, 4)."""
        return self.frames(q)[..., -1, :, :]

    @_each_state
    def jacobian(
        self, q: ArrayLike, frame: int | str = FLANGE, reference_frame: str = 'LOCAL_WORLD_ALIGNED'
    ) -> Array:
        """
        Return the (6, n) Jacobian of a frame's twist: v [m/rad; 1 if prismatic], omega [1].

        `frame` is 1..n, n + 1 or 'flange', or the name of a joint or a link ('fr3_link8').
        """
        place = self._frame_ids[frame_index(frame, self.description)]
        reference = getattr(pin.ReferenceFrame, require_reference_frame(reference_frame))
        jacobian = pin.computeFrameJacobian(self.model, self.data, q, place, reference)
        # For n = 1 Pinocchio's Python bindings return the Jacobian as a vector.
        return jacobian.reshape(6, self.description.n).copy()

    @_each_state
    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M(q) by the composite-rigid-body algorithm, shape (n, n) [kg m^2]."""
        upper = np.triu(pin.crba(self.model, self.data, q))
        return upper + np.triu(upper, 1).T

    @_each_state
    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return Pinocchio's C(q, dq), shape (n, n) [N m s/rad]; dM/dt = C + C^T."""
        return pin.computeCoriolisMatrix(self.model, self.data, q, dq).copy()

    @_each_state
    def coriolis(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return C(q, dq) dq, shape (n,) [N m]."""
        return self.nonlinear_effects(q, dq) - self.gravity(q)

    @_each_state
    def gravity(self, q: ArrayLike) -> Array:
        """Return g(q), shape (n,) [N m]."""
        return pin.computeGeneralizedGravity(self.model, self.data, q).copy()

    @_each_state
    def nonlinear_effects(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return C(q, dq) dq + g(q), shape (n,) [N m]."""
        return pin.nonLinearEffects(self.model, self.data, q, dq).copy()

    @_each_state
    def inverse_dynamics(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, wrench: ArrayLike | None = None
    ) -> Array:
        """Return M ddq + C dq + g - J^T w (flange wrench w) by Newton-Euler, shape (n,) [N m]."""
        if wrench is None:
            return pin.rnea(self.model, self.data, q, dq, ddq).copy()
        forces = self._forces(q, wrench)
        return pin.rnea(self.model, self.data, q, dq, ddq, forces).copy()

    @_each_state
    def forward_dynamics(
        self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, wrench: ArrayLike | None = None
    ) -> Array:
        """
        Return the accelerations ddq by the articulated-body algorithm, shape (n,) [rad/s^2].

        Raises
        ------
        InertiaError
            If the mass matrix is singular.

        """
        given = () if wrench is None else (self._forces(q, wrench),)
        accelerations = pin.aba(self.model, self.data, q, dq, tau, *given).copy()
        # Reciprocals of the inertias that joints move while the later joints are free.
        reciprocals = [abs(float(joint.Dinv[0, 0])) for joint in self.data.joints[1:]]
        if not np.isfinite(accelerations).all() or MIN_FREE_INERTIA_RATIO * max(reciprocals) > min(
            reciprocals
        ):
            raise singular_mass_matrix_error()
        return accelerations

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike
    ) -> TorqueDerivatives:
        """
        Return the derivatives of `inverse_dynamics` by q, dq and ddq (by ddq: M), each (n, n).

        Units are N m/rad, N m s/rad and kg m^2; row i belongs to torque i.
        """
        slopes = self._derivatives(q, dq, ddq)
        return TorqueDerivatives(*(slopes[..., k, :, :] for k in range(3)))

    @_each_state
    def _derivatives(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        by_q, by_dq, upper = pin.computeRNEADerivatives(self.model, self.data, q, dq, ddq)
        n = self.description.n
        # For n = 1 Pinocchio's Python bindings return vectors.
        by_ddq = np.triu(upper.reshape(n, n))
        return np.stack((by_q.reshape(n, n), by_dq.reshape(n, n), by_ddq + np.triu(by_ddq, 1).T))

    def regressor(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        *,
        columns: Sequence[int] | None = None,
    ) -> Array:
        """
        Return the regressor H of tau = H X, shape (n, 10 n), without rotors.

        The columns, or those chosen, are in the order of `parameter_names`, each link's about the
        origin of its DH frame.

        Raises
        ------
        BaseParameterError
            If a column is not one of the 10 n, or is named twice.

        """
        chosen = chosen_columns(columns, LINK_PARAMETERS * self.description.n)
        whole = self._regressor(q, dq, ddq)
        return whole if chosen is None else whole[..., list(chosen)]

    @_each_state
    def _regressor(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        n = self.description.n
        whole = pin.computeJointTorqueRegressor(self.model, self.data, q, dq, ddq)
        links = np.einsum(
            'ika,kab->ikb', whole.reshape(n, n, LINK_PARAMETERS), self._to_joint_frames
        )
        return links.reshape(n, LINK_PARAMETERS * n)

    @functools.cached_property
    def _to_joint_frames(self) -> Array:
        """Matrices (10, 10) from a link's parameters to Pinocchio's, in its joint's frame."""
        units = [LinkInertia.from_parameters(unit) for unit in np.eye(LINK_PARAMETERS)]
        return np.array(
            [
                np.stack([unit.expressed_in(offset).parameters() for unit in units], axis=-1)[
                    list(PINOCCHIO_PARAMETER_ORDER)
                ]
                for _, offset in self.description.joint_placements()
            ]
        )

    @_each_state
    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the centre of mass of the moving links in {S}, shape (3,) [m]."""
        total_mass(self.description)
        return pin.centerOfMass(self.model, self.data, q).copy()

    @_each_state
    def kinetic_energy(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the links' and the rotors' kinetic energy, shape () [J]."""
        return np.asarray(pin.computeKineticEnergy(self.model, self.data, q, dq))

    @_each_state
    def potential_energy(self, q: ArrayLike) -> Array:
        """Return the potential energy U(q), zero for a mass at the origin of {S}, shape () [J]."""
        return np.asarray(pin.computePotentialEnergy(self.model, self.data, q))

    @_each_state
    def link_twists(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the twists of frames 1..n, LOCAL_WORLD_ALIGNED, shape (n, 6) [m/s, rad/s]."""
        pin.forwardKinematics(self.model, self.data, q, dq)
        reference = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return np.array(
            [
                pin.getFrameVelocity(self.model, self.data, i, reference).vector
                for i in self._frame_ids[:-1]
            ]
        )

    @_each_state
    def joint_wrenches(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return the wrenches of link i - 1 on link i about frame i's origin, {S} axes, (n, 6)."""
        self.inverse_dynamics(q, dq, ddq)
        # pin.rnea stores the joints' wrenches in `data.f`, but computes no poses in the world.
        pin.framesForwardKinematics(self.model, self.data, q)
        wrenches = []
        for i, place in enumerate(self._frame_ids[:-1]):
            # The wrench in `data.f` is about the origin and in the axes of the joint's frame.
            local = self.model.frames[place].placement.actInv(self.data.f[i + 1])
            turn = pin.SE3(self.data.oMf[place].rotation, np.zeros(3))
            wrenches.append(turn.act(local).vector)
        return np.array(wrenches)

    def _forces(self, q: ArrayLike, wrench: ArrayLike) -> pin.StdVec_Force:
        """Return Pinocchio's external forces (in joint frames) for a wrench on the flange."""
        pin.framesForwardKinematics(self.model, self.data, q)
        flange = self._frame_ids[-1]
        turn = pin.SE3(self.data.oMf[flange].rotation, np.zeros(3))
        local = turn.actInv(pin.Force(wrench))
        forces = pin.StdVec_Force()
        for _ in range(self.model.njoints - 1):
            forces.append(pin.Force.Zero())
        forces.append(self.model.frames[flange].placement.act(local))
        return forces
