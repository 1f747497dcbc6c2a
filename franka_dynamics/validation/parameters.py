# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Lists the parameters of an arm's description, with place, name, unit and value."""

from __future__ import annotations

from dataclasses import fields
import math
from typing import NamedTuple

import numpy as np

from ..arm import ArmDescription, JointLimits, LinkInertia, MaxwellSlipFriction
from ..arm.inertia import six_from_tensor, TENSOR_ORDER


class Parameter(NamedTuple):
    """
    A value of an arm's description, with place, name and unit.

    `place` is a joint's name, 'base', 'flange' or 'arm'; `value` is NaN if the arm states none.
    `is_geometric` says that rounding errors of other joints add up in it.
    """

    place: str
    name: str
    unit: str
    value: float | str
    is_geometric: bool = False


def limit_parameters(place: str, limits: JointLimits) -> list[Parameter]:
    """Return every field of JointLimits as a Parameter."""
    return [
        Parameter(place, f'limit {name}', '', math.nan if value is None else value)
        for name, value in vars(limits).items()
    ]


def inertia_parameters(place: str, link: LinkInertia, *, about_origin: bool) -> list[Parameter]:
    """
    Return a link's ten Parameters in the axes of {S}, about its origin or the centre of mass.

    They are mass, first moment and the tensor about the origin, or, if not `about_origin`, mass,
    centre of mass and the tensor about the centre of mass.
    """
    if about_origin:
        vector, name, unit, about = link.first_moment, 'first moment', 'kg m', 'the origin'
        tensor = link.inertia
    else:
        vector, name, unit = link.center_of_mass, 'centre of mass', 'm'
        tensor, about = link.inertia_at_center_of_mass, 'the centre of mass'
    return [
        Parameter(place, 'mass', 'kg', link.mass),
        *(
            Parameter(place, f'{name} {axis}', unit, x, True)
            for axis, x in zip('xyz', vector.tolist())
        ),
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
