# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The backend that runs: a Pinocchio model built from an arm description."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
import pinocchio as pin

from .model import (
    FLANGE,
    frame_index,
    GRAVITY,
    gravity_vector,
    require_centers_of_mass,
    require_reference_frame,
    total_mass,
    wrench_stack,
)
from ..arm import ArmDescription, Convention, JointKind, LinkInertia
from ..errors import InertiaError

# Pinocchio's order of the six tensor elements is xx, xy, yy, xz, yz, zz.
_TO_PINOCCHIO = (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)
_JOINT_MODELS = {JointKind.REVOLUTE: pin.JointModelRZ, JointKind.PRISMATIC: pin.JointModelPZ}


def pinocchio_inertia(inertia: LinkInertia) -> pin.Inertia:
    """
    Return a link's inertia as Pinocchio keeps it (about the centre of mass).

    Raises
    ------
    InertiaError
        If the link has a first moment but no mass, as regrouped parameters can: it has no centre
        of mass.

    """
    if inertia.mass == 0.0:
        if inertia.first_moment.any():
            raise InertiaError(
                f'A link of zero mass has the first moment {inertia.first_moment.tolist()} kg m; '
                'Pinocchio keeps a centre of mass and cannot hold it. Use NewtonEulerModel for '
                'regrouped parameters, or give the link its mass.')
        return pin.Inertia(0.0, np.zeros(3), np.array(inertia.inertia))
    return pin.Inertia.FromDynamicParameters(inertia.parameters()[list(_TO_PINOCCHIO)])


def build_pinocchio(description: ArmDescription) -> pin.Model:
    """
    Return a Pinocchio model with one frame per DH frame ('1', ..., 'n') and one 'flange'.

    In the modified convention the joint's motion is the last factor of a row, so the row at
    position zero places the joint. In the standard convention it is the first: the joint stands
    at the previous frame, and the row at zero places the link in it.

    Raises
    ------
    InertiaError
        If a link has a first moment but no mass: Pinocchio keeps centres of mass.

    """
    require_centers_of_mass(description)
    model = pin.Model()
    model.name = description.name
    parent = 0
    pending = pin.SE3(np.array(description.base))  # from the parent joint to the previous frame
    for i, (joint, link) in enumerate(zip(description.joints, description.links)):
        row = pin.SE3(joint.row.transform(description.convention))
        modified = description.convention is Convention.MODIFIED
        placement, offset = (pending * row, pin.SE3.Identity()) if modified else (pending, row)
        limits = joint.limits
        parent = model.addJoint(
            parent, _JOINT_MODELS[joint.kind](), placement, joint.name,
            np.array([limits.effort]), np.array([limits.velocity]),
            np.array([limits.lower]), np.array([limits.upper]))
        model.appendBodyToJoint(parent, pinocchio_inertia(link), offset)
        model.addFrame(pin.Frame(str(i + 1), parent, 0, offset, pin.FrameType.OP_FRAME))
        pending = offset
    flange = pending * pin.SE3(description.flange_transform())
    model.addFrame(pin.Frame(FLANGE, parent, 0, flange, pin.FrameType.OP_FRAME))
    model.armature = np.array([joint.rotor_inertia for joint in description.joints])
    return model


class PinocchioModel:
    """
    The dynamics of a described arm, computed by Pinocchio.

    Parameters
    ----------
    description : ArmDescription
        The arm, with its hand and payload as wanted.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].

    """

    def __init__(self, description: ArmDescription, gravity: ArrayLike = GRAVITY) -> None:
        self.description = description
        self.model = build_pinocchio(description)
        self.model.gravity.linear = gravity_vector(gravity)
        self.data = self.model.createData()
        self._frame_ids = [self.model.getFrameId(str(i + 1)) for i in range(description.n)]
        self._frame_ids.append(self.model.getFrameId(FLANGE))

    def _q(self, q: ArrayLike) -> NDArray[np.float64]:
        return self.description.joint_vector(q, 'q')

    def frames(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return the poses of frames 1..n and of the flange in {S}, shape (n + 1, 4, 4)."""
        pin.framesForwardKinematics(self.model, self.data, self._q(q))
        return np.array([self.data.oMf[i].homogeneous for i in self._frame_ids])

    def jacobian(self, q: ArrayLike, frame: int | str = FLANGE,
                 reference_frame: str = 'LOCAL_WORLD_ALIGNED') -> NDArray[np.float64]:
        """Return the (6, n) Jacobian of a frame's twist (v, omega) [m/rad or 1, 1]."""
        place = self._frame_ids[frame_index(frame, self.description.n)]
        reference = getattr(pin.ReferenceFrame, require_reference_frame(reference_frame))
        jacobian = pin.computeFrameJacobian(self.model, self.data, self._q(q), place, reference)
        # The bindings hand a single column over as a vector.
        return jacobian.reshape(6, self.description.n).copy()

    def mass_matrix(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return M(q) by the composite-rigid-body algorithm, shape (n, n) [kg m^2]."""
        upper = np.triu(pin.crba(self.model, self.data, self._q(q)))
        return upper + np.triu(upper, 1).T

    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike) -> NDArray[np.float64]:
        """Return Pinocchio's C(q, dq), shape (n, n) [N m s/rad]; dM/dt = C + C^T."""
        velocity = self.description.joint_vector(dq, 'dq')
        return pin.computeCoriolisMatrix(self.model, self.data, self._q(q), velocity).copy()

    def coriolis(self, q: ArrayLike, dq: ArrayLike) -> NDArray[np.float64]:
        """Return C(q, dq) dq, shape (n,) [N m]."""
        return self.nonlinear_effects(q, dq) - self.gravity(q)

    def gravity(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return g(q), shape (n,) [N m]."""
        return pin.computeGeneralizedGravity(self.model, self.data, self._q(q)).copy()

    def nonlinear_effects(self, q: ArrayLike, dq: ArrayLike) -> NDArray[np.float64]:
        """Return C(q, dq) dq + g(q), shape (n,) [N m]."""
        velocity = self.description.joint_vector(dq, 'dq')
        return pin.nonLinearEffects(self.model, self.data, self._q(q), velocity).copy()

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike,
                         wrench: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return M ddq + C dq + g - J^T w by recursive Newton-Euler, shape (n,) [N m]."""
        position = self._q(q)
        velocity = self.description.joint_vector(dq, 'dq')
        acceleration = self.description.joint_vector(ddq, 'ddq')
        if wrench is None:
            return pin.rnea(self.model, self.data, position, velocity, acceleration).copy()
        forces = self._forces(position, wrench)
        return pin.rnea(self.model, self.data, position, velocity, acceleration, forces).copy()

    def forward_dynamics(self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike,
                         wrench: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return ddq by the articulated-body algorithm, shape (n,) [rad/s^2]."""
        position = self._q(q)
        velocity = self.description.joint_vector(dq, 'dq')
        torque = self.description.joint_vector(tau, 'tau')
        if wrench is None:
            return pin.aba(self.model, self.data, position, velocity, torque).copy()
        forces = self._forces(position, wrench)
        return pin.aba(self.model, self.data, position, velocity, torque, forces).copy()

    def center_of_mass(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return the centre of mass of the moving links in {S}, shape (3,) [m]."""
        total_mass(self.description)
        return pin.centerOfMass(self.model, self.data, self._q(q)).copy()

    def kinetic_energy(self, q: ArrayLike, dq: ArrayLike) -> NDArray[np.float64]:
        """Return the links' and the rotors' kinetic energy, shape () [J]."""
        velocity = self.description.joint_vector(dq, 'dq')
        return np.asarray(pin.computeKineticEnergy(self.model, self.data, self._q(q), velocity))

    def potential_energy(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return U(q) with g = dU/dq, zero for a mass at the origin of {S}, shape () [J]."""
        return np.asarray(pin.computePotentialEnergy(self.model, self.data, self._q(q)))

    def link_twists(self, q: ArrayLike, dq: ArrayLike) -> NDArray[np.float64]:
        """Return the twists of frames 1..n, LOCAL_WORLD_ALIGNED, shape (n, 6) [m/s, rad/s]."""
        velocity = self.description.joint_vector(dq, 'dq')
        pin.forwardKinematics(self.model, self.data, self._q(q), velocity)
        reference = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return np.array([pin.getFrameVelocity(self.model, self.data, i, reference).vector
                         for i in self._frame_ids[:-1]])

    def joint_wrenches(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> NDArray[np.float64]:
        """Return what link i - 1 exerts on link i, about frame i's origin, shape (n, 6)."""
        self.inverse_dynamics(q, dq, ddq)
        # The recursion leaves its wrenches in `data.f` but computes no pose in the world.
        pin.framesForwardKinematics(self.model, self.data, self._q(q))
        wrenches = []
        for i, place in enumerate(self._frame_ids[:-1]):
            # Pinocchio's is about the joint frame's origin and in its axes.
            local = self.model.frames[place].placement.actInv(self.data.f[i + 1])
            turn = pin.SE3(self.data.oMf[place].rotation, np.zeros(3))
            wrenches.append(turn.act(local).vector)
        return np.array(wrenches)

    def _forces(self, q: NDArray[np.float64], wrench: ArrayLike) -> pin.StdVec_Force:
        """Return Pinocchio's external forces (in joint frames) for a wrench on the flange."""
        pin.framesForwardKinematics(self.model, self.data, q)
        flange = self._frame_ids[-1]
        turn = pin.SE3(self.data.oMf[flange].rotation, np.zeros(3))
        local = turn.actInv(pin.Force(wrench_stack(wrench)))
        forces = pin.StdVec_Force()
        for _ in range(self.model.njoints - 1):
            forces.append(pin.Force.Zero())
        forces.append(self.model.frames[flange].placement.act(local))
        return forces
