# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Detects effort limits that are implausible and were probably given in another unit."""

from __future__ import annotations

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


def implausible_effort_limits(description: ArmDescription) -> dict[str, str]:
    """
    Return a question, by joint name, for each effort limit that is implausibly large.

    The keys are the joints' names. The weight torque of an arm with a link without mass, or with a
    prismatic joint without limits, is not known.
    """
    questions, weight = {}, _weight_torque(description)
    for joint in description.joints:
        effort, revolute = joint.limits.effort, joint.kind is JointKind.REVOLUTE
        most, why = MAX_EFFORT_NM, f'no joint of an arm has more than {MAX_EFFORT_NM:g}'
        if weight is not None and revolute:
            most = max(_MIN_DOUBTED_EFFORT_NM, _MAX_WEIGHT_RATIO * weight)
            why = f'the weight of the whole arm, stretched out, makes at most {weight:.3g} N m'
        if most < effort < np.inf:
            unit = 'N m' if revolute else 'N'
            questions[joint.name] = (
                f'the effort limit of {joint.name} is {effort:g} {unit}, and {why}. Is this in N '
                'mm, or are the masses too small?'
            )
    return questions


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
