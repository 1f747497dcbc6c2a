# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pose and Jacobian of the flange, or of a tree's tool, in the space frame."""

from __future__ import annotations

from collections.abc import Sequence

from .chain import GeneratorChain
from .expression import Expression, Graph
from .recursion import joint_turn
from .vectors import add, apply, arm_to, cross, lifted, Matrix, rotate_back, scale, untwist, Vector
from ..dynamics.body_tree import BASE
from ..typing import Array

Frame = tuple[Matrix, Vector]  # axes as columns, and origin, in the space frame


def tip_pose(
    graph: Graph, chain: GeneratorChain, q: Sequence[Expression]
) -> list[list[Expression]]:
    """Return the pose of the flange, or of a tree's tool, in the space frame, by rows."""
    rows, origin = _tip(graph, chain, _frames(graph, chain, q))
    top = [[*row, along] for row, along in zip(rows, origin)]
    return [*top, [graph.zero, graph.zero, graph.zero, graph.lift(1.0)]]


def jacobian(
    graph: Graph, chain: GeneratorChain, q: Sequence[Expression]
) -> list[list[Expression]]:
    """
    Return the Jacobian (6, n) of the flange, or of a tree's tool, by rows: v, then omega.

    v is the velocity of the origin of the flange or tool; v and omega are in the axes of the space
    frame.
    """
    frames = _frames(graph, chain, q)
    tip = _tip(graph, chain, frames)[1]
    still: Vector = (graph.zero, graph.zero, graph.zero)
    columns: list[tuple[Vector, Vector]] = [(still, still)] * chain.n
    for j, (rows, origin) in frames.items():
        x, y, z = (row[2] for row in rows)
        if chain.joints[j].revolute:
            columns[j] = cross((x, y, z), add(tip, scale(-1.0, origin))), (x, y, z)
        else:
            columns[j] = (x, y, z), still
    return [[(*v, *omega)[k] for v, omega in columns] for k in range(6)]


def _path(chain: GeneratorChain) -> list[int]:
    """Return the joints that move the tip, in order from the base."""
    path, j = [], chain.tip_body
    while j != BASE:
        path.append(j)
        j = chain.parents[j]
    return path[::-1]


def _frames(graph: Graph, chain: GeneratorChain, q: Sequence[Expression]) -> dict[int, Frame]:
    """Return the frames, in the space frame, of the joints that move the tip."""
    rows, origin = _rows(graph, chain.root), lifted(graph, chain.root[:3, 3].tolist())
    frames = {}
    for j in _path(chain):
        joint, turned = chain.joints[j], joint_turn(graph, chain.joints[j], q[j])
        origin = add(origin, apply(rows, arm_to(graph, joint, q[j])))
        x, y, z = (rotate_back(turned, untwist(joint, row)) for row in rows)
        rows = x, y, z
        frames[j] = rows, origin
    return frames


def _tip(graph: Graph, chain: GeneratorChain, frames: dict[int, Frame]) -> Frame:
    rows, origin = frames[chain.tip_body]
    columns = _rows(graph, chain.tip[:3, :3].T)
    x, y, z = (apply(columns, row) for row in rows)
    return (x, y, z), add(origin, apply(rows, lifted(graph, chain.tip[:3, 3].tolist())))


def _rows(graph: Graph, matrix: Array) -> Matrix:
    x, y, z = (lifted(graph, row[:3].tolist()) for row in matrix[:3])
    return x, y, z
