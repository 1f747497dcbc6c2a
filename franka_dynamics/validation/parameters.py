# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of an arm's description: names, values, and functions to replace values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
import math
from typing import Any

import numpy as np

from ..arm import ArmDescription, DHRow, JointKind, LinkInertia, MaxwellSlipFriction
from ..arm.inertia import six_from_tensor, tensor_from_six, TENSOR_ORDER
from ..spatial import rpy, rpy_from_rotation
from ..typing import Array

ROW_UNITS = {'a': 'm', 'alpha': 'rad', 'd': 'm', 'theta': 'rad'}


@dataclass(frozen=True, eq=False)
class Parameter:
    """
    One parameter of an arm.

    `place` is a joint's name, 'base', 'flange' or 'arm'; `value` is NaN if the arm states none.
    `write(value)` returns the arm with another value; `write` is None for limits and the flange's
    row, on which no torque depends.
    """

    place: str
    name: str
    unit: str
    value: float | str
    write: Callable[[Any], ArmDescription] | None = None


@dataclass(frozen=True)
class InertiaForm:
    """
    A form of a link's ten parameters in published tables.

    The ten parameters are mass, first moment and the tensor about the frame's origin, or, if not
    `about_origin`, mass, centre of mass and the tensor about the centre of mass. One wrong number
    of a table in one form can change several parameters of the other form.
    """

    about_origin: bool

    def numbers(self, link: LinkInertia) -> Array:
        """Return a link's mass, first moment or centre of mass, and tensor, shape (10,)."""
        vector = link.first_moment if self.about_origin else link.center_of_mass
        tensor = link.inertia if self.about_origin else link.inertia_at_center_of_mass
        return np.concatenate(([link.mass], vector, six_from_tensor(tensor)))

    def link(self, numbers: Array) -> LinkInertia:
        """Return the link with ten given parameters, shape (10,), in the order of `numbers`."""
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


# If equally many parameters of a link differ in both INERTIA_FORMS, the first form is reported.
INERTIA_FORMS = (InertiaForm(about_origin=False), InertiaForm(about_origin=True))


def geometry_parameters(arm: ArmDescription) -> list[Parameter]:
    """Return the base's pose, each joint's kind, row and rotor inertia, and the flange's row."""
    angles = rpy_from_rotation(arm.base[:3, :3]).tolist()
    parameters = [
        Parameter('base', f'position {axis}', 'm', arm.base[i, 3], partial(_moved_base, arm, i))
        for i, axis in enumerate('xyz')
    ]
    parameters += [
        Parameter('base', name, 'rad', angles[i], partial(_rotated_base, arm, i))
        for i, name in enumerate(('roll', 'pitch', 'yaw'))
    ]
    for i, joint in enumerate(arm.joints):
        change = partial(_with_joint, arm, i)
        unit = 'kg m^2' if joint.kind is JointKind.REVOLUTE else 'kg'
        parameters += [
            Parameter(joint.name, 'kind', '', joint.kind.value, partial(change, 'kind')),
            *_row(joint.name, joint.row, change),
            Parameter(
                joint.name,
                'rotor inertia',
                unit,
                joint.rotor_inertia,
                partial(change, 'rotor_inertia'),
            ),
        ]
    # No torque depends on the flange's row: a load on the flange is part of the last link.
    return parameters + _row('flange', arm.flange)


def _row(
    place: str, row: DHRow, change: Callable[[str, Any], ArmDescription] | None = None
) -> list[Parameter]:
    """Return the parameters of a DH row; `change('row', row)` returns the arm with another row."""

    def write(name: str, value: float) -> ArmDescription:
        assert change is not None
        return change('row', replace(row, **{name: value}))

    return [
        Parameter(place, name, unit, getattr(row, name), change and partial(write, name))
        for name, unit in ROW_UNITS.items()
    ]


def _with_joint(arm: ArmDescription, i: int, name: str, value: Any) -> ArmDescription:
    """Return an arm with another value of one field of joint i."""
    value = JointKind(value) if name == 'kind' else value
    changed = replace(arm.joints[i], **{name: value})
    return replace(arm, joints=(*arm.joints[:i], changed, *arm.joints[i + 1 :]))


def _moved_base(arm: ArmDescription, axis: int, value: float) -> ArmDescription:
    base = np.array(arm.base)
    base[axis, 3] = value
    return replace(arm, base=base)


def _rotated_base(arm: ArmDescription, axis: int, value: float) -> ArmDescription:
    """Return an arm with another roll, pitch or yaw (axis 0, 1, 2) of its base."""
    base = np.array(arm.base)
    angles = rpy_from_rotation(base[:3, :3])
    angles[axis] = value
    base[:3, :3] = rpy(*angles)
    return replace(arm, base=base)


def limit_parameters(arm: ArmDescription) -> list[Parameter]:
    """Return all limits of all joints; no torque depends on them."""
    limits = [(joint.name, vars(joint.limits).items()) for joint in arm.joints]
    return [
        Parameter(place, f'limit {name}', '', math.nan if value is None else value)
        for place, stated in limits
        for name, value in stated
    ]


def inertia_parameters(arm: ArmDescription, i: int, form: InertiaForm) -> list[Parameter]:
    """Return the ten parameters of link i (counted from 0) in an InertiaForm."""
    numbers = form.numbers(arm.links[i])

    def write(k: int, value: float) -> ArmDescription:
        link = form.link(np.where(np.arange(10) == k, value, numbers))
        return replace(arm, links=(*arm.links[:i], link, *arm.links[i + 1 :]))

    return [
        Parameter(arm.joints[i].name, name, unit, float(numbers[k]), partial(write, k))
        for k, (name, unit) in enumerate(form.names())
    ]


def friction_parameters(arm: ArmDescription) -> list[Parameter]:
    """Return the friction model's numbers, without its `deviations` and slip elements' `reach`."""
    friction, found = arm.friction, []
    for part in () if friction is None else fields(friction):  # type: ignore[arg-type]
        # Models whose slip elements differ in reach are compared as a whole (`friction_form`).
        if not part.init or part.name in ('deviations', 'reach'):
            continue
        values = np.asarray(getattr(friction, part.name))
        for at in np.ndindex(values.shape):
            # Columns of `values` are joints, rows are slip elements.
            place = 'arm' if not at else arm.joint_names[at[-1]]
            element = ''.join(f'[{k + 1}]' for k in at[:-1])
            name, write = (
                f'friction {part.name}{element}',
                partial(_with_friction, arm, part.name, at),
            )
            found.append(Parameter(place, name, '', float(values[at]), write))
    return found


def _with_friction(
    arm: ArmDescription, name: str, at: tuple[int, ...], value: float
) -> ArmDescription:
    """Return an arm with another value in one entry of a field of its friction model."""
    values = np.array(getattr(arm.friction, name))
    values[at] = value
    changed: Any = values if at else float(values)
    friction: Any = arm.friction
    return replace(arm, friction=replace(friction, **{name: changed}))


def friction_form(description: ArmDescription) -> str:
    """Return the friction model's class and slip elements' reaches; 'none' without friction."""
    friction = description.friction
    if friction is None:
        return 'none'
    if not isinstance(friction, MaxwellSlipFriction):
        return type(friction).__name__
    reaches = ', '.join(f'{1e3 * one:g}' for one in friction.reach)
    return f'{type(friction).__name__} of elements of {reaches} mrad'
