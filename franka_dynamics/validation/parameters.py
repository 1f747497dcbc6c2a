# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of an arm's description, each with its name and functions to read and set it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
import math
from typing import Any

import numpy as np

from ..arm import ArmDescription, JointKind, JointLimits, LinkInertia, MaxwellSlipFriction
from ..arm.inertia import six_from_tensor, tensor_from_six, TENSOR_ORDER
from ..spatial import rpy, rpy_from_rotation
from ..typing import Array

ROW_UNITS = {'a': 'm', 'alpha': 'rad', 'd': 'm', 'theta': 'rad'}
# A step into a description: a field's name, an index into a tuple, or an index into an array.
Key = str | int | tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Parameter:
    """
    One parameter of an arm.

    `place` is a joint's name, 'base', 'flange' or 'arm'. `read(arm)` returns the value, NaN if
    there is none; `write(arm, value)` returns the arm with another value. `identifiable` is False
    if no rigid-body torque depends on the parameter.
    """

    place: str
    name: str
    unit: str
    read: Callable[[ArmDescription], Any]
    write: Callable[[ArmDescription, Any], ArmDescription]
    identifiable: bool = True


@dataclass(frozen=True)
class InertiaForm:
    """
    A form of a link's ten parameters in published tables.

    They are mass, first moment and the tensor about the frame's origin, or, if not `about_origin`,
    mass, centre of mass and the tensor about that. One wrong number in a table changes one
    parameter only in the table's own form.
    """

    about_origin: bool

    def numbers(self, link: LinkInertia) -> Array:
        """Return the ten parameters of a link in this form, shape (10,)."""
        vector = link.first_moment if self.about_origin else link.center_of_mass
        tensor = link.inertia if self.about_origin else link.inertia_at_center_of_mass
        return np.concatenate(([link.mass], vector, six_from_tensor(tensor)))

    def link(self, numbers: Array) -> LinkInertia:
        """Return the link with these ten parameters, shape (10,), in this form."""
        if self.about_origin:
            return LinkInertia(numbers[0], numbers[1:4], tensor_from_six(numbers[4:]))
        return LinkInertia.from_center_of_mass(numbers[0], numbers[1:4], numbers[4:])

    def names(self) -> tuple[tuple[str, str], ...]:
        """Return name and unit of each of the ten parameters."""
        vector, unit, about = 'centre of mass', 'm', 'the centre of mass'
        if self.about_origin:
            vector, unit, about = 'first moment', 'kg m', 'the frame origin'
        return (
            ('mass', 'kg'),
            *((f'{vector} {axis}', unit) for axis in 'xyz'),
            *((f'inertia {axes} about {about}', 'kg m^2') for axes in TENSOR_ORDER),
        )


# If equally many parameters of a link differ in both, differences are stated in the first.
INERTIA_FORMS = (InertiaForm(about_origin=False), InertiaForm(about_origin=True))


def geometry_parameters(description: ArmDescription) -> list[Parameter]:
    """Return the base's pose, each joint's kind, row and rotor inertia, and the flange's row."""
    parameters = [
        _field('base', f'position {axis}', 'm', 'base', (i, 3)) for i, axis in enumerate('xyz')
    ]
    parameters += [_base_angle(axis) for axis in range(3)]
    for i, joint in enumerate(description.joints):
        at = ('joints', i)
        parameters += [_kind(joint.name, i), *_row(joint.name, *at, 'row')]
        unit = 'kg m^2' if joint.kind is JointKind.REVOLUTE else 'kg'
        parameters.append(_field(joint.name, 'rotor inertia', unit, *at, 'rotor_inertia'))
    # The flange has no mass: a load on it is part of the last link.
    return parameters + _row('flange', 'flange', identifiable=False)


def limit_parameters(description: ArmDescription) -> list[Parameter]:
    """Return all limits of all joints; no torque depends on them."""
    return [
        _field(
            joint.name,
            f'limit {part.name}',
            '',
            *('joints', i, 'limits', part.name),
            identifiable=False,
        )
        for i, joint in enumerate(description.joints)
        for part in fields(JointLimits)
    ]


def inertia_parameters(
    description: ArmDescription, link: int, form: InertiaForm
) -> list[Parameter]:
    """Return the ten parameters of one link (counted from 0) in one form."""
    place = description.joints[link].name

    def parameter(k: int, name: str, unit: str) -> Parameter:
        def write(arm: ArmDescription, value: float) -> ArmDescription:
            numbers = form.numbers(arm.links[link])
            numbers[k] = value
            return _set(arm, ('links', link), form.link(numbers))

        return Parameter(
            place, name, unit, lambda arm: float(form.numbers(arm.links[link])[k]), write
        )

    return [parameter(k, name, unit) for k, (name, unit) in enumerate(form.names())]


def friction_parameters(description: ArmDescription) -> list[Parameter]:
    """Return the friction model's numbers, without standard deviations and `reach`."""
    friction, found = description.friction, []
    for part in () if friction is None else fields(friction):  # type: ignore[arg-type]
        # Models whose slip elements differ in reach are compared as wholes (`friction_form`).
        if not part.init or part.name in ('deviations', 'reach'):
            continue
        for at in np.ndindex(np.shape(getattr(friction, part.name))):
            # Columns are joints; rows are slip elements.
            place = 'arm' if not at else description.joint_names[at[-1]]
            element = ''.join(f'[{k + 1}]' for k in at[:-1])
            path = (part.name, at) if at else (part.name,)
            label = f'friction {part.name}{element}'
            found.append(_field(place, label, '', 'friction', *path))
    return found


def friction_form(description: ArmDescription) -> str:
    """Return the friction model's class and slip elements in words; 'none' without friction."""
    friction = description.friction
    if friction is None:
        return 'none'
    if not isinstance(friction, MaxwellSlipFriction):
        return type(friction).__name__
    reaches = ', '.join(f'{1e3 * one:g}' for one in friction.reach)
    return f'{type(friction).__name__} of elements of {reaches} mrad'


def _field(place: str, name: str, unit: str, *path: Key, **flags: bool) -> Parameter:
    """Return the parameter at a path of fields and indices into tuples and arrays."""
    return Parameter(
        place, name, unit, lambda arm: _get(arm, path), lambda arm, v: _set(arm, path, v), **flags
    )


def _get(thing: Any, path: Sequence[Key]) -> float:
    for key in path:
        thing = getattr(thing, key) if isinstance(key, str) else thing[key]
    return math.nan if thing is None else float(thing)


def _set(thing: Any, path: Sequence[Key], value: Any) -> Any:
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(key, str):
        return replace(thing, **{key: _set(getattr(thing, key), rest, value)})
    if isinstance(key, int):
        return (*thing[:key], _set(thing[key], rest, value), *thing[key + 1 :])
    changed = np.array(thing)
    changed[key] = value
    return changed


def _row(place: str, *path: Key, identifiable: bool = True) -> list[Parameter]:
    return [
        _field(place, name, unit, *path, name, identifiable=identifiable)
        for name, unit in ROW_UNITS.items()
    ]


def _kind(place: str, i: int) -> Parameter:
    """Return the parameter `kind` of joint i, revolute or prismatic."""
    return Parameter(
        place,
        'kind',
        '',
        lambda arm: arm.joints[i].kind.value,
        lambda arm, value: _set(arm, ('joints', i, 'kind'), JointKind(value)),
    )


def _base_angle(axis: int) -> Parameter:
    """Return one of the base's angles roll, pitch, yaw (axis 0, 1, 2), about fixed axes."""

    def write(arm: ArmDescription, value: float) -> ArmDescription:
        base = np.array(arm.base)
        angles = rpy_from_rotation(base[:3, :3])
        angles[axis] = value
        base[:3, :3] = rpy(*angles)
        return _set(arm, ('base',), base)

    return Parameter(
        'base',
        ('roll', 'pitch', 'yaw')[axis],
        'rad',
        lambda arm: float(rpy_from_rotation(arm.base[:3, :3])[axis]),
        write,
    )
