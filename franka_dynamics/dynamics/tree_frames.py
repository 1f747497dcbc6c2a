# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of a tree's bodies with the joints' axes along z."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .body_tree import BASE, BodyTree
from ..spatial import inverse_transform
from ..typing import Array

# Tolerance for rounding errors in the entries of the unit twist of a joint along z.
_ALONG_Z_TOLERANCE = 1e-12


def with_axes_along_z(tree: BodyTree) -> BodyTree:
    """
    Return the tree with every body's frame moved so that its joint's axis is z.

    Inertias, placements and the tool's pose are transformed accordingly: torques, energies and
    poses of the tool do not change.
    """
    moves = frames_along_z(tree)
    backs = [inverse_transform(move) for move in moves]
    before = [np.eye(4) if parent == BASE else backs[parent] for parent in tree.parents]
    return replace(
        tree,
        placements=np.array(before) @ tree.placements @ moves,
        twists=np.array([_along_z(twist) for twist in tree.twists]),
        inertias=tuple(body.expressed_in(back) for body, back in zip(tree.inertias, backs)),
        tool=backs[tree.tool_body] @ tree.tool,
    )


def frames_along_z(tree: BodyTree) -> Array:
    """
    Return the pose, in each body's frame, of a frame whose z is the joint's axis, (n, 4, 4).

    For a revolute joint, the returned frame's origin is the point of the joint's axis nearest to
    the origin of the body's frame. For a body's frame whose z is already the joint's axis, the
    pose is the identity.
    """
    return np.array([_to_axis(twist) for twist in tree.twists])


def _along_z(twist: Array) -> Array:
    """Return the unit twist of a joint about z, or along z if `twist` is a prismatic joint's."""
    return np.eye(6)[5 if twist[3:].any() else 2]


def _to_axis(twist: Array) -> Array:
    """Return the pose, in the body's frame, of a frame whose z is the joint's axis."""
    if np.abs(twist - _along_z(twist)).max() <= _ALONG_Z_TOLERANCE:
        return np.eye(4)
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
