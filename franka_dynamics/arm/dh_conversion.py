# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Converts standard DH rows to modified ones and back, and reverses the direction of a joint.

Standard and modified rows describe the same sequence of screw motions along z and x but divide it
differently: a and alpha of a standard row belong to the next modified row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
import math

import numpy as np

from .denavit_hartenberg import Convention, DHRow
from .description import ArmDescription
from .friction import friction_of_reversed_joint

# A half turn of a frame about its x axis commutes with translations along and rotations about x.
_HALF_TURN = np.diag([1.0, -1.0, -1.0, 1.0])


def modified_rows(
    rows: Sequence[DHRow], convention: Convention
) -> tuple[list[DHRow], list[DHRow]]:
    """
    Return a chain's modified DH rows, and rows that lead from their frames to the original ones.

    Such a remainder has a, alpha and beta only. It leads from the modified frame {i}, which joint
    i moves, to frame {i} of `convention`. Tails of modified rows are zero.
    """
    if convention is Convention.MODIFIED:
        return list(rows), [DHRow()] * len(rows)
    remainders = [DHRow(a=row.a, alpha=row.alpha, beta=row.beta) for row in rows]
    before = [DHRow(), *remainders]
    return [replace(last, d=row.d, theta=row.theta) for last, row in zip(before, rows)], remainders


def from_modified_rows(
    rows: Sequence[DHRow], convention: Convention, remainder: DHRow
) -> list[DHRow]:
    """
    Convert modified DH rows to `convention`, the last with a, alpha and beta of `remainder`.

    The last standard row has a, alpha and beta of `remainder`. Standard rows have no place for
    those of the first modified row, which are left out.
    """
    if convention is Convention.MODIFIED:
        return list(rows)
    return [
        replace(row, a=after.a, alpha=after.alpha, beta=after.beta)
        for row, after in pairwise([*rows, remainder])
    ]


def modified_rows_with_flange(description: ArmDescription) -> tuple[list[DHRow], list[DHRow]]:
    """Return the `modified_rows` of an arm's joints and flange: n + 1 rows, n + 1 remainders."""
    rows = [*(joint.row for joint in description.joints), description.flange]
    return modified_rows(rows, description.convention)


def with_modified_rows(description: ArmDescription, rows: Sequence[DHRow]) -> ArmDescription:
    """Return the arm with n + 1 modified rows, converted to its convention, as its DH rows."""
    *own, flange = from_modified_rows(rows, description.convention, description.flange)
    joints = (replace(joint, row=row) for joint, row in zip(description.joints, own))
    return replace(description, joints=tuple(joints), flange=flange)


def with_joint_reversed(description: ArmDescription, joint: int) -> ArmDescription:
    """
    Return the arm with the positive direction of joint `joint` (counted from 0) reversed.

    The bodies stay where they are; the joint's position, position limits and home position change
    sign, and friction becomes -tau(-dq). By Rz(t - q) = Rx(pi) Rz(q - t) Rx(pi) and Tz(d - q) =
    Rx(pi) Tz(q - d) Rx(pi), the twists alpha before and after the joint change by pi, beta
    changes sign, and the frame between them is rotated by pi about its x axis.
    """
    rows, _ = modified_rows_with_flange(description)
    row, after = rows[joint : joint + 2]
    alpha = _half_turn_on(row.alpha)
    rows[joint] = replace(row, theta=-row.theta, d=-row.d, alpha=alpha, beta=0.0 - row.beta)
    rows[joint + 1] = replace(after, alpha=_half_turn_on(after.alpha))
    description = with_modified_rows(description, rows)
    base, joints, links = description.base, list(description.joints), list(description.links)
    limits = joints[joint].limits
    limits = replace(limits, lower=-limits.upper, upper=-limits.lower)
    joints[joint] = replace(joints[joint], limits=limits)
    # Rotated is the frame whose z is the axis of joint i: {i}, or {i-1} in standard rows.
    turned = joint if description.convention is Convention.MODIFIED else joint - 1
    if turned < 0:
        base = base @ _HALF_TURN
    else:
        links[turned] = links[turned].expressed_in(_HALF_TURN)
    home = description.home
    if home is not None:
        home = np.where(np.arange(len(home)) == joint, -home, home)
    return replace(
        description,
        joints=tuple(joints),
        links=tuple(links),
        base=base,
        home=home,
        friction=friction_of_reversed_joint(description.friction, joint),
        simulated_friction=friction_of_reversed_joint(description.simulated_friction, joint),
    )


def _half_turn_on(alpha: float) -> float:
    """Return alpha plus or minus pi, whichever is nearer to zero; pi/2 becomes exactly -pi/2."""
    return alpha - math.pi if alpha > 0.0 else alpha + math.pi


def in_modified_convention(description: ArmDescription) -> ArmDescription:
    """
    Return the arm with modified (Craig) DH rows, its links expressed in their frames.

    Link i is expressed in the modified frame {i}, on the axis of joint i. A standard flange row's
    a and alpha are dropped, because a modified row ends with d: unless both are 0, the flange's
    pose changes.
    """
    if description.convention is Convention.MODIFIED:
        return description
    rows, remainders = modified_rows_with_flange(description)
    links = tuple(
        link.expressed_in(remainder.transform(Convention.MODIFIED))
        for link, remainder in zip(description.links, remainders)
    )
    other = replace(description, convention=Convention.MODIFIED, links=links)
    return with_modified_rows(other, rows)
