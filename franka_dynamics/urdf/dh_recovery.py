# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Computes Denavit-Hartenberg rows from joint axes.

Between two joint axes lies their common normal, with a length a and a twist alpha; along an axis,
its normals to the previous and the next axis are a distance d and an angle theta apart. Both DH
conventions divide the sequence of normals and axes into rows: modified rows are (alpha, a, theta,
d), standard rows (theta, d, a, alpha) (Gautier and Khalil 1990, figure 1; Busellato 2023, section
1.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math
from typing import NamedTuple

import numpy as np

from .serial_chain import SerialChain
from ..arm.denavit_hartenberg import Convention, DHRow
from ..arm.description import ArmDescription, Joint, JointLimits
from ..arm.dh_conversion import from_modified_rows, modified_rows
from ..errors import UrdfError
from ..spatial import inverse_transform, JointKind, snapped
from ..typing import Array

# [rad] Axes with a smaller angle between them get Hayati's parameters, because their common normal
# may lie kilometres away. Some URDFs write pi as 3.14, which is 1.6e-3 off.
NEARLY_PARALLEL = 0.1
# [m] Parallel axes at most COINCIDENT apart count as one line, which has no common normal. In the
# DH rows of a `hint` the axes may be as far apart as rounded numbers put them.
COINCIDENT, COINCIDENT_IN_HINT = 1e-13, 1e-7
# [rad] Axes parallel in the DH rows of a `hint` are those with a smaller angle.
_PARALLEL_IN_HINT = 1e-4
# [rad] Axes that are parallel in the DH rows of `hint` count as parallel up to a tilt of
# _MOST_TILT.
_MOST_TILT = 0.2
# Angles [rad] within _ANGLE_NOISE of a multiple of 45 degrees become the multiple; lengths [m] are
# rounded to _LENGTH_DIGITS decimals.
_ANGLE_NOISE, _LENGTH_DIGITS = 1e-11, 14


class Line(NamedTuple):
    """A joint axis at position zero: unit direction, a point on it [m], `free` if prismatic."""

    direction: Array
    point: Array
    free: bool = False  # True for a prismatic joint, whose axis has no defined position


def follow_axes(
    start: Array, lines: Sequence[Line], hint: Sequence[DHRow] | None = None
) -> tuple[list[DHRow], Array]:
    """
    Return modified DH rows from a frame along joint axes, and the frame on the last axis.

    Each line has a row: a and alpha of the normal from the previous line, d and theta along the
    line. The line before the first is z of `start`; d and theta along it are left out. No normal
    follows the last line, so the last row's d and theta are those of `hint`, counted from the
    returned frame, shape (4, 4), on the last axis.

    Parameters
    ----------
    start : ndarray, shape (4, 4)
        The frame whose z is line 0.
    lines : sequence of Line
        The following axes, in order.
    hint : sequence of DHRow, as many as lines, optional
        Modified rows with preferred values where the axes leave a choice: the direction of a
        normal, the position of a normal between parallel axes, the position of a prismatic joint.
        All zero by default.

    """
    # A standard row has d and theta along one line, a and alpha of the normal to the next line.
    ahead = [DHRow(), *(hint or [DHRow()] * len(lines))]
    guides = from_modified_rows(ahead, Convention.STANDARD, DHRow())
    pose, steps = np.array(start, dtype=float), []
    for line, guide in zip(lines, guides):
        guess = pose @ replace(guide, a=0.0, alpha=0.0).transform(Convention.STANDARD)
        if line.free:
            line = Line(line.direction, (guess @ [guide.a, 0.0, 0.0, 1.0])[:3])
        expected = (guide.a, guide.alpha) if hint and not guide.beta else None
        normal, foot, a, alpha, beta = _common_normal(guess, line, expected)
        along_x, along_y, _ = pose[:3, :3].T @ normal
        d = float((foot - pose[:3, 3]) @ pose[:3, 2])
        steps.append(DHRow(a, alpha, d, math.atan2(along_y, along_x), beta))
        pose = pose @ steps[-1].transform(Convention.STANDARD)
    return modified_rows([*steps, guides[-1]], Convention.STANDARD)[0][1:], pose


def _common_normal(
    guess: Array, line: Line, expected: tuple[float, float] | None
) -> tuple[Array, Array, float, float, float]:
    """
    Return the common normal from z of `guess` to a line: direction, foot on z, a, alpha and beta.

    For nearly parallel axes the normal leads instead from the origin of `guess`, at right angles
    to its z, to the line, and beta is the line's tilt about y (Hayati's parameters).

    `expected` are a and alpha of the hint row. If `expected` is a = 0 and alpha = 0 or pi, and the
    axes are tilted by less than _MOST_TILT, the normal has the direction of x of `guess`, a is
    the distance of the line's point from z, alpha the angle between the two axes, and beta is 0.
    """
    x, y, z, origin = guess[:3, 0], guess[:3, 1], guess[:3, 2], guess[:3, 3]
    cross, between = np.cross(z, line.direction), line.point - origin
    sine, cosine = float(np.linalg.norm(cross)), float(z @ line.direction)
    meant_parallel = expected is not None and abs(math.sin(expected[1])) < _PARALLEL_IN_HINT
    border = _PARALLEL_IN_HINT if expected else NEARLY_PARALLEL
    if sine > (_MOST_TILT if meant_parallel else border):
        normal = cross / sine
        foot = origin + (np.cross(between, line.direction) @ cross / sine**2) * z
        normal = -normal if _points_back(normal, x, y) else normal
        alpha = math.atan2(float(cross @ normal), cosine)
        return normal, foot, float(between @ normal), alpha, 0.0
    tilt = math.copysign(sine, float(cross @ x)) if meant_parallel else 0.0
    # The point where the line crosses the plane through the origin of `guess` across its z.
    across = between - (between @ z) / cosine * line.direction
    if meant_parallel:
        across = between - (between @ z) * z
    distance = float(np.linalg.norm(across))
    if distance <= (COINCIDENT_IN_HINT if expected else COINCIDENT) or (
        meant_parallel and expected and abs(expected[0]) <= COINCIDENT_IN_HINT
    ):
        normal, a = x, distance if meant_parallel else 0.0
    else:
        normal = across / distance
        normal = -normal if _points_back(normal, x, y) else normal
        a = float(across @ normal)
    if meant_parallel:
        return normal, origin, a, math.atan2(tilt, cosine), 0.0
    along_y = float(np.cross(z, normal) @ line.direction)
    alpha, beta = math.atan2(-along_y, cosine), math.asin(float(normal @ line.direction))
    return normal, origin, a, alpha, beta


def _points_back(normal: Array, x: Array, y: Array) -> bool:
    """Return whether a normal points against x or, if perpendicular to x, against y."""
    along = float(normal @ x)
    return along < 0.0 if abs(along) > _ANGLE_NOISE else float(normal @ y) < 0.0


def recover_rows(
    chain: SerialChain, convention: Convention, tip: str | None = None
) -> ArmDescription:
    """
    Return the arm of a chain in DH rows.

    The space frame {S} is the URDF's root link. The link `tip` is the flange, by default the last
    joint's link. The origin of frame {0} is the point of axis 1 nearest to the origin of joint 1's
    parent link; the x axis of frame {0} is as close to that link's x as possible. Of the two
    directions of a normal the one is taken for which theta lies within 90 degrees of zero, as in
    Franka's own table.

    Raises
    ------
    UrdfError
        If `tip` is not fixed to the last link.

    """
    last = chain.joints[-1].link
    if tip not in (None, *chain.tool_frames):
        raise UrdfError(
            f'{chain.source}: the link {tip!r} is not fixed to {last!r}; links that are: '
            f'{", ".join(chain.tool_frames)}.'
        )
    flange_pose = chain.tool_frames[tip or last]
    lines = [
        Line(one.frame[:3, :3] @ one.axis, one.frame[:3, 3], one.kind is JointKind.PRISMATIC)
        for one in chain.joints
    ]
    base = _frame_on(lines[0], chain.mount)
    rows, end = follow_axes(base, [*lines, Line(flange_pose[:3, 2], flange_pose[:3, 3])])
    rest = DHRow.of_pose(inverse_transform(end) @ flange_pose, Convention.STANDARD)
    rows[-1] = replace(rows[-1], d=rest.d, theta=rest.theta)
    *rows, flange = from_modified_rows([_tidy(row) for row in rows], convention, DHRow())
    standing = chain.base_inertia
    arm = ArmDescription(
        name=chain.name or 'arm',
        convention=convention,
        joints=tuple(
            Joint(joint.name, joint.kind, row, joint.limits or JointLimits())
            for joint, row in zip(chain.joints, rows)
        ),
        links=tuple(joint.inertia for joint in chain.joints),
        flange=flange,
        base=base,
        base_link=standing and standing.expressed_in(inverse_transform(base)),
        source=chain.source,
        mount=chain.mount,
        link_names=tuple(joint.link for joint in chain.joints),
        urdf=chain.origin(tip),
    )
    links = (
        joint.inertia.expressed_in(inverse_transform(frame) @ joint.frame)
        for joint, frame in zip(chain.joints, arm.frames(np.zeros(arm.n)))
    )
    return replace(arm, links=tuple(links))


def _frame_on(line: Line, near: Array) -> Array:
    """Return the frame with its z on a line and its x and origin nearest to those of `near`."""
    z = near[:3, :3].T @ line.direction
    point = (inverse_transform(near) @ [*line.point, 1.0])[:3]
    # Make the x of `near`, or -z if x is nearly along the line, perpendicular to the line.
    candidate = np.eye(3)[0] if abs(z[0]) < math.cos(_PARALLEL_IN_HINT) else -np.eye(3)[2]
    x = candidate - (candidate @ z) * z
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.column_stack((x, np.cross(z, x), z))
    pose[:3, 3] = point - (point @ z) * z
    return near @ pose


def _tidy(row: DHRow) -> DHRow:
    """Return a row without rounding errors in lengths and in multiples of 45 degrees."""
    alpha, theta, beta = (
        snapped(angle, math.pi / 4.0, _ANGLE_NOISE) for angle in (row.alpha, row.theta, row.beta)
    )
    a, d = (round(length, _LENGTH_DIGITS) + 0.0 for length in (row.a, row.d))
    return DHRow(a, alpha, d, theta, beta)
