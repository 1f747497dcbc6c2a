# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loads a hand's inertia by the name of a shipped hand or from a file."""

from pathlib import Path

from .bodies import FixedFrame, HandFile
from .inertia import LinkInertia
from .payload import read_desk_file, require_plausible_payload
from .typed_file import read_typed
from ..errors import DescriptionError, InertiaError, nearest_name, UnknownArmError
from ..names import NO_HAND
from ..resources import share_directory

_FILE_ENDINGS = ('.yaml', '.yml', '.json')


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
    Return a hand's mass, first moment and inertia about the flange's origin, in its axes.

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
    name = f'{name}'
    path = hand_file_path(name)
    if not path.is_file():
        if is_file_name(name):
            raise UnknownArmError(
                f'There is no hand file {name}; shipped hands are {", ".join(available_hands())}.'
            )
        near = nearest_name(f'{name}', available_hands())
        meant = f' (did you mean {near}?)' if near else ''
        raise UnknownArmError(
            f'There is no hand {name!r}{meant}; shipped are {", ".join(available_hands())}, '
            f'{NO_HAND!r} takes the hand off, and a hand of your own is given by the path of its '
            'YAML file.'
        )
    if path.suffix == '.json':
        return read_desk_file(path)
    hand = _read_hand_file(path).hand
    try:
        require_plausible_payload(hand.mass, hand.center_of_mass, hand.inertia_at_center_of_mass)
    except InertiaError as error:
        raise DescriptionError(f'{path}: {error}') from error
    return hand


def hand_frames(name: str) -> tuple[FixedFrame, ...]:
    """Return the frames that a hand's file defines on the flange; () for 'none' or a Desk file."""
    path = hand_file_path(name)
    return () if name == NO_HAND or path.suffix == '.json' else _read_hand_file(path).frames


def _read_hand_file(path: Path) -> HandFile:
    """Return the content of a hand file."""
    return read_typed(path, HandFile, 'a hand file starts with name, source, bodies')


def is_file_name(name: str | Path) -> bool:
    """Return whether `name` is a path, by its ending or a slash, and not a shipped arm or hand."""
    return str(name).endswith(_FILE_ENDINGS) or '/' in str(name)


def hand_file_path(name: str) -> Path:
    """Return the path of a shipped hand's file, or the given path; the file need not exist."""
    if is_file_name(name):
        return Path(name).expanduser()
    return share_directory() / 'config' / 'hands' / f'{name}.yaml'
