# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Compares two arms at q = 0 by joint axes, limits, friction and inertias in the space frame.

Joints are paired from base to tip. A joint that is moved carries what is behind it: where one
rigid motion brings the rest of the first arm to that of the second, it is one difference of that
joint, or of the base, and the rest is compared after it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
import math

import numpy as np

from .parameter_pairs import (
    friction_model_pair,
    friction_pairs,
    inertia_pairs,
    limit_pairs,
    ParameterPair,
    vector_pairs,
)
from .space_frame_arm import SpaceFrameArm
from .torque_effect import ParameterDifference, TorqueEffect, TorqueSensitivity
from ..arm import ArmDescription
from ..arrays import Array, ArrayLike
from ..constants import GRAVITY
from ..errors import DescriptionError
from ..spatial import JointKind, log3

# Two numbers of arm files (m, rad, kg, kg m^2) within _EQUALITY_TOLERANCE are equal.
_EQUALITY_TOLERANCE = 1e-9
# Two numbers, one of them from the rounded text of a URDF, are equal within MAX_TEXT_ROUNDING, and
# lengths and angles within MAX_GEOMETRY_ROUNDING: pi/2 written as 1.5708 is 3.7e-6 off, and errors
# of axes add up. An error of 1e-5 rad in an axis of a FER changes a torque by at most 8e-4 N m,
# one of 1e-5 m by at most 3e-3 N m.
MAX_TEXT_ROUNDING = 1e-6  # in the parameter's unit
MAX_GEOMETRY_ROUNDING = 1e-5  # m or rad
_NO_EFFECT = TorqueEffect(0.0, '', 0.0)


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
    total_effect: TorqueEffect
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
    """
    A collector of the differences between two arms, which are added joint by joint.

    `first_space` is the first arm in {S} with what has been found to be moved put where the second
    arm has it, so that the next joints are compared after that.
    """

    def __init__(self, first: ArmDescription, second: ArmDescription, gravity: ArrayLike) -> None:
        """Place both arms in {S}, and compute the effect of all differences at once."""
        self.first = first
        self.second = second
        self.differences = list[ParameterDifference]()
        is_text = second.urdf is not None
        self._value_bound = MAX_TEXT_ROUNDING if is_text else _EQUALITY_TOLERANCE
        self._axis_bound = MAX_GEOMETRY_ROUNDING if is_text else _EQUALITY_TOLERANCE
        # A URDF's arm may have no link with the name of a flange.
        self._has_flange = second.urdf is None or not second.urdf.tip_is_guess
        self._sensitivity = TorqueSensitivity(first, gravity)
        self.first_space = SpaceFrameArm.at_zero(first)
        self.second_space = SpaceFrameArm.at_zero(second)
        self.total_effect = self._effect(self.second_space, second)

    def _effect(
        self, changed: SpaceFrameArm, friction_of: ArmDescription | None = None
    ) -> TorqueEffect:
        """Return the effect of a change of the first arm, with the friction of an arm if given."""
        return self._sensitivity.effect(changed, self.first_space, other=friction_of)

    # Adding what differs ------------------------------------------------------------------------
    def _add(
        self, kind: str, owner: str, pairs: Iterable[ParameterPair], effect: TorqueEffect
    ) -> None:
        """Add a ParameterDifference for each pair."""
        for pair in pairs:
            difference = ParameterDifference(
                kind,
                owner,
                pair.parameter,
                pair.first,
                pair.second,
                pair.unit,
                effect.largest,
                effect_unit=effect.unit,
            )
            self.differences.append(difference)

    def _add_changed(
        self, kind: str, owner: str, pairs: Iterable[ParameterPair], changed: SpaceFrameArm
    ) -> None:
        """Add pairs that differ, with the effect of `changed`: the first arm with these values."""
        differing = self._differing(pairs)
        if differing:
            self._add(kind, owner, differing, self._effect(changed))

    def _differing(self, pairs: Iterable[ParameterPair]) -> list[ParameterPair]:
        """Return the pairs whose values are not equal within rounding."""
        return [pair for pair in pairs if not self._are_equal(pair)]

    def _are_equal(self, pair: ParameterPair) -> bool:
        """Return whether the two values of a pair are equal within rounding."""
        first = pair.first
        second = pair.second
        if isinstance(first, str) or isinstance(second, str):
            return first == second
        if first == second or (math.isnan(first) and math.isnan(second)):
            return True
        bound = self._axis_bound if pair.is_geometric else self._value_bound
        return abs(first - second) <= bound

    # Joints -------------------------------------------------------------------------------------
    def add_joint_differences(self, i: int) -> None:
        """Add the differences of joint i and its link between the two arms."""
        joint = self.first.joints[i]
        other = self.second.joints[i]
        other_limits = other.limits
        if joint.kind is not other.kind:
            self._add_kind_difference(i)
        else:
            self._add_axis_displacement(i)
            if self._is_axis_reversed(i):
                self._add_axis_reversal(i)
                upper = -other_limits.lower
                other_limits = replace(other_limits, lower=-other_limits.upper, upper=upper)
        self._add_rotor_difference(i)
        self._add_link_differences(i)
        limits = self._differing(limit_pairs(joint.kind, joint.limits, other_limits))
        self._add('limits', joint.name, limits, _NO_EFFECT)

    def _add_kind_difference(self, i: int) -> None:
        """Add that joint i turns in one arm and slides in the other."""
        own = self.first.joints[i]
        other = self.second.joints[i]
        pairs = [ParameterPair('kind', '', own.kind.value, other.kind.value)]
        changed = self.first_space.with_joint(i, self.second_space, 'twists')
        self._add_changed('geometry', own.name, pairs, changed)

    def _add_axis_displacement(self, i: int) -> None:
        """Add that joint i is elsewhere: with all that is behind it, if one motion moves that."""
        own = self.first_space
        other = self.second_space
        motion = own.displacement_to(other, i, self._axis_bound, with_flange=self._has_flange)
        is_axis_moved = not own.axes_agree(other, i, self._axis_bound)
        if motion is not None and (is_axis_moved or self._is_link_moved(motion, i)):
            self._move_joints(motion, i)
        elif motion is None and is_axis_moved:
            self._add_axis_difference(i)

    def _is_link_moved(self, motion: Array, i: int) -> bool:
        """Return whether link i's inertia equals the second arm's only once moved by `motion`."""
        other = self.second_space.inertias[i]
        moved = self.first_space.with_moved_joints(motion, i)
        was_there = not self._differing(inertia_pairs(self.first_space.inertias[i], other))
        return not was_there and not self._differing(inertia_pairs(moved.inertias[i], other))

    def _move_joints(self, motion: Array, i: int) -> None:
        """Move joints i to n of the first arm by `motion`, (4, 4) in {S}, and add that."""
        rotation = motion[:3, :3]
        point = self.first_space.axis(i).point
        pairs = vector_pairs('position', 'm', point, rotation @ point + motion[:3, 3])
        pairs += vector_pairs('turn about', 'rad', np.zeros(3), log3(rotation))
        changed = self.first_space.with_moved_joints(motion, i)
        owner = self.first.joint_names[i] if i else 'base'
        self._add_changed('geometry', owner, pairs, changed)
        self.first_space = changed

    def _add_axis_difference(self, i: int) -> None:
        """Add that the axis of joint i alone is another one."""
        own = self.first_space.axis(i)
        other = self.second_space.axis(i)
        direction = np.copysign(1.0, own.direction @ other.direction) * other.direction
        pairs = vector_pairs('axis', '', own.direction, direction)
        pairs += vector_pairs('axis position', 'm', own.point, other.point)
        changed = self.first_space.with_joint(i, self.second_space, 'twists')
        self._add_changed('geometry', self.first.joint_names[i], pairs, changed)

    def _is_axis_reversed(self, i: int) -> bool:
        """Return whether the axis of joint i points the other way in the second arm."""
        own = self.first_space.axis(i).direction
        return bool(own @ self.second_space.axis(i).direction < 0.0)

    def _add_axis_reversal(self, i: int) -> None:
        """Add that the axis of joint i points the other way."""
        pairs = [ParameterPair('direction of the axis', '', '+', '-')]
        reversed_arm = replace(self.first_space, twists=-self.first_space.twists)
        changed = self.first_space.with_joint(i, reversed_arm, 'twists')
        self._add_changed('geometry', self.first.joint_names[i], pairs, changed)

    def _add_rotor_difference(self, i: int) -> None:
        """Add the difference of the rotor inertias of joint i."""
        joint = self.first.joints[i]
        unit = 'kg m^2' if joint.kind is JointKind.REVOLUTE else 'kg'
        inertias = joint.rotor_inertia, self.second.joints[i].rotor_inertia
        pairs = [ParameterPair('rotor inertia', unit, *inertias)]
        changed = self.first_space.with_joint(i, self.second_space, 'rotor_inertias')
        self._add_changed('geometry', joint.name, pairs, changed)

    def _add_link_differences(self, i: int) -> None:
        """Add the differences of the inertial parameters of link i."""
        pairs = inertia_pairs(self.first_space.inertias[i], self.second_space.inertias[i])
        changed = self.first_space.with_joint(i, self.second_space, 'inertias')
        self._add_changed('link', self.first.joint_names[i], pairs, changed)

    # The arm ------------------------------------------------------------------------------------
    def add_flange_difference(self) -> None:
        """Add the difference of flange poses, which no torque shows, if the second is no guess."""
        if not self._has_flange:
            return
        own = self.first_space.tool_pose
        other = self.second_space.tool_pose
        turn = log3(other[:3, :3] @ own[:3, :3].T)
        pairs = vector_pairs('position', 'm', own[:3, 3], other[:3, 3])
        pairs += vector_pairs('turn about', 'rad', np.zeros(3), turn)
        self._add('geometry', 'flange', self._differing(pairs), _NO_EFFECT)

    def add_friction_differences(self) -> None:
        """
        Add the differences of friction coefficients by joint, or of the types of models.

        The effect of each is that of the whole friction of the second arm.
        """
        own = self.first.friction
        other = self.second.friction
        pairs = {'arm': [friction_model_pair(own, other)]}
        if own is not None and other is not None and not self._differing(pairs['arm']):
            pairs = friction_pairs(own, other, self.first.joint_names)
        differing = {owner: self._differing(owned) for owner, owned in pairs.items()}
        if any(differing.values()):
            effect = self._effect(self.first_space, friction_of=self.second)
            for owner, owned in differing.items():
                self._add('friction', owner, owned, effect)
