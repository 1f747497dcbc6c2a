# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every number of an arm's description, one by one: its name, its value, how to replace it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from ..arm import (
    ArmDescription,
    Joint,
    JointKind,
    JointLimits,
    LinkInertia,
    MaxwellSlipFriction,
)
from ..arm.inertia import six_from_tensor, steiner, tensor_from_six, TENSOR_ORDER
from ..spatial import rpy, rpy_from_rotation
from ..typing import Array

ROW_UNITS = {'a': 'm', 'alpha': 'rad', 'd': 'm', 'theta': 'rad'}
_LINEAR = ('', '/s', '/s^2', '/s^3')


@dataclass(frozen=True, eq=False)
class Parameter:
    """
    One parameter of a description.

    `read` returns its value; `write(arm, value)` returns the arm with another one.
    `angle` values are compared modulo a whole turn; `identifiable` is False where no torque of a
    rigid
    body can depend on it; in a `linear` one torque is affine.
    """

    place: str
    name: str
    unit: str
    read: Callable[[ArmDescription], float]
    write: Callable[[ArmDescription, float], ArmDescription]
    angle: bool = False
    identifiable: bool = True
    linear: bool = False


@dataclass(frozen=True)
class InertiaForm:
    """
    Which ten numbers a link is written in; the same body has other numbers in each.

    A file states a centre of mass or a first moment, and a tensor about the centre of mass or
    about the frame's origin. One wrong number of the file is one wrong number in that form only.
    """

    moment: bool
    origin: bool

    def numbers(self, link: LinkInertia) -> Array:
        """Return mass, centre of mass or first moment, and the tensor's six."""
        vector = link.first_moment if self.moment else link.center_of_mass
        tensor = link.inertia if self.origin else link.inertia_at_center_of_mass
        return np.concatenate(([link.mass], vector, six_from_tensor(tensor)))

    def link(self, numbers: Array) -> LinkInertia:
        """Return the link that these numbers describe."""
        mass, vector, tensor = numbers[0], numbers[1:4], tensor_from_six(numbers[4:])
        moment = vector if self.moment else mass * vector
        if not self.origin and mass != 0.0:
            tensor = tensor + steiner(mass, moment / mass)
        return LinkInertia(mass, moment, tensor)

    def names(self) -> tuple[tuple[str, str], ...]:
        """Return the ten names with their units."""
        vector, unit = ('first moment', 'kg m') if self.moment else ('centre of mass', 'm')
        about = 'the frame origin' if self.origin else 'the centre of mass'
        return (
            ('mass', 'kg'),
            *((f'{vector} {axis}', unit) for axis in 'xyz'),
            *((f'inertia {axes} about {about}', 'kg m^2') for axes in TENSOR_ORDER),
        )


# In order of preference where several need equally many numbers.
INERTIA_FORMS = (
    InertiaForm(moment=False, origin=False),
    InertiaForm(moment=True, origin=True),
    InertiaForm(moment=False, origin=True),
    InertiaForm(moment=True, origin=False),
)


def geometry_parameters(description: ArmDescription) -> list[Parameter]:
    """Return base, joints' rows and rotors, and flange, in order from base to tip."""
    parameters = [*_base_parameters()]
    for i, joint in enumerate(description.joints):
        parameters.extend(_row_parameter(i, joint.name, name) for name in ROW_UNITS)
        parameters.append(_rotor_parameter(i, joint.name, joint.kind))
    parameters.extend(_flange_parameter(name) for name in ROW_UNITS)
    return parameters


def limit_parameters(description: ArmDescription) -> list[Parameter]:
    """Return all limits of all joints; no torque depends on them."""
    return [
        _limit_parameter(i, joint.name, field.name, joint.kind)
        for i, joint in enumerate(description.joints)
        for field in fields(JointLimits)
    ]


def inertia_parameters(
    description: ArmDescription, link: int, form: InertiaForm
) -> list[Parameter]:
    """Return the ten parameters of one link (counted from 0) in one form."""
    place = description.joints[link].name
    return [_inertia_parameter(place, link, form, k) for k in range(10)]


def friction_parameters(description: ArmDescription) -> list[Parameter]:
    """Return every number of the friction model; how well it is known is none of them."""
    if description.friction is None:
        return []
    return [
        _friction_parameter(description, part.name, at)
        for part in fields(description.friction)  # type: ignore[arg-type]
        if part.init and part.name != 'deviations'
        for at in np.ndindex(np.shape(getattr(description.friction, part.name)))
    ]


def friction_form(description: ArmDescription) -> str:
    """Return what kind of friction model an arm has; two of one form differ in numbers alone."""
    friction = description.friction
    if friction is None:
        return 'none'
    elements = len(friction.reach) if isinstance(friction, MaxwellSlipFriction) else 0
    return type(friction).__name__ + (f' of {elements} elements' if elements else '')


def _friction_parameter(description: ArmDescription, name: str, at: tuple[int, ...]) -> Parameter:
    # Columns are joints; rows, and what there is one of for each element, are elements.
    by_element = name == 'reach'
    place = 'arm' if by_element or not at else description.joint_names[at[-1]]
    element = at if by_element else at[:-1]

    def write(arm: ArmDescription, value: float) -> ArmDescription:
        values = np.array(getattr(arm.friction, name))
        values[at] = value
        changed = {name: values if at else float(values)}
        return replace(arm, friction=replace(arm.friction, **changed))  # type: ignore[type-var]

    return Parameter(
        place,
        f'friction {name}{"".join(f"[{k + 1}]" for k in element)}',
        '',
        lambda arm: float(np.asarray(getattr(arm.friction, name))[at]),
        write,
    )


def _base_parameters() -> list[Parameter]:
    """Return the base's pose as an arm file has it: xyz and fixed-axis roll, pitch, yaw."""

    def translation(axis: int) -> Parameter:
        def write(arm: ArmDescription, value: float) -> ArmDescription:
            base = np.array(arm.base)
            base[axis, 3] = value
            return replace(arm, base=base)

        return Parameter(
            'base', f'position {"xyz"[axis]}', 'm', lambda arm: float(arm.base[axis, 3]), write
        )

    def angle(axis: int) -> Parameter:
        def write(arm: ArmDescription, value: float) -> ArmDescription:
            angles = rpy_from_rotation(arm.base[:3, :3])
            angles[axis] = value
            base = np.array(arm.base)
            base[:3, :3] = rpy(*angles)
            return replace(arm, base=base)

        return Parameter(
            'base',
            ('roll', 'pitch', 'yaw')[axis],
            'rad',
            lambda arm: float(rpy_from_rotation(arm.base[:3, :3])[axis]),
            write,
            angle=True,
        )

    return [*(translation(axis) for axis in range(3)), *(angle(axis) for axis in range(3))]


def _row_parameter(joint: int, place: str, name: str) -> Parameter:
    def write(arm: ArmDescription, value: float) -> ArmDescription:
        row = replace(arm.joints[joint].row, **{name: value})
        return _with_joint(arm, joint, replace(arm.joints[joint], row=row))

    return Parameter(
        place,
        name,
        ROW_UNITS[name],
        lambda arm: float(getattr(arm.joints[joint].row, name)),
        write,
        angle=ROW_UNITS[name] == 'rad',
    )


def _rotor_parameter(joint: int, place: str, kind: JointKind) -> Parameter:
    def write(arm: ArmDescription, value: float) -> ArmDescription:
        return _with_joint(arm, joint, replace(arm.joints[joint], rotor_inertia=value))

    return Parameter(
        place,
        'rotor inertia',
        'kg m^2' if kind is JointKind.REVOLUTE else 'kg',
        lambda arm: arm.joints[joint].rotor_inertia,
        write,
        linear=True,
    )


def _flange_parameter(name: str) -> Parameter:
    def write(arm: ArmDescription, value: float) -> ArmDescription:
        return replace(arm, flange=replace(arm.flange, **{name: value}))

    # The flange moves no mass of its own: a load on it is already in the last link.
    return Parameter(
        'flange',
        name,
        ROW_UNITS[name],
        lambda arm: float(getattr(arm.flange, name)),
        write,
        angle=ROW_UNITS[name] == 'rad',
        identifiable=False,
    )


def _limit_parameter(joint: int, place: str, name: str, kind: JointKind) -> Parameter:
    def read(arm: ArmDescription) -> float:
        value = getattr(arm.joints[joint].limits, name)
        return float('nan') if value is None else float(value)

    def write(arm: ArmDescription, value: float) -> ArmDescription:
        limits = replace(arm.joints[joint].limits, **{name: value})
        return _with_joint(arm, joint, replace(arm.joints[joint], limits=limits))

    return Parameter(
        place, f'limit {name}', _limit_unit(name, kind), read, write, identifiable=False
    )


def _limit_unit(name: str, kind: JointKind) -> str:
    if name.startswith('effort'):
        force = 'N m' if kind is JointKind.REVOLUTE else 'N'
        return f'{force}/s' if name == 'effort_rate' else force
    order = {
        'lower': 0,
        'upper': 0,
        'velocity': 1,
        'velocity_offset': 1,
        'acceleration': 2,
        'velocity_deceleration': 2,
        'jerk': 3,
    }[name]
    return ('rad' if kind is JointKind.REVOLUTE else 'm') + _LINEAR[order]


def _inertia_parameter(place: str, link: int, form: InertiaForm, k: int) -> Parameter:
    def write(arm: ArmDescription, value: float) -> ArmDescription:
        numbers = form.numbers(arm.links[link])
        numbers[k] = value
        links = list(arm.links)
        links[link] = form.link(numbers)
        return replace(arm, links=tuple(links))

    name, unit = form.names()[k]
    # About the frame origin all ten are linear (Gautier and Khalil 1990, eq. 3),
    # else the tensor's entries are.
    return Parameter(
        place,
        name,
        unit,
        lambda arm: float(form.numbers(arm.links[link])[k]),
        write,
        linear=k > 3 or (form.moment and form.origin),
    )


def _with_joint(description: ArmDescription, index: int, joint: Joint) -> ArmDescription:
    joints = list(description.joints)
    joints[index] = joint
    return replace(description, joints=tuple(joints))
