# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Questions to users whether limits, lengths or masses are in N mm, degrees, mm or grams."""

from collections.abc import Iterator, Mapping
import math
from typing import NamedTuple

import numpy as np

from .arm_fields import JointLimits
from .description import ArmDescription
from ..constants import GRAVITY
from ..errors import DescriptionError, list_text
from ..spatial import JointKind

MAX_EFFORT_NM = 1e5  # [N m or N] largest accepted limit, five times an industrial arm's
# Largest accepted effort limit of a revolute joint, relative to the weight torque of the arm
# stretched out. The FER's limits, 87 and 12 N m, are 0.74 and 0.10 times that torque; in N mm 740
# and 100 times.
_MAX_EFFORT_TO_WEIGHT_TORQUE = 30.0
_MIN_QUESTIONED_EFFORT_NM = 1e3  # many URDFs of small arms state 100 or 1000 for unknown limits
# Larger positions and velocities, up to _MIN_UNLIMITED_VALUE, are doubted: joints turn at most
# twice to each side, and rails have no 20 m. A velocity that is a power of ten says that there is
# no limit.
_MAX_MOTION_BY_JOINT_KIND = {
    JointKind.REVOLUTE: (2.0 * math.tau, 60.0, 'rad and rad/s', 'degrees'),
    JointKind.PRISMATIC: (20.0, 20.0, 'm and m/s', 'millimetres'),
}
_MIN_UNLIMITED_VALUE = 1e4
_LOW_BOUND_SHARE = 0.51  # of these bounds, in an arm of which another joint is beyond one
_MAX_REACH_M = 20.0  # more than any arm's on Earth
_STEEL_DENSITY_KG_M3 = 7850.0
# No arm is heavier than a solid cylinder of steel as long as it, and half as thick.
_MAX_THICKNESS_TO_LENGTH = 0.5
# One of so few joints may be as compact as a wheel or a mobile base: as thick as it is long.
_MAX_COMPACT_JOINT_COUNT = 3


class UnitQuestion(NamedTuple):
    """
    A question to the user whether implausibly large values of an arm are in another unit.

    `fields_by_joint` are the fields of JointLimits that it is about, by the joints' names; a
    question without any is about lengths or masses, on which torques depend.
    """

    sentence: str
    fields_by_joint: Mapping[str, tuple[str, ...]]


def unit_questions(description: ArmDescription) -> list[UnitQuestion]:
    """Return a question for each group of limits, lengths or masses that is implausibly large."""
    sentences = _length_and_mass_questions(description)
    questions = [UnitQuestion(sentence, {}) for sentence in sentences]
    return [
        *questions,
        *_effort_unit_questions(description),
        *_motion_unit_questions(description),
    ]


def require_si_units(description: ArmDescription, error_prefix: str) -> None:
    """Raise DescriptionError, after `error_prefix`, if values seem to be in another unit."""
    for question in unit_questions(description):
        fix = 'Arm files have m, kg.'
        if question.fields_by_joint:
            fix = 'Leave a limit out, in Python infinite, where none is known.'
        raise DescriptionError(f'{error_prefix}: {question.sentence} {fix}')


def _length_and_mass_questions(arm: ArmDescription) -> Iterator[str]:
    """Yield a question if the arm is so long that lengths may be in mm, or so heavy, in grams."""
    # DH frames of nearly parallel axes may lie far from the arm, centres of mass do not.
    *frames, flange = arm.frames(np.zeros(arm.n))
    massive = [(frame, link) for frame, link in zip(frames, arm.links) if link.mass > 0.0]
    points = [(frame @ [*link.center_of_mass, 1.0])[:3] for frame, link in massive]
    points = [arm.base[:3, 3], *points, flange[:3, 3]]
    reach = float(np.linalg.norm(np.ptp(points, axis=0)))
    mass = sum(one.mass for _, one in massive)
    if reach > _MAX_REACH_M:
        yield f'the arm is {reach:.3g} m long at zero. Are its lengths millimetres?'
    spread = sum(float(np.trace(one.inertia_at_center_of_mass)) for _, one in massive)
    length = reach + math.sqrt(max(spread, 0.0) / (mass or 1.0))  # a trace may be negative
    thickness = length * (_MAX_THICKNESS_TO_LENGTH if arm.n > _MAX_COMPACT_JOINT_COUNT else 1.0)
    most = _STEEL_DENSITY_KG_M3 * math.pi / 4.0 * thickness**2 * length
    if mass > most:
        yield (
            f'the moving links weigh {mass:.3g} kg, and a cylinder of solid steel, {length:.2g} m '
            f'long and {thickness:.2g} m thick, {most:.3g} kg. Are their masses grams?'
        )


def _motion_unit_questions(arm: ArmDescription) -> Iterator[UnitQuestion]:
    """Yield a question per joint type about implausibly large position and velocity limits."""
    for kind, (most, fastest, units, others) in _MAX_MOTION_BY_JOINT_KIND.items():
        limits = {one.name: one.limits for one in arm.joints if one.kind is kind}
        doubted = _limit_fields_beyond(limits, most, fastest)
        if doubted:
            # What is in degrees at one joint is at the others, too, where it is less.
            fields = {one for each in doubted.values() for one in each}
            shares = (_LOW_BOUND_SHARE if one in fields else 1.0 for one in ('lower', 'velocity'))
            bounds = (a * b for a, b in zip((most, fastest), shares))
            doubted = _limit_fields_beyond(limits, *bounds)
            words = [
                f'{name} ({", ".join(f"{one} {getattr(limits[name], one):g}" for one in each)})'
                for name, each in doubted.items()
            ]
            sentence = f'limits in {units} are those of {list_text(words)}. Are these {others}?'
            yield UnitQuestion(sentence, doubted)


def _limit_fields_beyond(
    limits: Mapping[str, JointLimits], max_position: float, max_velocity: float
) -> dict[str, tuple[str, ...]]:
    """Return, by joint, limit fields beyond a maximum, except values that stand for no limit."""
    found = dict[str, tuple[str, ...]]()
    for name, one in limits.items():
        fields = tuple[str, ...]()
        if any(max_position < abs(end) < _MIN_UNLIMITED_VALUE for end in (one.lower, one.upper)):
            fields = ('lower', 'upper')
        fast = max_velocity < one.velocity < _MIN_UNLIMITED_VALUE
        if fast and not math.log10(one.velocity).is_integer():
            fields = (*fields, 'velocity')
        if fields:
            found[name] = fields
    return found


def _effort_unit_questions(arm: ArmDescription) -> Iterator[UnitQuestion]:
    """
    Yield a question per joint type about implausibly large effort limits.

    Bounds are multiples of the arm's weight torque; without it, MAX_EFFORT_NM.
    """
    weight = _max_weight_torque(arm)
    for kind in JointKind:
        most = MAX_EFFORT_NM
        why = f'no joint of an arm has more than {MAX_EFFORT_NM:g}'
        if weight is not None and kind is JointKind.REVOLUTE:
            most = max(_MIN_QUESTIONED_EFFORT_NM, _MAX_EFFORT_TO_WEIGHT_TORQUE * weight)
            why = f'the weight of the whole arm, stretched out, makes at most {weight:.3g} N m'
        efforts = {one.name: one.limits.effort for one in arm.joints if one.kind is kind}
        doubted = {name: one for name, one in efforts.items() if most < one < math.inf}
        if doubted:
            unit = kind.effort_unit
            stated = list_text([f'{name} is {one:g} {unit}' for name, one in doubted.items()])
            question = 'Is this in N mm, or are the masses too small?'
            sentence = f'the effort limit of {stated}, and {why}. {question}'
            yield UnitQuestion(sentence, dict.fromkeys(doubted, ('effort',)))


def _max_weight_torque(description: ArmDescription) -> float | None:
    """Return the largest weight torque of an arm that is stretched out [N m]; None if unknown."""
    masses = np.array([link.mass for link in description.links])
    limits = np.abs([description.limit('lower'), description.limit('upper')])
    slides = np.array([joint.kind is JointKind.PRISMATIC for joint in description.joints])
    if not (masses > 0.0).all() or not np.isfinite(limits[:, slides]).all():
        return None
    travel = np.where(slides, limits.max(axis=0), 0.0)
    steps = description.joint_transforms(np.zeros(description.n))
    reach = np.cumsum([np.linalg.norm(step[:3, 3]) for step in steps] + travel)
    levers = reach + [np.linalg.norm(link.center_of_mass) for link in description.links]
    return -GRAVITY[2] * float(masses @ levers)
