# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Recursions for torques, mass matrix, and pose, Jacobian and acceleration of a chain's tip.

The point r of a link has the acceleration a + U r, where a is the acceleration of the origin of
the link's frame and w its angular velocity (Khalil & Kleinfinger 1987):

    U = [dw] + [w][w]

          -(wy^2 + wz^2)    wx wy - dwz       wx wz + dwy
      =   wx wy + dwz       -(wx^2 + wz^2)    wy wz - dwx
          wx wz - dwy       wy wz + dwx       -(wx^2 + wy^2)

Behind a revolute joint whose alpha is a multiple of a quarter turn, only a part of U is computed
anew. The third column is the second time derivative of the link's z axis. This does not depend on
the joint's own motion: it is the previous link's U times the axis, rotated. From it and from w and
dwz follow

    dwx = wy wz - Uyz                  Uxx = Uzz + wx^2 - wz^2
    dwy = Uxz - wx wz                  Uyy = -(wx^2 + wz^2)
    Uzx = wx wz - dwy                  Uxy = wx wy - dwz
    Uzy = wy wz + dwx                  Uyx = wx wy + dwz

Compared with the recursion of w and dw, this saves three multiplications and two additions per
joint.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .chain import (
    moved_pseudo_inertia,
    pseudo_inertia,
    ScalarArray,
    SymbolicChain,
    SymbolicJoint,
)
from .expression import Expression, Graph, Scalar
from ..dynamics.body_tree import BASE_BODY

Wrench = tuple[ScalarArray, ScalarArray]  # force and moment


@dataclass(frozen=True)
class JointInputs:
    """
    Expressions of joint positions, velocities and accelerations, and of the wrench at the tip.

    Inputs that are zero cost no operations. `tip_wrench` is force and moment, (3,), that the
    surroundings exert on the link with the tip, about the origin and in the axes of that link's
    frame. `weightless` leaves gravity out.
    """

    q: Sequence[Expression]
    dq: Sequence[Expression]
    ddq: Sequence[Expression]
    tip_wrench: Wrench | None = None
    weightless: bool = False


class SymbolicMotion(NamedTuple):
    """
    Expressions of a link's angular velocity and acceleration, and its frame's acceleration.

    `domega` is the time derivative of omega, `U_matrix` is [domega] + [omega][omega],
    `origin_acceleration` that of the frame's origin.
    """

    omega: ScalarArray
    domega: ScalarArray
    U_matrix: ScalarArray
    origin_acceleration: ScalarArray


def link_motions(graph: Graph, chain: SymbolicChain, inputs: JointInputs) -> list[SymbolicMotion]:
    """Return all links' motions; unless `weightless` the base accelerates by -gravity."""
    still = np.array([graph.zero] * 3)
    motions: list[SymbolicMotion] = []
    for j, (joint, parent) in enumerate(zip(chain.joints, chain.parents)):
        if parent == BASE_BODY:
            base_acceleration = still if inputs.weightless else still - chain.root_gravity[j]
            before = SymbolicMotion(still, still, np.array([still] * 3), base_acceleration)
        else:
            before = motions[parent]
        rotation, _ = _rotation_and_inertia(graph, chain, inputs, j)
        at_joint = before.origin_acceleration + before.U_matrix @ joint.frame_origin(inputs.q[j])
        graph.set_component_names(f'aP{j + 1}', at_joint)
        acceleration = rotation.T @ (joint.fixed_rotation.T @ at_joint)
        motion = _link_motion(joint, rotation, before, acceleration, inputs.dq[j], inputs.ddq[j])
        graph.set_component_names(f'w{j + 1}', motion.omega)
        graph.set_component_names(f'dw{j + 1}', motion.domega)
        for row, axis in zip(motion.U_matrix, 'xyz'):
            graph.set_component_names(f'U{j + 1}{axis}', row)
        graph.set_component_names(f'a{j + 1}', motion.origin_acceleration)
        motions.append(motion)
    return motions


def _link_motion(
    joint: SymbolicJoint,
    rotation: ScalarArray,
    parent: SymbolicMotion,
    acceleration: ScalarArray,
    dq: Scalar,
    ddq: Scalar,
) -> SymbolicMotion:
    """
    Return a link's motion from that of its antecedent, `parent`, by the module's equations.

    `acceleration` is that of the link's origin, in the link's axes, without the joint's sliding.
    """

    def in_link_axes(values: ScalarArray) -> ScalarArray:
        """Return vectors given in the antecedent's axes, rotated into the link's axes."""
        return rotation.T @ (joint.fixed_rotation.T @ values)

    omega = in_link_axes(parent.omega)
    domega = in_link_axes(parent.domega)
    if not joint.is_revolute:  # omega does not change
        if _is_axis_permutation(joint.fixed_rotation) and _is_axis_permutation(rotation):
            U = in_link_axes(in_link_axes(parent.U_matrix).T).T  # costs nothing
        else:
            U = _U_matrix(omega, domega)
        twice = 2.0 * dq
        sliding = np.array([twice * omega[1], -(twice * omega[0]), ddq])
        return SymbolicMotion(omega, domega, U, acceleration + sliding)
    x = omega[0]
    y = omega[1]
    z = omega[2] + dq
    if not _is_axis_permutation(joint.fixed_rotation):
        domega = domega + np.array([y * dq, -(x * dq), ddq])
        U = _U_matrix((x, y, z), domega)
        return SymbolicMotion(np.array([x, y, z]), domega, U, acceleration)
    U_xz, U_yz, U_zz = in_link_axes(parent.U_matrix @ joint.fixed_rotation[:, 2])
    xy = x * y
    xz = x * z
    yz = y * z
    xx = x * x
    zz = z * z
    dx = yz - U_yz
    dy = U_xz - xz
    dz = domega[2] + ddq
    U = np.array(
        [
            [U_zz + (xx - zz), xy - dz, U_xz],
            [xy + dz, -(xx + zz), U_yz],
            [xz - dy, yz + dx, U_zz],
        ]
    )
    return SymbolicMotion(np.array([x, y, z]), np.array([dx, dy, dz]), U, acceleration)


def _is_axis_permutation(rotation: ScalarArray) -> bool:
    """Return whether a constant rotation is a signed permutation of the axes."""
    return bool(np.isin(np.abs(rotation), (0.0, 1.0)).all())


def _U_matrix(omega: Iterable[Scalar], domega: Iterable[Scalar]) -> ScalarArray:
    """Return the matrix [domega] + [omega][omega], (3, 3), where [v] w = v x w."""
    x, y, z = omega
    dx, dy, dz = domega
    xx = x * x
    yy = y * y
    zz = z * z
    xy = x * y
    xz = x * z
    yz = y * z
    return np.array(
        [
            [-(yy + zz), xy - dz, xz + dy],
            [xy + dz, -(xx + zz), yz - dx],
            [xz - dy, yz + dx, -(xx + yy)],
        ]
    )


def _rotation_and_inertia(
    graph: Graph, chain: SymbolicChain, inputs: JointInputs, j: int
) -> tuple[ScalarArray, ScalarArray]:
    """
    Return the rotation of the axes in which link j is described, and its pseudo-inertia in them.

    A link that carries neither another link nor a wrench is described in the axes before its
    joint's turn: it takes fewer operations to rotate its pseudo-inertia than its motion, which no
    other link needs.
    """
    joint = chain.joints[j]
    rotation = joint.rotation(graph, inputs.q[j])
    carries_link = j in chain.parents
    carries_wrench = j == chain.tip_body and inputs.tip_wrench is not None
    is_last = not (carries_link or carries_wrench)
    if is_last and joint.is_revolute and chain.parents[j] != BASE_BODY:
        return np.eye(3), _rotated_pseudo_inertia(joint.pseudo_inertia, rotation)
    return rotation, joint.pseudo_inertia


def inverse_dynamics(graph: Graph, chain: SymbolicChain, inputs: JointInputs) -> list[Expression]:
    """Return the expression of every joint's torque (or force), by the Newton-Euler recursion."""
    motions = link_motions(graph, chain, inputs)
    no_force = np.array([graph.zero] * 3)
    # Force and moment that each link exerts on the links beyond it and, at the tip, on the
    # surroundings.
    forces_beyond = [no_force] * chain.n
    moments_beyond = [no_force] * chain.n
    if inputs.tip_wrench is not None:
        tip_force, tip_moment = inputs.tip_wrench
        forces_beyond[chain.tip_body] = -tip_force
        moments_beyond[chain.tip_body] = -tip_moment
    torques = [graph.zero] * chain.n
    for j in reversed(range(chain.n)):
        joint = chain.joints[j]
        parent = chain.parents[j]
        rotation, inertia = _rotation_and_inertia(graph, chain, inputs, j)
        own_force, own_moment = _inertial_wrench(inertia, motions[j])
        force = own_force + forces_beyond[j]
        moment = own_moment + moments_beyond[j]
        graph.set_component_names(f'f{j + 1}', force)
        graph.set_component_names(f'n{j + 1}', moment)
        about_axis = moment[2] if joint.is_revolute else force[2]
        torques[j] = about_axis + joint.rotor_inertia * inputs.ddq[j]
        if parent != BASE_BODY:
            origin = joint.frame_origin(inputs.q[j])
            force, moment = _wrench_on_parent(joint, rotation, origin, (force, moment))
            forces_beyond[parent] = forces_beyond[parent] + force
            moments_beyond[parent] = moments_beyond[parent] + moment
    return torques


def _inertial_wrench(inertia: ScalarArray, motion: SymbolicMotion) -> Wrench:
    """Return force and moment about the frame's origin that a link's motion and weight need."""
    h = inertia[:3, 3]
    mass = inertia[3, 3]
    U = motion.U_matrix
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia[:3, :3]
    zz_yy = U[2, 2] - U[1, 1]
    xx_zz = U[0, 0] - U[2, 2]
    # The axial vector of U S, with S the second moment.
    couple = [
        yy * U[2, 1] - zz * U[1, 2] + xy * U[2, 0] - xz * U[1, 0] + yz * zz_yy,
        zz * U[0, 2] - xx * U[2, 0] + yz * U[0, 1] - xy * U[2, 1] + xz * xx_zz,
        xx * U[1, 0] - yy * U[0, 1] + xz * U[1, 2] - yz * U[0, 2] - xy * (zz_yy + xx_zz),
    ]
    force = U @ h + motion.origin_acceleration * mass
    return force, np.array(couple) + np.cross(h, motion.origin_acceleration)


def _wrench_on_parent(
    joint: SymbolicJoint, rotation: ScalarArray, origin: ScalarArray, wrench: Wrench
) -> Wrench:
    """Return a joint's wrench in the axes and about the origin of the antecedent's frame."""
    force, moment = (joint.fixed_rotation @ (rotation @ part) for part in wrench)
    return force, moment + np.cross(origin, force)


def mass_matrix(
    graph: Graph, chain: SymbolicChain, q: Sequence[Expression]
) -> dict[tuple[int, int], Expression]:
    """Return expressions of the mass matrix's elements (i, j), i <= j, by composite bodies."""
    joints = chain.joints
    parents = chain.parents
    rotations = [joint.rotation(graph, position) for joint, position in zip(joints, q)]
    origins = [joint.frame_origin(position) for joint, position in zip(joints, q)]
    composites = [joint.pseudo_inertia for joint in joints]
    elements: dict[tuple[int, int], Expression] = {}
    for j in reversed(range(chain.n)):
        joint = joints[j]
        composite = composites[j]
        force, moment = _unit_ddq_wrench(joint, composite)
        about_axis = moment[2] if joint.is_revolute else force[2]
        elements[j, j] = graph.expression(about_axis + joint.rotor_inertia)
        # Element (i, j) stays zero if joints i and j are on different branches.
        elements |= {(i, j): graph.zero for i in range(j)}
        k = j
        i = parents[j]
        while i != BASE_BODY:
            wrench = force, moment
            force, moment = _wrench_on_parent(joints[k], rotations[k], origins[k], wrench)
            about_axis = moment[2] if joints[i].is_revolute else force[2]
            elements[i, j] = graph.expression(about_axis)
            k = i
            i = parents[i]
        if parents[j] != BASE_BODY:
            turned = _rotated_pseudo_inertia(composite, rotations[j])
            added = moved_pseudo_inertia(turned, joint.fixed_rotation, origins[j])
            composites[parents[j]] = composites[parents[j]] + added
    return elements


def _unit_ddq_wrench(joint: SymbolicJoint, inertia: ScalarArray) -> Wrench:
    """Return the force and moment about the frame's origin that give a body's joint a ddq of 1."""
    hx, hy, _ = inertia[:3, 3]
    if joint.is_revolute:
        moment = [-inertia[0, 2], -inertia[1, 2], inertia[0, 0] + inertia[1, 1]]
        return np.array([-hy, hx, 0.0]), np.array(moment)
    return np.array([0.0, 0.0, inertia[3, 3]], dtype=object), np.array([hy, -hx, 0.0])


def _rotated_pseudo_inertia(inertia: ScalarArray, rotation: ScalarArray) -> ScalarArray:
    """
    Return a pseudo-inertia, given in a joint's rotated axes, in the axes before the rotation.

    With sine s, cosine c and the shear k = s (Sxx - Syy) + 2 c Sxy, the elements xx, xy and yy
    become Sxx - s k, c k - Sxy and Syy + s k. This takes four products, and a fifth for 2 Sxy if
    Sxy varies.
    """
    c = rotation[0, 0]
    s = rotation[1, 0]
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia[:3, :3]
    shear = s * (xx - yy) + c * (2.0 * xy)
    turned_xz, turned_yz, _ = rotation @ np.array([xz, yz, zz])
    second_moment = [
        [xx - s * shear, c * shear - xy, turned_xz],
        [0.0, yy + s * shear, turned_yz],
        [0.0, 0.0, zz],
    ]
    first_moment = rotation @ inertia[:3, 3]
    return pseudo_inertia(np.array(second_moment, dtype=object), first_moment, inertia[3, 3])


def tip_pose(graph: Graph, chain: SymbolicChain, q: Sequence[Expression]) -> ScalarArray:
    """Return the pose (4, 4), in the space frame, of the chain's tip."""
    rotation, origin = _frames_to_tip(graph, chain, q)[chain.tip_body]
    pose = np.eye(4).astype(object)
    pose[:3, :3] = rotation @ chain.tip_pose[:3, :3]
    pose[:3, 3] = origin + rotation @ chain.tip_pose[:3, 3]
    return pose


def jacobian(
    graph: Graph, chain: SymbolicChain, q: Sequence[Expression], reference_frame: str
) -> ScalarArray:
    """
    Return the Jacobian (6, n), rows v and omega, of the chain's tip.

    `reference_frame` has the meanings of `Model.jacobian`: LOCAL has the axes of the tip, WORLD
    the velocity of the body's point at the origin of the space frame.
    """
    frames = _frames_to_tip(graph, chain, q)
    rotation, origin = frames[chain.tip_body]
    point = np.zeros(3)
    if reference_frame != 'WORLD':
        point = origin + rotation @ chain.tip_pose[:3, 3]
    into_axes = np.eye(3)
    if reference_frame == 'LOCAL':
        into_axes = (rotation @ chain.tip_pose[:3, :3]).T
    columns = np.zeros((6, chain.n)).astype(object)
    for j in chain.joints_to_tip():
        rotation, origin = frames[j]
        axis = rotation[:, 2]
        if chain.joints[j].is_revolute:
            columns[:3, j] = into_axes @ np.cross(axis, point - origin)
            columns[3:, j] = into_axes @ axis
        else:
            columns[:3, j] = into_axes @ axis
    return columns


def bias_acceleration(
    graph: Graph,
    chain: SymbolicChain,
    q: Sequence[Expression],
    dq: Sequence[Expression],
) -> ScalarArray:
    """Return dJ/dt dq (6,), the acceleration of the tip at ddq = 0 in space axes."""
    still = np.array([graph.zero] * 3)
    if chain.tip_body == BASE_BODY:
        return np.array([*still, *still])
    inputs = JointInputs(q, dq, [graph.zero] * chain.n, (still, still), weightless=True)
    tip = link_motions(graph, chain, inputs)[chain.tip_body]
    rotation, _ = _frames_to_tip(graph, chain, q)[chain.tip_body]
    acceleration = tip.origin_acceleration + tip.U_matrix @ chain.tip_pose[:3, 3]
    return np.array([*rotation @ acceleration, *rotation @ tip.domega])


def first_moment(graph: Graph, chain: SymbolicChain, q: Sequence[Expression]) -> ScalarArray:
    """Return the first moment (3,) of all bodies about the origin and in the axes of {S}."""
    total = np.array([graph.zero] * 3)
    # First moments and masses of each link and all that it carries.
    moments = [joint.pseudo_inertia[:3, 3] for joint in chain.joints]
    masses = [joint.pseudo_inertia[3, 3] for joint in chain.joints]
    for j in reversed(range(chain.n)):
        joint = chain.joints[j]
        parent = chain.parents[j]
        mass = masses[j]
        moment = joint.fixed_rotation @ (joint.rotation(graph, q[j]) @ moments[j])
        moment = moment + joint.frame_origin(q[j]) * mass
        if parent == BASE_BODY:
            root = chain.root_poses[j]
            total = total + root[:3, :3] @ moment + root[:3, 3] * mass
        else:
            moments[parent] = moments[parent] + moment
            masses[parent] = masses[parent] + mass
    return total


def wrench_in_tip_frame(
    graph: Graph, chain: SymbolicChain, q: Sequence[Expression], wrench: ScalarArray
) -> Wrench:
    """
    Return force and moment, in the tip body's frame, of a wrench at the tip in space axes.

    `wrench`, shape (6,), is a force [N] and a moment [N m] about the tip's origin, in space axes;
    the returned force and moment are about the origin of the tip body's frame.
    """
    path = chain.joints_to_tip()
    into_root_axes = chain.root_poses[path[0]][:3, :3].T
    force = into_root_axes @ wrench[:3]
    moment = into_root_axes @ wrench[3:]
    for j in path:
        joint = chain.joints[j]
        back = joint.rotation(graph, q[j]).T
        force = back @ (joint.fixed_rotation.T @ force)
        moment = back @ (joint.fixed_rotation.T @ moment)
    return force, moment + np.cross(chain.tip_pose[:3, 3], force)


def _frames_to_tip(
    graph: Graph, chain: SymbolicChain, q: Sequence[Expression]
) -> dict[int, tuple[ScalarArray, ScalarArray]]:
    """Return rotation and origin in {S} of the base, and of frames of joints that move the tip."""
    frames = {BASE_BODY: (np.eye(3), np.zeros(3))}
    for j in chain.joints_to_tip():
        joint = chain.joints[j]
        rotation, origin = frames[chain.parents[j]]
        if j in chain.root_poses:
            rotation = chain.root_poses[j][:3, :3]
            origin = chain.root_poses[j][:3, 3]
        origin = origin + rotation @ joint.frame_origin(q[j])
        rotation = (rotation @ joint.fixed_rotation) @ joint.rotation(graph, q[j])
        frames[j] = rotation, origin
    return frames
