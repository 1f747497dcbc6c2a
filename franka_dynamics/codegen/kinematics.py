# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pose and Jacobian of the flange, or of a tree's tool, in the space frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .chain import GeneratorChain, Values
from .expression import Expression, Graph


def tip_pose(graph: Graph, chain: GeneratorChain, q: Sequence[Expression]) -> Values:
    """Return the pose (4, 4), in the space frame, of the flange or of a tree's tool."""
    rotation, origin = _frames(graph, chain, q)[chain.tip_body]
    pose = np.eye(4).astype(object)
    pose[:3, :3] = rotation @ chain.tip[:3, :3]
    pose[:3, 3] = origin + rotation @ chain.tip[:3, 3]
    return pose


def jacobian(graph: Graph, chain: GeneratorChain, q: Sequence[Expression]) -> Values:
    """
    Return the Jacobian (6, n) of the flange, or of a tree's tool: rows v, then omega.

    v is the velocity of the origin of the flange or tool; v and omega are in the axes of the space
    frame.
    """
    frames = _frames(graph, chain, q)
    rotation, origin = frames[chain.tip_body]
    tip = origin + rotation @ chain.tip[:3, 3]
    columns = np.zeros((6, chain.n)).astype(object)
    for j, (rotation, origin) in frames.items():
        axis = rotation[:, 2]
        if chain.joints[j].revolute:
            columns[:, j] = [*np.cross(axis, tip - origin), *axis]
        else:
            columns[:3, j] = axis
    return columns


def in_tip_frame(
    graph: Graph, chain: GeneratorChain, q: Sequence[Expression], wrench: Values
) -> tuple[Values, Values]:
    """
    Return force and moment, in the tip body's frame, of a wrench at the tip in space axes.

    `wrench`, shape (6,), is a force [N] and a moment [N m] about the tip's origin, in space axes;
    the returned force and moment are about the origin of the tip body's frame.
    """
    force, moment = (chain.root[:3, :3].T @ part for part in np.split(wrench, 2))
    for j in chain.path():
        joint = chain.joints[j]
        back = joint.rotation(graph, q[j]).T
        force, moment = (back @ (joint.axes.T @ part) for part in (force, moment))
    return force, moment + np.cross(chain.tip[:3, 3], force)


def _frames(
    graph: Graph, chain: GeneratorChain, q: Sequence[Expression]
) -> dict[int, tuple[Values, Values]]:
    """Return rotation and origin, in space axes, of the frames of joints that move the tip."""
    rotation, origin = chain.root[:3, :3], chain.root[:3, 3]
    frames = {}
    for j in chain.path():
        joint = chain.joints[j]
        origin = origin + rotation @ joint.frame_origin(q[j])
        rotation = (rotation @ joint.axes) @ joint.rotation(graph, q[j])
        frames[j] = rotation, origin
    return frames
