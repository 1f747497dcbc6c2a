# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Compares two arms by number, and by the effect on torque of what differs at each place.

A joint with reversed direction is reported as one difference, although up to nine numbers of a
FER change. A link's ten inertial parameters are compared in the form (about the frame's origin or
the centre of mass) in which the fewest differ.
DH rows are not unique: the second arm is compared in those rows (`alignment`) in which the fewest
parameters differ from the first arm's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
import math
from typing import Any

from numpy.typing import ArrayLike

from .alignment import alignments
from .effect import Difference, JointEffect, TorqueProbe
from .parameters import (
    friction_form,
    friction_parameters,
    geometry_parameters,
    inertia_parameters,
    limit_parameters,
    Parameter,
)
from ..arm import ArmDescription
from ..arm.dh_conversion import with_joint_reversed
from ..dynamics.model import GRAVITY
from ..errors import DescriptionError
from ..urdf.serial_chain import SerialChain

# Two numbers of arm files (m, rad, kg, kg m, kg m^2) within _SAME are equal.
_SAME = 1e-9
# Two numbers, one of them from the rounded text of a URDF, are equal within TEXT: pi/2 written as
# 1.570796 is 3e-7 off.
TEXT = 1e-6


@dataclass(frozen=True, eq=False)
class Comparison:
    """
    The differences of a second arm from a first.

    `second` is in DH rows of the first arm's convention, its joints reversed to match the first's.
    Differences are in the `geometry` (joint signs, base, rows, rotors, flange), in the inertias of
    the `links`, or in `others` (limits, friction); `together` is the effect of all differences at
    once on torques.
    """

    first: ArmDescription
    second: ArmDescription
    geometry: tuple[Difference, ...]
    links: tuple[Difference, ...]
    others: tuple[Difference, ...]
    together: JointEffect

    @property
    def differences(self) -> tuple[Difference, ...]:
        """All differences, by falling effect on torque; with equal effects, from base to tip."""
        places = ('arm', 'base', *self.first.joint_names, 'flange')
        order = {name: i for i, name in enumerate(places)}
        found = (*self.geometry, *self.links, *self.others)
        return tuple(sorted(found, key=lambda one: (-one.torque_effect, order[one.place])))

    @property
    def passed(self) -> bool:
        """Whether no difference changes a torque by more than rounding."""
        return not self.acting

    @property
    def acting(self) -> tuple[Difference, ...]:
        """The differences that change a torque."""
        return tuple(one for one in self.differences if one.has_effect)

    def as_data(self) -> dict[str, Any]:
        """Return the result as plain data for a JSON file."""
        return {
            'first': self.first.file or self.first.name,
            'inertial_set': self.first.inertial_set,
            'hand': self.first.hand,
            'second': self.second.file or self.second.name,
            'passed': self.passed,
            'together': asdict(self.together),
            'differences': [asdict(one) for one in self.differences],
        }


def compare_described(
    first: ArmDescription,
    second: ArmDescription | SerialChain,
    gravity: ArrayLike = GRAVITY,
) -> Comparison:
    """Compare two arms that are already read, as `validation.source.compare` describes."""
    if first.n != len(second.joints):
        raise DescriptionError(
            f'{_name(first)} has {first.n} joints and {_name(second)} has {len(second.joints)}; '
            'only arms with equally many joints can be compared parameter by parameter.'
        )
    tolerance = _SAME if isinstance(second, ArmDescription) else TEXT
    probe = TorqueProbe(first, gravity)
    unreversed, aligned, reversed_joints = nearest_alignment(first, second, tolerance)

    def differences(
        pairs: Sequence[tuple[Parameter, Parameter]],
        changed: Callable[[str], ArmDescription | None],
    ) -> tuple[Difference, ...]:
        """Return a Difference of each pair; `changed(place)` is the first arm with its effect."""
        arms = {place: changed(place) for place in dict.fromkeys(one.place for one, _ in pairs)}
        effects = {
            place: 0.0 if arm is None else probe.effect(arm).largest for place, arm in arms.items()
        }
        return tuple(
            Difference(one.place, one.name, one.value, other.value, one.unit, effects[one.place])
            for one, other in pairs
        )

    def reversed_at(place: str) -> ArmDescription:
        return with_joint_reversed(first, first.joint_names.index(place))

    def built_at(place: str) -> ArmDescription | None:
        if place == 'flange':  # no torque depends on its row: a load is part of the last link
            return None
        if place == 'base':
            return replace(first, base=aligned.base)
        i = first.joint_names.index(place)
        other = aligned.joints[i]
        joint = replace(
            first.joints[i], kind=other.kind, row=other.row, rotor_inertia=other.rotor_inertia
        )
        return replace(first, joints=(*first.joints[:i], joint, *first.joints[i + 1 :]))

    def loaded_at(place: str) -> ArmDescription:
        i = first.joint_names.index(place)
        return replace(first, links=(*first.links[:i], aligned.links[i], *first.links[i + 1 :]))

    names = [first.joint_names[i] for i in reversed_joints]
    signs = [
        (Parameter(name, 'joint sign', '', '+'), Parameter(name, 'joint sign', '', '-'))
        for name in names
    ]
    geometry = _differing_pairs(
        geometry_parameters(first), geometry_parameters(aligned), tolerance
    )
    links = [
        pair for i in range(first.n) for pair in _differing_inertias(first, aligned, i, tolerance)
    ]
    limits = _differing_pairs(limit_parameters(first), limit_parameters(aligned), tolerance)
    model, other = (
        Parameter('arm', 'friction model', '', friction_form(arm)) for arm in (first, aligned)
    )
    friction = [(model, other)]
    if model == other:
        friction = _differing_pairs(
            friction_parameters(first), friction_parameters(aligned), tolerance
        )
    rubbing = replace(first, friction=aligned.friction)
    return Comparison(
        first,
        aligned,
        (*differences(signs, reversed_at), *differences(geometry, built_at)),
        differences(links, loaded_at),
        (*differences(limits, lambda _: None), *differences(friction, lambda _: rubbing)),
        # In `unreversed` no joint is reversed to match the first arm: the effect of all
        # differences includes the effect of reversed joints.
        probe.effect(unreversed),
    )


def nearest_alignment(
    first: ArmDescription, second: ArmDescription | SerialChain, tolerance: float
) -> tuple[ArmDescription, ArmDescription, list[int]]:
    """
    Return the second arm in the DH rows in which the fewest parameters differ from the first's.

    Returns the second arm in the nearest rows, the same arm with joints reversed to match the
    first arm's, and the indices of the reversed joints.
    """
    best: tuple[int, ArmDescription, ArmDescription, list[int]] | None = None
    for unreversed in alignments(first, second):
        aligned, reversed_joints, count = _align_signs(first, unreversed, tolerance)
        if best is None or count < best[0]:
            best = count, unreversed, aligned, reversed_joints
        if count <= 1:
            break
    assert best is not None
    return best[1:]


def _align_signs(
    first: ArmDescription, second: ArmDescription, tolerance: float
) -> tuple[ArmDescription, list[int], int]:
    """
    Return the second arm with joints reversed where this reduces the number of differences.

    Also returns the indices of the reversed joints, and the number of differences that remain,
    each reversal counted as one.
    """
    found: list[int] = []
    count = _count(first, second, tolerance)
    for i in range(first.n):
        if count <= 1:
            break
        flipped = with_joint_reversed(second, i)
        # A joint's reversal counts as one difference.
        remaining = _count(first, flipped, tolerance) + len(found) + 1
        if remaining < count:
            second, count = flipped, remaining
            found.append(i)
    return second, found, count


def _count(first: ArmDescription, second: ArmDescription, tolerance: float) -> int:
    """Return the number of differences in geometry, limits and links."""
    return sum(
        len(_differing_pairs(parameters(first), parameters(second), tolerance))
        for parameters in (geometry_parameters, limit_parameters)
    ) + sum(len(_differing_inertias(first, second, i, tolerance)) for i in range(first.n))


def _differing_pairs(
    first: Sequence[Parameter], second: Sequence[Parameter], tolerance: float
) -> list[tuple[Parameter, Parameter]]:
    """Return the pairs of the first and second arm's parameters that differ."""
    return [
        (a, b)
        for a, b in zip(first, second)
        if not alike(a.value, b.value, tolerance, angle=a.unit == 'rad')
    ]


def alike(a: float | str, b: float | str, tolerance: float, *, angle: bool = False) -> bool:
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
) -> list[tuple[Parameter, Parameter]]:
    """Return link i's differing parameters, in the form in which the fewest differ."""
    if first.links[i] == second.links[i]:
        return []
    place, links = first.joint_names[i], (first.links[i], second.links[i])
    forms = [
        [inertia_parameters(place, link, about_origin=about_origin) for link in links]
        for about_origin in (False, True)
    ]
    return min((_differing_pairs(a, b, tolerance) for a, b in forms), key=len)


def _name(arm: ArmDescription | SerialChain) -> str:
    return (arm.source if isinstance(arm, SerialChain) else arm.file) or arm.name
