# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The mass matrix by composite bodies, written out as expressions.

Element (i, j) is the torque at joint i when joint j alone accelerates by one: everything beyond
joint j then moves as one body (Walker & Orin 1982, method 3). Its moments are gathered from the
tip, and since base parameters leave no mass on the links, most of them are short.
"""

from __future__ import annotations

from dataclasses import replace

from .chain import ChainJoint, Moments
from .expression import Expression, Graph, Number
from .motion import joint_turn
from .regrouping import RegroupedChain
from .vectors import add, arm_to, cross, lifted, rotate, Turn, turned_moments, twist, Vector


def mass_matrix(graph: Graph, regrouped: RegroupedChain, q: tuple[Expression, ...],
                ) -> dict[tuple[int, int], Expression]:
    """Return the elements (i, j), i <= j, of the mass matrix."""
    joints = regrouped.chain.joints
    n = len(joints)
    turns = [joint_turn(graph, joint, q[j]) for j, joint in enumerate(joints)]
    composite = joints[-1].moments
    elements: dict[tuple[int, int], Expression] = {}
    for j in reversed(range(n)):
        joint = joints[j]
        force, moment = _effort(graph, joint, composite)
        own = moment[2] if joint.revolute else force[2]
        elements[j, j] = own + joint.rotor_inertia
        for i in reversed(range(j)):
            outer = joints[i + 1]
            arm = arm_to(graph, outer, q[i + 1])
            force = twist(outer, rotate(turns[i + 1], force))
            moment = twist(outer, rotate(turns[i + 1], moment))
            moment = add(moment, cross(arm, force))
            elements[i, j] = moment[2] if joints[i].revolute else force[2]
        if j:
            # A mass kept on the axis, at the origin, is felt from the joint before on.
            composite = replace(composite, mass=composite.mass + regrouped.kept[j])
            carried = _handed_down(graph, joint, turns[j], composite, arm_to(graph, joint, q[j]))
            composite = joints[j - 1].moments + carried
    return elements


def _effort(graph: Graph, joint: ChainJoint, body: Moments) -> tuple[Vector, Vector]:
    """Return force and moment that accelerate a body by one about, or along, z."""
    hx, hy, _ = lifted(graph, body.first)
    xx, _, xz, yy, yz, _ = (graph.lift(entry) for entry in body.second)
    zero = graph.zero
    if joint.revolute:
        return (-hy, hx, zero), (-xz, -yz, xx + yy)
    return (zero, zero, graph.lift(body.mass)), (hy, -hx, zero)


def _handed_down(graph: Graph, joint: ChainJoint, turned: Turn,
                 body: Moments, arm: Vector) -> Moments:
    """Return a body's moments in the frame before the joint's."""
    body = turned_moments(graph, turned, body)
    tilted = body.expressed_in(joint.twist.tolist(), (0.0, 0.0, 0.0))
    h, m = lifted(graph, tilted.first), graph.lift(tilted.mass)
    # Half of S' = S + h p' + p h' + m p p', so that the symmetric products are written once.
    half = [h[k] + 0.5 * (m * arm[k]) for k in range(3)]
    pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    second: list[Number] = [s + (2.0 * (half[i] * arm[i]) if i == j else
                                 half[i] * arm[j] + half[j] * arm[i])
                            for s, (i, j) in zip(tilted.second, pairs)]
    first = [h[k] + m * arm[k] for k in range(3)]
    return Moments(m, (first[0], first[1], first[2]),
                   (second[0], second[1], second[2], second[3], second[4], second[5]))
