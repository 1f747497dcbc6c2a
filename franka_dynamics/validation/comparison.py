# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Two arms, number by number: of arm files, shipped arms, URDFs, in any pair.

What is named is the least that has to be changed: a joint counted the other way is one
difference, not eight, a link is read in whichever form of its ten numbers the fewest differ, and
rows in whichever reading of the joint axes (`alignment`).
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
    INERTIA_FORMS,
    inertia_parameters,
    limit_parameters,
    Parameter,
    ROW_UNITS,
)
from .published_inertials import error_pattern
from .torque_effect import (
    Difference,
    effect_together,
    JOINT_SIGN,
    JointEffect,
    NO_EFFECT,
    on_arm,
    Situation,
    torque,
)
from ..arm import ArmDescription
from ..arm.dh_conversion import with_joint_reversed
from ..arm.sampling import JointStates, sample_states
from ..dynamics.model import GRAVITY, gravity_vector
from ..errors import DescriptionError
from ..spatial import JointKind
from ..typing import Array
from ..urdf.serial_chain import SerialChain

# What rounding leaves of two ways to write one number (m, rad, kg, kg m, kg m^2).
SAME = 1e-9
# A URDF's text is rounded; pi/2 written as 1.570796 is 3e-7 off.
TEXT = 1e-6
_STATES = 200
# pi/2 written as 1.57 is 8e-4 rad off.
_COARSE_ANGLE = 2e-3
# pi/2 written as 1.5708 is 3.7e-6 rad off.
_ROUNDED_ANGLE = 1e-5


@dataclass(frozen=True, eq=False)
class Comparison:
    """
    In what a second arm departs from a first.

    `second` is in the first's rows and frames. `differences` are by their effect on torque, the
    largest first, those without any from base to tip; `gravity` [m/s^2] is that of the first.
    """

    first: ArmDescription
    second: ArmDescription
    gravity: tuple[float, ...]
    differences: tuple[Difference, ...]

    @property
    def passed(self) -> bool:
        """Whether no torque depends on any difference."""
        return not self.acting

    @property
    def acting(self) -> tuple[Difference, ...]:
        """The differences that a torque depends on."""
        return tuple(one for one in self.differences if one.has_effect)

    def together(self, count: int | None = None) -> JointEffect:
        """Return what the differences with most effect, or all, do to the torques at once."""
        return effect_together(self.first, self.acting[:count], gravity=self.gravity)

    def as_data(self) -> dict[str, Any]:
        """Return what was found as plain data."""
        return {
            'first': self.first.file or self.first.name,
            'inertial_set': self.first.inertial_set,
            'hand': self.first.hand,
            'second': self.second.file or self.second.name,
            'passed': self.passed,
            'together': asdict(self.together()),
            'ten_largest': asdict(self.together(10)),
            'differences': [one.as_data() for one in self.differences],
        }


def compare(
    first: ArmDescription,
    second: ArmDescription | SerialChain,
    *,
    gravity: ArrayLike = GRAVITY,
    second_gravity: ArrayLike | None = None,
    tolerance: float | None = None,
    seed: int = 0,
) -> Comparison:
    """
    Name every number in which a second arm departs from a first.

    Parameters
    ----------
    first, second : ArmDescription, or SerialChain of a URDF as the second
        Of equally many joints, which are paired from base to tip by where their axes lie: in
        either convention, in frames of any choice. `source.read_pair` reads files.
    gravity, second_gravity : array_like, shape (3,)
        Gravity that each is used with [m/s^2]; the second's is the first's if not given.
    tolerance : float, optional
        Largest difference (m, rad, kg, kg m, kg m^2) that counts as the same number; SAME, of a
        URDF TEXT if not given.
    seed : int
        Of the states on which effects are measured.

    Raises
    ------
    DescriptionError
        If the numbers of joints differ.

    """
    if first.n != len(second.joints):
        raise DescriptionError(
            f'{_name(first)} has {first.n} joints and {_name(second)} has {len(second.joints)}; '
            'only arms with equally many joints can be compared parameter by parameter.'
        )
    if tolerance is None:
        tolerance = SAME if isinstance(second, ArmDescription) else TEXT
    own = gravity_vector(gravity)
    others = own if second_gravity is None else gravity_vector(second_gravity)
    probe = _Probe(first, own, sample_states(first, _STATES, seed))
    aligned, found = _geometry(first, second, probe, tolerance)
    found += _gravity_difference(probe, others, tolerance)
    found += _links(probe, aligned, tolerance)
    for parameter in _differing(limit_parameters(first), first, aligned, tolerance):
        found.append(_measured(parameter, first, aligned, probe))
    found += _friction_differences(first, aligned, probe, tolerance)
    order = {name: i for i, name in enumerate(('arm', 'base', *first.joint_names, 'flange'))}
    found.sort(key=lambda one: (-one.torque_effect, order[one.place]))
    return Comparison(first, aligned, tuple(own.tolist()), tuple(found))


def compare_geometry(
    first: ArmDescription, second: ArmDescription | SerialChain, *, gravity: ArrayLike = GRAVITY
) -> tuple[ArmDescription, tuple[Difference, ...]]:
    """
    Return the second in the first's rows, and where its axes, joints and flange are others.

    What is within the rounding of a URDF's text is no difference. Arguments are as for `compare`.
    """
    probe = _Probe(first, gravity_vector(gravity), sample_states(first, _STATES, 0))
    aligned, found = _geometry(first, second, probe, TEXT)
    return aligned, tuple(
        one
        for one in sorted(found, key=lambda one: -one.torque_effect)
        if isinstance(one.first, str)
        or isinstance(one.second, str)
        or not _same(one.first, one.second, _rounding(one), angle=one.unit == 'rad')
    )


def compare_links(
    first: ArmDescription, second: ArmDescription, *, gravity: ArrayLike = GRAVITY
) -> list[Difference]:
    """
    Return where the links of two arms of the same rows are others, the largest effect first.

    What is within the rounding of a URDF's text is no difference. Arguments are as for `compare`.
    """
    probe = _Probe(first, gravity_vector(gravity), sample_states(first, _STATES, 0))
    return sorted(_links(probe, second, TEXT), key=lambda one: -one.torque_effect)


def _links(probe: _Probe, second: ArmDescription, tolerance: float) -> list[Difference]:
    """Return a link's differences, each with the likeliest mistake in writing behind them."""
    first, found = probe.description, []
    for i in range(first.n):
        parameters = _fewest(first, second, i, tolerance)
        pattern = error_pattern(first, second, i) if parameters else None
        cause, certain = (pattern.cause, pattern.certain) if pattern else ('', False)
        for parameter in parameters:
            one = _measured(parameter, first, second, probe)
            found.append(replace(one, cause=cause, certain=certain))
    return found


def _rounding(one: Difference) -> float:
    """Return how far a number of a URDF may be off: pi/2 written as 1.5708 is 3.7e-6 rad off."""
    # On a FER 1e-5 rad in a joint axis changes no torque by more than 8e-4 N m, 1e-6 m none by
    # more than 3e-4 N m; a flange is as far off as all axes before it together.
    allowed = _ROUNDED_ANGLE if one.unit == 'rad' else TEXT
    return 10.0 * allowed if one.place == 'flange' else allowed


def _geometry(
    first: ArmDescription,
    second: ArmDescription | SerialChain,
    probe: _Probe,
    tolerance: float,
) -> tuple[ArmDescription, list[Difference]]:
    aligned, reversed_joints = nearest_reading(first, second, tolerance)
    found = [_sign_difference(first, i, probe) for i in reversed_joints]
    found += _kind_differences(first, aligned, probe)
    for parameter in _differing(geometry_parameters(first), first, aligned, tolerance):
        found.append(_measured(parameter, first, aligned, probe))
    return aligned, found


def nearest_reading(
    first: ArmDescription, second: ArmDescription | SerialChain, tolerance: float
) -> tuple[ArmDescription, list[int]]:
    """Return the reading with the fewest differences, and which joints it counts otherwise."""
    best: tuple[int, ArmDescription, list[int]] | None = None
    for reading in readings(first, second):
        aligned, reversed_joints, count = _align_signs(first, reading, tolerance)
        if best is None or count < best[0]:
            best = count, aligned, reversed_joints
        if count <= 1:
            break
    assert best is not None
    return best[1:]


class _Probe:
    """Measures what a change of the first description does to its torques."""

    def __init__(self, description: ArmDescription, gravity: Array, states: JointStates) -> None:
        self.description, self.gravity, self.states = description, gravity, states
        self.torque = torque(Situation(description, gravity), states)

    def effect(self, changed: ArmDescription, gravity: Array | None = None) -> float:
        after = Situation(changed, self.gravity if gravity is None else gravity)
        largest = float(np.abs(torque(after, self.states) - self.torque).max())
        floor = NO_EFFECT * max(1.0, float(np.abs(self.torque).max()))
        return largest if largest > floor else 0.0


def _align_signs(
    first: ArmDescription, second: ArmDescription, tolerance: float
) -> tuple[ArmDescription, list[int], int]:
    """Reverse the second's joints wherever that leaves fewer differences; count what is left."""
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


def _sign_difference(first: ArmDescription, joint: int, probe: _Probe) -> Difference:
    def change(arm: ArmDescription) -> ArmDescription:
        return with_joint_reversed(arm, joint)

    effect = probe.effect(change(first))
    cause = 'its axis, or the sense in which it is counted, has the wrong sign'
    place = first.joint_names[joint]
    return Difference(place, JOINT_SIGN, '+', '-', '', effect, on_arm(change), cause)


def _count(first: ArmDescription, second: ArmDescription, tolerance: float) -> int:
    parameters = geometry_parameters(first) + limit_parameters(first)
    return len(_differing(parameters, first, second, tolerance)) + sum(
        len(_fewest(first, second, link, tolerance)) for link in range(first.n)
    )


def _differing(
    parameters: Sequence[Parameter],
    first: ArmDescription,
    second: ArmDescription,
    tolerance: float,
) -> list[Parameter]:
    return [
        parameter
        for parameter in parameters
        if not _same(
            parameter.read(first), parameter.read(second), tolerance, angle=parameter.angle
        )
    ]


def _same(a: float, b: float, tolerance: float, *, angle: bool = False) -> bool:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return True
    if angle:
        return abs(math.remainder(a - b, math.tau)) <= tolerance
    return abs(a - b) <= tolerance


def _fewest(
    first: ArmDescription,
    second: ArmDescription,
    link: int,
    tolerance: float,
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
    parameter: Parameter,
    first: ArmDescription,
    second: ArmDescription,
    probe: _Probe,
) -> Difference:
    here, there = parameter.read(first), parameter.read(second)
    effect = probe.effect(parameter.write(first, there)) if parameter.identifiable else 0.0
    return Difference(
        parameter.place,
        parameter.name,
        here,
        there,
        parameter.unit,
        effect,
        on_arm(lambda arm: parameter.write(arm, there)),
        _row_cause(parameter, here, there) if parameter.name in ROW_UNITS else '',
    )


def _row_cause(parameter: Parameter, here: float, there: float) -> str:
    if parameter.unit == 'rad':
        gap = abs(math.remainder(there - here, math.tau))
        return 'an angle written with too few digits' if gap < _COARSE_ANGLE else ''
    # As near as a millimetre in a metre is, whichever digits are left out.
    thousand = here != 0.0 and abs(there / here - 1000.0) < 1e-3
    return 'millimetres in place of metres' if thousand else ''


def _gravity_difference(probe: _Probe, other: Array, tolerance: float) -> list[Difference]:
    found = []
    for axis in range(3):
        if abs(probe.gravity[axis] - other[axis]) <= tolerance:
            continue
        only = np.arange(3) == axis

        def change(before: Situation, only: Array = only) -> Situation:
            return replace(before, gravity=np.where(only, other, before.gravity))

        found.append(
            Difference(
                'arm',
                f'gravity {"xyz"[axis]}',
                float(probe.gravity[axis]),
                float(other[axis]),
                'm/s^2',
                probe.effect(probe.description, np.where(only, other, probe.gravity)),
                change,
            )
        )
    return found


def _kind_differences(
    first: ArmDescription,
    second: ArmDescription,
    probe: _Probe,
) -> list[Difference]:
    found = []
    for i, (a, b) in enumerate(zip(first.joints, second.joints)):
        if a.kind is not b.kind:

            def change(
                arm: ArmDescription,
                i: int = i,
                kind: JointKind = b.kind,
            ) -> ArmDescription:
                joints = list(arm.joints)
                joints[i] = replace(joints[i], kind=kind)
                return replace(arm, joints=tuple(joints))

            found.append(
                Difference(
                    a.name,
                    'kind',
                    a.kind.value,
                    b.kind.value,
                    '',
                    probe.effect(change(first)),
                    on_arm(change),
                )
            )
    return found


def _friction_differences(
    first: ArmDescription, second: ArmDescription, probe: _Probe, tolerance: float
) -> list[Difference]:
    """Compare friction models number by number, or name both where they are of two forms."""
    forms = friction_form(first), friction_form(second)
    if forms[0] == forms[1]:
        return [
            _measured(parameter, first, second, probe)
            for parameter in _differing(friction_parameters(first), first, second, tolerance)
        ]

    def change(arm: ArmDescription) -> ArmDescription:
        return replace(arm, friction=second.friction)

    effect = probe.effect(change(first))
    return [Difference('arm', 'friction model', *forms, '', effect, on_arm(change))]


def _name(arm: ArmDescription | SerialChain) -> str:
    return (arm.source if isinstance(arm, SerialChain) else arm.file) or arm.name
