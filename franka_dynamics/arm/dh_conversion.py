# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Converts an arm's DH rows: the sign of a joint reversed, or the modified convention."""

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
    Return the arm, of either convention, with the sign of one joint's position changed.

    The bodies stay where they are: q of that joint (counted from 0) becomes -q, its limits and
    home position with it. Rz(t - q) = Rx(pi) Rz(q - t) Rx(pi) and Tz(d - q) = Rx(pi) Tz(q - d)
    Rx(pi); the half turns go into the twists alpha before and after the joint and into the frame
    between.
    """
    joints, links = list(description.joints), list(description.links)
    base, flange = description.base, description.flange
    moved, row = joints[joint], joints[joint].row
    limits = replace(moved.limits, lower=-moved.limits.upper, upper=-moved.limits.lower)
    turned = replace(row, theta=-row.theta, d=-row.d, alpha=_half_turn_on(row.alpha))
    if description.convention is Convention.MODIFIED:
        joints[joint] = replace(moved, row=turned, limits=limits)
        links[joint] = links[joint].expressed_in(_HALF_TURN)
        if joint + 1 < len(joints):
            joints[joint + 1] = _twisted(joints[joint + 1])
        else:
            flange = replace(flange, alpha=_half_turn_on(flange.alpha))
    else:
        # The half turn before the joint belongs to the previous row, the one after it to this row.
        joints[joint] = replace(moved, row=turned, limits=limits)
        if joint > 0:
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
    Return the same arm in modified (Craig) rows.

    In a standard row frame i comes after a and alpha; in a modified row it lies on the joint axis
    before them. Link i's inertia is expressed in the new frame (`modified_rows`). The flange's own
    a and alpha are left out, because a modified row ends with d and theta.
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
