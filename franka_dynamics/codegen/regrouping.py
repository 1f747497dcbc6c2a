# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Base parameters: link parameters regrouped towards the base, so that some of them become zero.

Mass on the axis of revolute joint j moves in the same way whether it is part of link j or of link
j - 1. Therefore the mass m, the first moment hz and the second moment Szz of link j are moved to
link j - 1: the regrouping of Gautier and Khalil 1990, eq. (20), which eliminates m, mZ and YY;
here Szz becomes zero in place of YY. The whole second moment of a prismatic joint's link is moved
to the previous link (their eq. (21), corrected: S_{j-1} + R S_j R').
"""

from dataclasses import replace

import numpy as np

from .chain import GeneratorChain, GeneratorJoint, rotation_about_z, transformed_inertia
from ..dynamics.body_tree import BASE_BODY
from ..spatial import cos_sin

# The elements of a pseudo-inertia that belong to the antecedent as well.
_REVOLUTE_REGROUPED_ELEMENTS = np.zeros((4, 4), dtype=bool)
_REVOLUTE_REGROUPED_ELEMENTS[2:, 2:] = True
_PRISMATIC_REGROUPED_ELEMENTS = np.zeros((4, 4), dtype=bool)
_PRISMATIC_REGROUPED_ELEMENTS[:3, :3] = True


def with_origins_nearest_parent(chain: GeneratorChain) -> GeneratorChain:
    """
    Return the chain with each frame's origin at the point of its axis nearest the parent's origin.

    Frames of prismatic joints and of roots keep their origins. The origin of a Franka's frame 3 is
    moved to that of frame 2 in the shoulder, so that no torque needs the force at joint 3.
    """
    joints: list[GeneratorJoint] = []
    shifts = np.zeros((chain.n, 3))  # of each origin along its own axis, in its own frame [m]
    for j, (joint, parent) in enumerate(zip(chain.joints, chain.parents)):
        origin, axis = joint.origin, joint.axes[:, 2]
        if parent != BASE_BODY:
            origin = origin - shifts[parent]
            if joint.revolute:
                shifts[j, 2] = -float(origin @ axis)
        origin = origin + shifts[j, 2] * axis
        body = transformed_inertia(joint.body, np.eye(3), -shifts[j])
        joints.append(replace(joint, origin=origin, body=body))
    tip = chain.tip.copy()
    if chain.tip_body != BASE_BODY:
        tip[:3, 3] -= shifts[chain.tip_body]
    return replace(chain, joints=tuple(joints), tip=tip)


def regroup_parameters(chain: GeneratorChain) -> GeneratorChain:
    """Return the chain with inertial parameters regrouped towards the base; those moved are 0."""
    joints = list(chain.joints)
    for j in reversed(range(chain.n)):
        joint, parent = joints[j], chain.parents[j]
        shared = _REVOLUTE_REGROUPED_ELEMENTS if joint.revolute else _PRISMATIC_REGROUPED_ELEMENTS
        if parent != BASE_BODY:
            arrived = np.where(shared, joint.body, 0.0)
            if joint.revolute:
                arrived = transformed_inertia(arrived, joint.axes, joint.origin)
            else:
                rotation = joint.axes @ rotation_about_z(*cos_sin(joint.theta))
                arrived = transformed_inertia(arrived, rotation, np.zeros(3))
            joints[parent] = replace(joints[parent], body=joints[parent].body + arrived)
        joints[j] = replace(joint, body=np.where(shared, 0.0, joint.body))
    return replace(chain, joints=tuple(joints))
