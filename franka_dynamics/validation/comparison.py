# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Two descriptions of one arm, parameter by parameter in DH frames.

What is named is the least that has to be changed: a joint counted the other way is one
difference, not eight, and a link is read in whichever form of its ten numbers the fewest differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
import math

import numpy as np
from numpy.typing import ArrayLike

from .parameters import (
    friction_form,
    friction_parameters,
    geometry_parameters,
    INERTIA_FORMS,
    inertia_parameters,
    limit_parameters,
    Parameter,
)
from .torque_effect import Change, Difference, JOINT_SIGN, on_arm, Situation, torque
from ..arm import ArmDescription
from ..arm.dh_conversion import in_modified_convention, with_joint_reversed
from ..arm.sampling import JointStates, sample_states
from ..dynamics.model import GRAVITY, gravity_vector
from ..errors import DescriptionError
from ..spatial import JointKind
from ..typing import Array

# What rounding leaves of two ways to write one number (m, rad, kg, kg m, kg m^2).
SAME = 1e-9
# What rounding leaves of a torque, of max(1, |tau|).
_NO_EFFECT = 1e-11
_STATES = 200


def compare_descriptions(
    first: ArmDescription,
    second: ArmDescription,
    *,
    gravity: ArrayLike = GRAVITY,
    second_gravity: ArrayLike | None = None,
    tolerance: float = SAME,
    seed: int = 0,
) -> tuple[Difference, ...]:
    """
    Name every parameter in which a second description departs from a first.

    Parameters
    ----------
    first, second : ArmDescription
        Of arms with equally many joints; standard rows are compared with modified ones after
        rewriting. A URDF is compared through its description in DH frames.
    gravity, second_gravity : array_like, shape (3,)
        Gravity that each is used with [m/s^2]; the second's is the first's if not given.
    tolerance : float
        Largest difference (m, rad, kg, kg m, kg m^2) that counts as the same number.
    seed : int
        Of the states on which effects are measured.

    Returns
    -------
    tuple of Difference
        By effect on torque, the largest first, those without any from base to tip; empty if the
        descriptions are the same arm with the same limits.

    Raises
    ------
    DescriptionError
        If the numbers of joints differ, or one has standard rows that cannot be rewritten.

    """
    if first.n != second.n:
        raise DescriptionError(
            f'{_name(first)} has {first.n} joints and {_name(second)} has {second.n}; only arms '
            'with equally many joints can be compared parameter by parameter.'
        )
    rewritten = first.convention is not second.convention
    if rewritten:
        first, second = in_modified_convention(first), in_modified_convention(second)
    own = gravity_vector(gravity)
    others = own if second_gravity is None else gravity_vector(second_gravity)
    probe = _Probe(first, own, sample_states(first, _STATES, seed))
    aligned, found = _align_signs(first, second, probe, tolerance)
    found += _gravity_difference(probe, others, tolerance)
    found += _kind_differences(first, aligned, probe)
    for parameter in _differing(geometry_parameters(first), first, aligned, tolerance):
        found.append(_measured(parameter, first, aligned, probe))
    for link in range(first.n):
        for parameter in _fewest(first, aligned, link, tolerance):
            found.append(_measured(parameter, first, aligned, probe))
    for parameter in _differing(limit_parameters(first), first, aligned, tolerance):
        found.append(_measured(parameter, first, aligned, probe))
    found += _friction_differences(first, aligned, probe, tolerance)
    if rewritten:
        found = [replace(one, change=partial(_after_dh_conversion, one.change)) for one in found]
    order = {name: i for i, name in enumerate(('arm', 'base', *first.joint_names, 'flange'))}
    return tuple(sorted(found, key=lambda one: (-one.torque_effect, order[one.place])))


class _Probe:
    """Measures what a change of the first description does to its torques."""

    def __init__(self, description: ArmDescription, gravity: Array, states: JointStates) -> None:
        self.description, self.gravity, self.states = description, gravity, states
        self.torque = torque(Situation(description, gravity), states)

    def effect(self, changed: ArmDescription, gravity: Array | None = None) -> float:
        after = Situation(changed, self.gravity if gravity is None else gravity)
        largest = float(np.abs(torque(after, self.states) - self.torque).max())
        floor = _NO_EFFECT * max(1.0, float(np.abs(self.torque).max()))
        return largest if largest > floor else 0.0


def _align_signs(
    first: ArmDescription,
    second: ArmDescription,
    probe: _Probe,
    tolerance: float,
) -> tuple[ArmDescription, list[Difference]]:
    """Reverse the second's joints wherever that leaves fewer differences; report each."""
    found, count = [], _count(first, second, tolerance)
    for i, joint in enumerate(first.joints):
        if count <= 1:
            break
        turned = with_joint_reversed(second, i)
        left = _count(first, turned, tolerance)
        # The reversal itself is one difference.
        if left + 1 < count:
            second, count = turned, left
            found.append(
                Difference(
                    joint.name,
                    JOINT_SIGN,
                    '+',
                    '-',
                    '',
                    probe.effect(with_joint_reversed(first, i)),
                    on_arm(partial(with_joint_reversed, joint=i)),
                )
            )
    return second, found


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
    there = parameter.read(second)
    effect = probe.effect(parameter.write(first, there)) if parameter.identifiable else 0.0
    return Difference(
        parameter.place,
        parameter.name,
        parameter.read(first),
        there,
        parameter.unit,
        effect,
        on_arm(lambda arm: parameter.write(arm, there)),
    )


def _after_dh_conversion(change: Change, before: Situation) -> Situation:
    return change(replace(before, arm=in_modified_convention(before.arm)))


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


def _name(description: ArmDescription) -> str:
    return description.file or description.name
