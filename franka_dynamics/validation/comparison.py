# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Comparison of two arms, number by number; each is a shipped arm, an arm file or a URDF.

As few differences as possible are reported. A joint with reversed direction is one difference,
although up to eight numbers change. A link's ten inertial parameters are compared in the form in
which the fewest differ. DH rows are not unique: of the rows that describe the second arm's axes,
those with the fewest differences found are used (`alignment`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .alignment import readings
from .parameters import (
    friction_form,
    friction_parameters,
    geometry_parameters,
    gravity_parameters,
    INERTIA_FORMS,
    inertia_parameters,
    limit_parameters,
    Parameter,
    ROW_UNITS,
    Situation,
)
from .published_inertials import error_pattern
from .torque_effect import Difference, JointEffect, TorqueProbe
from ..arm import ArmDescription
from ..arm.dh_conversion import with_joint_reversed
from ..dynamics.model import GRAVITY, gravity_vector
from ..errors import DescriptionError
from ..urdf.serial_chain import SerialChain

# Largest rounding error between two ways to write the same number (m, rad, kg, kg m, kg m^2).
_SAME = 1e-9
# A URDF's text is rounded; pi/2 written as 1.570796 is 3e-7 off.
TEXT = 1e-6
# pi/2 written as 1.57 is 8e-4 rad off.
_COARSE_ANGLE = 2e-3


@dataclass(frozen=True, eq=False)
class Comparison:
    """
    The differences of a second arm from a first.

    `second` is in the first's rows and frames. Differences are of the `geometry` (base, rows,
    rotors, flange), of the `links`, or `others`; `together` is the effect of all differences on
    torque at once.
    """

    first: ArmDescription
    second: ArmDescription
    geometry: tuple[Difference, ...]
    links: tuple[Difference, ...]
    others: tuple[Difference, ...]
    together: JointEffect

    @property
    def differences(self) -> tuple[Difference, ...]:
        """All differences, largest effect on torque first; without effect, from base to tip."""
        places = ('arm', 'base', *self.first.joint_names, 'flange')
        order = {name: i for i, name in enumerate(places)}
        found = (*self.geometry, *self.links, *self.others)
        return tuple(sorted(found, key=lambda one: (-one.torque_effect, order[one.place])))

    @property
    def passed(self) -> bool:
        """Whether no difference changes any torque."""
        return not self.acting

    @property
    def acting(self) -> tuple[Difference, ...]:
        """The differences that change a torque."""
        return tuple(one for one in self.differences if one.has_effect)

    def as_data(self) -> dict[str, Any]:
        """Return the result as plain data."""
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
    second_gravity: ArrayLike | None = None,
) -> Comparison:
    """Compare two arms as `source.compare` does, by their descriptions."""
    if first.n != len(second.joints):
        raise DescriptionError(
            f'{_name(first)} has {first.n} joints and {_name(second)} has {len(second.joints)}; '
            'only arms with equally many joints can be compared parameter by parameter.'
        )
    tolerance = _SAME if isinstance(second, ArmDescription) else TEXT
    here = Situation(first, gravity_vector(gravity))
    field = here.gravity if second_gravity is None else gravity_vector(second_gravity)
    probe = TorqueProbe(here)
    reading, aligned, reversed_joints = nearest_reading(first, second, tolerance)
    there = Situation(aligned, field)
    others, forms = [], (friction_form(first), friction_form(aligned))
    numbers = [*gravity_parameters(), *limit_parameters(first)]
    if forms[0] == forms[1]:
        numbers += friction_parameters(first)
    else:
        rubbing = replace(here, arm=replace(first, friction=aligned.friction))
        effect = probe.effect(rubbing).largest
        others.append(Difference('arm', 'friction model', *forms, '', effect))
    return Comparison(
        first,
        aligned,
        tuple(_geometry(here, there, reversed_joints, probe, tolerance)),
        tuple(_links(here, there, probe, tolerance)),
        tuple(others + _measured(numbers, here, there, probe, tolerance)),
        # In the unchanged reading, reversed joints count as differences too.
        probe.effect(Situation(reading, field)),
    )


def _links(
    here: Situation, there: Situation, probe: TorqueProbe, tolerance: float
) -> list[Difference]:
    """Return the differences of all links, each with the likeliest mistake of its link."""
    found = []
    for i in range(here.arm.n):
        parameters = _fewest(here.arm, there.arm, i, tolerance)
        pattern = error_pattern(here.arm, there.arm, i) if parameters else None
        cause, certain = (pattern.cause, pattern.certain) if pattern else ('', False)
        found += [
            replace(one, cause=cause, certain=certain)
            for one in _measured(parameters, here, there, probe, tolerance)
        ]
    return found


def _geometry(
    here: Situation,
    there: Situation,
    reversed_joints: Sequence[int],
    probe: TorqueProbe,
    tolerance: float,
) -> list[Difference]:
    cause = 'its axis, or the sense in which it is counted, has the wrong sign'
    found = []
    for i in reversed_joints:
        turned = replace(here, arm=with_joint_reversed(here.arm, i))
        effect, place = probe.effect(turned).largest, here.arm.joint_names[i]
        found.append(Difference(place, 'joint sign', '+', '-', '', effect, cause))
    return found + _measured(geometry_parameters(here.arm), here, there, probe, tolerance)


def nearest_reading(
    first: ArmDescription, second: ArmDescription | SerialChain, tolerance: float
) -> tuple[ArmDescription, ArmDescription, list[int]]:
    """
    Return the reading of the second arm with the fewest differences.

    Returns the reading unchanged, the same reading with joints reversed to match the first arm,
    and the reversed joints.
    """
    best: tuple[int, ArmDescription, ArmDescription, list[int]] | None = None
    for reading in readings(first, second):
        aligned, reversed_joints, count = _align_signs(first, reading, tolerance)
        if best is None or count < best[0]:
            best = count, reading, aligned, reversed_joints
        if count <= 1:
            break
    assert best is not None
    return best[1:]


def _align_signs(
    first: ArmDescription, second: ArmDescription, tolerance: float
) -> tuple[ArmDescription, list[int], int]:
    """Reverse joints if that reduces the differences; return arm, joints and differences left."""
    found: list[int] = []
    count = _count(first, second, tolerance)
    for i in range(first.n):
        if count <= 1:
            break
        turned = with_joint_reversed(second, i)
        # The reversal itself is one difference.
        left = _count(first, turned, tolerance) + len(found) + 1
        if left < count:
            second, count = turned, left
            found.append(i)
    return second, found, count


def _count(first: ArmDescription, second: ArmDescription, tolerance: float) -> int:
    parameters = geometry_parameters(first) + limit_parameters(first)
    here, there = (Situation(arm, gravity_vector(GRAVITY)) for arm in (first, second))
    return len(_differing(parameters, here, there, tolerance)) + sum(
        len(_fewest(first, second, link, tolerance)) for link in range(first.n)
    )


def _differing(
    parameters: Sequence[Parameter], here: Situation, there: Situation, tolerance: float
) -> list[Parameter]:
    return [
        one
        for one in parameters
        if not alike(one.read(here), one.read(there), tolerance, angle=one.angle)
    ]


def alike(a: float | str, b: float | str, tolerance: float, *, angle: bool = False) -> bool:
    """Return whether two values are equal within a tolerance; angles modulo a full turn."""
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    if a == b or (math.isnan(a) and math.isnan(b)):
        return True
    if angle:
        return abs(math.remainder(a - b, math.tau)) <= tolerance
    return abs(a - b) <= tolerance


def _fewest(
    first: ArmDescription, second: ArmDescription, link: int, tolerance: float
) -> list[Parameter]:
    """Return a link's differing parameters in the form in which fewest differ."""
    if first.links[link] == second.links[link]:
        return []
    places = []
    for form in INERTIA_FORMS:
        here, there = form.numbers(first.links[link]), form.numbers(second.links[link])
        places.append(np.flatnonzero(np.abs(here - there) > tolerance))
    best = min(range(len(places)), key=lambda i: len(places[i]))
    parameters = inertia_parameters(first, link, INERTIA_FORMS[best])
    return [parameters[k] for k in places[best]]


def _measured(
    parameters: Sequence[Parameter],
    here: Situation,
    there: Situation,
    probe: TorqueProbe,
    tolerance: float,
) -> list[Difference]:
    """Return the differences of some parameters, each with its own effect on torques."""
    found = []
    for one in _differing(parameters, here, there, tolerance):
        first, second = one.read(here), one.read(there)
        changed = one.write(here, second) if one.identifiable else here
        effect = probe.effect(changed).largest
        cause = _row_cause(one, first, second) if one.name in ROW_UNITS else ''
        found.append(Difference(one.place, one.name, first, second, one.unit, effect, cause))
    return found


def _row_cause(parameter: Parameter, here: float, there: float) -> str:
    if parameter.unit == 'rad':
        gap = abs(math.remainder(there - here, math.tau))
        return 'an angle written with too few digits' if gap < _COARSE_ANGLE else ''
    # The ratio is 1000 within 1e-3.
    thousand = here != 0.0 and abs(there / here - 1000.0) < 1e-3
    return 'millimetres in place of metres' if thousand else ''


def _name(arm: ArmDescription | SerialChain) -> str:
    return (arm.source if isinstance(arm, SerialChain) else arm.file) or arm.name
