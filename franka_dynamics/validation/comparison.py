# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Compares two arms at q = 0 by joint axes, limits, friction and inertias in the space frame.

Joints are paired from base to tip. A joint that is moved carries what is behind it: where one
rigid motion brings the rest of the first arm to that of the second, it is one difference of that
joint, or of the base, and the rest is compared after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
import math
from typing import NamedTuple

import numpy as np

from .torque_effect import (
    ParameterDifference,
    SpaceFrameArm,
    TorqueEffect,
    TorqueSensitivity,
)
from .. import former_names
from ..arm import ArmDescription, FrictionModel, JointLimits, LinkInertia
from ..arm.friction import grows_with_load
from ..arm.inertia import elements_from_tensor, TENSOR_ORDER
from ..arrays import Array, ArrayLike
from ..dynamics.model import GRAVITY
from ..errors import DescriptionError
from ..spatial import JointKind, log3

# Two numbers of arm files (m, rad, kg, kg m^2) within _EQUALITY_TOLERANCE are equal.
_EQUALITY_TOLERANCE = 1e-9
# Two numbers, one of them from the rounded text of a URDF, are equal within MAX_TEXT_ROUNDING, and
# lengths and angles within MAX_GEOMETRY_ROUNDING: pi/2 written as 1.5708 is 3.7e-6 off, and errors
# of axes add up. An error of 1e-5 rad in an axis of a FER changes a torque by at most 8e-4 N m,
# one of 1e-5 m by at most 3e-3 N m.
MAX_TEXT_ROUNDING = 1e-6  # relative
MAX_GEOMETRY_ROUNDING = 1e-5  # m or rad


class _ValuePair(NamedTuple):
    """A parameter's values in the first and the second arm; NaN where an arm does not state it."""

    parameter: str
    unit: str
    first: float | str
    second: float | str
    is_geometric: bool = False  # rounding errors of other joints add up in it


@former_names.of_attributes('0.3', geometry='geometry_differences', together='total_effect')
@dataclass(frozen=True, eq=False)
class Comparison:
    """
    The differences between two arms, sorted by their effect on joint torques, largest first.

    `total_effect` is the effect of all differences at once on torques. `space_arms` are the two
    arms in {S}, the first with the differences of its geometry that move what is behind them.
    """

    first: ArmDescription
    second: ArmDescription
    differences: tuple[ParameterDifference, ...]
    total_effect: TorqueEffect = field(metadata={'former_key': 'together'})
    space_arms: tuple[SpaceFrameArm, SpaceFrameArm] = field(repr=False)
    json_fields = 'first', 'second', 'passed', 'total_effect', 'differences'

    @property
    def geometry_differences(self) -> tuple[ParameterDifference, ...]:
        """Differences of base, joint axes, joint types, rotor inertias and flange."""
        return tuple(one for one in self.differences if one.kind == 'geometry')

    @property
    def effective_differences(self) -> tuple[ParameterDifference, ...]:
        """The differences that change a joint torque by more than rounding."""
        return tuple(one for one in self.differences if one.has_effect)

    @property
    def passed(self) -> bool:
        """Whether no difference changes a joint torque by more than rounding."""
        return not self.effective_differences


def compare_descriptions(
    first: ArmDescription, second: ArmDescription, gravity: ArrayLike = GRAVITY
) -> Comparison:
    """Return the Comparison of two arms; DescriptionError unless they have equally many joints."""
    if first.n != second.n:
        raise DescriptionError(
            f'{first.file or first.name} has {first.n} joints, {second.file or second.name} '
            f'{second.n}; only arms with equally many joints can be compared.'
        )
    collector = _DifferenceCollector(first, second, gravity)
    for i in range(first.n):
        collector.add_joint_differences(i)
    collector.add_flange_difference()
    collector.add_friction_differences()
    collector.differences.sort(key=lambda one: -one.torque_effect)
    spaces = collector.first_space, collector.second_space
    return Comparison(first, second, tuple(collector.differences), collector.total_effect, spaces)


class _DifferenceCollector:
    """A collector of the differences between two arms, which are added joint by joint."""

    def __init__(self, first: ArmDescription, second: ArmDescription, gravity: ArrayLike) -> None:
        """Place both arms in {S}, and compute the effect of all differences at once."""
        self.first = first
        self.second = second
        self.differences = list[ParameterDifference]()
        text = second.urdf is not None
        self._value_bound = MAX_TEXT_ROUNDING if text else _EQUALITY_TOLERANCE
        self._axis_bound = MAX_GEOMETRY_ROUNDING if text else _EQUALITY_TOLERANCE
        # A URDF's arm may have no link with the name of a flange.
        self._has_flange = second.urdf is None or not second.urdf.tip_is_guess
        self._probe = TorqueSensitivity(first, gravity)
        self.first_space, self.second_space = map(SpaceFrameArm.at_zero, (first, second))
        self.total_effect = self._probe.effect(self.second_space, self.first_space, other=second)

    def _add_differing(
        self,
        kind: str,
        owner: str,
        pairs: list[_ValuePair],
        changed: SpaceFrameArm | None = None,
    ) -> bool:
        """
        Add a ParameterDifference for each pair that differs; return whether there are any.

        Their effect is that of `changed`, the first arm with what differs, or, if they are of the
        kind 'friction', that of the second arm's friction.
        """
        differing = [pair for pair in pairs if not self._are_equal(pair)]
        effect = TorqueEffect(0.0, '', 0.0)
        other = self.second if kind == 'friction' else None
        if differing and (changed or other):
            space = self.first_space
            effect = self._probe.effect(changed or space, space, other=other)
        for name, unit, first, second, _ in differing:
            found = ParameterDifference(
                kind,
                owner,
                name,
                first,
                second,
                unit,
                effect.largest,
                effect_unit=effect.unit,
            )
            self.differences.append(found)
        return bool(differing)

    def _are_equal(self, pair: _ValuePair) -> bool:
        """Return whether the two values of a pair are equal within rounding."""
        _, _, a, b, is_geometric = pair
        if isinstance(a, str) or isinstance(b, str):
            return a == b
        room = self._axis_bound if is_geometric else self._value_bound
        return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= room

    def add_joint_differences(self, i: int) -> None:
        """Add the differences of joint i and its link between the two arms."""
        name = self.first.joint_names[i]
        joint = self.first.joints[i]
        its = self.second.joints[i]
        here = self.first_space
        there = self.second_space
        against = False
        if joint.kind is not its.kind:
            kinds = [_ValuePair('kind', '', joint.kind.value, its.kind.value)]
            self._add_differing('geometry', name, kinds, here.with_joint(i, there, 'twists'))
        else:
            motion = here.displacement_to(there, i, self._axis_bound, with_flange=self._has_flange)
            if not here.axes_agree(there, i, self._axis_bound) or self._is_link_moved(motion, i):
                self._add_axis_displacement(motion, i, name)
            here = self.first_space
            against = bool(here.axis(i)[0] @ there.axis(i)[0] < 0.0)
        if against:
            signs = [_ValuePair('direction of the axis', '', '+', '-')]
            backwards = replace(here, twists=-here.twists)
            self._add_differing('geometry', name, signs, here.with_joint(i, backwards, 'twists'))
        unit = 'kg m^2' if joint.kind is JointKind.REVOLUTE else 'kg'
        rotors = [_ValuePair('rotor inertia', unit, joint.rotor_inertia, its.rotor_inertia)]
        self._add_differing('geometry', name, rotors, here.with_joint(i, there, 'rotor_inertias'))
        inertias = [*_inertia_pairs(here.inertias[i], there.inertias[i])]
        self._add_differing('link', name, inertias, here.with_joint(i, there, 'inertias'))
        limits = its.limits
        if against:
            limits = replace(limits, lower=-limits.upper, upper=-limits.lower)
        self._add_differing('limits', name, [*_limit_pairs(joint.kind, joint.limits, limits)])

    def _is_link_moved(self, motion: Array | None, i: int) -> bool:
        """Return whether link i's inertia equals the second arm's only once moved by `motion`."""
        own = self.first_space
        other = self.second_space.inertias[i]
        moved = own if motion is None else own.with_moved_joints(motion, i)
        links = (one.inertias[i] for one in (own, moved))
        here, brought = (all(map(self._are_equal, _inertia_pairs(one, other))) for one in links)
        return brought and not here

    def _add_axis_displacement(self, motion: Array | None, i: int, name: str) -> None:
        """Add the displacement of joint axis i or, by `motion`, of joints i to n, moving them."""
        d, p = self.first_space.axis(i)
        e, q = self.second_space.axis(i)
        if motion is None:
            changed = self.first_space.with_joint(i, self.second_space, 'twists')
            e = np.copysign(1.0, d @ e) * e
            pairs = _vector_pairs('axis', '', d, e) + _vector_pairs('axis position', 'm', p, q)
            self._add_differing('geometry', name, pairs, changed)
            return
        changed = self.first_space.with_moved_joints(motion, i)
        pairs = _vector_pairs('position', 'm', p, motion[:3, :3] @ p + motion[:3, 3])
        pairs += _vector_pairs('turn about', 'rad', np.zeros(3), log3(motion[:3, :3]))
        self._add_differing('geometry', name if i else 'base', pairs, changed)
        self.first_space = changed

    def add_flange_difference(self) -> None:
        """Add the difference of flange poses (no effect on torques) if the second is no guess."""
        if self._has_flange:
            one = self.first_space.tool_pose
            other = self.second_space.tool_pose
            turn = log3(other[:3, :3] @ one[:3, :3].T)
            pairs = _vector_pairs('position', 'm', one[:3, 3], other[:3, 3])
            pairs += _vector_pairs('turn about', 'rad', np.zeros(3), turn)
            self._add_differing('geometry', 'flange', pairs)

    def add_friction_differences(self) -> None:
        """Add the differences of friction coefficients by joint, or of the types of models."""
        frictions = (self.first.friction, self.second.friction)
        names = self.first.joint_names
        one, other = map(_friction_model_name, frictions)
        kinds = [_ValuePair('friction model', '', one, other)]
        if self._add_differing('friction', 'arm', kinds) or frictions[0] is None:
            return
        found = dict[str, list[_ValuePair]]()
        for part in fields(frictions[0]):  # type: ignore[arg-type]
            if part.init and part.name not in (
                'covariance',
                'reach',
            ):  # reach: in the model
                if all(getattr(each, part.name) is None for each in frictions):
                    continue
                values = [np.asarray(getattr(each, part.name)) for each in frictions]
                for at in np.ndindex(values[0].shape):  # columns are joints, rows slip elements
                    element = ''.join(f'[{k + 1}]' for k in at[:-1])
                    here, there = (each.item(at) for each in values)
                    pair = _ValuePair(f'friction {part.name}{element}', '', here, there)
                    found.setdefault(names[at[-1]] if at else 'arm', []).append(pair)
        for place, pairs in found.items():
            self._add_differing('friction', place, pairs)


def _friction_model_name(friction: FrictionModel | None) -> str:
    """Return a friction model's class and the reaches [mrad] of its slip elements, or 'none'."""
    reaches = ', '.join(f'{1e3 * one:g}' for one in getattr(friction, 'reach', ()))
    elements = f' of elements of {reaches} mrad' if reaches else ''
    load = ' that grows with the load' if grows_with_load(friction) else ''
    return f'{type(friction).__name__}{elements}{load}' if friction else 'none'


def _limit_pairs(
    kind: JointKind, limits: JointLimits, other_limits: JointLimits
) -> Iterator[_ValuePair]:
    """Yield a pair of values for each limit of two joints; a limit that is not stated is NaN."""
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
    for (name, a), b in zip(vars(limits).items(), vars(other_limits).values()):
        first, second = (math.nan if value is None else value for value in (a, b))
        yield _ValuePair(f'limit {name}', units[name], first, second)


def _inertia_pairs(first: LinkInertia, second: LinkInertia) -> Iterator[_ValuePair]:
    """Yield pairs of inertial parameters, about the centre of mass if both links have mass."""
    yield _ValuePair('mass', 'kg', first.mass, second.mass)
    vector = 'center_of_mass'
    name = 'centre of mass'
    unit = 'm'
    tensor = 'inertia_at_center_of_mass'
    about = 'the centre of mass'
    if not (first.mass and second.mass):
        vector = 'first_moment'
        name = 'first moment'
        unit = 'kg m'
        tensor = 'inertia'
        about = 'the origin'
    yield from _vector_pairs(name, unit, *(getattr(link, vector) for link in (first, second)))
    six = (elements_from_tensor(getattr(link, tensor)).tolist() for link in (first, second))
    for axes, a, b in zip(TENSOR_ORDER, *six):
        yield _ValuePair(f'inertia {axes} about {about}', 'kg m^2', a, b)


def _vector_pairs(name: str, unit: str, first: Array, second: Array) -> list[_ValuePair]:
    """Return a pair of values, with geometric tolerance, for each component of two vectors."""
    pairs = zip('xyz', first.tolist(), second.tolist())
    return [_ValuePair(f'{name} {axis}', unit, a, b, True) for axis, a, b in pairs]
