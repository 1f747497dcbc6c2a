# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bodies, hands and fixed frames as arm files and hand files state them."""

from dataclasses import dataclass, field, replace
from enum import Enum
import os
from pathlib import Path
from typing import Annotated, ClassVar, Self

import numpy as np

from . import typed_file
from .inertia import elements_from_tensor, LinkInertia, tensor_from_elements
from .payload import desk_name, payload_array, read_payload, require_plausible_payload
from .typed_file import FieldError, read_typed_file, TaggedUnion
from ..arrays import Array, ValueEquality
from ..constants import NO_HAND
from ..errors import DescriptionError, InertiaError, nearest_name, UnknownArmError
from ..files import expanded_path, share_directory
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


@dataclass(frozen=True, eq=False, kw_only=True)
class HandBody(Body, Pose):
    """A body of a hand, at its pose in the flange frame."""

    inertia_about: InertiaReferencePoint | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class HandFile:
    """Content of a hand file; `inertia` is the sum of its bodies, in the flange frame."""

    name: str
    source: str
    bodies: tuple[HandBody, ...]
    frames: tuple[FixedFrame, ...] = ()
    notes: str = ''
    inertia: LinkInertia = field(init=False)

    def __post_init__(self) -> None:
        """Set `inertia` to the bodies' sum; FieldError if unphysical, or a frame has a joint."""
        for i, frame in enumerate(self.frames):
            if frame.joint is not None:
                raise FieldError('is of no use: hands are on the flange', 'frames', i, 'joint')
        total = LinkInertia.zero()
        for i, body in enumerate(self.bodies):
            with typed_file.prepend_keys('bodies', i):
                total = total + body.link_inertia(body.inertia_about).expressed_in(body.matrix())
        if not total.is_physical():
            raise FieldError(
                'add up to a body that cannot exist: its pseudo-inertia has an eigenvalue of '
                f'{total.consistency_margin():.3g}; check units and inertia_about',
                'bodies',
            )
        object.__setattr__(self, 'inertia', total)


_FILE_SUFFIXES = ('.yaml', '.yml', '.json')


def available_hands() -> tuple[str, ...]:
    """
    Return the names of the shipped hands, which `load_hand` and `load` take, sorted.

    Returns
    -------
    tuple of str
        'franka_hand' and others.

    """
    return tuple(sorted(path.stem for path in (share_directory() / 'config/hands').glob('*.yaml')))


def load_hand(name: str | Path) -> LinkInertia:
    """
    Return a hand's mass, first moment and inertia about the flange's origin, in the flange's axes.

    `name` is that of a shipped hand, or the path of a hand file or of an end-effector file of
    Franka's Desk (.json). `arm.with_payload(hand)` puts the hand on an arm.

    Returns
    -------
    LinkInertia
        Mass [kg], first moment [kg m] and inertia [kg m^2].

    Raises
    ------
    UnknownArmError
        If there is no such hand.
    DescriptionError
        If the file cannot be read or is inconsistent (the message names file and field), or the
        hand is heavier, farther away or larger than any load on an arm.
    InertiaError
        If the numbers of a Desk file are physically impossible, or its mass is 0.

    """
    name = str(name)
    if name == NO_HAND:
        raise UnknownArmError(f'{name!r} is no hand, but says that an arm has none.')
    path = hand_file_path(name)
    if not os.path.isfile(path):
        hands = ', '.join(available_hands())
        if is_file_path(name):
            raise UnknownArmError(f'There is no hand file {name}; shipped hands are {hands}.')
        near = nearest_name(name, available_hands())
        meant = f' (did you mean {near}?)' if near else ''
        raise UnknownArmError(
            f'There is no hand {name!r}{meant}; shipped are {hands}, {NO_HAND!r} takes it off, '
            'and a hand of your own is given by the path of its YAML file.'
        )
    if _is_desk_file(path):
        return read_payload(str(path))
    hand = _read_hand_file(path).inertia
    try:
        require_plausible_payload(hand.mass, hand.center_of_mass, hand.inertia_at_center_of_mass)
    except InertiaError as error:
        raise DescriptionError(f'{path}: {error}') from error
    return hand


def hand_frames(name: str) -> tuple[FixedFrame, ...]:
    """Return the frames that a hand's file defines on the flange; () for 'none' or a Desk file."""
    path = hand_file_path(name)
    return () if name == NO_HAND or _is_desk_file(path) else _read_hand_file(path).frames


def hand_bodies(name: str) -> tuple[HandBody, ...]:
    """Return the bodies of a hand's file, each at its pose in the flange's frame."""
    path = hand_file_path(name)
    if not _is_desk_file(path):
        return _read_hand_file(path).bodies
    numbers = payload_array(read_payload(str(path)))
    body = HandBody(
        xyz=np.zeros(3),
        rpy=np.zeros(3),
        mass=float(numbers[0]),
        center_of_mass=numbers[1:4],
        inertia=numbers[4:],
        inertia_about=InertiaReferencePoint.CENTER_OF_MASS,
    )
    return (body,)


def hand_name(hand: str) -> str:
    """Return a hand's name; for the path of a hand file, the file's name without its suffix."""
    return Path(hand).stem if is_file_path(hand) else hand


def hand_title(hand: str) -> str:
    """Return the name that a hand's file states; of a Desk file without one, the file's name."""
    path = hand_file_path(hand)
    if _is_desk_file(path):
        return desk_name(path)
    return _read_hand_file(path).name


def _is_desk_file(path: Path) -> bool:
    """Return whether a path is that of an end-effector file of Franka's Desk."""
    return path.suffix == '.json'


def _read_hand_file(path: Path) -> HandFile:
    """Return the content of a hand file; raise DescriptionError if it is wrong."""
    return read_typed_file(path, HandFile, 'a hand file starts with name, source, bodies')


def is_file_path(name: str | Path) -> bool:
    """Return whether `name` is a path, by its ending or a slash, and not a shipped arm or hand."""
    return str(name).endswith(_FILE_SUFFIXES) or '/' in str(name)


def hand_file_path(name: str) -> Path:
    """Return the path of a shipped hand's file, or the given path; the file need not exist."""
    if is_file_path(name):
        return expanded_path(name)
    return share_directory() / 'config' / 'hands' / f'{name}.yaml'
