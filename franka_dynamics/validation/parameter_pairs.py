# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pairs the parameters of two arms' joints, links and friction models, value by value."""

from collections.abc import Iterator
from dataclasses import fields
import math
from typing import NamedTuple

import numpy as np

from ..arm import FrictionModel, JointLimits, LinkInertia
from ..arm.friction import grows_with_load
from ..arm.inertia import elements_from_tensor, TENSOR_ORDER
from ..arrays import Array
from ..spatial import JointKind


class ParameterPair(NamedTuple):
    """A parameter's values in the first and the second arm; NaN where an arm does not state it."""

    parameter: str
    unit: str
    first: float | str
    second: float | str
    is_geometric: bool = False  # rounding errors of other joints add up in it


def vector_pairs(name: str, unit: str, first: Array, second: Array) -> list[ParameterPair]:
    """Return a pair, with geometric rounding, for each component of two vectors (3,)."""
    components = zip('xyz', first.tolist(), second.tolist())
    return [
        ParameterPair(f'{name} {axis}', unit, a, b, is_geometric=True) for axis, a, b in components
    ]


def inertia_pairs(first: LinkInertia, second: LinkInertia) -> list[ParameterPair]:
    """Return pairs of inertial parameters, about the centre of mass if both links have mass."""
    if first.mass and second.mass:
        about = 'the centre of mass'
        centers = first.center_of_mass, second.center_of_mass
        pairs = vector_pairs('centre of mass', 'm', *centers)
        tensors = first.inertia_at_center_of_mass, second.inertia_at_center_of_mass
    else:
        about = 'the origin'
        pairs = vector_pairs('first moment', 'kg m', first.first_moment, second.first_moment)
        tensors = first.inertia, second.inertia
    elements = (elements_from_tensor(tensor).tolist() for tensor in tensors)
    for axes, a, b in zip(TENSOR_ORDER, *elements):
        pairs.append(ParameterPair(f'inertia {axes} about {about}', 'kg m^2', a, b))
    return [ParameterPair('mass', 'kg', first.mass, second.mass), *pairs]


def limit_pairs(
    kind: JointKind, limits: JointLimits, other_limits: JointLimits
) -> Iterator[ParameterPair]:
    """Yield a pair for each limit of two joints of a kind."""
    position = kind.position_unit
    effort = kind.effort_unit
    units = {
        'lower': position,
        'upper': position,
        'velocity': f'{position}/s',
        'acceleration': f'{position}/s^2',
        'jerk': f'{position}/s^3',
        'effort': effort,
        'effort_rate': f'{effort}/s',
        'velocity_offset': f'{position}/s',
        'velocity_deceleration': f'{position}/s^2',
    }
    for name, own in vars(limits).items():
        its = getattr(other_limits, name)
        first, second = (math.nan if value is None else value for value in (own, its))
        yield ParameterPair(f'limit {name}', units[name], first, second)


def friction_model_pair(
    first: FrictionModel | None, second: FrictionModel | None
) -> ParameterPair:
    """Return the names of two friction models as a pair."""
    names = _friction_model_name(first), _friction_model_name(second)
    return ParameterPair('friction model', '', *names)


def _friction_model_name(friction: FrictionModel | None) -> str:
    """Return a friction model's class and the reaches [mrad] of its slip elements, or 'none'."""
    if not friction:
        return 'none'
    reaches = ', '.join(f'{1e3 * one:g}' for one in getattr(friction, 'reach', ()))
    elements = f' of elements of {reaches} mrad' if reaches else ''
    load = ' that grows with the load' if grows_with_load(friction) else ''
    falls = ' that falls with speed' if getattr(friction, 'stribeck', None) is not None else ''
    return f'{type(friction).__name__}{elements}{falls}{load}'


def friction_pairs(
    first: FrictionModel, second: FrictionModel, joint_names: tuple[str, ...]
) -> dict[str, list[ParameterPair]]:
    """
    Return pairs of two friction models of one name, by the joint that they belong to.

    A number that is the same for all joints belongs to 'arm'. What one model alone states is NaN
    in the other.
    """
    pairs = dict[str, list[ParameterPair]]()
    for field in fields(first):  # type: ignore[arg-type]
        own = getattr(first, field.name)
        its = getattr(second, field.name)
        # The model's name has the reaches; covariances say how sure numbers are.
        is_compared = field.init and field.name not in ('covariance', 'reach')
        if not is_compared or (own is None and its is None):
            continue
        stated = (math.nan if values is None else values for values in (own, its))
        own, its = np.broadcast_arrays(*stated)
        for index in np.ndindex(own.shape):  # the last axis is that of joints, if there is one
            owner = joint_names[index[-1]] if index else 'arm'
            element = ''.join(f'[{row + 1}]' for row in index[:-1])
            name = f'friction {field.name}{element}'
            pair = ParameterPair(name, '', own.item(index), its.item(index))
            pairs.setdefault(owner, []).append(pair)
    return pairs
