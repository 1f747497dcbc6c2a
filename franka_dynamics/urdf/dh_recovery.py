# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Denavit-Hartenberg rows from the lines along which joints turn or slide.

Between two joint axes lies their common normal, with a length a and a twist alpha; on each axis
the normals before and behind it stand a distance d and an angle theta apart. This alternating
sequence is the same in both conventions, which only cut it into rows at different places:
modified (alpha, a, theta, d), standard (theta, d, a, alpha) (Gautier and Khalil 1990, figure 1;
Busellato 2023, section 1.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math
from typing import NamedTuple

import numpy as np

from .serial_chain import SerialChain
from ..arm.denavit_hartenberg import Convention, DHRow
from ..arm.description import ArmDescription, Joint, JointLimits
from ..errors import UrdfError
from ..spatial import inverse_transform, JointKind
from ..typing import Array

# Axes closer to parallel than this [rad] are taken as parallel. Their common normal would lie
# kilometres away; URDFs write pi as 3.1416, which is 7e-6 off.
PARALLEL = 1e-4
# Parallel axes closer than this [m] are one line, whose normal has no direction of its own.
COINCIDENT = 1e-7
# Axes that should be parallel and are tilted by less than this [rad] keep their normal.
_MOST_TILT = 0.2
# What rounding leaves of a multiple of 45 degrees [rad], and decimals of a length [m].
_ANGLE_NOISE, _LENGTH_DIGITS = 1e-10, 14


class Line(NamedTuple):
    """A joint axis at position zero: unit direction, a point [m], and whether that is free."""

    direction: Array
    point: Array
    free: bool = False  # a prismatic joint has a direction but no place


@dataclass(frozen=True, eq=False)
class AxisSequence:
    """
    theta and d on each of m lines, a and alpha between them, and the last line's frame.

    `theta`, `d` have shape (m,) and belong to line 0 (that of the base frame's z), joint 1, ...;
    `a`, `alpha` have shape (m - 1,), `end` is the pose behind the last normal, its x along it.
    """

    theta: Array
    d: Array
    a: Array
    alpha: Array
    end: Array


def lines_of(chain: SerialChain) -> list[Line]:
    """Return the joint axes of a chain, in its base frame with all joints at zero."""
    return [
        Line(joint.direction, joint.frame[:3, 3], joint.kind is JointKind.PRISMATIC)
        for joint in chain.joints
    ]


def sequence_of(description: ArmDescription) -> AxisSequence:
    """Return the alternating sequence of an arm's rows: m = n + 1 lines, the base's z first."""
    rows = [joint.row for joint in description.joints]
    theta = np.array([0.0, *(row.theta for row in rows)])
    d = np.array([0.0, *(row.d for row in rows)])
    a, alpha = [row.a for row in rows], [row.alpha for row in rows]
    if description.convention is Convention.STANDARD:
        # Line 0 is joint 1's own, and the normal behind the last joint leads nowhere.
        a, alpha = [0.0, *a[:-1]], [0.0, *alpha[:-1]]
    return AxisSequence(theta, d, np.array(a), np.array(alpha), np.eye(4))


def follow_axes(
    start: Array,
    lines: Sequence[Line],
    hint: AxisSequence | None = None,
) -> AxisSequence:
    """
    Return the sequence that leads from a frame along joint axes.

    Parameters
    ----------
    start : ndarray, shape (4, 4)
        The frame whose z is line 0.
    lines : sequence of Line
        The axes behind it, in order. The last line's theta and d are the hint's: nothing
        follows that would define them.
    hint : AxisSequence, optional
        What to prefer where the axes leave a choice: the direction of a normal, the place of a
        normal between parallel axes, the place of a prismatic joint. All zero if not given.

    """
    guided, count = hint is not None, len(lines) + 1
    zero = np.zeros(count)
    hint = hint or AxisSequence(zero, zero, zero[1:], zero[1:], np.eye(4))
    theta, d, a, alpha = hint.theta.copy(), hint.d.copy(), np.zeros(count - 1), np.zeros(count - 1)
    pose = np.array(start, dtype=float)
    for k, line in enumerate(lines):
        guess = pose @ DHRow(theta=hint.theta[k], d=hint.d[k]).transform(Convention.MODIFIED)
        if line.free:
            line = Line(line.direction, (guess @ [hint.a[k], 0.0, 0.0, 1.0])[:3])
        expected = (hint.a[k], hint.alpha[k]) if guided else None
        normal, foot, a[k], alpha[k] = _common_normal(guess, line, expected)
        local = pose[:3, :3].T @ normal
        theta[k] = math.atan2(local[1], local[0])
        d[k] = (foot - pose[:3, 3]) @ pose[:3, 2]
        row = DHRow(a=a[k], alpha=alpha[k], theta=theta[k], d=d[k])
        pose = pose @ row.transform(Convention.STANDARD)
    return AxisSequence(theta, d, a, alpha, pose)


def _common_normal(
    guess: Array,
    line: Line,
    expected: tuple[float, float] | None,
) -> tuple[Array, Array, float, float]:
    """
    Return the normal from the guess's z to a line: direction, foot on z, a and alpha.

    Where a and alpha are expected to be zero the normal has no direction of its own and keeps
    the guess's; a and alpha are then the distance and the angle by which that fails.
    """
    x, y, z, origin = guess[:3, 0], guess[:3, 1], guess[:3, 2], guess[:3, 3]
    cross, between = np.cross(z, line.direction), line.point - origin
    sine, cosine = float(np.linalg.norm(cross)), float(z @ line.direction)
    meant_parallel = expected is not None and abs(math.sin(expected[1])) < PARALLEL
    if sine > PARALLEL and not (meant_parallel and sine < _MOST_TILT):
        normal = cross / sine
        foot = origin + (np.cross(between, line.direction) @ cross / sine**2) * z
        normal = -normal if _points_back(normal, x, y) else normal
        return normal, foot, float(between @ normal), math.atan2(float(cross @ normal), cosine)
    tilt = math.copysign(sine, float(cross @ x)) if meant_parallel else 0.0
    across = between - (between @ z) * z
    distance = float(np.linalg.norm(across))
    if distance <= COINCIDENT or (meant_parallel and expected and abs(expected[0]) <= COINCIDENT):
        return x, origin, distance if meant_parallel else 0.0, math.atan2(tilt, cosine)
    normal = -across / distance if _points_back(across / distance, x, y) else across / distance
    return normal, origin, float(across @ normal), math.atan2(tilt, cosine)


def _points_back(normal: Array, x: Array, y: Array) -> bool:
    """Return whether the opposite direction is nearer to x (to y, where both are square to x)."""
    along = float(normal @ x)
    return along < 0.0 if abs(along) > _ANGLE_NOISE else float(normal @ y) < 0.0


def recover_rows(
    chain: SerialChain,
    convention: Convention,
    tip: str | None = None,
) -> ArmDescription:
    """
    Return a chain as an arm in DH rows, its flange one of its tool frames.

    Frame {0} stands on axis 1 where it comes nearest to the base frame's origin, its x as close
    to the base frame's as it can be. Normals are turned so that every theta lies within 90
    degrees of zero, which gives Franka's own table back.

    Parameters
    ----------
    chain : SerialChain
        The arm as read from a URDF.
    convention : Convention
        The convention of the rows.
    tip : str, optional
        The link that is the flange; the last joint's own link if not given.

    Raises
    ------
    UrdfError
        If `tip` is not fixed to the last link.

    """
    flange_pose = _tip_pose(chain, tip)
    base = _frame_on(lines_of(chain)[0])
    ahead = [*lines_of(chain), Line(flange_pose[:3, 2], flange_pose[:3, 3])]
    sequence = follow_axes(base, ahead)
    theta, d = sequence.theta.copy(), sequence.d.copy()
    rest = inverse_transform(sequence.end) @ flange_pose
    theta[-1], d[-1] = math.atan2(rest[1, 0], rest[0, 0]), rest[2, 3]
    *rows, flange = _cut(convention, theta, d, sequence.a, sequence.alpha)
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
        base_link=chain.base_inertia,
        source=chain.source,
    )
    links = (
        joint.inertia.expressed_in(inverse_transform(frame) @ joint.frame)
        for joint, frame in zip(chain.joints, arm.frames(np.zeros(arm.n)))
    )
    return replace(arm, links=tuple(links))


def _tip_pose(chain: SerialChain, tip: str | None) -> Array:
    last = chain.joints[-1]
    if tip is None or tip == last.link:
        return last.frame
    if tip not in chain.tool_frames:
        raise UrdfError(
            f'{chain.source}: the link {tip!r} is not fixed to {last.link!r}; links '
            f'that are: {", ".join(chain.tool_frames) or "none"}.'
        )
    return chain.tool_frames[tip]


def _frame_on(line: Line) -> Array:
    """Return the frame on a line that is nearest to the base frame."""
    z = line.direction
    # Turn the base frame's x, or its z where x is (nearly) along the line, square to the line.
    candidate = np.eye(3)[0] if abs(z[0]) < math.cos(PARALLEL) else -np.eye(3)[2]
    x = candidate - (candidate @ z) * z
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.column_stack((x, np.cross(z, x), z))
    pose[:3, 3] = line.point - (line.point @ z) * z
    return pose


def _cut(convention: Convention, theta: Array, d: Array, a: Array, alpha: Array) -> list[DHRow]:
    """Return n rows and the flange's; line 0 and joint 1 share one axis, so a0 = alpha0 = 0."""
    n = len(a) - 1
    theta, alpha = np.array([_tidy(x) for x in theta]), np.array([_tidy(x) for x in alpha])
    d, a = d.round(_LENGTH_DIGITS) + 0.0, a.round(_LENGTH_DIGITS) + 0.0
    if convention is Convention.MODIFIED:
        return [
            DHRow(float(a[k]), float(alpha[k]), float(d[k + 1]), float(theta[k + 1]))
            for k in range(n + 1)
        ]
    rows = [
        DHRow(float(a[k]), float(alpha[k]), float(d[k]), float(theta[k])) for k in range(1, n + 1)
    ]
    return [*rows, DHRow(d=float(d[n + 1]), theta=float(theta[n + 1]))]


def _tidy(angle: float) -> float:
    """Return an angle without the rounding that hides a multiple of 45 degrees."""
    step = math.pi / 4.0
    nearest = round(angle / step) * step
    return nearest + 0.0 if abs(angle - nearest) < _ANGLE_NOISE else angle
