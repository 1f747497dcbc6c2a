# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Compares two arms parameter by parameter.

A joint with reversed direction is reported as one difference, although up to nine numbers of a
FER change. A link's ten inertial parameters are compared in the `InertiaForm` (about the frame's
origin or the centre of mass) in which the fewest differ.
DH rows are not unique: the second arm is compared in those rows (`alignment`) in which the fewest
parameters differ from the first arm's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
import math
from typing import Any

from numpy.typing import ArrayLike

from .alignment import alignments
from .parameters import (
    friction_form,
    friction_parameters,
    geometry_parameters,
    INERTIA_FORMS,
    inertia_parameters,
    limit_parameters,
    Parameter,
    ROW_UNITS,
)
from .published_inertials import error_pattern
from .torque_effect import Difference, JointEffect, TorqueProbe
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
_COARSE_ANGLE = 2e-3  # [rad]; pi/2 written as 1.57 is 8e-4 off


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
    differing = _differing_pairs(limit_parameters, first, aligned, tolerance)
    others, forms = [], (friction_form(first), friction_form(aligned))
    if forms[0] == forms[1]:
        differing += _differing_pairs(friction_parameters, first, aligned, tolerance)
    else:
        effect = probe.effect(replace(first, friction=aligned.friction)).largest
        others.append(Difference('arm', 'friction model', *forms, '', effect))
    geometry = _differing_pairs(geometry_parameters, first, aligned, tolerance)
    return Comparison(
        first,
        aligned,
        (*_sign_differences(first, reversed_joints, probe), *_with_effects(geometry, probe)),
        tuple(_links(first, aligned, probe, tolerance)),
        (*others, *_with_effects(differing, probe)),
        # In `unreversed` no joint is reversed to match the first arm: the effect of all
        # differences includes the effect of reversed joints.
        probe.effect(unreversed),
    )


def _links(
    first: ArmDescription, second: ArmDescription, probe: TorqueProbe, tolerance: float
) -> list[Difference]:
    """Return the differences of all links, each with the likeliest cause, if one is found."""
    found = []
    for i in range(first.n):
        differing = _differing_inertias(first, second, i, tolerance)
        pattern = error_pattern(first, second, i) if differing else None
        cause, certain = (pattern.cause, pattern.certain) if pattern else ('', False)
        found += [
            replace(one, cause=cause, certain=certain) for one in _with_effects(differing, probe)
        ]
    return found


def _sign_differences(
    first: ArmDescription, reversed_joints: Sequence[int], probe: TorqueProbe
) -> list[Difference]:
    """Return a Difference for each joint with reversed direction."""
    cause = 'its axis, or the sense in which it is counted, has the wrong sign'
    found = []
    for i in reversed_joints:
        effect = probe.effect(with_joint_reversed(first, i)).largest
        place = first.joint_names[i]
        found.append(Difference(place, 'joint sign', '+', '-', '', effect, cause))
    return found


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
    return (
        len(_differing_pairs(geometry_parameters, first, second, tolerance))
        + len(_differing_pairs(limit_parameters, first, second, tolerance))
        + sum(len(_differing_inertias(first, second, i, tolerance)) for i in range(first.n))
    )


def _differing_pairs(
    parameters: Callable[[ArmDescription], list[Parameter]],
    first: ArmDescription,
    second: ArmDescription,
    tolerance: float,
) -> list[tuple[Parameter, Parameter]]:
    """Return the pairs of the first and second arm's parameters that differ."""
    return [
        (a, b)
        for a, b in zip(parameters(first), parameters(second))
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
    first: ArmDescription, second: ArmDescription, link: int, tolerance: float
) -> list[tuple[Parameter, Parameter]]:
    """Return a link's differing inertial parameters, in the form in which the fewest differ."""
    if first.links[link] == second.links[link]:
        return []
    forms = (partial(inertia_parameters, i=link, form=form) for form in INERTIA_FORMS)
    return min((_differing_pairs(form, first, second, tolerance) for form in forms), key=len)


def _with_effects(
    differing: Sequence[tuple[Parameter, Parameter]], probe: TorqueProbe
) -> list[Difference]:
    """Return a Difference for each pair of parameters, with its effect on torques."""
    found = []
    for one, other in differing:
        effect = 0.0 if one.write is None else probe.effect(one.write(other.value)).largest
        cause = _row_cause(one, other) if one.name in ROW_UNITS else ''
        values = one.value, other.value
        found.append(Difference(one.place, one.name, *values, one.unit, effect, cause))
    return found


def _row_cause(one: Parameter, other: Parameter) -> str:
    """Return the likeliest cause of a difference in a DH row; empty if none fits."""
    here, there = float(one.value), float(other.value)
    if one.unit == 'rad':
        error = abs(math.remainder(there - here, math.tau))
        return 'an angle written with too few digits' if error < _COARSE_ANGLE else ''
    thousandfold = here != 0.0 and abs(there / here - 1000.0) < 1e-3
    return 'millimetres in place of metres' if thousandfold else ''


def _name(arm: ArmDescription | SerialChain) -> str:
    return (arm.source if isinstance(arm, SerialChain) else arm.file) or arm.name
