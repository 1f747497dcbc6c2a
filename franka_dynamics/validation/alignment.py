# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Rewrites arms so that they can be compared: in rows that follow from their joint axes alone.

DH rows are not unique: between parallel axes d is arbitrary, the last frame may lie anywhere on
its axis, and a rotation about z can belong to the base or to the first row.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arm import ArmDescription, Convention, LinkInertia
from ..spatial import inverse_transform, JointKind
from ..typing import Array
from ..urdf.dh_recovery import description_from_chain, dh_rows_from_axes, JointAxis
from ..urdf.serial_chain import SerialChain

# [m] Parallel axes are one line if they are as near as the rounded numbers of a URDF put them.
_COINCIDENCE_M = 1e-7
# The limits that URDF can express.
URDF_LIMITS = ('lower', 'upper', 'velocity', 'effort')


def arm_of_chain(chain: SerialChain, like: ArmDescription) -> ArmDescription:
    """
    Return a URDF's serial arm with DH rows; what URDF lacks comes from the arm `like`.

    What a URDF lacks, such as rotors, friction and acceleration limits, comes from the other arm.
    """
    arm = description_from_chain(chain, like.convention)
    joints = []
    for joint, own in zip(like.joints, arm.joints):
        stated = {name: getattr(own.limits, name) for name in URDF_LIMITS}
        limits = replace(joint.limits, **stated)
        joints.append(replace(own, limits=limits, rotor_inertia=joint.rotor_inertia))
    return replace(
        arm,
        **{**like.shared_fields(), 'joints': tuple(joints), 'flange': arm.flange},
        hand=like.hand,
        carried=like.carried,
        notes=chain.notes,
        torque_notes=chain.torque_notes,
        inertial_set='as written',
        file=arm.source,
    )


def with_rows_from_axes(
    arm: ArmDescription, near: Array, convention: Convention, flange: Array
) -> ArmDescription:
    """Return the arm with its DH rows replaced by those computed from its joint axes."""
    lines = [
        JointAxis(axis[:3, 2], axis[:3, 3], joint.kind is JointKind.PRISMATIC)
        for axis, joint in zip(joint_axis_frames(arm), arm.joints)
    ]
    base, (*rows, last) = dh_rows_from_axes(lines, near, flange, convention, _COINCIDENCE_M)
    joints = tuple(replace(joint, row=row) for joint, row in zip(arm.joints, rows))
    other = replace(arm, convention=convention, joints=joints, base=base, flange=last)
    return replace(other, links=links_in_frames_of(other, arm))


def reference_on_mount_of(reference: ArmDescription, arm: ArmDescription) -> ArmDescription:
    """
    Return `reference` on the mount of `arm` if this brings their joint axes nearer together.

    The base of a file that was made of a mounted arm states the mount, and stays, as the base of a
    URDF's arm does: it is taken if it puts the joints' axes nearer to the arm's.
    """
    if reference.urdf is not None:
        return reference
    mounted, there = replace(reference, base=arm.mount @ reference.base), _axis_lines(arm)

    def distance(one: ArmDescription) -> float:
        here = _axis_lines(one)
        each = [np.abs(here + sign * there).sum(axis=1) for sign in (-1.0, 1.0)]
        return float(np.minimum(*each).sum())  # a line has two directions

    return min((mounted, reference), key=distance)


def _axis_lines(arm: ArmDescription) -> Array:
    """Return the direction and the moment about the origin of each joint's axis, (n, 6)."""
    frames = np.array(joint_axis_frames(arm))
    z, origin = frames[:, :3, 2], frames[:, :3, 3]
    return np.hstack((z, np.cross(origin, z)))


def joint_axis_frames(arm: ArmDescription) -> list[Array]:
    """Return poses (4, 4) in {S}, at q = 0, of frames whose z axes are the joint axes."""
    frames = (arm.base, *arm.frames(np.zeros(arm.n)))
    return [one @ before for one, (before, _) in zip(frames, arm.joint_placements())]


def links_in_frames_of(arm: ArmDescription, other: ArmDescription) -> tuple[LinkInertia, ...]:
    """Return inertial parameters of the links of `other` in the DH frames of `arm` (same axes)."""
    zero = np.zeros(arm.n)
    pairs = zip(other.links, arm.frames(zero), other.frames(zero))
    return tuple(link.expressed_in(inverse_transform(here) @ there) for link, here, there in pairs)
