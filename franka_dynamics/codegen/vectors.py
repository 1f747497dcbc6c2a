# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of expressions, and rotations between the frames of a joint and its antecedent."""

from __future__ import annotations

from collections.abc import Sequence

from .chain import GeneratorJoint, Moments
from .expression import Expression, Graph, Number
from ..spatial import quarter_turns

Vector = tuple[Expression, Expression, Expression]
Matrix = tuple[Vector, Vector, Vector]  # rows
Turn = tuple[Expression, Expression]  # cosine, sine


def lifted(graph: Graph, values: Sequence[Number]) -> Vector:
    """Return three numbers or expressions as a vector."""
    x, y, z = (graph.lift(value) for value in values)
    return x, y, z


def add(a: Vector, b: Vector) -> Vector:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def scale(factor: Number, vector: Vector) -> Vector:
    """Return a multiple of a vector."""
    return vector[0] * factor, vector[1] * factor, vector[2] * factor


def apply(rows: Matrix, vector: Vector) -> Vector:
    """Return the product of a matrix and a vector."""
    x, y, z = (row[0] * vector[0] + row[1] * vector[1] + row[2] * vector[2] for row in rows)
    return x, y, z


def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def turn(graph: Graph, angle: Expression, offset: float) -> Turn:
    """Return cosine and sine of angle + offset; an offset of quarter turns costs no operation."""
    quarters = quarter_turns(offset)
    if quarters is None:
        angle, quarters = angle + offset, 0
    sine, cosine = (graph.zero, graph.lift(1.0)) if angle.is_zero else graph.sin_cos(angle)
    return ((cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine))[quarters]


def rotate(turned: Turn, vector: Vector) -> Vector:
    """Return Rz v."""
    (c, s), (x, y, z) = turned, vector
    return c * x - s * y, s * x + c * y, z


def rotate_back(turned: Turn, vector: Vector) -> Vector:
    """Return Rz' v."""
    (c, s), (x, y, z) = turned, vector
    return c * x + s * y, c * y - s * x, z


def twist(joint: GeneratorJoint, vector: Vector) -> Vector:
    """Return Rz(gamma) Rx(alpha) v."""
    (x, y, z), c, s = vector, joint.cos_alpha, joint.sin_alpha
    y, z = y * c - z * s, y * s + z * c
    c, s = joint.cos_gamma, joint.sin_gamma
    return x * c - y * s, x * s + y * c, z


def untwist(joint: GeneratorJoint, vector: Vector) -> Vector:
    """Return Rx(alpha)' Rz(gamma)' v."""
    (x, y, z), c, s = vector, joint.cos_gamma, joint.sin_gamma
    x, y = x * c + y * s, y * c - x * s
    c, s = joint.cos_alpha, joint.sin_alpha
    return x, y * c + z * s, z * c - y * s


def arm_to(graph: Graph, joint: GeneratorJoint, position: Expression) -> Vector:
    """Return the origin of a joint's frame in its antecedent's frame."""
    arm = lifted(graph, joint.origin)
    return arm if joint.revolute else add(arm, scale(position, lifted(graph, joint.axis)))


def turned_moments(graph: Graph, turned: Turn, moments: Moments) -> Moments:
    """
    Return a body's mass moments, given in a joint's rotated axes, in the axes before the rotation.

    With sine s, cosine c and k = s (Sxx - Syy) + 2 c Sxy, the elements xx, xy and yy become Sxx -
    s k, c k - Sxy and Syy + s k, which takes four products, and a fifth for 2 Sxy if Sxy varies.
    """
    c, s = turned
    xx, xy, xz, yy, yz, zz = (graph.lift(entry) for entry in moments.second)
    hx, hy, hz = rotate(turned, lifted(graph, moments.first))
    shear = s * (xx - yy) + c * (2.0 * xy)
    lean_x, lean_y, _ = rotate(turned, (xz, yz, zz))
    return Moments(
        moments.mass,
        (hx, hy, hz),
        (xx - s * shear, c * shear - xy, lean_x, yy + s * shear, lean_y, zz),
    )
