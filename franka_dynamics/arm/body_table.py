# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One rigid body of a YAML file -> LinkInertia: published parameters, or a shape and a density."""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from .inertia import LinkInertia, tensor_from_six
from .yaml_table import YamlTable

_PUBLISHED = {'mass', 'center_of_mass', 'first_moment', 'inertia'}
# How far a tensor written out as 3 x 3 may be from symmetric, relative to its largest entry.
_SYMMETRY = 1e-12


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


def read_body(table: YamlTable, about: InertiaAbout | None, other_keys: set[str],
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
        raise table.error('inertia', 'is about the frame_origin or the center_of_mass: say which '
                          'with inertia_about')
    if about is InertiaAbout.FRAME_ORIGIN:
        return LinkInertia(mass, moment, inertia)
    center = moment / mass if mass else np.zeros(3)
    return LinkInertia.from_center_of_mass(mass, center, inertia)


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
    if not (isinstance(value, list) and len(value) == 3
            and all(isinstance(row, list) for row in value)):
        return tensor_from_six(table.numbers('inertia', 6))
    rows = table.nested('inertia', {f'row {i + 1}': row for i, row in enumerate(value)})
    tensor = np.array([rows.numbers(f'row {i + 1}', 3) for i in range(3)])
    skew = np.abs(tensor - tensor.T)
    if skew.max() > _SYMMETRY * np.abs(tensor).max():
        i, j = np.unravel_index(int(np.argmax(skew)), (3, 3))
        raise table.error('inertia', f'is not symmetric: {"xyz"[i]}{"xyz"[j]} is {tensor[i, j]:g} '
                          f'and {"xyz"[j]}{"xyz"[i]} is {tensor[j, i]:g}')
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
        table.positive('radius'), table.positive('length'),
        axis=table.choice('axis', _Axis).value, center=center, **quantity)
