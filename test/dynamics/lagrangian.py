# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Lagrangian dynamics, for tests alone: energies, Christoffel symbols, gravity from a potential.

T = 1/2 dq^T M dq with M = sum of m J_P^T J_P + J_O^T R I R^T J_O (Busellato 2023, sections 2 and
3, corrected). All methods also take a stack of states: arrays of shape (..., n).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from franka_dynamics.arm import ArmDescription, Convention, JointKind
from franka_dynamics.dynamics.model import (
    EquationOfMotionModel,
    FLANGE,
    frame_index,
    GRAVITY,
    gravity_vector,
    joint_stack,
    require_centers_of_mass,
    require_reference_frame,
    symmetric,
    total_mass,
)
from franka_dynamics.typing import Array


class Geometry(NamedTuple):
    """Axes, points and link tensors in {S} at one position; l counts links, j and k joints."""

    poses: Array  # (..., n + 1, 4, 4), frames 1..n and the flange
    axes: Array  # (..., n, 3), z_j
    feet: Array  # (..., n, 3), a point p_j on each joint's axis
    centers: Array  # (..., n, 3), centres of mass c_l
    tensors: Array  # (..., n, 3, 3), R I R^T about the centre of mass


class PartialJacobians(NamedTuple):
    """Columns of joint j for link l, zero for j > l; shape (..., l, 3, j)."""

    linear: Array  # J_P, of the centre of mass [m/rad or 1]
    angular: Array  # J_O


class LagrangianModel(EquationOfMotionModel):
    """
    The dynamics of a described arm from its kinetic and potential energy.

    Parameters
    ----------
    description : ArmDescription
        The arm, revolute and prismatic joints in either convention.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].

    Raises
    ------
    InertiaError
        If a link has a first moment but no mass.

    """

    def __init__(self, description: ArmDescription, gravity: ArrayLike = GRAVITY) -> None:
        require_centers_of_mass(description)
        self.description = description
        self._gravity = gravity_vector(gravity)
        # Whether joint j moves link l, as [l, j].
        self._moved = np.tril(np.ones((description.n, description.n), dtype=bool))
        self._turns = np.array([j.kind is JointKind.REVOLUTE for j in description.joints])
        self._masses = np.array([link.mass for link in description.links])
        self._rotors = np.diag([joint.rotor_inertia for joint in description.joints])

    def frames(self, q: ArrayLike) -> Array:
        """Return the poses of frames 1..n and of the flange in {S}, shape (..., n + 1, 4, 4)."""
        return self._geometry(q).poses

    def jacobian(
        self, q: ArrayLike, frame: int | str = FLANGE, reference_frame: str = 'LOCAL_WORLD_ALIGNED'
    ) -> Array:
        """Return the geometric Jacobian (v, omega) of a frame, shape (..., 6, n) (section 1.5)."""
        target = frame_index(frame, self.description.n)
        reference = require_reference_frame(reference_frame)
        geometry = self._geometry(q)
        pose = geometry.poses[..., target, :, :]
        point = np.zeros_like(pose[..., :3, 3]) if reference == 'WORLD' else pose[..., :3, 3]
        parts = self._columns(
            geometry, point[..., None, :], carrier=min(target, self.description.n - 1)
        )
        jacobian = np.concatenate(parts, axis=-2)[..., 0, :, :]
        if reference == 'LOCAL':
            back = np.swapaxes(pose[..., :3, :3], -1, -2)
            jacobian = np.concatenate(
                (back @ jacobian[..., :3, :], back @ jacobian[..., 3:, :]), axis=-2
            )
        return jacobian

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the centre of mass of the moving links in {S}, shape (..., 3) [m]."""
        centers = self._geometry(q).centers
        return np.einsum('l,...la->...a', self._masses, centers) / total_mass(self.description)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return the sum of m J_P^T J_P + J_O^T R I R^T J_O and rotors, shape (..., n, n)."""
        geometry = self._geometry(q)
        linear, angular = self._columns(geometry, geometry.centers)
        links = np.einsum('l,...lai,...laj->...ij', self._masses, linear, linear) + np.einsum(
            '...lai,...laj->...ij', angular, geometry.tensors @ angular
        )
        return symmetric(links) + self._rotors

    def mass_matrix_derivatives(self, q: ArrayLike) -> Array:
        """Return dM_ij/dq_k, shape (..., n, n, n), last axis k."""
        geometry = self._geometry(q)
        linear, angular = self._columns(geometry, geometry.centers)
        linear_slopes, angular_slopes = self._column_slopes(geometry, linear)
        momentum = geometry.tensors @ angular
        half = np.einsum(
            'l,...laik,...laj->...ijk', self._masses, linear_slopes, linear
        ) + np.einsum('...laik,...laj->...ijk', angular_slopes, momentum)
        # d(S)/dq_k = z_k x S - S z_k x, so J_i^T dS J_j = -(z_k x J_i).S J_j - S J_i.(z_k x J_j).
        turning = np.cross(
            np.swapaxes(angular, -1, -2)[..., :, None, :],
            np.swapaxes(angular, -1, -2)[..., None, :, :],
        )
        half = half + np.einsum('...lika,...laj->...ijk', turning, momentum)
        return half + np.swapaxes(half, -3, -2)

    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return C(q, dq) of Christoffel symbols of the first kind, shape (..., n, n)."""
        slopes = self.mass_matrix_derivatives(q)
        velocity = self._vector(dq, 'dq')
        along = np.einsum('...ijk,...k->...ij', slopes, velocity)
        across = np.einsum('...ikj,...k->...ij', slopes, velocity)
        return 0.5 * (along + across - np.swapaxes(across, -1, -2))

    def gravity(self, q: ArrayLike) -> Array:
        """Return g = dU/dq, shape (..., n) [N m]: minus the weights through J_P (section 3)."""
        geometry = self._geometry(q)
        linear = self._columns(geometry, geometry.centers).linear
        return -np.einsum('l,a,...lai->...i', self._masses, self._gravity, linear)

    def kinetic_energy(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the sum of 1/2 m v.v + 1/2 omega.R I R^T omega, rotors included, (...) [J]."""
        velocity = self._vector(dq, 'dq')
        geometry = self._geometry(q)
        linear, angular = (
            np.einsum('...laj,...j->...la', part, velocity)
            for part in self._columns(geometry, geometry.centers)
        )
        return 0.5 * (
            np.einsum('l,...la,...la->...', self._masses, linear, linear)
            + np.einsum('...la,...lab,...lb->...', angular, geometry.tensors, angular)
            + np.einsum('...i,ij,...j->...', velocity, self._rotors, velocity)
        )

    def potential_energy(self, q: ArrayLike) -> Array:
        """Return U = -sum of m g.p_l, shape (...) [J] (Busellato 2023, section 2.2)."""
        return -np.einsum('l,a,...la->...', self._masses, self._gravity, self._geometry(q).centers)

    def link_twists(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the twists of frames 1..n, LOCAL_WORLD_ALIGNED, shape (..., n, 6)."""
        geometry = self._geometry(q)
        columns = self._columns(geometry, geometry.poses[..., :-1, :3, 3])
        return np.einsum(
            '...laj,...j->...la', np.concatenate(columns, axis=-2), self._vector(dq, 'dq')
        )

    def joint_wrenches(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """
        Return what link i - 1 exerts on link i, about frame i's origin, shape (..., n, 6).

        Newton's and Euler's laws of every link about its own centre of mass, summed from the tip.
        """
        velocity, push = self._vector(dq, 'dq'), self._vector(ddq, 'ddq')
        geometry = self._geometry(q)
        linear, angular = self._columns(geometry, geometry.centers)
        slopes = self._column_slopes(geometry, linear)
        acceleration, alpha = (
            np.einsum('...laj,...j->...la', part, push)
            + np.einsum('...lajk,...j,...k->...la', slope, velocity, velocity)
            for part, slope in zip((linear, angular), slopes)
        )
        omega = np.einsum('...laj,...j->...la', angular, velocity)
        force = self._masses[:, None] * (acceleration - self._gravity)
        spin = np.einsum('...lab,...lb->...la', geometry.tensors, omega)
        moment = (
            np.einsum('...lab,...lb->...la', geometry.tensors, alpha)
            + np.cross(omega, spin)
            + np.cross(geometry.centers, force)
        )
        carried = np.flip(
            np.cumsum(np.flip(np.concatenate((force, moment), axis=-1), axis=-2), axis=-2), axis=-2
        )
        origins = geometry.poses[..., :-1, :3, 3]
        carried[..., 3:] -= np.cross(origins, carried[..., :3])
        return carried

    def _geometry(self, q: ArrayLike) -> Geometry:
        """Walk up the arm by screws along x and z and note what the columns need."""
        position = joint_stack(self.description, q, 'q')
        modified = self.description.convention is Convention.MODIFIED
        pose = np.broadcast_to(
            np.asarray(self.description.base, dtype=float), (*position.shape[:-1], 4, 4)
        )
        poses, carriers, centers, tensors = [], [], [], []
        for i, (joint, link) in enumerate(zip(self.description.joints, self.description.links)):
            row, moves = joint.row, position[..., i]
            along_x = _screw(0, row.alpha, row.a)
            turn, slide = (moves, 0.0) if self._turns[i] else (0.0, moves)
            along_z = _screw(2, row.theta + turn, row.d + slide)
            # Craig's joint turns about the new frame's z, the standard one about the last one's.
            before, pose = pose, pose @ (along_x @ along_z if modified else along_z @ along_x)
            poses.append(pose)
            carriers.append(pose if modified else before)
            rotation = pose[..., :3, :3]
            centers.append(rotation @ link.center_of_mass + pose[..., :3, 3])
            tensors.append(
                rotation @ link.inertia_at_center_of_mass @ np.swapaxes(rotation, -1, -2)
            )
        row = self.description.flange
        along_x, along_z = _screw(0, row.alpha, row.a), _screw(2, row.theta, row.d)
        poses.append(pose @ (along_x @ along_z if modified else along_z @ along_x))
        carrier = np.stack(carriers, axis=-3)
        return Geometry(
            np.stack(poses, axis=-3),
            carrier[..., :3, 2],
            carrier[..., :3, 3],
            np.stack(centers, axis=-2),
            np.stack(tensors, axis=-3),
        )

    def _columns(
        self,
        geometry: Geometry,
        points: Array,
        *,
        carrier: int | None = None,
    ) -> PartialJacobians:
        """
        Return z_j x (p - p_j) or z_j, and z_j or 0, for points p of shape (..., l, 3).

        Point l belongs to link l, or the one point to the link `carrier`, counted from 0.
        """
        moved = self._moved if carrier is None else self._moved[[carrier]]
        axes = geometry.axes[..., None, :, :]
        arms = points[..., :, None, :] - geometry.feet[..., None, :, :]
        turns = self._turns[:, None]
        linear = np.where(turns, np.cross(axes, arms), axes) * moved[..., None]
        angular = np.where(turns, axes, 0.0) * moved[..., None]
        return PartialJacobians(np.swapaxes(linear, -1, -2), np.swapaxes(angular, -1, -2))

    def _column_slopes(self, geometry: Geometry, linear: Array) -> tuple[Array, Array]:
        """Return dJ_P/dq_k and dJ_O/dq_k of the centres of mass, each (..., l, 3, j, k)."""
        axes, feet = geometry.axes, geometry.feet
        inner = np.tril(self._moved, -1)[..., None]  # [j, k]: joint k carries joint j's axis
        turns = self._turns[:, None]
        by, of = axes[..., None, :, :], axes[..., :, None, :]
        axis_slopes = np.where(turns, np.cross(by, of), 0.0) * inner
        lever = feet[..., :, None, :] - feet[..., None, :, :]
        foot_slopes = np.where(turns, np.cross(by, lever), by) * inner
        arms = (geometry.centers[..., :, None, :] - feet[..., None, :, :])[..., None, :]
        arm_slopes = (
            np.swapaxes(linear, -1, -2)[..., :, None, :, :] - foot_slopes[..., None, :, :, :]
        )
        turning = np.cross(axis_slopes[..., None, :, :, :], arms) + np.cross(
            of[..., None, :, :, :], arm_slopes
        )
        moved = self._moved[..., None, None]
        column_turns = self._turns[:, None, None]
        slopes = np.where(column_turns, turning, axis_slopes[..., None, :, :, :]) * moved
        turned = np.where(column_turns, axis_slopes[..., None, :, :, :], 0.0) * moved
        # A joint beyond link l moves neither its centre nor the axes that move it.
        reached = self._moved[:, None, :, None]
        return (np.moveaxis(slopes * reached, -1, -3), np.moveaxis(turned * reached, -1, -3))


def _screw(axis: int, angle: ArrayLike, slide: ArrayLike) -> Array:
    """Return the turn by an angle about x (0) or z (2) and the slide along it, (..., 4, 4)."""
    turn, shift = np.broadcast_arrays(
        np.asarray(angle, dtype=float), np.asarray(slide, dtype=float)
    )
    u, v = (axis + 1) % 3, (axis + 2) % 3
    out = np.zeros((*turn.shape, 4, 4))
    out[..., axis, axis] = out[..., 3, 3] = 1.0
    out[..., u, u] = out[..., v, v] = np.cos(turn)
    out[..., v, u], out[..., u, v] = np.sin(turn), -np.sin(turn)
    out[..., axis, 3] = shift
    return out
