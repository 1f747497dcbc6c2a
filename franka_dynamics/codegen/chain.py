# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The chain of joints and bodies that equations are generated for, and its base parameters.

An arm is treated as a tree of bodies, and every body's frame is moved so that its z axis is the
joint's axis. Vectors and matrices are NumPy arrays of numbers or expressions (dtype object). A
body's inertia is its pseudo-inertia [[S, h], [h', m]], shape (4, 4): S is the second moment, the
integral of r r' dm, h the first moment, m the mass; the inertia tensor is tr(S) 1 - S.

Base parameters: mass on the axis of revolute joint j moves in the same way whether it is part of
link j or of link j - 1. Therefore the mass m, the first moment hz and the second moment Szz of
link j are moved to link j - 1. This is the regrouping of Gautier and Khalil 1990, eq. (20), which
eliminates m, mZ and YY; here Szz becomes zero in place of YY. A prismatic joint does not turn its
link, so that the link's whole second moment is moved to the previous link, as S_{j-1} + R S_j R';
their eq. (21) for it has errors (docs/theory/errata.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
import math
from typing import Any

import numpy as np

from .expression import Graph, Scalar
from ..arm import ArmDescription
from ..arm.frames import FLANGE, Frame, frame_placement
from ..arm.inertia import TENSOR_ORDER
from ..arrays import Array
from ..dynamics.body_tree import BASE_BODY, BodyTree
from ..errors import FrameError, list_text, short_text
from ..spatial import cos_sin, inverse_transform, quarter_turns, snapped_angle

# An array of numbers or expressions.
ScalarArray = np.ndarray[Any, Any]

# Entries of rotations, lengths relative to the largest coordinate of the tree, and components of
# gravity relative to |gravity| are rounding errors up to this value, and count as zero.
_MAX_ROUNDOFF = 1e-14


@dataclass(frozen=True, eq=False)
class SymbolicJoint:
    """
    A revolute or prismatic joint with placement, rotor inertia and its link's pseudo-inertia.

    Relative to its antecedent's frame the link's frame has the rotation E Rz(theta + q), with q
    only for a revolute joint, and E = `fixed_rotation`, shape (3, 3). `origin`, shape (3,), is the
    origin of the link's frame [m] (for a prismatic joint, at q = 0). `pseudo_inertia` is the
    link's.
    """

    is_revolute: bool
    fixed_rotation: ScalarArray
    origin: ScalarArray
    theta_offset: float
    pseudo_inertia: ScalarArray
    rotor_inertia: Scalar

    def rotation(self, graph: Graph, q: Scalar) -> ScalarArray:
        """Return the rotation (3, 3) Rz(theta + q), or Rz(theta) of a prismatic joint."""
        if not self.is_revolute:
            return rotation_about_z(*cos_sin(self.theta_offset))
        angle = graph.expression(q)
        quarters = quarter_turns(self.theta_offset)
        if quarters is None:
            angle = angle + self.theta_offset
            quarters = 0
        s, c = graph.sin_cos(angle)
        # Cosine and sine of the angle plus 0, 1, 2 and 3 quarter turns.
        cosine, sine = ((c, s), (-s, c), (-c, -s), (s, -c))[quarters]
        return rotation_about_z(cosine, sine)

    def frame_origin(self, q: Scalar) -> ScalarArray:
        """Return the origin (3,) of the link's frame in the antecedent's frame."""
        return self.origin if self.is_revolute else self.origin + self.fixed_rotation[:, 2] * q


@dataclass(frozen=True, eq=False)
class SymbolicChain:
    """
    An arm or a tree as a list of joints, parents first, with numbers or expressions.

    Attributes
    ----------
    joints : tuple of SymbolicJoint
        For a joint on the base (a root) the antecedent's frame is the joint's own frame at
        theta = q = 0, because torques do not depend on the position of the base.
    root_gravity : mapping of int to ndarray, shape (3,)
        Gravity in the axes of each root's antecedent frame [m/s^2], by the root's number.
    root_poses : mapping of int to ndarray, shape (4, 4)
        Pose, in the space frame, of each root's antecedent frame, by the root's number.
    tip_pose : ndarray, shape (4, 4)
        Pose of the frame of interest, such as the flange, in the frame of the body `tip_body`.
    parents : tuple of int
        Numbers of the joints' antecedents; BASE_BODY (-1) for roots.
    tip_body : int
        The body that carries the tip; BASE_BODY if it does not move, the tip then in {S}.
    joint_names : tuple of str
        Names of the joints.

    """

    joints: tuple[SymbolicJoint, ...]
    root_gravity: Mapping[int, ScalarArray]
    root_poses: Mapping[int, ScalarArray]
    tip_pose: ScalarArray
    parents: tuple[int, ...]
    tip_body: int
    joint_names: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    def joints_to_tip(self) -> list[int]:
        """Return the numbers of the joints that move the tip, from the base on."""
        path = []
        j = self.tip_body
        while j != BASE_BODY:
            path.append(j)
            j = self.parents[j]
        return path[::-1]


def rotation_about_z(cosine: Scalar, sine: Scalar) -> ScalarArray:
    """Return the rotation (3, 3) about z by an angle of which cosine and sine are given."""
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])


def link_parameter_names(link: int) -> tuple[str, ...]:
    """Return names such as X1_xx of a link's inertial parameters, in LinkInertia's order."""
    return tuple(f'X{link}_{field}' for field in (*TENSOR_ORDER, 'hx', 'hy', 'hz', 'm'))


def build_chain(
    description: ArmDescription | BodyTree,
    gravity: ScalarArray,
    graph: Graph | None = None,
    tip_frame: Frame = FLANGE,
) -> SymbolicChain:
    """
    Return the chain of an arm or tree, with inertial parameters as numbers or as symbols.

    Parameters
    ----------
    description : ArmDescription or BodyTree
        The arm, in either DH convention, with revolute and prismatic joints; or a tree.
    gravity : ndarray, shape (3,)
        Gravity in the space frame [m/s^2], numbers or expressions.
    graph : Graph, optional
        Graph in which the inertial parameters become symbols, about the origins of the
        description's own frames. Without a graph they are the description's numbers.
    tip_frame : int or str
        Frame that is the tip; FLANGE is a tree's tool.

    """
    tree, tip_body, tip = tree_and_frame(description, tip_frame)
    # Poses, in the bodies' own frames, of the frames whose z is the joint's axis, and their
    # inverses. The identity at the end is that of the base: BASE_BODY, -1, is the last index.
    axis_frames = np.array([_joint_axis_frame(twist) for twist in tree.twists])
    to_axis_frames = np.array([*map(inverse_transform, axis_frames), np.eye(4)])
    placements = to_axis_frames[list(tree.parents)] @ tree.placements @ axis_frames
    reach = float(np.abs(placements[:, :3, 3]).max(initial=0.0))
    joints: list[SymbolicJoint] = []
    root_gravity: dict[int, ScalarArray] = {}
    root_poses: dict[int, ScalarArray] = {}
    bodies = zip(tree.parents, placements, tree.inertias)
    for i, (parent, placement, link) in enumerate(bodies):
        axes, theta = _split_off_z_rotation(placement[:3, :3])
        origin = np.where(np.abs(placement[:3, 3]) > _MAX_ROUNDOFF * reach, placement[:3, 3], 0.0)
        own_inertia = link.pseudo_inertia().astype('O')
        rotor_inertia: Scalar = float(tree.rotor_inertias[i])
        if graph:
            own_inertia = _symbolic_pseudo_inertia(graph, i + 1)
        to_axis_frame = to_axis_frames[i]
        inertia = moved_pseudo_inertia(own_inertia, to_axis_frame[:3, :3], to_axis_frame[:3, 3])
        if graph:
            rotor_inertia = graph.parameter(f'X{i + 1}_rotor')
        if parent == BASE_BODY:
            root_gravity[i] = _gravity_along_axes(axes, gravity)
            root_poses[i] = np.block([[axes, origin[:, None]], [np.zeros(3), 1.0]])
            axes = np.eye(3)
            origin = np.zeros(3)
        joint = SymbolicJoint(
            is_revolute=bool(tree.twists[i, 3:].any()),
            fixed_rotation=axes,
            origin=origin,
            theta_offset=theta,
            pseudo_inertia=inertia,
            rotor_inertia=rotor_inertia,
        )
        joints.append(joint)
    return SymbolicChain(
        joints=tuple(joints),
        root_gravity=root_gravity,
        root_poses=root_poses,
        tip_pose=to_axis_frames[tip_body] @ tip,
        parents=tree.parents,
        tip_body=tip_body,
        joint_names=tree.joint_names,
    )


def tree_and_frame(
    description: ArmDescription | BodyTree, frame: Frame
) -> tuple[BodyTree, int, ScalarArray]:
    """
    Return an arm as a tree, a frame's body number and pose in it; FrameError for an unknown frame.

    The number of the base is BASE_BODY, and the pose then in the space frame. A tree's frames are
    those of its bodies, by number from 1 or by their joints' names, and its tool.

    Raises
    ------
    FrameError
        If there is no such frame.

    """
    if not isinstance(description, BodyTree):
        joint, pose = frame_placement(frame, description)
        return BodyTree.from_description(description), joint - 1, pose
    names = description.joint_names
    if frame in (FLANGE, description.n + 1):
        return description, description.tool_body, description.tool_pose
    if frame in names:
        return description, names.index(str(frame)), np.eye(4)
    if type(frame) is int and 1 <= frame <= description.n:
        return description, frame - 1, np.eye(4)
    raise FrameError(
        f'There is no frame {short_text(repr(frame))} of the tree: its bodies are 1..'
        f'{description.n} or {list_text(names)}, its tool is {description.n + 1}.'
    )


def moved_pseudo_inertia(J: ScalarArray, R: ScalarArray, p: ScalarArray) -> ScalarArray:
    """Return a pseudo-inertia J (4, 4) of frame B in frame A, where B has the pose (R, p)."""
    S = J[:3, :3]
    h = R @ J[:3, 3]
    m = J[3, 3]
    # In the new frame the second moment is R S R' + k p' + p k' with k = R h + m p / 2.
    shifted = np.outer(h + p * (0.5 * m), p)
    return pseudo_inertia(R @ S @ R.T + shifted + shifted.T, h + p * m, m)


def pseudo_inertia(second_moment: ScalarArray, h: ScalarArray, mass: Scalar) -> ScalarArray:
    """
    Return the pseudo-inertia (4, 4) of second moment (3, 3), first moment (3,) and mass.

    Of the second moment only the upper triangle is read.
    """
    out = np.empty((4, 4), dtype=object)
    out[:3, :3] = second_moment
    out[:3, 3] = h
    out[3, 3] = mass
    below = np.tril_indices(4, -1)
    out[below] = out.T[below]
    return out


def _symbolic_pseudo_inertia(graph: Graph, link: int) -> ScalarArray:
    """Return a link's pseudo-inertia from symbols of its tensor, first moment and mass."""
    xx, xy, xz, yy, yz, zz, *first, mass = map(graph.parameter, link_parameter_names(link))
    half_trace = 0.5 * (xx + yy + zz)
    second = [
        [half_trace - xx, -xy, -xz],
        [0.0, half_trace - yy, -yz],
        [0.0, 0.0, half_trace - zz],
    ]
    return pseudo_inertia(np.array(second, dtype=object), np.array(first), mass)


def _split_off_z_rotation(rotation: ScalarArray) -> tuple[ScalarArray, float]:
    """
    Return factor E and angle theta of a rotation E Rz(theta), with E = Rz(gamma) Rx(alpha).

    These are the angles of Khalil and Kleinfinger 1986. The x axis of E is the common normal of
    the two joint axes, in the direction within a quarter turn of the antecedent's x.
    """
    if math.hypot(*rotation[2, :2]) > _MAX_ROUNDOFF:
        theta = math.atan2(rotation[2, 0], rotation[2, 1])
    else:  # parallel axes: gamma is 0
        theta = math.atan2(rotation[1, 0], rotation[0, 0])
    theta = snapped_angle(theta, 0.5 * math.pi, _MAX_ROUNDOFF)
    c, s = cos_sin(theta)
    axes = rotation @ rotation_about_z(c, -s)
    if axes[0, 0] < -_MAX_ROUNDOFF or (axes[0, 0] <= _MAX_ROUNDOFF and axes[1, 0] < 0.0):
        axes = axes @ np.diag([-1.0, -1.0, 1.0])
        theta = theta - math.copysign(math.pi, theta)
    whole = np.round(axes)
    return np.where(np.abs(axes - whole) <= _MAX_ROUNDOFF, whole, axes), theta


def _gravity_along_axes(axes: ScalarArray, gravity: ScalarArray) -> ScalarArray:
    """Return gravity's components along the columns of `axes` (3, 3); both are in space axes."""
    components = axes.T @ gravity
    if components.dtype == object:
        return components
    is_rounding = np.abs(components) <= _MAX_ROUNDOFF * np.linalg.norm(components)
    return np.where(is_rounding, 0.0, components)


# Tolerance for rounding errors in the entries of the unit twist of a joint along z.
_ALONG_Z_TOLERANCE = 1e-12


def _joint_axis_frame(twist: Array) -> Array:
    """
    Return the pose, in the body's frame, of a frame whose z is the joint's axis, (4, 4).

    Of a revolute joint its origin is the point of the axis nearest to the origin of the body's
    frame. If z of the body's frame is the joint's axis already, the pose is the identity.
    """
    v = twist[:3]
    omega = twist[3:]
    axis = omega if omega.any() else v
    pose = np.eye(4)
    along_z = np.eye(6)[5 if omega.any() else 2]
    if np.abs(twist - along_z).max() <= _ALONG_Z_TOLERANCE:
        return pose
    pose[:3, 3] = np.cross(omega, v)
    # x is the axis of the body's frame nearest to a right angle with the joint's axis, turned to
    # a right angle.
    x = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = x - (x @ axis) * axis
    x = x / np.linalg.norm(x)
    pose[:3, :3] = np.column_stack((x, np.cross(axis, x), axis))
    return pose


# The elements of a pseudo-inertia [[S, h], [h', m]] that are moved to the antecedent: Szz, hz and
# m of a revolute joint's link, the whole of S of a prismatic joint's link.
_REVOLUTE_REGROUPED_MASK = np.zeros((4, 4), dtype=bool)
_REVOLUTE_REGROUPED_MASK[2:, 2:] = True
_PRISMATIC_REGROUPED_MASK = np.zeros((4, 4), dtype=bool)
_PRISMATIC_REGROUPED_MASK[:3, :3] = True


def with_origins_nearest_parent(chain: SymbolicChain) -> SymbolicChain:
    """
    Return the chain with each revolute frame's origin moved along its axis, nearest the parent's.

    Frames of prismatic joints and of roots keep their origins. The origin of a Franka's frame 3 is
    moved to that of frame 2 in the shoulder, so that no torque needs the force at joint 3.
    """
    joints: list[SymbolicJoint] = []
    shifts = np.zeros((chain.n, 3))  # of each origin along its own axis, in its own frame [m]
    for j, (joint, parent) in enumerate(zip(chain.joints, chain.parents)):
        origin = joint.origin
        axis = joint.fixed_rotation[:, 2]
        if parent != BASE_BODY:
            origin = origin - shifts[parent]
            if joint.is_revolute:
                shifts[j, 2] = -float(origin @ axis)
        origin = origin + shifts[j, 2] * axis
        body = moved_pseudo_inertia(joint.pseudo_inertia, np.eye(3), -shifts[j])
        joints.append(replace(joint, origin=origin, pseudo_inertia=body))
    tip = chain.tip_pose.copy()
    if chain.tip_body != BASE_BODY:
        tip[:3, 3] -= shifts[chain.tip_body]
    return replace(chain, joints=tuple(joints), tip_pose=tip)


def regroup_parameters(chain: SymbolicChain) -> SymbolicChain:
    """Return the chain with its inertial parameters regrouped to base parameters."""
    joints = list(chain.joints)
    for j in reversed(range(chain.n)):
        joint = joints[j]
        parent = chain.parents[j]
        is_moved = _REVOLUTE_REGROUPED_MASK if joint.is_revolute else _PRISMATIC_REGROUPED_MASK
        if parent != BASE_BODY:
            moved = np.where(is_moved, joint.pseudo_inertia, 0.0)
            if joint.is_revolute:
                moved = moved_pseudo_inertia(moved, joint.fixed_rotation, joint.origin)
            else:
                rotation = joint.fixed_rotation @ rotation_about_z(*cos_sin(joint.theta_offset))
                moved = moved_pseudo_inertia(moved, rotation, np.zeros(3))
            carrier = joints[parent]
            joints[parent] = replace(carrier, pseudo_inertia=carrier.pseudo_inertia + moved)
        joints[j] = replace(joint, pseudo_inertia=np.where(is_moved, 0.0, joint.pseudo_inertia))
    return replace(chain, joints=tuple(joints))
