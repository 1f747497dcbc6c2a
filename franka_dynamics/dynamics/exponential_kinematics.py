# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Kinematics by products of exponentials: space twists and poses at zero, nothing else.

T_i(q) = exp([xi_1] q_1) ... exp([xi_i] q_i) T_i(0) (Panda notebook, cells 5 to 24). Rows enter
through translations and roll-pitch-yaw, as a URDF's joints do, not through the DH matrix.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .model import FLANGE, frame_index, joint_stack, require_reference_frame
from ..arm import ArmDescription, Convention, DHRow
from ..spatial import adjoint, adjoint_inverse, exp6, joint_twist, rpy
from ..typing import Array


class ExponentialKinematics:
    """
    Poses, twists and Jacobians of a described arm by products of exponentials.

    Parameters
    ----------
    description : ArmDescription
        The arm, revolute and prismatic joints in either convention.

    Attributes
    ----------
    space_twists : ndarray, shape (n, 6)
        Unit twists (v, omega) of the joints at q = 0, in {S}.
    zero_transforms : ndarray, shape (n + 1, 4, 4)
        Poses of frames 1..n and of the flange in {S} at q = 0.

    """

    def __init__(self, description: ArmDescription) -> None:
        self.description = description
        self.space_twists, self.zero_transforms = _zero_configuration(description)

    def exponentials(self, q: ArrayLike) -> Array:
        """Return exp([xi_1] q_1) ... exp([xi_i] q_i) for i = 1..n, shape (..., n, 4, 4)."""
        position = self._vector(q, 'q')
        product: Array = np.eye(4)
        products = []
        for i, twist in enumerate(self.space_twists):
            product = product @ exp6(twist, position[..., i])
            products.append(product)
        return np.stack(products, axis=-3)

    def frames(self, q: ArrayLike) -> Array:
        """Return T_1..T_n and the flange's pose in {S}, shape (..., n + 1, 4, 4)."""
        products = self.exponentials(q)
        # The Panda notebook's frame 8, the flange, is fixed to the last link.
        return np.concatenate((products, products[..., -1:, :, :]), axis=-3) @ self.zero_transforms

    def space_jacobian(self, q: ArrayLike) -> Array:
        """
        Return the joints' twists at q in {S}, shape (..., 6, n): WORLD, rows (v, omega).

        Column j is Ad(exp([xi_1] q_1) ... exp([xi_j-1] q_j-1)) xi_j (Panda notebook, cell 16). The
        exponential of xi_j itself leaves xi_j as it is, so the product up to j serves as well.
        """
        columns = np.einsum('...jkl,jl->...jk', adjoint(self.exponentials(q)), self.space_twists)
        return np.swapaxes(columns, -1, -2)

    def jacobian(
        self, q: ArrayLike, frame: int | str = FLANGE, reference_frame: str = 'LOCAL_WORLD_ALIGNED'
    ) -> Array:
        """Return J_i of a frame, shape (..., 6, n), rows (v, omega); n + 1 is the flange."""
        target = frame_index(frame, self.description.n)
        reference = require_reference_frame(reference_frame)
        jacobian = _up_to(self.space_jacobian(q), target)
        if reference == 'WORLD':
            return jacobian
        pose = self.frames(q)[..., target, :, :]
        if reference == 'LOCAL':
            return adjoint_inverse(pose) @ jacobian
        return adjoint_inverse(translation(pose[..., :3, 3])) @ jacobian

    def twist(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        frame: int | str = FLANGE,
        reference_frame: str = 'LOCAL_WORLD_ALIGNED',
    ) -> Array:
        """Return V_i = J_i dq of a frame, shape (..., 6), (v, omega); the notebook's 8 too."""
        jacobian = self.jacobian(q, frame, reference_frame)
        return np.einsum('...ai,...i->...a', jacobian, self._vector(dq, 'dq'))

    def center_of_mass_transforms(self, q: ArrayLike) -> Array:
        """Return T_CoM(i) = T_i (T_mi - 1) + 1 of all links, shape (..., n, 4, 4) (cell 22)."""
        centers = np.stack([translation(link.center_of_mass) for link in self.description.links])
        return self.frames(q)[..., :-1, :, :] @ (centers - np.eye(4)) + np.eye(4)

    def center_of_mass_jacobians(self, q: ArrayLike) -> Array:
        """
        Return J_mi = Ad(T_CoM(i))^-1 J_i of all links, shape (..., n, 6, n) (notebook, cell 24).

        Rows are the velocity of link i's centre of mass and its angular velocity, in {S}.
        """
        n = self.description.n
        # J_i of all links at once: the space Jacobian up to joint i, seen from the origin r_i.
        moved = np.tril(np.ones((n, n)))[:, None, :]
        origins = self.frames(q)[..., :-1, :3, 3]
        jacobians = adjoint_inverse(translation(origins)) @ (
            self.space_jacobian(q)[..., None, :, :] * moved
        )
        return adjoint_inverse(self.center_of_mass_transforms(q)) @ jacobians

    def link_twists(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return V_1..V_n: LOCAL_WORLD_ALIGNED twists, shape (..., n, 6) (cells 13 and 14)."""
        twists = self.space_twists_at(q, self._vector(dq, 'dq'))
        origins = self.frames(q)[..., :-1, :3, 3]
        return np.einsum('...ab,...b->...a', adjoint_inverse(translation(origins)), twists)

    def space_twists_at(self, q: ArrayLike, dq: Array) -> Array:
        """Return every link's spatial (WORLD) twist at q, shape (..., n, 6)."""
        columns = np.swapaxes(self.space_jacobian(q), -1, -2)
        return np.cumsum(dq[..., None] * columns, axis=-2)

    def _vector(self, values: ArrayLike, name: str) -> Array:
        return joint_stack(self.description, values, name)


def _zero_configuration(description: ArmDescription) -> tuple[Array, Array]:
    """Return the joints' space twists and the poses of all frames at q = 0."""
    modified = description.convention is Convention.MODIFIED
    pose = np.asarray(description.base, dtype=float)
    twists, poses = [], []
    for joint in description.joints:
        before, pose = pose, pose @ _placement(joint.row, description.convention)
        carrier = pose if modified else before
        twists.append(joint_twist(carrier[:3, 2], carrier[:3, 3], joint.kind))
        poses.append(pose)
    poses.append(pose @ _placement(description.flange, description.convention))
    return np.array(twists), np.array(poses)


def _placement(row: DHRow, convention: Convention) -> Array:
    """Return a row at zero as a translation times roll-pitch-yaw (Panda notebook, cell 5)."""
    tilt, turn = rpy(row.alpha, 0.0, 0.0), rpy(0.0, 0.0, row.theta)
    out = np.eye(4)
    if convention is Convention.MODIFIED:
        out[:3, :3] = tilt @ turn
        out[:3, 3] = np.array([row.a, 0.0, 0.0]) + tilt @ np.array([0.0, 0.0, row.d])
    else:
        out[:3, :3] = turn @ tilt
        out[:3, 3] = np.array([0.0, 0.0, row.d]) + turn @ np.array([row.a, 0.0, 0.0])
    return out


def translation(offset: Array) -> Array:
    """Return pure translations by offsets of shape (..., 3), shape (..., 4, 4)."""
    out = np.zeros((*offset.shape[:-1], 4, 4))
    out[..., :, :] = np.eye(4)
    out[..., :3, 3] = offset
    return out


def _up_to(jacobian: Array, last: int) -> Array:
    """Return a Jacobian with the columns of joints beyond `last` set to zero."""
    out = np.array(jacobian)
    out[..., last + 1 :] = 0.0
    return out
