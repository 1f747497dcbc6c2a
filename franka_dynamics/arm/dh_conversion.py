# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reverses the direction of a joint, and converts standard DH rows to modified ones."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np

from .denavit_hartenberg import Convention, DHRow, modified_rows
from .description import ArmDescription, Joint
from .friction import reversed_friction

# A half turn of a frame about its x axis commutes with translations along and rotations about x.
_HALF_TURN = np.diag([1.0, -1.0, -1.0, 1.0])


def with_joint_reversed(description: ArmDescription, joint: int) -> ArmDescription:
    """
    Return the arm with the position of joint number `joint` (from 0) in the opposite direction.

    The bodies stay where they are; the joint's position, position limits and home position change
    sign, and friction becomes -tau(-dq). By Rz(t - q) = Rx(pi) Rz(q - t) Rx(pi) and Tz(d - q) =
    Rx(pi) Tz(q - d) Rx(pi), the twists alpha before and after the joint and the frame between them
    take up half turns about x.
    """
    joints, links = list(description.joints), list(description.links)
    base, flange = description.base, description.flange
    old, row = joints[joint], joints[joint].row
    limits = replace(old.limits, lower=-old.limits.upper, upper=-old.limits.lower)
    row = replace(row, theta=-row.theta, d=-row.d, alpha=_half_turn_on(row.alpha))
    joints[joint] = replace(old, row=row, limits=limits)
    if description.convention is Convention.MODIFIED:
        links[joint] = links[joint].expressed_in(_HALF_TURN)
        if joint + 1 < len(joints):
            joints[joint + 1] = _twisted(joints[joint + 1])
        else:
            flange = replace(flange, alpha=_half_turn_on(flange.alpha))
    elif joint > 0:
        # In standard rows the half turn before a joint belongs to the previous row, the half turn
        # after it to the joint's own.
        joints[joint - 1] = _twisted(joints[joint - 1])
        links[joint - 1] = links[joint - 1].expressed_in(_HALF_TURN)
    else:
        base = base @ _HALF_TURN
    home = description.home
    if home is not None:
        home = np.where(np.arange(len(home)) == joint, -home, home)
    return replace(
        description,
        joints=tuple(joints),
        links=tuple(links),
        base=base,
        flange=flange,
        home=home,
        friction=reversed_friction(description.friction, joint),
        simulated_friction=reversed_friction(description.simulated_friction, joint),
    )


def _twisted(joint: Joint) -> Joint:
    return replace(joint, row=replace(joint.row, alpha=_half_turn_on(joint.row.alpha)))


def _half_turn_on(alpha: float) -> float:
    """Return alpha plus or minus pi, whichever is nearer to zero, exact at quarter turns."""
    return alpha - math.pi if alpha > 0.0 else alpha + math.pi


def in_modified_convention(description: ArmDescription) -> ArmDescription:
    """
    Return an arm in modified (Craig) rows.

    The standard frame {i} follows a and alpha of row i; the modified frame {i} lies before a and
    alpha, on the axis of joint i, and link i is expressed in the modified frame. The flange's a
    and alpha are dropped, because a modified row ends with d: unless both are 0, the flange's pose
    changes.
    """
    if description.convention is Convention.MODIFIED:
        return description
    rows = [joint.row for joint in description.joints]
    *others, flange = modified_rows([DHRow(), *rows, description.flange])
    links = tuple(
        link.expressed_in(DHRow(a=row.a, alpha=row.alpha).transform(Convention.MODIFIED))
        for link, row in zip(description.links, rows)
    )
    return replace(
        description,
        convention=Convention.MODIFIED,
        joints=tuple(replace(one, row=row) for one, row in zip(description.joints, others)),
        links=links,
        flange=flange,
    )
