# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Kinematics and dynamics by products of exponentials, from space twists and poses at q = 0.

The pose of frame i is T_i(q) = exp([xi_1] q_1) ... exp([xi_i] q_i) T_i(0) (Panda notebook, cells 5
to 24). The poses at q = 0 are computed from DH rows by translations and roll-pitch-yaw rotations,
as for a URDF's joints, not by the DH matrix or `joint_placements`, so that the cross-check shows
an error in those. Only `frame_pose` and `jacobian` take a fixed frame's pose in its link, the
flange's as well, from `arm.frames`, which uses `DHRow.transform`.

The mass matrix is the sum over the links of J_m^T diag(m 1, I) J_m with the centre-of-mass
Jacobians of the Panda notebook, cells 20 to 24; its derivatives use Lie brackets of the space
Jacobian's columns (Murray, Li, Sastry 1994, "A Mathematical Introduction to Robotic Manipulation",
eq. 4.29 and 4.30). All methods also take a stack of states: arrays of shape (..., n).
"""

import numpy as np

from . import model
from .model import (
    as_joint_stack,
    broadcast_states,
    DynamicsFormulation,
    nan_where_not_finite,
    symmetrize,
)
from ..arm import ArmDescription, Convention, DHRow
from ..arm.frames import FLANGE, Frame, frame_placement
from ..arm_io import ArmLike
from ..arrays import Array, ArrayLike
from ..constants import GRAVITY
from ..spatial import (
    ad,
    adjoint,
    adjoint_inverse,
    exp6,
    joint_twist,
    matvec,
    rpy_rotation,
)


class ExponentialsModel(DynamicsFormulation):
    """
    Dynamics of an arm by products of exponentials of the joints' space twists.

    `description` and `gravity` are those of `DynamicsFormulation`.

    Attributes
    ----------
    space_twists : ndarray, shape (n, 6)
        Unit twists (v, omega) of the joints at q = 0, in {S}.
    zero_transforms : ndarray, shape (n + 1, 4, 4)
        Poses of frames 1..n and of the flange in {S} at q = 0.

    Raises
    ------
    InertiaError
        If a link has a first moment but no mass.

    """

    def __init__(self, description: ArmLike, gravity: ArrayLike = GRAVITY) -> None:
        super().__init__(description, gravity)
        description = self.description
        model.require_centers_of_mass(description)
        self.space_twists, self.zero_transforms = _twists_and_poses_at_zero(description)
        self._masses = np.array([link.mass for link in description.links])
        self._rotor_M = np.diag([joint.rotor_inertia for joint in description.joints])
        # Spatial inertia of each link about the origin and in the axes of {S}, at q = 0.
        placed = zip(description.links, self.zero_transforms)
        inertias = [link.expressed_in(pose).spatial_inertia() for link, pose in placed]
        self._inertias_at_zero = np.array(inertias)

    @nan_where_not_finite('q')
    def exp_products(self, q: ArrayLike) -> Array:
        """Return the product of the exponentials of joints 1 to i, for each i, (..., n, 4, 4)."""
        position = as_joint_stack(self.description, q, 'q')
        product: Array = np.eye(4)
        products = []
        for i, twist in enumerate(self.space_twists):
            product = product @ exp6(twist, position[..., i])
            products.append(product)
        return np.stack(products, axis=-3)

    @nan_where_not_finite('q')
    def frames(self, q: ArrayLike) -> Array:
        """Return the poses of frames 1..n and of the flange in {S}, shape (..., n + 1, 4, 4)."""
        products = self.exp_products(q)
        # The flange (the Panda notebook's frame 8) is fixed to the last link.
        return np.concatenate((products, products[..., -1:, :, :]), axis=-3) @ self.zero_transforms

    @nan_where_not_finite('q')
    def space_jacobian(self, q: ArrayLike) -> Array:
        """
        Return the space (WORLD) Jacobian, joint twists (v, omega) at q in {S}, (..., 6, n).

        Column j of this space Jacobian is Ad(exp([xi_1] q_1) ... exp([xi_j-1] q_j-1)) xi_j (Panda
        notebook, cell 16). A motion along xi_j does not change xi_j, so Ad of the product of
        exponentials up to joint j gives the same column.
        """
        columns = np.einsum('...jkl,jl->...jk', adjoint(self.exp_products(q)), self.space_twists)
        return np.swapaxes(columns, -1, -2)

    @nan_where_not_finite('q')
    def jacobian(
        self,
        q: ArrayLike,
        frame: Frame = FLANGE,
        reference_frame: str = model.ALIGNED_FRAME,
    ) -> Array:
        """Return a frame's geometric Jacobian (v, omega) in `reference_frame`, (..., 6, n)."""
        target = frame_placement(frame, self.description).joint
        reference = model.require_reference_frame(reference_frame)
        jacobian = self.space_jacobian(q)
        jacobian[..., target:] = 0.0
        if reference == 'WORLD':
            return jacobian
        pose = self.frame_pose(q, frame)
        if reference == 'LOCAL':
            return adjoint_inverse(pose) @ jacobian
        return adjoint_inverse(translation(pose[..., :3, 3])) @ jacobian

    @nan_where_not_finite('q')
    def center_of_mass_transforms(self, q: ArrayLike) -> Array:
        """
        Return the translations T_CoM(i) from frame origins to centres of mass, (..., n, 4, 4).

        With T_mi the translation by link i's centre of mass in frame i, T_CoM(i) = T_i (T_mi - 1)
        + 1 is the translation from frame i's origin to that centre, in {S} (Panda notebook, cell
        22).
        """
        centers = np.stack([translation(link.center_of_mass) for link in self.description.links])
        return self.frames(q)[..., :-1, :, :] @ (centers - np.eye(4)) + np.eye(4)

    @nan_where_not_finite('q')
    def center_of_mass_jacobians(self, q: ArrayLike) -> Array:
        """
        Return the Jacobians of all links' centres of mass, (..., n, 6, n).

        J_mi = Ad(T_CoM(i))^-1 J_i (Panda notebook, cell 24), J_i at frame i's origin; J_mi dq is
        the velocity of link i's centre of mass and the link's angular velocity, in {S}.
        """
        n = self.description.n
        # J_i of all links at once is the space Jacobian up to joint i, moved to frame i's origin.
        moved = np.tril(np.ones((n, n)))[:, None, :]
        places = translation(self.frames(q)[..., :-1, :3, 3]) @ self.center_of_mass_transforms(q)
        return adjoint_inverse(places) @ (self.space_jacobian(q)[..., None, :, :] * moved)

    @nan_where_not_finite('q', 'dq')
    def link_twists(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the twists of frames 1..n, LOCAL_WORLD_ALIGNED, (..., n, 6) [m/s, rad/s]."""
        q, velocity = broadcast_states(self.description, q=q, dq=dq)
        twists = self.spatial_link_twists(q, velocity)
        origins = self.frames(q)[..., :-1, :3, 3]
        return np.einsum('...ab,...b->...a', adjoint_inverse(translation(origins)), twists)

    @nan_where_not_finite('q', 'dq')
    def spatial_link_twists(self, q: ArrayLike, dq: Array) -> Array:
        """Return the spatial (WORLD) twists of all links, shape (..., n, 6) [m/s, rad/s]."""
        return np.cumsum(dq[..., None] * np.swapaxes(self.space_jacobian(q), -1, -2), axis=-2)

    @nan_where_not_finite('q')
    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M from the links' centre-of-mass Jacobians, plus rotor inertias, (..., n, n)."""
        jacobians = self.center_of_mass_jacobians(q)
        rotations = self.frames(q)[..., :-1, :3, :3]
        tensors = np.array([link.inertia_at_center_of_mass for link in self.description.links])
        in_space = rotations @ tensors @ np.swapaxes(rotations, -1, -2)
        momentum = np.empty_like(jacobians)
        momentum[..., :3, :] = self._masses[:, None, None] * jacobians[..., :3, :]
        momentum[..., 3:, :] = in_space @ jacobians[..., 3:, :]
        return symmetrize(np.einsum('...lki,...lkj->...ij', jacobians, momentum)) + self._rotor_M

    @nan_where_not_finite('q')
    def mass_matrix_derivatives(self, q: ArrayLike) -> Array:
        """
        Return the derivatives dM_ij/dq_k of the mass matrix, (..., n, n, n), by Lie brackets.

        With J_i column i of the space Jacobian and N_k the spatial inertia in {S} of links k..n
        together, dM_ij/dq_k = [J_i, J_k]^T N_max(j,k) J_j + J_i^T N_max(i,k) [J_j, J_k], where the
        first term is left out unless k > i, the second unless k > j.
        """
        columns = np.swapaxes(self.space_jacobian(q), -1, -2)
        composite = np.flip(np.cumsum(np.flip(self._space_inertias(q), axis=-3), axis=-3), axis=-3)
        brackets = np.einsum('...iab,...kb->...ika', ad(columns), columns)
        joints = np.arange(self.description.n)
        momenta = np.einsum('...mab,...jb->...mja', composite, columns)
        # larger[j, k] is the index of the first link that joints j and k both move.
        larger = np.maximum.outer(joints, joints)
        carried = momenta[..., larger, joints[:, None], :]
        terms = np.einsum('...ika,...jka->...ijk', brackets, carried)
        terms = terms * (joints[None, :] > joints[:, None])[:, None, :]
        return terms + np.swapaxes(terms, -3, -2)

    @nan_where_not_finite('q', 'dq')
    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the Coriolis matrix C(q, dq) of Christoffel symbols, (..., n, n) [N m s/rad]."""
        q, velocity = broadcast_states(self.description, q=q, dq=dq)
        slopes = self.mass_matrix_derivatives(q)
        symbols = 0.5 * (slopes + np.swapaxes(slopes, -1, -2) - np.moveaxis(slopes, -1, -3))
        return np.einsum('...ijk,...k->...ij', symbols, velocity)

    @nan_where_not_finite('q')
    def gravity(self, q: ArrayLike) -> Array:
        """Return the gravity torques g(q) of the links' weights, shape (..., n) [N m]."""
        linear = self.center_of_mass_jacobians(q)[..., :3, :]
        return -np.einsum('l,a,...laj->...j', self._masses, self._gravity, linear)

    @nan_where_not_finite('q', 'dq')
    def coriolis(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the Coriolis torques C(q, dq) dq, shape (..., n) [N m]."""
        q, dq = broadcast_states(self.description, q=q, dq=dq)
        return np.einsum('...ij,...j->...i', self.coriolis_matrix(q, dq), dq)

    @nan_where_not_finite('q', 'dq')
    def nonlinear_effects(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return Coriolis plus gravity torques C(q, dq) dq + g(q), shape (..., n) [N m]."""
        return self.coriolis(q, dq) + self.gravity(q)

    @nan_where_not_finite('q', 'dq', 'ddq', 'wrench')
    def inverse_dynamics(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        wrench: ArrayLike | None = None,
    ) -> Array:
        """Return torques M ddq + C dq + g - J^T w for a flange wrench w, shape (..., n) [N m]."""
        arm = self.description
        q, dq, ddq, *wrenches = broadcast_states(arm, q=q, dq=dq, ddq=ddq, wrench=wrench)
        driven = np.einsum('...ij,...j->...i', self.mass_matrix(q), ddq)
        torque = driven + self.nonlinear_effects(q, dq)
        for acting in wrenches:
            torque -= np.einsum('...ai,...a->...i', self.jacobian(q), acting)
        return torque

    @nan_where_not_finite('q', 'dq')
    def kinetic_energy(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the kinetic energy of links (by spatial twists) and rotors, shape (...) [J]."""
        q, velocity = broadcast_states(self.description, q=q, dq=dq)
        twists = self.spatial_link_twists(q, velocity)
        links = np.einsum('...la,...lab,...lb->...', twists, self._space_inertias(q), twists)
        return 0.5 * (links + np.einsum('...i,ij,...j->...', velocity, self._rotor_M, velocity))

    @nan_where_not_finite('q', 'dq', 'ddq')
    def joint_wrenches(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """
        Return the wrenches of link i - 1 on link i about frame i's origin, {S} axes, (..., n, 6).

        In {S}, the motion of link l needs the wrench F_l = N_l (A_l - (gravity, 0)) - ad(V_l)^T
        N_l V_l, with A_l = dV_l/dt the sum of J_j ddq_j + [V_j, J_j] dq_j over j <= l; joint i
        transmits F_i + ... + F_n.
        """
        q, velocity, acceleration = broadcast_states(self.description, q=q, dq=dq, ddq=ddq)
        columns = np.swapaxes(self.space_jacobian(q), -1, -2)
        twists = self.spatial_link_twists(q, velocity)
        turning = matvec(ad(twists), velocity[..., None] * columns)
        steps = acceleration[..., None] * columns + turning
        accelerations = np.cumsum(steps, axis=-2) - np.concatenate((self._gravity, np.zeros(3)))
        inertias = self._space_inertias(q)
        momenta = matvec(inertias, twists)
        needed = matvec(inertias, accelerations) - matvec(ad(twists).swapaxes(-1, -2), momenta)
        carried = np.flip(np.cumsum(np.flip(needed, axis=-2), axis=-2), axis=-2)
        carried[..., 3:] -= np.cross(self.frames(q)[..., :-1, :3, 3], carried[..., :3])
        return carried

    def _space_inertias(self, q: ArrayLike) -> Array:
        """Return every link's spatial inertia in {S} at q, shape (..., n, 6, 6)."""
        back = adjoint_inverse(self.exp_products(q))
        return np.swapaxes(back, -1, -2) @ self._inertias_at_zero @ back


def _twists_and_poses_at_zero(description: ArmDescription) -> tuple[Array, Array]:
    """Return space twists (n, 6) and poses of frames 1..n and flange, (n + 1, 4, 4), at q = 0."""
    modified = description.convention is Convention.MODIFIED
    pose = np.asarray(description.base, dtype=float)
    twists = []
    poses = []
    for joint in description.joints:
        before = pose
        pose = pose @ _row_pose(joint.row, description.convention)
        carrier = pose if modified else before
        twists.append(joint_twist(carrier[:3, 2], carrier[:3, 3], joint.kind))
        poses.append(pose)
    poses.append(pose @ _row_pose(description.flange, description.convention))
    return np.array(twists), np.array(poses)


def _row_pose(row: DHRow, convention: Convention) -> Array:
    """Return the pose of a DH row at q = 0 by roll-pitch-yaw (Panda notebook, cell 5)."""
    tilt = rpy_rotation(row.alpha, 0.0, 0.0) @ rpy_rotation(0.0, row.beta, 0.0)
    turn = rpy_rotation(0.0, 0.0, row.theta)
    out = np.eye(4)
    if convention is Convention.MODIFIED:
        out[:3, :3] = tilt @ turn
        out[:3, 3] = np.array([row.a, 0.0, 0.0]) + tilt @ np.array([0.0, 0.0, row.d])
    else:
        out[:3, :3] = turn @ tilt
        out[:3, 3] = np.array([0.0, 0.0, row.d]) + turn @ np.array([row.a, 0.0, 0.0])
    return out


def translation(offset: Array) -> Array:
    """Return the transforms (..., 4, 4) that translate by offsets (..., 3)."""
    out = np.zeros((*offset.shape[:-1], 4, 4))
    out[..., :, :] = np.eye(4)
    out[..., :3, 3] = offset
    return out
