# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bodies, poses and fixed frames as arm files and hand files state them."""

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Annotated, ClassVar, Self

import numpy as np

from . import typed_file
from .inertia import elements_from_tensor, LinkInertia, tensor_from_elements
from .typed_file import FieldError, TaggedUnion
from ..arrays import Array, ValueEquality
from ..spatial import pose_from_xyz_rpy, rpy_from_rotation


class InertiaReferencePoint(str, Enum):
    """The point about which a published inertia tensor is given."""

    FRAME_ORIGIN = 'frame_origin'
    CENTER_OF_MASS = 'center_of_mass'


class Axis(str, Enum):
    """An axis (x, y or z) of the frame in which a body is given."""

    X = 'x'
    Y = 'y'
    Z = 'z'


@dataclass(frozen=True, eq=False, kw_only=True)
class HomogeneousSolid:
    """A homogeneous solid centred at `center` [m], of given `mass` [kg] or `density` [kg/m^3]."""

    center: typed_file.Vector3 = field(default_factory=lambda: np.zeros(3))
    mass: typed_file.PositiveFloat | None = None
    density: typed_file.PositiveFloat | None = None

    def __post_init__(self) -> None:
        """Raise FieldError unless exactly one of mass and density is given."""
        if (self.mass is None) == (self.density is None):
            raise FieldError('needs exactly one of mass [kg] and density [kg/m^3]')

    def _inertia_from_volume(self, volume: float, moments_per_mass: Array) -> LinkInertia:
        """Return the LinkInertia of a volume [m^3] with central moments per mass, (3,) [m^2]."""
        mass = (self.density or 0.0) * volume if self.mass is None else self.mass
        return LinkInertia.from_center_of_mass(mass, self.center, np.diag(mass * moments_per_mass))


@dataclass(frozen=True, eq=False, kw_only=True)
class Cylinder(HomogeneousSolid):
    """A homogeneous cylinder along an axis of its frame; `radius` and `length` in metres."""

    radius: typed_file.PositiveFloat
    length: typed_file.PositiveFloat
    axis: Axis

    def link_inertia(self) -> LinkInertia:
        """
        Return the cylinder's mass, first moment and inertia about its frame's origin.

        The central moments of inertia are m r^2/2 about the cylinder's axis and m (3 r^2 + l^2)/12
        about axes across it (Busellato 2023, section 2.1, which prints 2 in place of 12).
        """
        across = (3.0 * self.radius**2 + self.length**2) / 12.0
        moments = np.where([axis == self.axis for axis in Axis], 0.5 * self.radius**2, across)
        return self._inertia_from_volume(np.pi * self.radius**2 * self.length, moments)


@dataclass(frozen=True, eq=False, kw_only=True)
class Box(HomogeneousSolid):
    """A homogeneous box; `size` is its extent along x, y and z of its frame [m]."""

    size: typed_file.PositiveVector3

    def link_inertia(self) -> LinkInertia:
        """
        Return the box's mass, first moment and inertia about its frame's origin.

        With `size` (x, y, z) the central moment of inertia about the x axis is m (y^2 + z^2)/12;
        those about y and z are analogous (Busellato 2023, section 2.1).
        """
        squares = np.square(self.size)
        volume = float(np.prod(self.size))
        return self._inertia_from_volume(volume, (squares.sum() - squares) / 12.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Body:
    """
    A body as an arm or hand file states it, by inertial parameters or a homogeneous solid.

    It has either a `primitive`, or `mass` [kg], one of `center_of_mass` [m] and `first_moment`
    [kg m], and `inertia` [kg m^2] in the order xx, xy, xz, yy, yz, zz.
    """

    name: str = ''
    mass: typed_file.NonNegativeFloat | None = None
    center_of_mass: typed_file.Vector3 | None = None
    first_moment: typed_file.Vector3 | None = None
    inertia: typed_file.Vector6 | None = None
    primitive: (
        Annotated[Cylinder | Box, TaggedUnion('shape', {'cylinder': Cylinder, 'box': Box})] | None
    ) = None
    parameter_fields: ClassVar = ('mass', 'center_of_mass', 'first_moment', 'inertia')

    def __post_init__(self) -> None:
        """Raise FieldError if fields are missing, exclude each other or give a massless moment."""
        given = [name for name in self.parameter_fields if getattr(self, name) is not None]
        if self.primitive is not None:
            if given:
                raise FieldError('stands beside a primitive, which says it already', given[0])
            return
        for name in ('mass', 'inertia'):
            if name not in given:
                raise FieldError('is missing', name)
        if (self.center_of_mass is None) == (self.first_moment is None):
            # Behind the key: center_of_mass and first_moment: give ...
            raise FieldError('and first_moment: give exactly one of the two', 'center_of_mass')
        if not self.mass and self.first_moment is not None and self.first_moment.any():
            raise FieldError('is not zero although the mass is', 'first_moment')

    def link_inertia(self, inertia_about: InertiaReferencePoint | None) -> LinkInertia:
        """Return the LinkInertia about the frame's origin; a tensor needs `inertia_about`."""
        if self.primitive is not None:
            return self.primitive.link_inertia()
        assert self.mass is not None and self.inertia is not None
        if inertia_about is None:
            raise FieldError(
                'is about the frame_origin or the center_of_mass: say which with inertia_about',
                'inertia',
            )
        moment = self.first_moment
        if moment is None:
            moment = self.mass * np.asarray(self.center_of_mass)
        if inertia_about is InertiaReferencePoint.FRAME_ORIGIN:
            return LinkInertia(self.mass, moment, tensor_from_elements(self.inertia))
        center = moment / self.mass if self.mass else np.zeros(3)
        return LinkInertia.from_center_of_mass(self.mass, center, self.inertia)

    @classmethod
    def from_inertia(cls, link: LinkInertia) -> 'Body':
        """Return a link's file entry, with first moment and inertia about its frame's origin."""
        elements = elements_from_tensor(link.inertia)
        return cls(mass=link.mass, first_moment=link.first_moment, inertia=elements)


@dataclass(frozen=True, eq=False, kw_only=True)
class Pose:
    """A frame's position [m] and its roll, pitch and yaw about fixed axes [rad]."""

    xyz: typed_file.Vector3
    rpy: typed_file.Angles3

    def matrix(self) -> Array:
        """Return the pose as a homogeneous transform, shape (4, 4)."""
        return pose_from_xyz_rpy(self.xyz, self.rpy)

    def expressed_in(self, transform: Array) -> Self:
        """Return this pose in another frame, in which its present frame has pose `transform`."""
        pose = transform @ self.matrix()
        return replace(self, xyz=pose[:3, 3], rpy=rpy_from_rotation(pose[:3, :3]))


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedFrame(Pose, ValueEquality):
    """
    A named frame that is fixed to the arm, such as a tool centre, a camera or a link of a URDF.

    Its pose is in the DH frame of joint `joint`, counted from 1, in the space frame if that is 0
    (the base carries it), or in the flange frame if it is None.
    """

    name: str
    joint: int | None = None
