# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Converts standard DH rows to modified ones and back.

Standard and modified rows describe the same sequence of screw motions along z and x but divide it
differently: a and alpha of a standard row belong to the next modified row.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from .denavit_hartenberg import Convention, DHRow
from .description import ArmDescription


def modified_rows(rows: Sequence[DHRow]) -> tuple[list[DHRow], list[DHRow]]:
    """
    Return the modified rows of standard ones, and rows that lead from their frames to these.

    Such a remainder has a, alpha and beta only. It leads from the modified frame {i}, which joint
    i moves, to the standard frame {i}.
    """
    remainders = [replace(row, d=0.0, theta=0.0) for row in rows]
    before = [DHRow(), *remainders]
    return [replace(last, d=row.d, theta=row.theta) for last, row in zip(before, rows)], remainders


def standard_rows(rows: Sequence[DHRow]) -> list[DHRow]:
    """Return the standard rows of modified ones; a, alpha and beta of the first are left out."""
    pairs = pairwise([*rows, DHRow()])
    return [replace(row, a=other.a, alpha=other.alpha, beta=other.beta) for row, other in pairs]


def in_modified_convention(description: ArmDescription) -> ArmDescription:
    """
    Return the arm with modified (Craig) DH rows, its links expressed in their frames.

    Link i is expressed in the modified frame {i}, on the axis of joint i. A standard flange row's
    a and alpha are dropped, because a modified row ends with d: unless both are 0, the flange's
    pose changes.
    """
    if description.convention is Convention.MODIFIED:
        return description
    rows = [*(joint.row for joint in description.joints), description.flange]
    (*own, flange), remainders = modified_rows(rows)
    moved = (remainder.transform(Convention.MODIFIED) for remainder in remainders)
    return replace(
        description,
        convention=Convention.MODIFIED,
        joints=tuple(replace(joint, row=row) for joint, row in zip(description.joints, own)),
        links=tuple(link.expressed_in(pose) for link, pose in zip(description.links, moved)),
        flange=flange,
    )
