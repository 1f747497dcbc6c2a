# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Rewrites an arm, or the arm in a URDF, in DH rows of another arm's convention.

The DH rows follow the joint axes at position zero. DH rows are not unique: between parallel axes d
is arbitrary, the last frame may lie anywhere on its axis, and a rotation about z can belong to the
base or to the first row. Entries that are not unique are taken from the other arm; for the base
and the last frame those of the rewritten arm are tried, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import math

import numpy as np

from ..arm import ArmDescription, Convention, DHRow, Joint, JointLimits
from ..arm.dh_conversion import modified_rows_of, with_modified_rows
from ..spatial import inverse_transform, JointKind
from ..typing import Array
from ..urdf.dh_recovery import follow_axes, Line, recover_rows
from ..urdf.serial_chain import SerialChain

# Two directions are parallel if 1 - cos of the angle between them is below _PARALLEL.
_PARALLEL = 1e-9
_AS_A_ROW = 1e-5  # [m] or [1]: largest error of an entry of a pose that is written as a DH row
# The limits that URDF can express.
STATED_LIMITS = ('lower', 'upper', 'velocity', 'effort')


def arm_of_chain(chain: SerialChain, like: ArmDescription) -> ArmDescription:
    """
    Return the arm of a URDF in DH rows of another arm's convention.

    What a URDF lacks, such as rotors, friction and acceleration limits, comes from the other arm.
    """
    arm = recover_rows(chain, like.convention, chain.flange)
    joints = (
        replace(joint, row=own.row, name=own.name, kind=own.kind, limits=_stated(joint, own))
        for joint, own in zip(like.joints, arm.joints)
    )
    return replace(
        like,
        joints=tuple(joints),
        links=arm.links,
        flange=arm.flange,
        base=arm.base,
        base_link=arm.base_link,
        mount=arm.mount,
        link_names=arm.link_names,
        urdf=arm.urdf,
        notes=chain.notes,
        torque_notes=chain.torque_notes,
        rounding=0.0,
        inertial_set='as written',
        source=arm.source,
        file=arm.source,
    )


def _stated(joint: Joint, own: Joint) -> JointLimits:
    stated = {name: getattr(own.limits, name) for name in STATED_LIMITS}
    return replace(joint.limits, **stated)


def alignments(first: ArmDescription, second: ArmDescription) -> Iterator[ArmDescription]:
    """
    Yield the second arm in the first's convention, for each choice of base and last frame.

    A second arm already in the first's convention is yielded first, unchanged, unless it is from a
    URDF. The inertia of each link is expressed in the link frame that the yielded arm's own DH
    rows define. The flange is the first arm's if no link of a URDF has a flange's name.
    """
    bases = [first.base]
    if second.urdf is None:
        if second.convention is first.convention:
            yield second
        if not np.array_equal(second.base, first.base):
            bases.append(second.base)
    for base in bases:
        for own_last_frame in (True, False):
            yield _aligned(replace(first, base=base), second, own_last_frame)


def _aligned(
    first: ArmDescription, second: ArmDescription, own_last_frame: bool
) -> ArmDescription:
    """
    Return the second arm in DH rows along its joint axes, in the first arm's convention.

    `own_last_frame` says whether the last frame is the second arm's own, where modified rows can
    express this, or the first's.
    """
    *frames, flange = second.frames(np.zeros(second.n))
    carriers = [
        before @ placement
        for before, (placement, _) in zip((second.base, *frames), second.joint_placements())
    ]
    lines = [
        Line(carrier[:3, 2], carrier[:3, 3], joint.kind is JointKind.PRISMATIC)
        for joint, carrier in zip(second.joints, carriers)
    ]
    *own, flange_row = modified_rows_of(first)[0]
    rows = with_modified_rows(first, [*follow_axes(first.base, lines, own)[0], flange_row])
    if own_last_frame:
        rows = _with_last_frame(rows, frames[-1])
    poses = rows.frames(np.zeros(rows.n))
    unnamed = second.urdf is not None and second.urdf.tip == second.link_names[-1]
    return replace(
        second,
        convention=first.convention,
        base=first.base,
        joints=tuple(
            replace(one, row=joint.row) for joint, one in zip(rows.joints, second.joints)
        ),
        links=tuple(
            link.expressed_in(inverse_transform(pose) @ frame)
            for link, pose, frame in zip(second.links, poses, frames)
        ),
        flange=rows.flange
        if unnamed
        else _row_of(inverse_transform(poses[-2]) @ flange, first.convention),
    )


def _row_of(pose: Array, convention: Convention) -> DHRow:
    """
    Return the DH row of a pose, shape (4, 4).

    If no DH row has the given pose, `a` is changed by the largest error of an entry of the pose,
    so that a comparison shows a difference.
    """
    row = DHRow.of_pose(pose, convention)
    error = float(np.abs(row.transform(convention) - pose).max())
    return row if error <= _AS_A_ROW else replace(row, a=row.a + math.copysign(error, row.a))


def _with_last_frame(rows: ArmDescription, frame: Array) -> ArmDescription:
    """Move the last frame of modified rows along and about its z to `frame`, if both z agree."""
    offset = inverse_transform(rows.frames(np.zeros(rows.n))[-2]) @ frame
    if rows.convention is not Convention.MODIFIED or abs(offset[2, 2] - 1.0) > _PARALLEL:
        return rows
    last = rows.joints[-1]
    more = DHRow.of_pose(offset, Convention.STANDARD)
    row = replace(last.row, d=last.row.d + more.d, theta=last.row.theta + more.theta)
    return replace(rows, joints=(*rows.joints[:-1], replace(last, row=row)))
