# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simple bodies that stand for a link's looks and for what it may touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .strict_yaml import YamlTable
from ..resources import share_directory
from ..spatial import pose_from_xyz_rpy

_TURNS = {'x': (0.0, 0.5 * np.pi, 0.0), 'y': (-0.5 * np.pi, 0.0, 0.0), 'z': (0.0, 0.0, 0.0)}
FRANKA_ARMS = ('fer', 'fr3', 'fr3v2', 'fr3v2_1')
_HAND_MOUNT = pose_from_xyz_rpy(np.zeros(3), (0.0, 0.0, -0.25 * np.pi))


class ShapeKind(str, Enum):
    """The shapes that URDF, SDF and MJCF can say between them."""

    BOX = 'box'
    CYLINDER = 'cylinder'
    SPHERE = 'sphere'
    CAPSULE = 'capsule'


@dataclass(frozen=True, eq=False)
class Shape:
    """
    A body of simple form: sizes in metres, `pose` (4, 4) of its centre in its link's frame.

    `size` is (x, y, z) of a box, (radius, length) of a cylinder or capsule along z, (radius,) of
    a sphere. A capsule's length is that of its cylinder, without the half balls.
    """

    kind: ShapeKind
    size: tuple[float, ...]
    pose: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))

    def moved(self, transform: NDArray[np.float64]) -> Shape:
        """Return the shape described in another frame, in which its own has pose `transform`."""
        return replace(self, pose=transform @ self.pose)

    def parts(self) -> tuple[Shape, ...]:
        """Return the shape as boxes, cylinders and spheres: URDF knows no capsule."""
        if self.kind is not ShapeKind.CAPSULE:
            return (self,)
        radius, length = self.size
        ends = (pose_from_xyz_rpy((0.0, 0.0, z), np.zeros(3)) for z in (-length / 2, length / 2))
        return (
            Shape(ShapeKind.CYLINDER, self.size, self.pose),
            *(Shape(ShapeKind.SPHERE, (radius,), self.pose @ end) for end in ends),
        )


def load_shapes(arm: str) -> dict[int, tuple[Shape, ...]]:
    """
    Return the shapes of a shipped arm's links, by the number of the DH frame they belong to.

    Frame 0 is the base. An arm whose links are primitives looks like these.

    Parameters
    ----------
    arm : str
        A shipped arm's name; an arm without shapes has none.

    """
    if arm in FRANKA_ARMS:
        return _capsules(_shape_file(), 'capsules')
    path = share_directory() / 'config' / 'arms' / f'{arm}.yaml'
    return _primitives(YamlTable.read(path)) if path.is_file() else {}


def load_hand_shapes() -> tuple[Shape, ...]:
    """Return the shapes of Franka's hand, in the flange frame."""
    return tuple(shape.moved(_HAND_MOUNT) for shape in _capsules(_shape_file(), 'hands')[0])


def _shape_file() -> YamlTable:
    return YamlTable.read(Path(share_directory() / 'config' / 'shapes' / 'franka.yaml'))


def _capsules(table: YamlTable, key: str) -> dict[int, tuple[Shape, ...]]:
    shapes: dict[int, tuple[Shape, ...]] = {}
    for entry in table.tables(key):
        frame = int(entry.number('frame', 0.0))
        size = (entry.positive('radius'), entry.positive('length'))
        pose = pose_from_xyz_rpy(entry.numbers('center', 3), _TURNS[entry.text('axis')])
        shapes[frame] = (*shapes.get(frame, ()), Shape(ShapeKind.CAPSULE, size, pose))
    return shapes


def _primitives(table: YamlTable) -> dict[int, tuple[Shape, ...]]:
    links = table.table('inertial_sets').table(table.text('default_set')).tables('links')
    bodies: Mapping[int, YamlTable] = {
        i: link.table('primitive') for i, link in enumerate(links, start=1) if 'primitive' in link
    }
    shapes: dict[int, tuple[Shape, ...]] = {}
    for i, body in bodies.items():
        center = body.numbers('center', 3) if 'center' in body else np.zeros(3)
        if body.text('shape') == 'box':
            x, y, z = (float(side) for side in body.numbers('size', 3))
            shape = Shape(ShapeKind.BOX, (x, y, z), pose_from_xyz_rpy(center, np.zeros(3)))
        else:
            size = (body.positive('radius'), body.positive('length'))
            pose = pose_from_xyz_rpy(center, _TURNS[body.text('axis')])
            shape = Shape(ShapeKind.CYLINDER, size, pose)
        shapes[i] = (shape,)
    return shapes
