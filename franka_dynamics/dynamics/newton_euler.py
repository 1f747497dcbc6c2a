# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Recursive Newton-Euler dynamics, computed from Denavit-Hartenberg rows.

`PinocchioModel` is cross-checked against `NewtonEulerModel`. They share only the arm description
and checks of arguments: this module uses no Pinocchio, no spatial algebra and no inertias about
centres of mass. It computes the joints' frames and axes from the rows' numbers itself, so that
the cross-check shows an error in `DHRow.transform` or `joint_placements`, which `PinocchioModel`
uses. What frames fixed to a link, the flange among them, have as pose in that link is shared, too:
`frame_pose` and `jacobian` take it from `arm.frames`, which uses `DHRow.transform`.
All methods also take a stack of states: arrays of shape (..., n).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from . import model
from .model import (
    as_joint_stack,
    broadcast_states,
    DynamicsFormulation,
    nan_where_not_finite,
    symmetrize,
)
from ..arm import ArmDescription, Convention, DHRow, JointKind, LinkInertia
from ..arm.frames import FLANGE, Frame, frame_placement
from ..arrays import Array, ArrayLike


class JointPlacement(NamedTuple):
    """Pose of frame i in frame i - 1 and axis of joint i, at a state."""

    rotation: Array  # (..., 3, 3), rotation of frame i in frame i - 1
    origin: Array  # (..., 3), origin of frame i in frame i - 1 [m]
    origin_in_own_axes: Array  # (..., 3), as `origin`, in the axes of frame i [m]
    axis: Array  # (..., 3), unit vector along the joint's axis, in the axes of frame i
    is_revolute: bool
    # Whether the joint rotates frame i's origin about frame i - 1's: revolute, standard rows.
    moves_origin: bool


class LinkMotion(NamedTuple):
    """A link frame's velocities and accelerations in link axes, gravity as base acceleration."""

    origin_velocity: Array  # (..., 3) [m/s], of the frame's origin
    omega: Array  # (..., 3) [rad/s]
    alpha: Array  # (..., 3) [rad/s^2]
    origin_acceleration: Array  # (..., 3) [m/s^2], of the frame's origin


def _rotation(axis: int, angle: ArrayLike) -> Array:
    """Return rotations by angles (...) [rad] about x (axis 0), y (1) or z (2), (..., 3, 3)."""
    first = (axis + 1) % 3
    second = (axis + 2) % 3
    out = np.zeros((*np.shape(angle), 3, 3))
    out[..., axis, axis] = 1.0
    out[..., first, first] = out[..., second, second] = np.cos(angle)
    out[..., second, first] = np.sin(angle)
    out[..., first, second] = -out[..., second, first]
    return out


def dh_row_pose(
    row: DHRow,
    convention: Convention,
    angle: ArrayLike = 0.0,
    displacement: ArrayLike = 0.0,
) -> tuple[Array, Array]:
    """
    Return rotation (..., 3, 3), origin (..., 3) [m] of a DH row's frame in the previous frame.

    A modified row moves along and about x by a and alpha, about the new y by beta, then along and
    about the new z by d and theta; a standard row moves along and about z first. `angle` [rad] is
    added to theta and `displacement` [m] to d, shape (...).
    """
    about_x = _rotation(0, row.alpha)
    about_z = _rotation(2, row.theta + np.asarray(angle))
    if row.beta:
        about_x = about_x @ _rotation(1, row.beta)
    along_x = np.array([row.a, 0.0, 0.0])
    along_z = np.multiply.outer(row.d + np.asarray(displacement), [0.0, 0.0, 1.0])
    if convention is Convention.MODIFIED:
        return about_x @ about_z, along_x + in_parent_axes(about_x, along_z)
    return about_z @ about_x, along_z + in_parent_axes(about_z, along_x)


def joint_geometry(description: ArmDescription, q: Array) -> list[JointPlacement]:
    """Return each joint's axis, and its frame's pose in the previous frame, at q (..., n)."""
    joints = []
    z = np.array([0.0, 0.0, 1.0])
    modified = description.convention is Convention.MODIFIED
    for i, joint in enumerate(description.joints):
        revolute = joint.kind is JointKind.REVOLUTE
        still = np.zeros(q.shape[:-1])
        angle, displacement = (q[..., i], still) if revolute else (still, q[..., i])
        rotation, origin = dh_row_pose(joint.row, description.convention, angle, displacement)
        lever = in_child_axes(rotation, origin)
        turns = revolute and not modified
        axis = np.broadcast_to(z, origin.shape) if modified else rotation[..., 2, :]
        joints.append(JointPlacement(rotation, origin, lever, axis, revolute, turns))
    return joints


def outward_recursion(
    joints: list[JointPlacement], dq: Array, ddq: Array, base_acceleration: Array
) -> list[LinkMotion]:
    """Return the links' velocities and accelerations, recursively from the base to the tip."""
    omega = np.zeros((*dq.shape[:-1], 3))
    velocity = alpha = omega
    acceleration = np.broadcast_to(base_acceleration, omega.shape)
    motions = []
    for i, joint in enumerate(joints):
        rate = dq[..., i, None] * joint.axis
        driven = ddq[..., i, None] * joint.axis
        omega = in_child_axes(joint.rotation, omega)
        alpha = in_child_axes(joint.rotation, alpha)
        velocity = in_child_axes(joint.rotation, velocity)
        acceleration = in_child_axes(joint.rotation, acceleration)
        # The lever `joint.origin_in_own_axes`, from the origin of frame i - 1 to that of frame i,
        # turns with link i if `moves_origin`, else with link i - 1.
        turning = omega
        spin = alpha
        if joint.is_revolute:
            alpha = alpha + driven + cross(omega, rate)
            omega = omega + rate
        else:
            velocity = velocity + rate
            acceleration = acceleration + driven + 2.0 * cross(omega, rate)
        if joint.moves_origin:
            turning = omega
            spin = alpha
        swing = cross(turning, joint.origin_in_own_axes)
        velocity = velocity + swing
        acceleration = acceleration + cross(spin, joint.origin_in_own_axes) + cross(turning, swing)
        motions.append(LinkMotion(velocity, omega, alpha, acceleration))
    return motions


def inward_recursion(
    links: Sequence[LinkInertia],
    joints: list[JointPlacement],
    motions: list[LinkMotion],
    tip_wrench: tuple[Array, Array] | None = None,
) -> list[tuple[Array, Array]]:
    """
    Return force and moment that each joint exerts on its link, recursively from the tip.

    Force and moment of joint i are about the origin and in the axes of frame i. `tip_wrench` is
    the force and the moment of the surroundings on the last link, likewise in frame n.
    """
    force, moment = (np.zeros(3),) * 2 if tip_wrench is None else (-tip_wrench[0], -tip_wrench[1])
    carried = []
    for i in reversed(range(len(joints))):
        own_force, own_moment = _inertial_wrench(links[i], motions[i])
        force = force + own_force
        moment = moment + own_moment
        carried.append((force, moment))
        force = in_parent_axes(joints[i].rotation, force)
        moment = in_parent_axes(joints[i].rotation, moment) + cross(joints[i].origin, force)
    return carried[::-1]


def _inertial_wrench(link: LinkInertia, motion: LinkMotion) -> tuple[Array, Array]:
    """Return the force and the moment about the frame's origin that a link's motion requires."""
    _, omega, alpha, acceleration = motion
    h = link.first_moment
    inertia = link.inertia
    force = link.mass * acceleration + cross(alpha, h) + cross(omega, cross(omega, h))
    moment = alpha @ inertia + cross(omega, omega @ inertia) + cross(h, acceleration)
    return force, moment


def in_child_axes(rotation: Array, vector: Array) -> Array:
    """Return R^T v, vectors (..., 3) rotated into the axes of the child frame."""
    return np.einsum('...ji,...j->...i', rotation, vector)


def in_parent_axes(rotation: Array, vector: Array) -> Array:
    """Return R v, vectors (..., 3) rotated into the axes of the parent frame."""
    return np.einsum('...ij,...j->...i', rotation, vector)


def cross(a: Array, b: Array) -> Array:
    """Return cross products of stacks of vectors (..., 3), faster than numpy.cross."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    out[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    out[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return out


class NewtonEulerModel(DynamicsFormulation):
    """
    Dynamics of an arm by the recursive Newton-Euler algorithm in DH frames.

    `description` and `gravity` are those of `DynamicsFormulation`.
    """

    @nan_where_not_finite('q')
    def frames(self, q: ArrayLike) -> Array:
        """Return the poses of frames 1..n and of the flange in {S}, shape (..., n + 1, 4, 4)."""
        positions = as_joint_stack(self.description, q, 'q')
        steps = [joint[:2] for joint in joint_geometry(self.description, positions)]
        steps.append(dh_row_pose(self.description.flange, self.description.convention))
        rotation = self.description.base[:3, :3]
        origin = self.description.base[:3, 3]
        poses = np.zeros((*positions.shape[:-1], len(steps), 4, 4))
        poses[..., 3, 3] = 1.0
        for i, (turn, shift) in enumerate(steps):
            origin = origin + in_parent_axes(rotation, shift)
            rotation = rotation @ turn
            poses[..., i, :3, :3] = rotation
            poses[..., i, :3, 3] = origin
        return poses

    @nan_where_not_finite('q')
    def jacobian(
        self,
        q: ArrayLike,
        frame: Frame = FLANGE,
        reference_frame: str = model.ALIGNED_FRAME,
    ) -> Array:
        """Return a frame's geometric Jacobian (v, omega) in `reference_frame`, (..., 6, n)."""
        n = self.description.n
        reference = model.require_reference_frame(reference_frame)
        target = frame_placement(frame, self.description).joint
        poses = self.frames(q)
        pose = self.frame_pose(q, frame)
        point = pose[..., :3, 3]
        jacobian = np.zeros((*poses.shape[:-3], 6, n))
        # The axis of joint i is z of frame i (modified) or of frame i-1 (standard).
        carriers = poses
        if self.description.convention is not Convention.MODIFIED:
            base = np.broadcast_to(self.description.base, poses[..., :1, :, :].shape)
            carriers = np.concatenate((base, poses), axis=-3)
        for i, joint in enumerate(self.description.joints[:target]):
            axis = carriers[..., i, :3, 2]
            foot = carriers[..., i, :3, 3]
            if joint.kind is JointKind.REVOLUTE:
                to = -foot if reference == 'WORLD' else point - foot
                jacobian[..., :3, i] = cross(axis, to)
                jacobian[..., 3:, i] = axis
            else:
                jacobian[..., :3, i] = axis
        if reference == 'LOCAL':
            back = np.swapaxes(pose[..., :3, :3], -1, -2)
            jacobian[..., :3, :] = back @ jacobian[..., :3, :]
            jacobian[..., 3:, :] = back @ jacobian[..., 3:, :]
        return jacobian

    @nan_where_not_finite('q')
    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return the mass matrix M(q), rotor inertias included, shape (..., n, n) [kg m^2]."""
        position = as_joint_stack(self.description, q, 'q')[..., None, :]
        units = np.eye(self.description.n)
        return symmetrize(self._torques(position, np.zeros_like(position), units, gravity=False))

    @nan_where_not_finite('q', 'dq')
    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """
        Return the Coriolis matrix C(q, dq) of Christoffel symbols, (..., n, n) [N m s/rad].

        h(dq) = C dq is a quadratic form in dq, whose symmetric bilinear form has the Christoffel
        symbols of the first kind as coefficients. Column j of C is the bilinear form of h at dq
        and the unit vector e_j: half of (h(dq + e_j) - h(dq) - h(e_j)).
        """
        position, velocity = broadcast_states(self.description, q=q, dq=dq)
        units = np.eye(self.description.n)
        both = self.coriolis(position[..., None, :], velocity[..., None, :] + units)
        alone = self.coriolis(position[..., None, :], units)
        rows = 0.5 * (both - self.coriolis(position, velocity)[..., None, :] - alone)
        return np.swapaxes(rows, -1, -2)

    @nan_where_not_finite('q', 'dq')
    def coriolis(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the Coriolis torques C(q, dq) dq, shape (..., n) [N m]."""
        position, velocity = broadcast_states(self.description, q=q, dq=dq)
        return self._torques(position, velocity, np.zeros_like(velocity), gravity=False)

    @nan_where_not_finite('q')
    def gravity(self, q: ArrayLike) -> Array:
        """Return the gravity torques g(q), shape (..., n) [N m]."""
        return self.nonlinear_effects(q, np.zeros(self.description.n))

    @nan_where_not_finite('q', 'dq')
    def nonlinear_effects(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return Coriolis plus gravity torques C(q, dq) dq + g(q), shape (..., n) [N m]."""
        return self.inverse_dynamics(q, dq, np.zeros(self.description.n))

    @nan_where_not_finite('q', 'dq', 'ddq', 'wrench')
    def inverse_dynamics(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        wrench: ArrayLike | None = None,
    ) -> Array:
        """Return torques M ddq + C dq + g - J^T w for a flange wrench w, shape (..., n) [N m]."""
        states = broadcast_states(self.description, q=q, dq=dq, ddq=ddq, wrench=wrench)
        return self._torques(*states)

    @nan_where_not_finite('q', 'dq')
    def kinetic_energy(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """
        Return the links' and the rotors' kinetic energy, shape (...) [J].

        A link's kinetic energy is 1/2 m v.v + v.(omega x h) + 1/2 omega.J omega, with v the
        velocity of the frame's origin, and first moment h and inertia J about that origin.
        """
        position, rates = broadcast_states(self.description, q=q, dq=dq)
        energy = np.zeros(rates.shape[:-1])
        for link, (v, omega, *_) in zip(self.description.links, self._motions(position, rates)):
            energy = energy + (
                0.5 * link.mass * np.sum(v * v, axis=-1)
                + np.sum(v * cross(omega, link.first_moment), axis=-1)
                + 0.5 * np.sum(omega * (omega @ link.inertia), axis=-1)
            )
        for i, joint in enumerate(self.description.joints):
            energy = energy + 0.5 * joint.rotor_inertia * rates[..., i] ** 2
        return energy

    @nan_where_not_finite('q', 'dq')
    def link_twists(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the twists of frames 1..n, LOCAL_WORLD_ALIGNED, (..., n, 6) [m/s, rad/s]."""
        position, rates = broadcast_states(self.description, q=q, dq=dq)
        twists = [motion[:2] for motion in self._motions(position, rates)]
        return self._in_space_axes(position, twists)

    @nan_where_not_finite('q', 'dq', 'ddq')
    def joint_wrenches(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return link i - 1's wrenches on link i about frame i's origin, {S} axes, (..., n, 6)."""
        states = broadcast_states(self.description, q=q, dq=dq, ddq=ddq)
        return self._in_space_axes(states[0], self._transmitted_loads(*states, gravity=True)[1])

    def _motions(self, q: Array, dq: Array) -> list[LinkMotion]:
        """Return the links' motions at q and dq, with ddq = 0 and without gravity."""
        joints = joint_geometry(self.description, q)
        return outward_recursion(joints, dq, np.zeros_like(dq), np.zeros(3))

    def _in_space_axes(self, q: ArrayLike, vector_pairs: list[tuple[Array, Array]]) -> Array:
        """Return links' twists or wrenches, rotated from link to {S} axes, as (..., n, 6)."""
        rotations = self.frames(q)[..., :-1, :3, :3]
        rows = [
            np.concatenate([in_parent_axes(rotations[..., i, :, :], one) for one in pair], axis=-1)
            for i, pair in enumerate(vector_pairs)
        ]
        return np.stack(rows, axis=-2)

    def _transmitted_loads(
        self,
        q: Array,
        dq: Array,
        ddq: Array,
        wrench: Array | None = None,
        *,
        gravity: bool,
    ) -> tuple[list[JointPlacement], list[tuple[Array, Array]]]:
        """Return the joints' placements, and the force and moment of each on its link."""
        joints = joint_geometry(self.description, q)
        # Gravity is an upward acceleration of the base (Luh, Walker, Paul 1980).
        upward = self.description.base[:3, :3].T @ (-self._gravity if gravity else np.zeros(3))
        motions = outward_recursion(joints, dq, ddq, upward)
        tip = None if wrench is None else self._tip_wrench(q, wrench)
        return joints, inward_recursion(self.description.links, joints, motions, tip)

    def _torques(
        self,
        q: Array,
        dq: Array,
        ddq: Array,
        wrench: Array | None = None,
        *,
        gravity: bool = True,
    ) -> Array:
        """Return the torques (..., n) [N m] at states, by the outward and inward recursions."""
        q, dq, ddq = np.broadcast_arrays(q, dq, ddq)
        joints, carried = self._transmitted_loads(q, dq, ddq, wrench, gravity=gravity)
        torque = np.empty_like(ddq)
        for i, (joint, (force, moment)) in enumerate(zip(joints, carried)):
            if joint.moves_origin:
                # Standard rows: the axis passes through the origin of frame i-1, not of frame i.
                moment = moment + cross(joint.origin_in_own_axes, force)
            load = moment if joint.is_revolute else force
            rotor = self.description.joints[i].rotor_inertia * ddq[..., i]
            torque[..., i] = np.sum(joint.axis * load, axis=-1) + rotor
        return torque

    def _tip_wrench(self, q: Array, wrench: Array) -> tuple[Array, Array]:
        """Return a flange wrench in {S} axes, transformed to frame n's origin and axes."""
        back = self.frames(q)[..., -2, :3, :3]
        force = in_child_axes(back, wrench[..., :3])
        moment = in_child_axes(back, wrench[..., 3:])
        _, flange = dh_row_pose(self.description.flange, self.description.convention)
        return force, moment + cross(flange, force)
