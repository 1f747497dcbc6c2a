# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Converts standard DH rows to modified ones and back.

Standard and modified rows describe the same sequence of screw motions along z and x but divide it
differently: a and alpha of a standard row belong to the next modified row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from .denavit_hartenberg import Convention, DHRow
from .description import ArmDescription


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
