# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Compares the parameters of two arms, and the effect of each difference on joint torques.

A joint with reversed direction is reported as one difference, although up to nine numbers of a
FER change. A link's ten inertial parameters are compared in the form (about the frame's origin or
the centre of mass) in which the fewest differ.
DH rows are not unique. If both arms have one convention, their own rows are compared; rows
computed from the joint axes (`alignment`) are compared, too. The result is the comparison in which
fewer numbers differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .alignment import joint_axis_frames, with_rows_from_axes
from .parameters import (
    friction_parameters,
    friction_structure,
    geometry_parameters,
    inertia_parameters,
    limit_parameters,
    Parameter,
)
from .torque_effect import Difference, JointEffect, TorqueProbe
from ..arm import ArmDescription
from ..arm.dh_conversion import with_joint_reversed
from ..dynamics.model import GRAVITY
from ..errors import DescriptionError

# Two numbers of arm files (m, rad, kg, kg m, kg m^2) within _EQUALITY_TOLERANCE are equal.
_EQUALITY_TOLERANCE = 1e-9
# Two numbers, one of them from the rounded text of a URDF, are equal within
# TEXT_ROUNDING_TOLERANCE: pi/2 written as 1.570796 is 3e-7 off.
TEXT_ROUNDING_TOLERANCE = 1e-6


Pair = tuple[Parameter, Parameter]  # a parameter of the first and of the second arm


@dataclass(frozen=True, eq=False)
class Comparison:
    """
    The differences of a second arm from a first, the largest effect on torque first.

    `first` and `second` are in the DH rows that were compared, with joints of `second` reversed to
    match the first's. `together` is the effect of all differences at once on torques.
    """

    first: ArmDescription
    second: ArmDescription
    differences: tuple[Difference, ...]
    together: JointEffect

    @property
    def geometry(self) -> tuple[Difference, ...]:
        """Differences in joint directions, base pose, DH rows, rotor inertias and flange."""
        return tuple(one for one in self.differences if one.kind == 'geometry')

    @property
    def effective_differences(self) -> tuple[Difference, ...]:
        """The differences that change a joint torque by more than rounding."""
        return tuple(one for one in self.differences if one.has_effect)

    @property
    def passed(self) -> bool:
        """Whether no difference changes a joint torque by more than rounding."""
        return not self.effective_differences

    def as_data(self) -> dict[str, Any]:
        """Return the comparison as a dict from which a JSON file is written."""
        return {
            'first': self.first.file or self.first.name,
            'inertial_set': self.first.inertial_set,
            'hand': self.first.hand,
            'second': self.second.file or self.second.name,
            'passed': self.passed,
            'together': self.together,
            'differences': self.differences,
        }


def compare_descriptions(
    first: ArmDescription, second: ArmDescription, gravity: ArrayLike = GRAVITY
) -> Comparison:
    """Compare two arms of equally many joints in geometry, inertias, limits and friction."""
    if first.n != second.n:
        raise DescriptionError(
            f'{first.file or first.name} has {first.n} joints and '
            f'{second.file or second.name} has {second.n}; '
            'only arms with equally many joints can be compared parameter by parameter.'
        )
    tolerance = _EQUALITY_TOLERANCE if second.urdf is None else TEXT_ROUNDING_TOLERANCE
    together = TorqueProbe(first, gravity).effect(second)
    first, aligned, reversed_joints = _nearest_rows(first, second, tolerance)
    probe, found = TorqueProbe(first, gravity), list[Difference]()

    def add(kind: str, pairs: Sequence[Pair], changed: ArmDescription | None = None) -> None:
        """Add a Difference for each pair; `changed` is the first arm with their effect."""
        effect = probe.effect(changed).largest if pairs and changed is not None else 0.0
        for one, its in pairs:
            words = one.place, one.name, one.value, its.value, one.unit
            found.append(Difference(kind, *words, effect))

    def differing(parameters: Callable[[ArmDescription], list[Parameter]]) -> list[Pair]:
        return _differing_pairs(parameters(first), parameters(aligned), tolerance)

    built = differing(geometry_parameters)

    def built_at(place: str) -> list[Pair]:
        return [pair for pair in built if pair[0].place == place]

    add('geometry', built_at('base'), replace(first, base=aligned.base))
    for i, (name, own, its) in enumerate(zip(first.joint_names, first.joints, aligned.joints)):
        if i in reversed_joints:
            sign = Parameter(name, 'joint sign', '', '+'), Parameter(name, 'joint sign', '', '-')
            add('geometry', [sign], with_joint_reversed(first, i))
        joint = replace(own, kind=its.kind, row=its.row, rotor_inertia=its.rotor_inertia)
        changed = replace(first, joints=(*first.joints[:i], joint, *first.joints[i + 1 :]))
        add('geometry', built_at(name), changed)
        changed = replace(first, links=(*first.links[:i], aligned.links[i], *first.links[i + 1 :]))
        add('link', _differing_inertias(first, aligned, i, tolerance), changed)
    add('geometry', built_at('flange'))  # no torque depends on it: a load is part of the last link
    add('limits', differing(limit_parameters))
    friction = differing(
        lambda arm: [Parameter('arm', 'friction model', '', friction_structure(arm))]
    ) or differing(friction_parameters)
    add('friction', friction, replace(first, friction=aligned.friction))
    found.sort(key=lambda one: -one.torque_effect)
    return Comparison(first, aligned, tuple(found), together)


def _nearest_rows(
    first: ArmDescription, second: ArmDescription, tolerance: float
) -> tuple[ArmDescription, ArmDescription, list[int]]:
    """
    Return two arms in those rows in which fewer numbers differ.

    Also returns the indices of the second arm's joints that are reversed to match the first's.
    """
    pairs = []
    if second.urdf is None and second.convention is first.convention:
        pairs.append((first, second))
    flanges = [one.frames(np.zeros(one.n))[-1] for one in (first, second)]
    if second.urdf is not None and second.urdf.tip == second.link_names[-1]:
        flanges[1] = flanges[0]  # no link of the URDF has a flange's name
    one, other = (
        with_rows_from_axes(arm, first.base, first.convention, flange)
        for arm, flange in zip((first, second), flanges)
    )
    pairs.append((one, other))
    axes = zip(joint_axis_frames(one), joint_axis_frames(other))
    against = [i for i, (a, b) in enumerate(axes) if a[:3, 2] @ b[:3, 2] < 0.0]
    found = [(one, other, list[int]()) for one, other in pairs]
    if against:
        found += [
            (one, reduce(with_joint_reversed, against, other), against) for one, other in pairs
        ]
    # A joint's reversal counts as one difference.
    return min(found, key=lambda one: _count(one[0], one[1], tolerance) + len(one[2]))


def _count(first: ArmDescription, second: ArmDescription, tolerance: float) -> int:
    """Return the number of differences in geometry, limits and links."""
    return sum(
        len(_differing_pairs(parameters(first), parameters(second), tolerance))
        for parameters in (geometry_parameters, limit_parameters)
    ) + sum(len(_differing_inertias(first, second, i, tolerance)) for i in range(first.n))


def _differing_pairs(
    first: Sequence[Parameter], second: Sequence[Parameter], tolerance: float
) -> list[Pair]:
    """Return the pairs of the first and second arm's parameters that differ."""
    return [
        (a, b)
        for a, b in zip(first, second)
        if not are_close(a.value, b.value, tolerance, angle=a.unit == 'rad')
    ]


def are_close(a: float | str, b: float | str, tolerance: float, *, angle: bool = False) -> bool:
    """Return whether two values are equal within a tolerance, an `angle` modulo 2 pi."""
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    if a == b or (math.isnan(a) and math.isnan(b)):
        return True
    if angle:
        return abs(math.remainder(a - b, math.tau)) <= tolerance
    return abs(a - b) <= tolerance


def _differing_inertias(
    first: ArmDescription, second: ArmDescription, i: int, tolerance: float
) -> list[Pair]:
    """Return link i's differing parameters, in the form in which the fewest differ."""
    if first.links[i] == second.links[i]:
        return []
    place, links = first.joint_names[i], (first.links[i], second.links[i])
    forms = [
        [inertia_parameters(place, link, about_origin=about_origin) for link in links]
        for about_origin in (False, True)
    ]
    return min((_differing_pairs(a, b, tolerance) for a, b in forms), key=len)
