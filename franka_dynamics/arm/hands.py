# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Hands: those that are shipped, and hands in files of their own or of Franka's Desk."""

from dataclasses import dataclass, field
import os
from pathlib import Path

import numpy as np

from .bodies import Body, FixedFrame, InertiaReferencePoint, Pose
from .inertia import LinkInertia
from .payload import desk_name, payload_array, read_payload, require_plausible_payload
from .typed_file import FieldError, prepend_keys, read_typed_file
from ..constants import NO_HAND
from ..errors import DescriptionError, InertiaError, nearest_name, UnknownArmError
from ..files import expanded_path, share_directory

_FILE_SUFFIXES = ('.yaml', '.yml', '.json')


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
            with prepend_keys('bodies', i):
                total = total + body.link_inertia(body.inertia_about).expressed_in(body.matrix())
        if not total.is_physical():
            raise FieldError(
                'add up to a body that cannot exist: its pseudo-inertia has an eigenvalue of '
                f'{total.consistency_margin():.3g}; check units and inertia_about',
                'bodies',
            )
        object.__setattr__(self, 'inertia', total)


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
