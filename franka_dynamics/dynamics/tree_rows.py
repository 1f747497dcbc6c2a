# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Rows of geometric parameters for trees: the notation of Khalil and Kleinfinger 1986.

The pose of frame j in the frame of its antecedent is Rz(gamma) Tz(b) Rx(alpha) Tx(a) Rz(theta)
Tz(d), with the joint's position added to theta or d. With gamma = b = 0 the other four parameters
are a modified (Craig) DH row. Khalil and Kleinfinger write d_j for `a` and r_j for `d`.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from .body_tree import BASE, BodyTree
from ..arm import Convention, DHRow, JointKind
from ..errors import TreeError
from ..spatial import cos_sin, inverse_transform, snapped
from ..typing import Array

# Tolerance for rounding errors in the entries of the unit twist of a joint along z.
_ALONG_Z = 1e-12
# Sines of angles between axes, and lengths relative to the largest coordinate of a tree's
# placements, count as zero up to this value.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class TreeRow:
    """
    One joint of a tree and the pose of its frame in the antecedent's frame.

    Parameters
    ----------
    parent : int
        Number of the antecedent, BASE (-1) for the ground; it is below the joint's own number.
    kind : JointKind
        Whether the joint's position is added to `row.theta` or to `row.d`.
    gamma, b : float
        Rotation about [rad] and displacement along [m] the antecedent's z, before the row.
    row : DHRow
        The remaining parameters, in the modified convention.

    """

    parent: int
    kind: JointKind
    gamma: float
    b: float
    row: DHRow


def tree_rows(tree: BodyTree) -> tuple[TreeRow, ...]:
    """
    Return the rows of a tree in which every joint's axis is z of its body's frame.

    The row of a joint on the base starts from the space frame. Every placement has a row: alpha
    and a are the angle and the distance between the parent's and the child's joint axis, about and
    along their common normal; gamma and b lead from the parent's frame to the normal, theta and d
    from the normal to the child's frame. Between parallel axes d = 0. Of the two directions
    of the common normal, the one within a quarter turn of the parent's x axis is taken.

    Raises
    ------
    TreeError
        If a joint's twist is not along the z of its body's frame; `with_axes_along_z` moves the
        frames.

    """
    rows = []
    reach = max([float(np.abs(tree.placements[:, :3, 3]).max(initial=0.0)), 1e-300])
    for parent, placement, twist, name in zip(
        tree.parents, tree.placements, tree.twists, tree.names
    ):
        if not _is_along_z(twist):
            raise TreeError(
                f"{name} does not lie along z of its body's frame: its twist (v, omega) is "
                f'{twist.tolist()}. Move the frames with with_axes_along_z(tree); the bodies are '
                'then described in the moved frames.'
            )
        kind = JointKind.REVOLUTE if twist[3:].any() else JointKind.PRISMATIC
        rows.append(TreeRow(parent, kind, *_row_of(placement, reach)))
    return tuple(rows)


def with_axes_along_z(tree: BodyTree) -> BodyTree:
    """
    Return the tree with every body's frame moved so that its joint's axis is z.

    Inertias, placements and the tool's pose are transformed accordingly: torques, energies and
    poses of the tool do not change.
    """
    moves = frames_along_z(tree)
    backs = [inverse_transform(move) for move in moves]
    placements, twists = [], []
    for i, parent in enumerate(tree.parents):
        before = np.eye(4) if parent == BASE else backs[parent]
        placements.append(before @ tree.placements[i] @ moves[i])
        twists.append(_along_z(tree.twists[i]))
    inertias = [body.expressed_in(back) for body, back in zip(tree.inertias, backs)]
    return BodyTree(
        tree.parents,
        np.array(placements),
        np.array(twists),
        tuple(inertias),
        tree.rotor_inertias,
        tree.tool_body,
        backs[tree.tool_body] @ tree.tool,
        tree.names,
    )


def frames_along_z(tree: BodyTree) -> Array:
    """
    Return the pose, in each body's frame, of a frame whose z is the joint's axis, (n, 4, 4).

    For a revolute joint, the returned frame's origin is the point of the joint's axis nearest to
    the origin of the body's frame. For a body's frame whose z is already the joint's axis, the
    pose is the identity.
    """
    return np.array(
        [np.eye(4) if _is_along_z(twist) else _to_axis(twist) for twist in tree.twists]
    )


def _along_z(twist: Array) -> Array:
    """Return the unit twist of a joint about z, or along z if `twist` is a prismatic joint's."""
    return np.eye(6)[5 if twist[3:].any() else 2]


def _is_along_z(twist: Array) -> bool:
    return bool(np.abs(twist - _along_z(twist)).max() <= _ALONG_Z)


def _to_axis(twist: Array) -> Array:
    """Return the pose, in the body's frame, of a frame whose z is the joint's axis."""
    v, omega = twist[:3], twist[3:]
    axis = omega if omega.any() else v
    pose = np.eye(4)
    pose[:3, 3] = np.cross(omega, v)
    # x is the body-frame axis nearest to a right angle with the joint's axis, made orthogonal to
    # the joint's axis.
    x = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = x - (x @ axis) * axis
    x = x / np.linalg.norm(x)
    pose[:3, :3] = np.column_stack((x, np.cross(axis, x), axis))
    return pose


def _row_of(placement: Array, reach: float) -> tuple[float, float, DHRow]:
    """Return gamma, b, modified DH row of a pose; lengths up to 1e-14 times `reach` count as 0."""
    rotation, origin = placement[:3, :3], placement[:3, 3]
    across = rotation[:2, 2]  # the child's z, projected onto the parent's xy plane
    sine = float(np.hypot(*across))
    if sine > _ROUNDING:
        normal = np.array([-across[1], across[0]]) / sine  # z_parent x z_child
    elif np.hypot(*origin[:2]) > _ROUNDING * reach:
        normal = origin[:2] / np.hypot(*origin[:2])
    else:
        normal = np.array([1.0, 0.0])
    if normal[0] < 0.0 or (normal[0] <= _ROUNDING and normal[1] < 0.0):
        normal = -normal
    gamma = _quarter(math.atan2(normal[1], normal[0]))
    c, s = cos_sin(gamma)
    turned = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    along, point = turned @ rotation, turned @ origin
    pose = np.eye(4)
    pose[:3, :3] = along
    read = DHRow.of_pose(pose, Convention.MODIFIED)
    alpha, theta = _quarter(read.alpha), _quarter(read.theta)
    cosine, sine = cos_sin(alpha)
    # d is the distance on the child's axis from the common normal to the child's origin, b the
    # distance on the parent's axis from the parent's origin to the common normal.
    d = -point[1] / sine if sine != 0.0 else 0.0
    return (
        gamma,
        _tidy(point[2] - d * cosine, reach),
        DHRow(a=_tidy(point[0], reach), alpha=alpha, d=_tidy(d, reach), theta=theta),
    )


def _quarter(angle: float) -> float:
    """Return the multiple of pi/2 from which an angle [rad] differs by rounding, else itself."""
    return snapped(angle, 0.5 * math.pi, _ROUNDING)


def _tidy(length: float, reach: float) -> float:
    return 0.0 if abs(length) <= _ROUNDING * reach else float(length)
