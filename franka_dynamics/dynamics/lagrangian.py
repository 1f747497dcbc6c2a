# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Lagrangian dynamics: energies of centres of mass, Christoffel symbols, gravity from a potential.

T = 1/2 dq^T M dq with M = sum of m J_P^T J_P + J_O^T R I R^T J_O (seed 004, sections 2 and 3,
corrected). All methods also take a stack of states: arrays of shape (..., n).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .closed_form import ClosedFormModel
from .model import (
    FLANGE,
    frame_index,
    GRAVITY,
    gravity_vector,
    require_centers_of_mass,
    require_reference_frame,
    symmetric,
    total_mass,
)
from .partial_jacobians import PartialJacobians, PartialKinematics
from ..arm import ArmDescription

Array = NDArray[np.float64]


class LagrangianModel(ClosedFormModel):
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
        self._links = PartialKinematics(description)
        self._masses = np.array([link.mass for link in description.links])
        self._rotors = np.diag([joint.rotor_inertia for joint in description.joints])

    def frames(self, q: ArrayLike) -> Array:
        """Return the poses of frames 1..n and of the flange in {S}, shape (..., n + 1, 4, 4)."""
        return self._links.geometry(q).poses

    def jacobian(self, q: ArrayLike, frame: int | str = FLANGE,
                 reference_frame: str = 'LOCAL_WORLD_ALIGNED') -> Array:
        """Return the geometric Jacobian (v, omega) of a frame, shape (..., 6, n) (section 1.5)."""
        target = frame_index(frame, self.description.n)
        reference = require_reference_frame(reference_frame)
        geometry = self._links.geometry(q)
        pose = geometry.poses[..., target, :, :]
        point = np.zeros_like(pose[..., :3, 3]) if reference == 'WORLD' else pose[..., :3, 3]
        parts = self._links.columns(geometry, point[..., None, :],
                                    carrier=min(target, self.description.n - 1))
        jacobian = np.concatenate(parts, axis=-2)[..., 0, :, :]
        if reference == 'LOCAL':
            back = np.swapaxes(pose[..., :3, :3], -1, -2)
            jacobian = np.concatenate(
                (back @ jacobian[..., :3, :], back @ jacobian[..., 3:, :]), axis=-2)
        return jacobian

    def partial_jacobians(self, q: ArrayLike) -> PartialJacobians:
        """Return J_P and J_O of every link's centre of mass, each of shape (..., n, 3, n)."""
        geometry = self._links.geometry(q)
        return self._links.columns(geometry, geometry.centers)

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the centre of mass of the moving links in {S}, shape (..., 3) [m]."""
        centers = self._links.geometry(q).centers
        return np.einsum('l,...la->...a', self._masses, centers) / total_mass(self.description)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return the sum of m J_P^T J_P + J_O^T R I R^T J_O and rotors, shape (..., n, n)."""
        geometry = self._links.geometry(q)
        linear, angular = self._links.columns(geometry, geometry.centers)
        links = (np.einsum('l,...lai,...laj->...ij', self._masses, linear, linear)
                 + np.einsum('...lai,...laj->...ij', angular, geometry.tensors @ angular))
        return symmetric(links) + self._rotors

    def mass_matrix_derivatives(self, q: ArrayLike) -> Array:
        """Return dM_ij/dq_k, shape (..., n, n, n), last axis k."""
        geometry = self._links.geometry(q)
        linear, angular = self._links.columns(geometry, geometry.centers)
        linear_slopes, angular_slopes = self._links.column_slopes(geometry, linear)
        momentum = geometry.tensors @ angular
        half = (np.einsum('l,...laik,...laj->...ijk', self._masses, linear_slopes, linear)
                + np.einsum('...laik,...laj->...ijk', angular_slopes, momentum))
        # d(S)/dq_k = z_k x S - S z_k x, so J_i^T dS J_j = -(z_k x J_i).S J_j - S J_i.(z_k x J_j).
        turning = np.cross(np.swapaxes(angular, -1, -2)[..., :, None, :],
                           np.swapaxes(angular, -1, -2)[..., None, :, :])
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
        return -np.einsum('l,a,...lai->...i', self._masses, self._gravity,
                          self.partial_jacobians(q).linear)

    def kinetic_energy(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the sum of 1/2 m v.v + 1/2 omega.R I R^T omega, rotors included, (...) [J]."""
        velocity = self._vector(dq, 'dq')
        geometry = self._links.geometry(q)
        linear, angular = (np.einsum('...laj,...j->...la', part, velocity) for part in
                           self._links.columns(geometry, geometry.centers))
        return 0.5 * (np.einsum('l,...la,...la->...', self._masses, linear, linear)
                      + np.einsum('...la,...lab,...lb->...', angular, geometry.tensors, angular)
                      + np.einsum('...i,ij,...j->...', velocity, self._rotors, velocity))

    def potential_energy(self, q: ArrayLike) -> Array:
        """Return U = -sum of m g.p_l, shape (...) [J] (seed 004, section 2.2)."""
        return -np.einsum('l,a,...la->...', self._masses, self._gravity,
                          self._links.geometry(q).centers)

    def link_twists(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the twists of frames 1..n, LOCAL_WORLD_ALIGNED, shape (..., n, 6)."""
        geometry = self._links.geometry(q)
        columns = self._links.columns(geometry, geometry.poses[..., :-1, :3, 3])
        return np.einsum('...laj,...j->...la', np.concatenate(columns, axis=-2),
                         self._vector(dq, 'dq'))

    def joint_wrenches(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """
        Return what link i - 1 exerts on link i, about frame i's origin, shape (..., n, 6).

        Newton's and Euler's laws of every link about its own centre of mass, summed from the tip.
        """
        velocity, push = self._vector(dq, 'dq'), self._vector(ddq, 'ddq')
        geometry = self._links.geometry(q)
        linear, angular = self._links.columns(geometry, geometry.centers)
        slopes = self._links.column_slopes(geometry, linear)
        acceleration, alpha = (
            np.einsum('...laj,...j->...la', part, push)
            + np.einsum('...lajk,...j,...k->...la', slope, velocity, velocity)
            for part, slope in zip((linear, angular), slopes))
        omega = np.einsum('...laj,...j->...la', angular, velocity)
        force = self._masses[:, None] * (acceleration - self._gravity)
        spin = np.einsum('...lab,...lb->...la', geometry.tensors, omega)
        moment = (np.einsum('...lab,...lb->...la', geometry.tensors, alpha)
                  + np.cross(omega, spin) + np.cross(geometry.centers, force))
        carried = np.flip(np.cumsum(np.flip(
            np.concatenate((force, moment), axis=-1), axis=-2), axis=-2), axis=-2)
        origins = geometry.poses[..., :-1, :3, 3]
        carried[..., 3:] -= np.cross(origins, carried[..., :3])
        return carried
