# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pose, Jacobian and bias acceleration of a chain's tip, and the bodies' first moment."""

from collections.abc import Sequence

import numpy as np

from .chain import GeneratorChain, NumberArray
from .expression import Expression, Graph
from .recursion import JointInputs, outward_recursion, Wrench
from ..dynamics.body_tree import BASE_BODY


def tip_pose(graph: Graph, chain: GeneratorChain, q: Sequence[Expression]) -> NumberArray:
    """Return the pose (4, 4), in the space frame, of the chain's tip."""
    rotation, origin = _frames_to_tip(graph, chain, q)[chain.tip_body]
    pose = np.eye(4).astype(object)
    pose[:3, :3] = rotation @ chain.tip[:3, :3]
    pose[:3, 3] = origin + rotation @ chain.tip[:3, 3]
    return pose


def jacobian(
    graph: Graph, chain: GeneratorChain, q: Sequence[Expression], reference_frame: str
) -> NumberArray:
    """
    Return the Jacobian (6, n) of the chain's tip: rows v, then omega.

    `reference_frame` has the meanings of `Model.jacobian`: LOCAL has the axes of the tip, WORLD
    the velocity of the body's point at the origin of the space frame.
    """
    frames = _frames_to_tip(graph, chain, q)
    rotation, origin = frames[chain.tip_body]
    point = origin + rotation @ chain.tip[:3, 3] if reference_frame != 'WORLD' else np.zeros(3)
    into = (rotation @ chain.tip[:3, :3]).T if reference_frame == 'LOCAL' else np.eye(3)
    columns = np.zeros((6, chain.n)).astype(object)
    for j in chain.joints_to_tip():
        rotation, origin = frames[j]
        axis = rotation[:, 2]
        if chain.joints[j].revolute:
            columns[:, j] = [*into @ np.cross(axis, point - origin), *into @ axis]
        else:
            columns[:3, j] = into @ axis
    return columns


def bias_acceleration(
    graph: Graph, chain: GeneratorChain, q: Sequence[Expression], dq: Sequence[Expression]
) -> NumberArray:
    """Return dJ/dt dq (6,) of the tip: accelerations of its origin and axes at ddq = 0."""
    still = np.array([graph.zero] * 3)
    if chain.tip_body == BASE_BODY:
        return np.array([*still, *still])
    inputs = JointInputs(q, dq, [graph.zero] * chain.n, (still, still), weightless=True)
    tip = outward_recursion(graph, chain, inputs)[chain.tip_body]
    rotation, _ = _frames_to_tip(graph, chain, q)[chain.tip_body]
    acceleration = tip.acceleration + tip.U @ chain.tip[:3, 3]
    return np.array([*rotation @ acceleration, *rotation @ tip.domega])


def first_moment(graph: Graph, chain: GeneratorChain, q: Sequence[Expression]) -> NumberArray:
    """Return the first moment (3,) of all bodies about the space frame's origin, in its axes."""
    total = np.array([graph.zero] * 3)
    held = [joint.body[:, 3] for joint in chain.joints]  # first moment and mass
    for j in reversed(range(chain.n)):
        joint, parent, (*moment, mass) = chain.joints[j], chain.parents[j], held[j]
        moment = joint.axes @ (joint.rotation(graph, q[j]) @ np.array(moment))
        moment = moment + joint.frame_origin(q[j]) * mass
        if parent == BASE_BODY:
            root = chain.roots[j]
            total = total + root[:3, :3] @ moment + root[:3, 3] * mass
        else:
            held[parent] = held[parent] + np.array([*moment, mass])
    return total


def wrench_in_tip_frame(
    graph: Graph, chain: GeneratorChain, q: Sequence[Expression], wrench: NumberArray
) -> Wrench:
    """
    Return force and moment, in the tip body's frame, of a wrench at the tip in space axes.

    `wrench`, shape (6,), is a force [N] and a moment [N m] about the tip's origin, in space axes;
    the returned force and moment are about the origin of the tip body's frame.
    """
    path = chain.joints_to_tip()
    force, moment = (chain.roots[path[0]][:3, :3].T @ part for part in np.split(wrench, 2))
    for j in path:
        joint = chain.joints[j]
        back = joint.rotation(graph, q[j]).T
        force, moment = (back @ (joint.axes.T @ part) for part in (force, moment))
    return force, moment + np.cross(chain.tip[:3, 3], force)


def _frames_to_tip(
    graph: Graph, chain: GeneratorChain, q: Sequence[Expression]
) -> dict[int, tuple[NumberArray, NumberArray]]:
    """Return rotation and origin in space axes of the base, and of joints that move the tip."""
    frames = {BASE_BODY: (np.eye(3), np.zeros(3))}
    for j in chain.joints_to_tip():
        joint = chain.joints[j]
        rotation, origin = frames[chain.parents[j]]
        if j in chain.roots:
            rotation, origin = chain.roots[j][:3, :3], chain.roots[j][:3, 3]
        origin = origin + rotation @ joint.frame_origin(q[j])
        rotation = (rotation @ joint.axes) @ joint.rotation(graph, q[j])
        frames[j] = rotation, origin
    return frames
