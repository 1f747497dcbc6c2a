# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The bodies that arm files and hand files describe, with every field checked; hands."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .inertia import LinkInertia, tensor_from_six
from .strict_yaml import YamlTable
from ..errors import UnknownArmError
from ..resources import share_directory
from ..spatial import pose_from_xyz_rpy

_PUBLISHED = {'mass', 'center_of_mass', 'first_moment', 'inertia'}
_FILE_ENDINGS = ('.yaml', '.yml')
# How far a tensor written out as 3 x 3 may be from symmetric, relative to its largest entry.
_SYMMETRY = 1e-12
NO_HAND = 'none'


class InertiaAbout(str, Enum):
    """Which point a published inertia tensor belongs to."""

    FRAME_ORIGIN = 'frame_origin'
    CENTER_OF_MASS = 'center_of_mass'


class _Shape(str, Enum):
    CYLINDER = 'cylinder'
    BOX = 'box'


class _Axis(str, Enum):
    X = 'x'
    Y = 'y'
    Z = 'z'


def available_hands() -> tuple[str, ...]:
    """Return the names of the hands that are shipped."""
    return tuple(sorted(path.stem for path in (share_directory() / 'config/hands').glob('*.yaml')))


def load_hand(name: str) -> LinkInertia:
    """
    Return a hand's inertia about the flange's origin, in the flange frame.

    Parameters
    ----------
    name : str
        A shipped hand, or the path of a file of the same form.

    Raises
    ------
    UnknownArmError
        If there is no such hand.
    DescriptionError
        If the file cannot be read or contradicts itself; the message names file and field.

    """
    path = hand_file(name)
    if not path.is_file():
        raise UnknownArmError(
            f'There is no hand {name!r}; shipped are {", ".join(available_hands())}, '
            f'{NO_HAND!r} takes the hand off, and a hand of your own is given by the path of its '
            'YAML file.'
        )
    table = YamlTable.read(path, 'a hand file starts with name, source, bodies')
    table.only({'name', 'source', 'notes', 'bodies'})
    total = LinkInertia.zero()
    for body in table.tables('bodies'):
        inertia = read_body(body, inertia_about(body), {'name', 'xyz', 'rpy', 'inertia_about'})
        total = total + inertia.expressed_in(
            pose_from_xyz_rpy(body.numbers('xyz', 3), body.angles('rpy', 3))
        )
    if not total.is_physical():
        raise table.error(
            'bodies',
            'add up to a body that cannot exist: its pseudo-inertia has '
            f'an eigenvalue of {total.consistency_margin():.3g}; check units and '
            'which point the inertia is about',
        )
    return total


def is_file_name(name: str | Path) -> bool:
    """Return whether an arm or a hand is given as a path rather than by its shipped name."""
    return str(name).endswith(_FILE_ENDINGS) or '/' in str(name)


def hand_file(name: str) -> Path:
    """Return where a hand's file is, whether or not it exists."""
    return (
        Path(name).expanduser()
        if is_file_name(name)
        else share_directory() / 'config' / 'hands' / f'{name}.yaml'
    )


def read_body(
    table: YamlTable,
    about: InertiaAbout | None,
    other_keys: set[str],
) -> LinkInertia:
    """
    Return a body from its `primitive`, or from mass, centre of mass and inertia.

    Parameters
    ----------
    table : YamlTable
        The body's entry.
    about : InertiaAbout or None
        What `inertia` refers to; None if the file does not say, which only a primitive allows.
    other_keys : set of str
        Fields of the entry that the caller reads itself.

    Raises
    ------
    DescriptionError
        Naming file, entry and field.

    """
    if 'primitive' in table:
        table.only({'primitive', *other_keys})
        return _primitive(table.table('primitive'))
    table.only(_PUBLISHED | other_keys)
    mass = table.number('mass')
    if mass < 0.0:
        raise table.error('mass', f'is {mass} kg; a mass cannot be negative')
    moment = _first_moment(table, mass)
    inertia = _tensor(table)
    if about is None:
        raise table.error(
            'inertia',
            'is about the frame_origin or the center_of_mass: say which with inertia_about',
        )
    if about is InertiaAbout.FRAME_ORIGIN:
        return LinkInertia(mass, moment, inertia)
    center = moment / mass if mass else np.zeros(3)
    return LinkInertia.from_center_of_mass(mass, center, inertia)


def inertia_about(table: YamlTable) -> InertiaAbout | None:
    """Return what the tensors of an entry refer to; None if it does not say."""
    return table.choice('inertia_about', InertiaAbout) if 'inertia_about' in table else None


def _first_moment(table: YamlTable, mass: float) -> NDArray[np.float64]:
    if ('center_of_mass' in table) == ('first_moment' in table):
        raise table.error('center_of_mass', 'and first_moment: give exactly one of the two')
    if 'center_of_mass' in table:
        return mass * table.numbers('center_of_mass', 3)
    moment = table.numbers('first_moment', 3)
    if mass == 0.0 and moment.any():
        raise table.error('first_moment', 'is not zero although the mass is')
    return moment


def _tensor(table: YamlTable) -> NDArray[np.float64]:
    """Read xx, xy, xz, yy, yz, zz, or the three rows of a symmetric matrix."""
    value = table.values.get('inertia')
    if not (
        isinstance(value, list) and len(value) == 3 and all(isinstance(row, list) for row in value)
    ):
        return tensor_from_six(table.numbers('inertia', 6))
    rows = table.nested('inertia', {f'row {i + 1}': row for i, row in enumerate(value)})
    tensor = np.array([rows.numbers(f'row {i + 1}', 3) for i in range(3)])
    skew = np.abs(tensor - tensor.T)
    if skew.max() > _SYMMETRY * np.abs(tensor).max():
        i, j = np.unravel_index(int(np.argmax(skew)), (3, 3))
        raise table.error(
            'inertia',
            f'is not symmetric: {"xyz"[i]}{"xyz"[j]} is {tensor[i, j]:g} '
            f'and {"xyz"[j]}{"xyz"[i]} is {tensor[j, i]:g}',
        )
    return 0.5 * (tensor + tensor.T)


def _primitive(table: YamlTable) -> LinkInertia:
    shape = table.choice('shape', _Shape)
    own = {'radius', 'length', 'axis'} if shape is _Shape.CYLINDER else {'size'}
    table.only({'shape', 'center', 'mass', 'density', *own})
    if ('mass' in table) == ('density' in table):
        raise table.error('density', 'and mass: give exactly one of the two')
    amount = 'mass' if 'mass' in table else 'density'
    quantity = {amount: table.positive(amount)}
    center = table.numbers('center', 3) if 'center' in table else np.zeros(3)
    if shape is _Shape.BOX:
        sides = table.numbers('size', 3)
        if sides.min() <= 0.0:
            raise table.error('size', f'is {sides.tolist()}; its sides [m] must be positive')
        return LinkInertia.from_box(sides, center=center, **quantity)
    return LinkInertia.from_cylinder(
        table.positive('radius'),
        table.positive('length'),
        axis=table.choice('axis', _Axis).value,
        center=center,
        **quantity,
    )
