# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The chain of joints and bodies that equations are generated for.

An arm is treated as a tree of bodies, and every body's frame is moved so that its z axis is the
joint's axis. Inertia is kept as the second moment S (the integral of r r' dm), a block of the
pseudo-inertia; the inertia tensor is tr(S) 1 - S.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from .expression import Graph, Number
from ..arm import ArmDescription, JointKind, LinkInertia
from ..arm.inertia import TENSOR_ORDER
from ..dynamics.body_tree import as_tree, BASE, BodyTree
from ..dynamics.model import GRAVITY, gravity_vector
from ..dynamics.tree_rows import frames_along_z, tree_rows, TreeRow, with_axes_along_z
from ..spatial import cos_sin, inverse_transform
from ..typing import Array

# Components of gravity below this fraction of |gravity| are rounding errors of rotations by
# quarter turns, and count as zero.
_ZERO = 1e-15


@dataclass(frozen=True)
class Moments:
    """
    Mass, first moment and second moment of a body about its frame's origin.

    `second` holds the second moments xx, xy, xz, yy, yz, zz. All moments are numbers or
    expressions.
    """

    mass: Number
    first: tuple[Number, Number, Number]
    second: tuple[Number, Number, Number, Number, Number, Number]

    @classmethod
    def of(cls, link: LinkInertia) -> Moments:
        """Return a link's mass, first and second moment as numbers."""
        pseudo = link.pseudo_inertia()
        xx, xy, xz, yy, yz, zz = (float(pseudo[i, j]) for i, j in _SIX)
        hx, hy, hz = (float(h) for h in link.first_moment)
        return cls(link.mass, (hx, hy, hz), (xx, xy, xz, yy, yz, zz))

    @classmethod
    def parameters(cls, graph: Graph, link: int) -> Moments:
        """Return a link's moments from symbols of its inertia tensor, first moment and mass."""
        xx, xy, xz, yy, yz, zz, hx, hy, hz, mass = (
            graph.parameter(name) for name in link_parameter_names(link)
        )
        half = 0.5 * (xx + yy + zz)
        return cls(mass, (hx, hy, hz), (half - xx, -xy, -xz, half - yy, -yz, half - zz))

    def expressed_in(
        self, rotation: Sequence[Sequence[float]], origin: Sequence[Number]
    ) -> Moments:
        """Return the moments in another frame, where a point r is at rotation @ r + origin."""
        rows = [[float(entry) for entry in row] for row in rotation]
        turned = [_dot(row, self.first) for row in rows]
        tensor, p = _symmetric(self.second), origin
        halves = [[_dot(row, column) for column in tensor] for row in rows]  # R S
        carried = [self.mass * along for along in p]
        # In the new frame the second moment is R S R' + k p' + p k' with R the rotation, p the
        # origin, h the first moment and k = R h + m p / 2.
        middle = [h + 0.5 * shift for h, shift in zip(turned, carried)]
        second = [
            _dot(rows[j], halves[i])
            + (2.0 * (middle[i] * p[i]) if i == j else middle[i] * p[j] + middle[j] * p[i])
            for i, j in _SIX
        ]
        x, y, z = (h + shift for h, shift in zip(turned, carried))
        return Moments(
            self.mass,
            (x, y, z),
            (second[0], second[1], second[2], second[3], second[4], second[5]),
        )

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of two bodies together, given in the same frame."""
        f, g = self.first, other.first
        s, t = self.second, other.second
        return Moments(
            self.mass + other.mass,
            (f[0] + g[0], f[1] + g[1], f[2] + g[2]),
            (s[0] + t[0], s[1] + t[1], s[2] + t[2], s[3] + t[3], s[4] + t[4], s[5] + t[5]),
        )


@dataclass(frozen=True)
class GeneratorJoint:
    """
    One joint of the chain, with the link it moves.

    Relative to its antecedent's frame the link's frame has the rotation Rz(gamma) Rx(alpha)
    Rz(theta + q), with q only for a revolute joint. The origin of the link's frame is at `origin`
    [m] (for a prismatic joint, at q = 0). gamma is zero for modified DH rows.
    """

    revolute: bool
    cos_alpha: float
    sin_alpha: float
    origin: tuple[float, float, float]
    theta: float
    moments: Moments
    rotor_inertia: Number
    cos_gamma: float = 1.0
    sin_gamma: float = 0.0

    @property
    def axis(self) -> tuple[float, float, float]:
        """The joint axis in the antecedent's frame."""
        x, y, z = self.twist[:, 2].tolist()
        return (x, y, z)

    @property
    def twist(self) -> Array:
        """The rotation Rz(gamma) Rx(alpha), shape (3, 3)."""
        c, s = self.cos_alpha, self.sin_alpha
        tilt = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        c, s = self.cos_gamma, self.sin_gamma
        turned: Array = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ tilt
        return turned


@dataclass(frozen=True)
class GeneratorChain:
    """
    The joints of an arm or a tree; antecedents come first.

    Attributes
    ----------
    joints : tuple of GeneratorJoint
        For a joint on the base (a root) the antecedent's frame is the joint's own frame at
        theta = q = 0, because torques do not depend on the position of the base.
    gravity : mapping of int to three numbers or expressions
        Gravity in the axes of each root's antecedent frame [m/s^2], by the root's number.
    root : ndarray, shape (4, 4)
        Pose, in the space frame, of the antecedent frame of the root joint that moves the tip.
    tip : ndarray, shape (4, 4)
        Pose of the flange, or of a tree's tool, in the frame of the body `tip_body`.
    parents : tuple of int
        Numbers of the joints' antecedents; BASE (-1) for roots.
    tip_body : int
        The body that carries the tip.
    names : tuple of str
        Names of the joints.

    """

    joints: tuple[GeneratorJoint, ...]
    gravity: Mapping[int, tuple[Number, Number, Number]]
    root: Array
    tip: Array
    parents: tuple[int, ...]
    tip_body: int
    names: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)


_SIX = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def link_parameter_names(link: int) -> tuple[str, ...]:
    """Return the names of a link's ten parameters, in the order of LinkInertia.parameters()."""
    return tuple(f'X{link}_{field}' for field in (*TENSOR_ORDER, 'hx', 'hy', 'hz', 'm'))


def build_chain(
    description: ArmDescription | BodyTree, gravity: ArrayLike | None, graph: Graph | None = None
) -> GeneratorChain:
    """
    Return the chain of an arm or of a tree of bodies.

    Parameters
    ----------
    description : ArmDescription or BodyTree
        The arm, in either DH convention, with revolute and prismatic joints; or a tree.
    gravity : array_like, shape (3,), or None
        Gravity in the space frame [m/s^2]. None makes its components symbols of the graph; without
        a graph None is the default gravity.
    graph : Graph, optional
        Graph in which the inertial parameters become symbols, about the origins of the
        description's own frames. Without a graph they are the description's numbers.

    """
    own = as_tree(description)
    tree, moves = with_axes_along_z(own), frames_along_z(own)
    rows = tree_rows(tree)
    first = tree.tool_body
    while rows[first].parent != BASE:
        first = rows[first].parent
    joints: list[GeneratorJoint] = []
    gravity_at: dict[int, tuple[Number, Number, Number]] = {}
    root = np.eye(4)
    for i, (row, link) in enumerate(zip(rows, own.inertias)):
        moments = Moments.parameters(graph, i + 1) if graph else Moments.of(link)
        back = inverse_transform(moves[i])
        moments = moments.expressed_in(back[:3, :3].tolist(), back[:3, 3].tolist())
        rotor = graph.parameter(f'X{i + 1}_rotor') if graph else float(own.rotor_inertias[i])
        joint = _joint(row, moments, rotor)
        if row.parent == BASE:
            gravity_at[i] = _gravity_in(joint.twist, gravity, graph)
            if i == first:
                root[:3, :3], root[:3, 3] = joint.twist, joint.origin
            joint = replace(
                joint,
                cos_alpha=1.0,
                sin_alpha=0.0,
                cos_gamma=1.0,
                sin_gamma=0.0,
                origin=(0.0, 0.0, 0.0),
            )
        joints.append(joint)
    return GeneratorChain(
        tuple(joints),
        gravity_at,
        root,
        np.array(tree.tool),
        tree.parents,
        tree.tool_body,
        tree.names,
    )


def _joint(row: TreeRow, moments: Moments, rotor: Number) -> GeneratorJoint:
    cos_gamma, sin_gamma = cos_sin(row.gamma)
    cos_alpha, sin_alpha = cos_sin(row.row.alpha)
    a, d = row.row.a, row.row.d
    # In axes rotated by gamma about the antecedent's z, the link frame's origin is at a along x
    # plus b along z plus d along the joint's axis.
    y, z = -d * sin_alpha, d * cos_alpha
    return GeneratorJoint(
        row.kind is JointKind.REVOLUTE,
        cos_alpha,
        sin_alpha,
        (cos_gamma * a - sin_gamma * y, sin_gamma * a + cos_gamma * y, row.b + z),
        row.row.theta,
        moments,
        rotor,
        cos_gamma,
        sin_gamma,
    )


def _gravity_in(
    axes: Array, gravity: ArrayLike | None, graph: Graph | None
) -> tuple[Number, Number, Number]:
    """Return gravity's components along the columns of `axes` (3, 3); both are in space axes."""
    if graph and gravity is None:
        space = [graph.parameter(f'g{axis}') for axis in 'xyz']
        x, y, z = (_dot([float(entry) for entry in column], space) for column in axes.T)
        return x, y, z
    numbers = axes.T @ gravity_vector(GRAVITY if gravity is None else gravity)
    numbers[np.abs(numbers) < _ZERO * np.linalg.norm(numbers)] = 0.0
    gx, gy, gz = numbers.tolist()
    return gx, gy, gz


def _symmetric(six: Sequence[Number]) -> list[list[Number]]:
    xx, xy, xz, yy, yz, zz = six
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


def _dot(a: Sequence[Number], b: Sequence[Number]) -> Number:
    result: Number = 0.0
    for x, y in zip(a, b):
        if isinstance(x, float) and x == 0.0:
            continue
        result = result + x * y
    return result
