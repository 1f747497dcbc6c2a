# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Recursive Newton-Euler dynamics straight from Denavit-Hartenberg rows.

This is the independent model that the Pinocchio backend is held against. It shares the
description with it and nothing else: no Pinocchio, no spatial algebra, no centre-of-mass
inertia. Link quantities live in the link's DH frame, and inertia and first moment are about that
frame's origin, so the numbers of a published table enter unconverted (seed 002, section 3).
All methods also take a stack of states: arrays of shape (..., n).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .model import FLANGE, frame_index, GRAVITY, gravity_vector, require_reference_frame
from ..arm import ArmDescription, Convention, JointKind
from ..errors import JointVectorError

Array = NDArray[np.float64]


class _Joint(NamedTuple):
    """A joint at one state: how its frame lies in the previous one, and its axis in it."""

    rotation: Array  # (..., 3, 3), frame i in i-1
    origin: Array  # (..., 3), origin of i in i-1
    arm: Array  # (..., 3), origin of i-1 to origin of i, in frame i
    axis: Array  # (..., 3), joint axis in frame i
    revolute: bool


class NewtonEulerModel:
    """
    The dynamics of a described arm by recursion in DH frames.

    Parameters
    ----------
    description : ArmDescription
        The arm, revolute and prismatic joints in either convention.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].

    """

    def __init__(self, description: ArmDescription, gravity: ArrayLike = GRAVITY) -> None:
        self.description = description
        self._gravity = gravity_vector(gravity)
        self._base = np.asarray(description.base, dtype=float)

    def frames(self, q: ArrayLike) -> Array:
        """Return the poses of frames 1..n and of the flange in {S}, shape (..., n + 1, 4, 4)."""
        pose = self._base
        poses = []
        for step in self.description.joint_transforms(self._vector(q, 'q')):
            pose = pose @ step
            poses.append(pose)
        poses.append(pose @ self.description.flange_transform())
        return np.stack(poses, axis=-3)

    def jacobian(self, q: ArrayLike, frame: int | str = FLANGE,
                 reference_frame: str = 'LOCAL_WORLD_ALIGNED') -> Array:
        """Return the Jacobian (v, omega) of a frame, shape (..., 6, n), geometrically."""
        n = self.description.n
        reference = require_reference_frame(reference_frame)
        target = frame_index(frame, n)
        poses = self.frames(q)
        point = poses[..., target, :3, 3]
        jacobian = np.zeros((*poses.shape[:-3], 6, n))
        modified = self.description.convention is Convention.MODIFIED
        for i, joint in enumerate(self.description.joints[:target + 1]):
            # The joint turns about z of frame i (modified) or of frame i-1 (standard).
            if modified:
                carrier = poses[..., i, :, :]
            else:
                carrier = poses[..., i - 1, :, :] if i else np.broadcast_to(
                    self._base, poses[..., 0, :, :].shape)
            axis, foot = carrier[..., :3, 2], carrier[..., :3, 3]
            if joint.kind is JointKind.REVOLUTE:
                to = -foot if reference == 'WORLD' else point - foot
                jacobian[..., :3, i] = np.cross(axis, to)
                jacobian[..., 3:, i] = axis
            else:
                jacobian[..., :3, i] = axis
        if reference == 'LOCAL':
            back = np.swapaxes(poses[..., target, :3, :3], -1, -2)
            jacobian[..., :3, :] = back @ jacobian[..., :3, :]
            jacobian[..., 3:, :] = back @ jacobian[..., 3:, :]
        return jacobian

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M(q), shape (..., n, n): its columns are torques of unit accelerations."""
        position = self._vector(q, 'q')[..., None, :]
        units = np.broadcast_to(np.eye(self.description.n),
                                (*position.shape[:-2], self.description.n, self.description.n))
        rows = self._recurse(position, np.zeros_like(position), units, gravity=False)
        # Symmetric by theory; the mean of both triangles carries half their rounding.
        return 0.5 * (rows + np.swapaxes(rows, -1, -2))

    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """
        Return the Christoffel-symbol C(q, dq), shape (..., n, n).

        C dq is a quadratic form in dq whose symmetric bilinear form has the Christoffel symbols
        of the first kind as coefficients, so column j is that form at (dq, e_j):
        h(dq + e_j) - h(dq) - h(e_j), halved.
        """
        position, velocity = self._vector(q, 'q'), self._vector(dq, 'dq')
        position, velocity = np.broadcast_arrays(position, velocity)
        units = np.eye(self.description.n)
        both = self.coriolis(position[..., None, :], velocity[..., None, :] + units)
        alone = self.coriolis(position[..., None, :], units)
        rows = 0.5 * (both - self.coriolis(position, velocity)[..., None, :] - alone)
        return np.swapaxes(rows, -1, -2)

    def coriolis(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return C(q, dq) dq, shape (..., n) [N m]: the recursion without gravity."""
        velocity = self._vector(dq, 'dq')
        return self._recurse(self._vector(q, 'q'), velocity, np.zeros_like(velocity),
                             gravity=False)

    def gravity(self, q: ArrayLike) -> Array:
        """Return g(q), shape (..., n) [N m]."""
        position = self._vector(q, 'q')
        still = np.zeros_like(position)
        return self._recurse(position, still, still)

    def nonlinear_effects(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return C(q, dq) dq + g(q), shape (..., n) [N m]."""
        velocity = self._vector(dq, 'dq')
        return self._recurse(self._vector(q, 'q'), velocity, np.zeros_like(velocity))

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return M ddq + C dq + g, shape (..., n) [N m]."""
        return self._recurse(self._vector(q, 'q'), self._vector(dq, 'dq'),
                             self._vector(ddq, 'ddq'))

    def _vector(self, values: ArrayLike, name: str) -> Array:
        vector = np.asarray(values, dtype=float)
        if vector.ndim < 1 or vector.shape[-1] != self.description.n:
            raise JointVectorError(
                f'{name} has shape {vector.shape}, expected (..., {self.description.n}): one '
                f'value per joint, ordered {", ".join(self.description.joint_names)}.')
        if not np.isfinite(vector).all():
            raise JointVectorError(f'{name} holds a value that is not finite.')
        return vector

    def _joints(self, q: Array) -> list[_Joint]:
        """Return every joint's placement at a position."""
        joints = []
        z = np.array([0.0, 0.0, 1.0])
        for joint, step in zip(self.description.joints, self.description.joint_transforms(q)):
            rotation, origin = step[..., :3, :3], step[..., :3, 3]
            modified = self.description.convention is Convention.MODIFIED
            joints.append(_Joint(
                rotation, origin, _to_child(rotation, origin),
                np.broadcast_to(z, origin.shape) if modified else rotation[..., 2, :],
                joint.kind is JointKind.REVOLUTE))
        return joints

    def _recurse(self, q: Array, dq: Array, ddq: Array, *, gravity: bool = True) -> Array:
        """Run the outward and the inward recursion on states of shape (..., n)."""
        q, dq, ddq = np.broadcast_arrays(q, dq, ddq)
        joints = self._joints(q)
        upward = -self._gravity if gravity else np.zeros(3)
        omega = np.zeros((*q.shape[:-1], 3))
        alpha = omega
        # A base that accelerates upwards feels like gravity (Luh, Walker, Paul 1980).
        acceleration = np.broadcast_to(self._base[:3, :3].T @ upward, omega.shape)
        forces, moments = [], []
        for i, (joint, link) in enumerate(zip(joints, self.description.links)):
            rate, push = dq[..., i, None] * joint.axis, ddq[..., i, None] * joint.axis
            omega = _to_child(joint.rotation, omega)
            alpha = _to_child(joint.rotation, alpha)
            acceleration = _to_child(joint.rotation, acceleration)
            if joint.revolute:
                alpha = alpha + push + np.cross(omega, rate)
                omega = omega + rate
                sliding = np.zeros_like(push)
            else:
                sliding = push + 2.0 * np.cross(omega, rate)
            # In the modified convention a revolute joint does not move its own origin by itself,
            # in the standard one it does: `arm` is fixed in frame i in the one that turns it.
            turning, spin = ((omega, alpha) if self._origin_turns(joint) else
                             (omega - rate, alpha - push - np.cross(omega - rate, rate))
                             if joint.revolute else (omega, alpha))
            acceleration = (acceleration + np.cross(spin, joint.arm)
                            + np.cross(turning, np.cross(turning, joint.arm)) + sliding)
            h, inertia = link.first_moment, link.inertia
            forces.append(link.mass * acceleration + np.cross(alpha, h)
                          + np.cross(omega, np.cross(omega, h)))
            moments.append(alpha @ inertia + np.cross(omega, omega @ inertia)
                           + np.cross(h, acceleration))
        return self._inward(joints, forces, moments, ddq)

    def _origin_turns(self, joint: _Joint) -> bool:
        return joint.revolute and self.description.convention is Convention.STANDARD

    def _inward(self, joints: list[_Joint], forces: list[Array], moments: list[Array],
                ddq: Array) -> Array:
        """Sum wrenches from the tip; return what each joint's actuator must give."""
        torque = np.empty_like(ddq)
        force, moment = np.zeros_like(forces[0]), np.zeros_like(moments[0])
        for i in reversed(range(len(joints))):
            joint = joints[i]
            force, moment = force + forces[i], moment + moments[i]
            if self._origin_turns(joint):
                # The axis passes through the origin of frame i-1, not of frame i.
                about_axis = moment + np.cross(joint.arm, force)
            else:
                about_axis = moment
            load = about_axis if joint.revolute else force
            torque[..., i] = (np.sum(joint.axis * load, axis=-1)
                              + self.description.joints[i].rotor_inertia * ddq[..., i])
            force = _to_parent(joint.rotation, force)
            moment = (_to_parent(joint.rotation, moment) + np.cross(joint.origin, force))
        return torque


def _to_child(rotation: Array, vector: Array) -> Array:
    """Return R^T v for stacks of rotations and vectors."""
    return np.einsum('...ji,...j->...i', rotation, vector)


def _to_parent(rotation: Array, vector: Array) -> Array:
    """Return R v for stacks of rotations and vectors."""
    return np.einsum('...ij,...j->...i', rotation, vector)
