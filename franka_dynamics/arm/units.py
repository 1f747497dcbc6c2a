# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Asks whether numbers of an arm are in another unit: N mm, degrees, millimetres or grams."""

from __future__ import annotations

from collections.abc import Iterator
import math
from typing import NamedTuple

import numpy as np

from .description import ArmDescription
from ..spatial import JointKind

MAX_EFFORT_NM = 1e5  # [N m or N] largest accepted limit, five times an industrial arm's
# Largest accepted effort limit of a revolute joint, relative to the weight torque of the arm
# stretched out. The FER's limits, 87 and 12 N m, are 0.74 and 0.10 times that torque; in N mm 740
# and 100 times.
_MAX_WEIGHT_RATIO = 30.0
_MIN_DOUBTED_EFFORT_NM = 1e3  # many URDFs of small arms state 100 or 1000 for unknown limits
_GRAVITY = 9.81  # [m/s^2]
# [rad, rad/s] Joints turn at most twice to each side, and no faster than small drives; larger
# numbers than _UNLIMITED, and velocities that are powers of ten, say that there is no limit.
_MAX_POSITION, _MAX_VELOCITY, _UNLIMITED = 2.0 * math.tau, 60.0, 1e4
_MAX_REACH_M = 20.0  # more than any arm's on Earth
_MAX_DENSITY = 11_340.0  # [kg/m^3] of lead, for the moving links in a cube as wide as they


class UnitQuestion(NamedTuple):
    """
    A question whether numbers are in another unit.

    `limits` are the fields of JointLimits of `joint` that it is about; a question without a joint
    is about lengths or masses, on which torques depend.
    """

    sentence: str
    joint: str = ''
    limits: tuple[str, ...] = ()


def unit_questions(description: ArmDescription) -> list[UnitQuestion]:
    """Return a question for each limit, and for lengths and masses, that is implausibly large."""
    return [*_lengths_and_masses(description), *_efforts(description), *_angles(description)]


def _lengths_and_masses(arm: ArmDescription) -> Iterator[UnitQuestion]:
    # DH frames of nearly parallel axes may lie far from the arm, centres of mass do not.
    *frames, flange = arm.frames(np.zeros(arm.n))
    massive = [(frame, link) for frame, link in zip(frames, arm.links) if link.mass > 0.0]
    points = [(frame @ [*link.center_of_mass, 1.0])[:3] for frame, link in massive]
    points = [arm.base[:3, 3], *points, flange[:3, 3]]
    reach = float(np.linalg.norm(np.ptp(points, axis=0)))
    mass = sum(one.mass for _, one in massive)
    if reach > _MAX_REACH_M:
        yield UnitQuestion(f'the arm is {reach:.3g} m long at zero. Are its lengths millimetres?')
    spreads = [np.trace(one.inertia_at_center_of_mass) / one.mass for _, one in massive]
    size = reach + math.sqrt(max(spreads, default=0.0))
    if mass > _MAX_DENSITY * size**3:
        yield UnitQuestion(
            f'the moving links weigh {mass:.3g} kg within {size:.2g} m. Are their masses grams?'
        )


def _angles(arm: ArmDescription) -> Iterator[UnitQuestion]:
    for joint in arm.joints:
        if joint.kind is not JointKind.REVOLUTE:
            continue
        limits, doubted = joint.limits, []
        for name in ('lower', 'upper'):
            if _MAX_POSITION < abs(getattr(limits, name)) < _UNLIMITED:
                doubted = ['lower', 'upper']
        fast = _MAX_VELOCITY < limits.velocity < _UNLIMITED
        if fast and not math.log10(limits.velocity).is_integer():
            doubted.append('velocity')
        if doubted:
            words = ', '.join(f'{name} {getattr(limits, name):g}' for name in doubted)
            yield UnitQuestion(
                f'the limits of {joint.name} in rad and rad/s are {words}. Are these degrees?',
                joint.name,
                tuple(doubted),
            )


def _efforts(arm: ArmDescription) -> Iterator[UnitQuestion]:
    """Yield questions about effort limits; with an unknown weight only the largest are doubted."""
    weight = _weight_torque(arm)
    for joint in arm.joints:
        effort, revolute = joint.limits.effort, joint.kind is JointKind.REVOLUTE
        most, why = MAX_EFFORT_NM, f'no joint of an arm has more than {MAX_EFFORT_NM:g}'
        if weight is not None and revolute:
            most = max(_MIN_DOUBTED_EFFORT_NM, _MAX_WEIGHT_RATIO * weight)
            why = f'the weight of the whole arm, stretched out, makes at most {weight:.3g} N m'
        if most < effort < np.inf:
            unit = 'N m' if revolute else 'N'
            yield UnitQuestion(
                f'the effort limit of {joint.name} is {effort:g} {unit}, and {why}. Is this in N '
                'mm, or are the masses too small?',
                joint.name,
                ('effort',),
            )


def _weight_torque(description: ArmDescription) -> float | None:
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
    return _GRAVITY * float(masses @ levers)
