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

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .chain import GeneratorChain, GeneratorJoint, Moments
from ..dynamics.body_tree import BASE
from ..spatial import cos_sin

_NOTHING = Moments(0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
_IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def with_origins_at_normals(chain: GeneratorChain, *, movable_tip: bool) -> GeneratorChain:
    """
    Return the chain with each frame's origin at the point of its axis nearest the parent's origin.

    Frames of prismatic joints and of roots keep their origins; so does the tip body's frame,
    unless `movable_tip`. The origin of a Franka's frame 3 is moved to that of frame 2 in the
    shoulder, so that no torque needs the force at joint 3.
    """
    joints: list[GeneratorJoint] = []
    shifts = [0.0] * chain.n  # of each origin along its own axis [m]
    for j, (joint, parent) in enumerate(zip(chain.joints, chain.parents)):
        origin, axis = np.array(joint.origin), np.array(joint.axis)
        origin[2] -= 0.0 if parent == BASE else shifts[parent]
        if joint.revolute and parent != BASE and (j != chain.tip_body or movable_tip):
            shifts[j] = -float(origin @ axis)
        shift = shifts[j]
        origin += shift * axis
        joints.append(
            replace(
                joint,
                origin=(float(origin[0]), float(origin[1]), float(origin[2])),
                moments=joint.moments.expressed_in(_IDENTITY, (0.0, 0.0, -shift)),
            )
        )
    return replace(chain, joints=tuple(joints))


def regroup(chain: GeneratorChain) -> GeneratorChain:
    """Return the chain with regrouped parameters; those moved to a parent or the base are 0."""
    chain = _with_merged_rotor(chain)
    joints = list(chain.joints)
    for j in reversed(range(chain.n)):
        joint, parent = joints[j], chain.parents[j]
        if joint.revolute:
            moved = Moments(
                joint.moments.mass,
                (0.0, 0.0, joint.moments.first[2]),
                (0.0, 0.0, 0.0, 0.0, 0.0, joint.moments.second[5]),
            )
            arrived = moved.expressed_in(joint.twist.tolist(), joint.origin)
            hx, hy, _ = joint.moments.first
            xx, xy, xz, yy, yz, _ = joint.moments.second
            remains = Moments(0.0, (hx, hy, 0.0), (xx, xy, xz, yy, yz, 0.0))
        else:
            moved = replace(_NOTHING, second=joint.moments.second)
            arrived = moved.expressed_in(_rotation(joint), (0.0, 0.0, 0.0))
            remains = replace(joint.moments, second=_NOTHING.second)
        joints[j] = replace(joint, moments=remains)
        if parent != BASE:
            joints[parent] = replace(joints[parent], moments=joints[parent].moments + arrived)
    return replace(chain, joints=tuple(joints))


def _rotation(joint: GeneratorJoint) -> list[list[float]]:
    c, s = cos_sin(joint.theta)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    rotation: list[list[float]] = (joint.twist @ turn).tolist()
    return rotation


def _with_merged_rotor(chain: GeneratorChain) -> GeneratorChain:
    """
    Add rotor inertia Ia2 to link 2's ZZ2 if joints 1 and 2 are revolute, with perpendicular axes.

    With perpendicular revolute axes torques depend only on the sum ZZ2 + Ia2. Adding Ia2 / 2 to
    the second moments xx and yy and -Ia2 / 2 to zz adds Ia2 to ZZ2 alone.
    """
    if chain.n < 2 or chain.parents[1] != 0:
        return chain
    first, second = chain.joints[:2]
    if not (first.revolute and second.revolute and second.cos_alpha == 0.0):
        return chain
    xx, xy, xz, yy, yz, zz = second.moments.second
    half = 0.5 * second.rotor_inertia
    merged = replace(
        second,
        rotor_inertia=0.0,
        moments=replace(second.moments, second=(xx + half, xy, xz, yy + half, yz, zz - half)),
    )
    return replace(chain, joints=(first, merged, *chain.joints[2:]))
