# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where a link's centre of mass may be: in the convex hull of its shapes, enlarged by a margin."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..arm import ArmDescription
from ..arm.shapes import load_hand_shapes, load_shapes, Shape, ShapeKind
from ..typing import Array

# The shapes are capsules around the joints and leave out the necks between them: published centres
# of mass of the FER lie up to 57 mm outside their link's.
CENTER_MARGIN_M = 0.06
# Where the starting set's centre is further out, the hull is drawn around it by this much.
_START_MARGIN_M = 0.01


@dataclass(frozen=True, eq=False)
class LinkRoom:
    """
    The convex hull of balls, in the frame of the link.

    Attributes
    ----------
    centers : ndarray, shape (k, 3)
        [m].
    radii : ndarray, shape (k,)
        [m], the margin included.
    around_start : bool
        Whether the starting set's centre of mass was outside, and the hull was drawn around it.

    """

    centers: Array
    radii: Array
    around_start: bool

    def constraints(self, cp: Any, mass: Any, first_moment: Any) -> list[Any]:
        """
        Return cvxpy constraints that keep a centre of mass inside.

        The body is parted into one share of its mass for each ball, with that share's centre in
        the ball: m c = sum of s_k c_k + r_k w_k with |w_k| <= s_k and the s_k adding up to m.

        Parameters
        ----------
        cp : module
            cvxpy.
        mass, first_moment : cvxpy expressions, scalar and shape (3,)
            In one unit of mass, best that of the link so that all numbers are near one.

        """
        shares = cp.Variable(len(self.radii))
        within = cp.Variable((len(self.radii), 3))
        return [
            cp.SOC(shares, within, axis=1),
            cp.sum(shares) == mass,
            self.centers.T @ shares + within.T @ self.radii == first_moment,
        ]

    def holds(self, point: Array) -> bool:
        """Return whether a point, shape (3,) [m], is inside."""
        return bool(self.distance(point) <= 0.0)

    def distance(self, point: Array) -> float:
        """
        Return how far outside a point is [m], negative inside: the largest over directions.

        A point is outside a convex hull if some direction u shows it: u . x beyond every ball's
        u . c + r. A fixed grid of directions finds the largest to a few tenths of a millimetre.
        """
        beyond = _DIRECTIONS @ point - (_DIRECTIONS @ self.centers.T + self.radii).max(axis=1)
        return float(beyond.max())


def link_rooms(
    start: ArmDescription,
    margin: float = CENTER_MARGIN_M,
) -> tuple[LinkRoom | None, ...]:
    """
    Return where the centres of mass of an arm's links may be; None for a link without shapes.

    Parameters
    ----------
    start : ArmDescription
        The starting set; its name says whose shapes are meant, its hand whether one is on.
    margin : float
        By which the shapes are enlarged [m].

    """
    shapes = {frame: list(bodies) for frame, bodies in load_shapes(start.name).items()}
    if start.hand != 'none' and shapes:
        flange = start.flange_transform()
        shapes.setdefault(start.n, []).extend(shape.moved(flange) for shape in load_hand_shapes())
    return tuple(
        _room(shapes[i], link.center_of_mass, margin) if shapes.get(i) else None
        for i, link in enumerate(start.links, start=1)
    )


def _room(shapes: list[Shape], own: Array, margin: float) -> LinkRoom:
    balls = [ball for shape in shapes for ball in _balls(shape)]
    room = LinkRoom(
        np.array([center for center, _ in balls]),
        np.array([radius + margin for _, radius in balls]),
        False,
    )
    if room.holds(own):
        return room
    return LinkRoom(np.vstack([room.centers, own]), np.append(room.radii, _START_MARGIN_M), True)


def _balls(shape: Shape) -> list[tuple[Array, float]]:
    """Return centres and radii of balls whose convex hull holds a shape."""
    rotation, origin = shape.pose[:3, :3], shape.pose[:3, 3]
    if shape.kind is ShapeKind.SPHERE:
        return [(origin, shape.size[0])]
    if shape.kind is ShapeKind.BOX:
        half = 0.5 * np.array(shape.size)
        return [
            (origin + rotation @ (half * signs), 0.0) for signs in product((-1.0, 1.0), repeat=3)
        ]
    radius, length = shape.size
    return [(origin + sign * 0.5 * length * rotation[:, 2], radius) for sign in (-1.0, 1.0)]


def _directions(count: int = 4000) -> Array:
    """Return unit vectors that cover the sphere evenly (a Fibonacci lattice), (count, 3)."""
    z = 1.0 - 2.0 * (np.arange(count) + 0.5) / count
    turn = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    across = np.sqrt(1.0 - z * z)
    return np.column_stack([across * np.cos(turn), across * np.sin(turn), z])


_DIRECTIONS = _directions()
