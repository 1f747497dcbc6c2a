# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Questions about numbers that were probably given in another unit."""

from __future__ import annotations

import numpy as np

from .description import ArmDescription
from ..spatial import JointKind

# Largest accepted effort limit of a revolute joint, relative to the weight torque of the arm
# stretched out. The FER's limits, 87 and 12 N m, are 0.74 and 0.10 times that torque; in N mm 740
# and 100 times.
_MAX_WEIGHT_RATIO = 30.0
_MIN_DOUBTED_EFFORT_NM = 1e3  # many URDFs of small arms state 100 or 1000 for unknown limits
_GRAVITY = 9.81  # [m/s^2]


def effort_questions(description: ArmDescription) -> dict[str, str]:
    """
    Return a question for each revolute joint with an effort limit far above the weight torque.

    The keys are the joints' names. An arm with a link without mass, or with a prismatic joint
    without limits, gets no questions, because its weight torque has no known bound.
    """
    masses = np.array([link.mass for link in description.links])
    if not (masses > 0.0).all():
        return {}
    limits = np.abs([description.limit('lower'), description.limit('upper')])
    slides = np.array([joint.kind is JointKind.PRISMATIC for joint in description.joints])
    if not np.isfinite(limits[:, slides]).all():
        return {}
    travel = np.where(slides, limits.max(axis=0), 0.0)
    steps = description.joint_transforms(np.zeros(description.n))
    reach = np.cumsum([np.linalg.norm(step[:3, 3]) for step in steps] + travel)
    levers = reach + [np.linalg.norm(link.center_of_mass) for link in description.links]
    weight = _GRAVITY * float(masses @ levers)
    most = max(_MIN_DOUBTED_EFFORT_NM, _MAX_WEIGHT_RATIO * weight)
    return {
        joint.name: (
            f'the effort limit of {joint.name} is {joint.limits.effort:g} N m, and the weight of '
            f'the whole arm, stretched out, makes at most {weight:.3g} N m. Is this in N mm, or '
            'are the masses too small?'
        )
        for joint in description.joints
        if joint.kind is JointKind.REVOLUTE and most < joint.limits.effort < np.inf
    }
