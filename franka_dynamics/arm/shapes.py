# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simple shapes of links, for display, collisions and bounds of identified centres of mass."""

from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from .arm_file import available_arms, is_franka_arm, read_arm_file
from .bodies import Axis, Box, Cylinder
from .typed_file import PositiveFloat, read_typed_file, Vector3
from ..arrays import Array
from ..errors import as_enum, DescriptionError
from ..files import share_directory
from ..spatial import pose_from_xyz_rpy

# Roll, pitch and yaw that rotate z onto each axis.
_RPY_FROM_Z_TO_AXIS = {
    Axis.X: (0.0, 0.5 * np.pi, 0.0),
    Axis.Y: (-0.5 * np.pi, 0.0, 0.0),
    Axis.Z: (0.0, 0.0, 0.0),
}
# Franka's hand is mounted so that its axes are turned by -45 degrees against the flange's.
_HAND_POSE_ON_FLANGE = pose_from_xyz_rpy(np.zeros(3), (0.0, 0.0, -0.25 * np.pi))


class ShapeKind(str, Enum):
    """The kinds of simple shapes; SDF and MJCF have all four, URDF lacks the capsule."""

    BOX = 'box'
    CYLINDER = 'cylinder'
    SPHERE = 'sphere'
    CAPSULE = 'capsule'


@dataclass(frozen=True, eq=False)
class Shape:
    """
    A box, cylinder, sphere or capsule whose centre has the pose `pose` (4, 4) in a link's frame.

    `size` is (x, y, z) of a box, (radius, length) of a cylinder or capsule along z, (radius,) of
    a sphere [m]. A capsule's length is that of its cylinder, without the hemispheres.
    """

    kind: ShapeKind
    size: tuple[float, ...]
    pose: Array = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        """Convert a kind given as a string; raise DescriptionError for an unknown one."""
        kind = as_enum(ShapeKind, self.kind, 'The kind of a shape', DescriptionError)
        object.__setattr__(self, 'kind', kind)

    def expressed_in(self, transform: Array) -> 'Shape':
        """Return the shape in another frame, where its present frame has pose `transform`."""
        return replace(self, pose=transform @ self.pose)

    def urdf_primitives(self) -> 'tuple[Shape, ...]':
        """Return the shape as shapes that URDF has, a capsule as a cylinder and two spheres."""
        if self.kind is not ShapeKind.CAPSULE:
            return (self,)
        radius, length = self.size
        ends = (pose_from_xyz_rpy((0.0, 0.0, z), np.zeros(3)) for z in (-length / 2, length / 2))
        spheres = (Shape(ShapeKind.SPHERE, (radius,), self.pose @ end) for end in ends)
        return Shape(ShapeKind.CYLINDER, self.size, self.pose), *spheres


@dataclass(frozen=True, eq=False)
class Capsule:
    """
    A capsule along an axis of DH frame `frame`, or of a hand's frame.

    `length` [m] is that of its cylinder, without the hemispheres.
    """

    radius: PositiveFloat
    length: PositiveFloat
    axis: Axis
    center: Vector3
    frame: int = 0

    def shape(self) -> Shape:
        """Return the capsule as a Shape in its frame."""
        return _shape_along_axis(ShapeKind.CAPSULE, self)


@dataclass(frozen=True, eq=False)
class ShapeFile:
    """
    Content of a shape file, capsules of links in DH frames and of a hand in its own frame.

    `hand_names` are the shipped hands that have this shape.
    """

    name: str
    source: str
    capsules: tuple[Capsule, ...]
    hand_names: tuple[str, ...]
    hand_capsules: tuple[Capsule, ...] = field(metadata={'key': 'hands'})


def load_shapes(arm: str) -> dict[int, tuple[Shape, ...]]:
    """
    Return the shapes of a shipped arm's links, by the number of their DH frame (0 is the base).

    Links of Franka's arms (`family: franka` in the arm file) have capsules. A link of another arm
    has the box or cylinder that its default inertial set states, if it states one; other arms and
    links have no shapes.
    """
    shapes: dict[int, tuple[Shape, ...]] = {}
    if is_franka_arm(arm):
        for capsule in _shape_file().capsules:
            shapes[capsule.frame] = (*shapes.get(capsule.frame, ()), capsule.shape())
    elif arm in available_arms():
        file = read_arm_file(arm)
        for i, link in enumerate(file.inertial_sets[file.default_set].links, start=1):
            body = link.primitive
            if isinstance(body, Box):
                x, y, z = body.size.tolist()
                pose = pose_from_xyz_rpy(body.center, np.zeros(3))
                shapes[i] = (Shape(ShapeKind.BOX, (x, y, z), pose),)
            elif body is not None:
                shapes[i] = (_shape_along_axis(ShapeKind.CYLINDER, body),)
    return shapes


def load_hand_shapes(hand: str) -> tuple[Shape, ...]:
    """Return a hand's shapes in the flange frame; () for other hands than Franka's."""
    file = _shape_file()
    capsules = file.hand_capsules if hand in file.hand_names else ()
    return tuple(capsule.shape().expressed_in(_HAND_POSE_ON_FLANGE) for capsule in capsules)


def _shape_along_axis(kind: ShapeKind, solid: Capsule | Cylinder) -> Shape:
    """Return a cylinder or capsule along an axis of the body's frame as a Shape."""
    pose = pose_from_xyz_rpy(solid.center, _RPY_FROM_Z_TO_AXIS[solid.axis])
    return Shape(kind, (solid.radius, solid.length), pose)


def _shape_file() -> ShapeFile:
    """Return the shapes of Franka's arms and hand, from config/shapes."""
    path = share_directory() / 'config' / 'shapes' / 'franka.yaml'
    return read_typed_file(path, ShapeFile, 'a shape file starts with name, source, capsules')
