# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where a link's centre of mass may be: in the convex hull of its shapes, enlarged by a margin."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..arm import ArmDescription
from ..arm.shapes import load_hand_shapes, load_shapes, Shape, ShapeKind
from ..typing import Array

# The shapes are capsules around the joints and leave out the necks between them: published centres
# of mass of the FER lie up to 57 mm outside their link's.
CENTER_MARGIN_M = 0.06
# The starting set's own centre, wherever it is, has this much room.
_START_MARGIN_M = 0.01


def link_rooms(start: ArmDescription) -> tuple[tuple[Array, Array] | None, ...]:
    """
    Return where the centres of mass of an arm's links may be; None for a link without shapes.

    Each room is the convex hull of balls in the link's frame: their centres (k, 3) and their radii
    (k,), the margin included [m].

    Parameters
    ----------
    start : ArmDescription
        The starting set; its name says whose shapes are meant, its hand whether one is on.

    """
    shapes = {frame: list(bodies) for frame, bodies in load_shapes(start.name).items()}
    if start.hand != 'none' and shapes:
        flange = start.flange_transform()
        shapes.setdefault(start.n, []).extend(shape.moved(flange) for shape in load_hand_shapes())
    return tuple(
        _room(shapes[i], link.center_of_mass) if shapes.get(i) else None
        for i, link in enumerate(start.links, start=1)
    )


def _room(shapes: list[Shape], own: Array) -> tuple[Array, Array]:
    balls = [(c, r + CENTER_MARGIN_M) for shape in shapes for c, r in _balls(shape)]
    centers, radii = zip(*balls, (own, _START_MARGIN_M))
    return np.array(centers), np.array(radii)


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
