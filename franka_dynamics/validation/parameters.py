# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Lists the parameters of an arm's description, with place, name, unit and value."""

from __future__ import annotations

from dataclasses import fields
import math
from typing import NamedTuple

import numpy as np

from ..arm import ArmDescription, DHRow, JointKind, LinkInertia, MaxwellSlipFriction
from ..arm.inertia import six_from_tensor, TENSOR_ORDER
from ..spatial import rpy_from_rotation

_ROW_UNITS = {'a': 'm', 'alpha': 'rad', 'd': 'm', 'theta': 'rad', 'beta': 'rad'}


class Parameter(NamedTuple):
    """
    A value of an arm's description, with place, name and unit.

    `place` is a joint's name, 'base', 'flange' or 'arm'; `value` is NaN if the arm states none.
    """

    place: str
    name: str
    unit: str
    value: float | str


def geometry_parameters(arm: ArmDescription) -> list[Parameter]:
    """Return base pose, joint kinds, DH rows, rotor inertias and flange row as Parameters."""
    parameters = [
        Parameter('base', f'position {axis}', 'm', at) for axis, at in zip('xyz', arm.base[:3, 3])
    ]
    angles = zip(('roll', 'pitch', 'yaw'), rpy_from_rotation(arm.base[:3, :3]).tolist())
    parameters += [Parameter('base', name, 'rad', angle) for name, angle in angles]
    for joint in arm.joints:
        unit = 'kg m^2' if joint.kind is JointKind.REVOLUTE else 'kg'
        parameters += [
            Parameter(joint.name, 'kind', '', joint.kind.value),
            *_row(joint.name, joint.row),
            Parameter(joint.name, 'rotor inertia', unit, joint.rotor_inertia),
        ]
    return parameters + _row('flange', arm.flange)


def _row(place: str, row: DHRow) -> list[Parameter]:
    return [Parameter(place, name, unit, getattr(row, name)) for name, unit in _ROW_UNITS.items()]


def limit_parameters(arm: ArmDescription) -> list[Parameter]:
    """Return every field of `JointLimits` of every joint as a Parameter."""
    return [
        Parameter(joint.name, f'limit {name}', '', math.nan if value is None else value)
        for joint in arm.joints
        for name, value in vars(joint.limits).items()
    ]


def inertia_parameters(place: str, link: LinkInertia, *, about_origin: bool) -> list[Parameter]:
    """
    Return a link's ten Parameters, about its frame's origin or about its centre of mass.

    They are mass, first moment and the tensor about the frame's origin, or, if not `about_origin`,
    mass, centre of mass and the tensor about the centre of mass. One wrong number of a table in
    one form can change several parameters of the other form.
    """
    if about_origin:
        vector, name, unit, about = link.first_moment, 'first moment', 'kg m', 'the frame origin'
        tensor = link.inertia
    else:
        vector, name, unit = link.center_of_mass, 'centre of mass', 'm'
        tensor, about = link.inertia_at_center_of_mass, 'the centre of mass'
    return [
        Parameter(place, 'mass', 'kg', link.mass),
        *(Parameter(place, f'{name} {axis}', unit, x) for axis, x in zip('xyz', vector.tolist())),
        *(
            Parameter(place, f'inertia {axes} about {about}', 'kg m^2', value)
            for axes, value in zip(TENSOR_ORDER, six_from_tensor(tensor).tolist())
        ),
    ]


def friction_parameters(arm: ArmDescription) -> list[Parameter]:
    """Return the friction model's coefficients as Parameters, without `covariance` and `reach`."""
    friction, found = arm.friction, []
    for part in () if friction is None else fields(friction):  # type: ignore[arg-type]
        # Models whose slip elements differ in reach are compared as a whole
        # (`friction_structure`).
        if not part.init or part.name in ('covariance', 'reach'):
            continue
        values = np.asarray(getattr(friction, part.name))
        for at in np.ndindex(values.shape):
            # Columns of `values` are joints, rows are slip elements.
            place = 'arm' if not at else arm.joint_names[at[-1]]
            element = ''.join(f'[{k + 1}]' for k in at[:-1])
            name = f'friction {part.name}{element}'
            found.append(Parameter(place, name, '', float(values[at])))
    return found


def friction_structure(description: ArmDescription) -> str:
    """Return the friction model's class and slip elements' reaches; 'none' without friction."""
    friction = description.friction
    if friction is None:
        return 'none'
    if not isinstance(friction, MaxwellSlipFriction):
        return type(friction).__name__
    reaches = ', '.join(f'{1e3 * one:g}' for one in friction.reach)
    return f'{type(friction).__name__} of elements of {reaches} mrad'
