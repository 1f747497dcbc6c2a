# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A chain read from a URDF against the DH rows of a described arm, difference by difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math

import numpy as np
from numpy.typing import NDArray

from .dh_recovery import AxisSequence, follow_axes, Line, lines_of, sequence_of
from .serial_chain import SerialChain
from ..arm.denavit_hartenberg import Convention
from ..arm.description import ArmDescription
from ..arm.inertia import LinkInertia
from ..spatial import inverse_transform


@dataclass(frozen=True)
class Finding:
    """
    A difference, ready to be read: where, what, both numbers, why, and what it does to torque.

    `certain` is True where the difference can only be a mistake (axes swapped, an inertia about
    the wrong point), False where it may be meant (another mass).
    """

    place: str
    quantity: str
    found: str
    expected: str
    cause: str
    effect: str = ''
    certain: bool = True

    def __str__(self) -> str:
        """Return the finding as one sentence."""
        effect = f' Effect on torque: {self.effect}.' if self.effect else ''
        return (
            f'{self.place}: {self.quantity} is {self.found}, expected {self.expected}; '
            f'likeliest cause: {self.cause}.{effect}'
        )


# Rounding of the text: pi/2 written as 1.5708 is 3.7e-6 rad off. On a FER 1e-5 rad in a joint
# axis changes no torque by more than 8e-4 N m, 1e-6 m none by more than 3e-4 N m.
ANGLE_TOLERANCE, LENGTH_TOLERANCE = 1e-5, 1e-6
# pi/2 written as 1.57 is 8e-4 rad off: more than rounding may be, and recognisable.
_COARSE_ANGLE = 2e-3
_CAUSE_EDITED = 'another arm or version, or an edited <origin>'


@dataclass(frozen=True, eq=False)
class GeometryComparison:
    """
    Whether the axes of a chain are those of the rows, and where each DH frame lies.

    `to_dh[i]` is the pose of the URDF's frame of link i + 1 in the DH frame {i + 1}. `sequence`
    holds the angles and lengths of the URDF in terms of the description's rows. `findings` are the
    differences, `flange_link` the URDF's link at the description's flange, None if there is none.
    """

    findings: tuple[Finding, ...]
    sequence: AxisSequence
    to_dh: tuple[NDArray[np.float64], ...]
    flange_link: str | None

    def description(self, reference: ArmDescription) -> ArmDescription:
        """Return the reference with the URDF's angles and lengths in its rows."""
        return with_rows_of(self.sequence, reference)


def compare_geometry(chain: SerialChain, reference: ArmDescription) -> GeometryComparison:
    """
    Compare a chain's joint axes with the DH rows of an arm.

    Position zero must be the same in both, link frames need not be: what counts is where the
    axes lie. The chain's base frame must be the space frame of the description.

    Parameters
    ----------
    chain : SerialChain
        The arm as read, with the joints of `reference` in order.
    reference : ArmDescription
        The arm as described.

    """
    expected = sequence_of(reference)
    lines = lines_of(chain)
    found = follow_axes(reference.base, lines, expected)
    findings = _kinds(chain, reference)
    differences = _differences(found, expected, reference)
    if differences:
        cause = _axis_cause(lines, expected, reference)
        findings += [_finding(difference, cause) for difference in differences]
    frames = reference.frames(np.zeros(reference.n))[:-1]
    to_dh = tuple(
        _without_rounding(inverse_transform(frame) @ joint.frame)
        for frame, joint in zip(frames, chain.joints)
    )
    # A flange that is off only in the described last frame, or only in the one found, is a
    # consequence of what is off before it.
    flange_link, flange_findings = min(
        (
            _flange(chain, reference, arm.frames(np.zeros(arm.n))[-2])
            for arm in (reference, with_rows_of(found, reference))
        ),
        key=lambda seen: len(seen[1]),
    )
    return GeometryComparison((*findings, *flange_findings), found, to_dh, flange_link)


def with_rows_of(found: AxisSequence, reference: ArmDescription) -> ArmDescription:
    """Return an arm with the angles and lengths of a sequence of axes in its rows."""
    joints = []
    for k, joint in enumerate(reference.joints, start=1):
        row = replace(joint.row, theta=float(found.theta[k]), d=float(found.d[k]))
        between = k - 1 if reference.convention is Convention.MODIFIED else k
        if between < len(found.a):
            row = replace(row, a=float(found.a[between]), alpha=float(found.alpha[between]))
        joints.append(replace(joint, row=row))
    return replace(reference, joints=tuple(joints))


def inertias_in_dh_frames(
    chain: SerialChain,
    geometry: GeometryComparison,
) -> tuple[LinkInertia, ...]:
    """Return the links of a chain whose geometry matches, each in its DH frame."""
    return tuple(
        joint.inertia.expressed_in(pose) for joint, pose in zip(chain.joints, geometry.to_dh)
    )


@dataclass(frozen=True)
class _Difference:
    joint: str
    field: str
    found: float
    expected: float
    angular: bool


def _differences(
    found: AxisSequence,
    expected: AxisSequence,
    reference: ArmDescription,
) -> list[_Difference]:
    """Return what differs beyond rounding, from base to tip."""
    modified = reference.convention is Convention.MODIFIED
    names = reference.joint_names
    differences = []
    for k in range(len(expected.theta)):
        for field, offset, angular in (
            ('theta', 0, True),
            ('d', 0, False),
            ('a', 1, False),
            ('alpha', 1, True),
        ):
            values, targets = getattr(found, field), getattr(expected, field)
            if k >= len(values):
                continue
            # Line k is joint k's own; the normal behind it is in the next row, if modified.
            owner = k + offset if modified else k
            joint = names[max(owner, 1) - 1]
            gap = values[k] - targets[k]
            gap = math.remainder(gap, 2.0 * math.pi) if angular else gap
            if abs(gap) > (ANGLE_TOLERANCE if angular else LENGTH_TOLERANCE):
                label = field if owner > 0 else f'{field} of the base'
                differences.append(
                    _Difference(joint, label, float(values[k]), float(targets[k]), angular)
                )
    return differences


def _finding(difference: _Difference, cause: str | None) -> Finding:
    gap, expected = difference.found - difference.expected, difference.expected
    if cause is None and difference.angular:
        rounded = abs(math.remainder(gap, 2.0 * math.pi)) < _COARSE_ANGLE
        cause = (
            'an angle written with too few digits, such as 1.57 for pi/2'
            if rounded
            else "the joint's zero is shifted, or its axis turned"
            if difference.field.startswith('theta')
            else "the joint's axis points elsewhere: <axis> or the rpy of an <origin>"
        )
    elif cause is None:
        millimetres = expected != 0.0 and abs(difference.found / expected - 1000.0) < 1e-3
        cause = 'millimetres in place of metres' if millimetres else _CAUSE_EDITED
    unit = 'rad' if difference.angular else 'm'
    return Finding(
        f'joint {difference.joint}',
        difference.field,
        f'{difference.found:.7g} {unit}',
        f'{expected:.7g} {unit}',
        cause,
    )


def _kinds(chain: SerialChain, reference: ArmDescription) -> list[Finding]:
    return [
        Finding(
            f'joint {joint.name}', 'kind', joint.kind.value, expected.kind.value, 'another arm'
        )
        for joint, expected in zip(chain.joints, reference.joints)
        if joint.kind != expected.kind
    ]


def _axis_cause(
    lines: Sequence[Line],
    expected: AxisSequence,
    reference: ArmDescription,
) -> str | None:
    """Return the one reversed axis that explains every difference, if there is one."""
    for i, line in enumerate(lines):
        turned = [*lines[:i], line._replace(direction=-line.direction), *lines[i + 1 :]]
        if not _differences(follow_axes(reference.base, turned, expected), expected, reference):
            return f'the <axis> of {reference.joint_names[i]} has the wrong sign'
    return None


def _without_rounding(pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the identity for a pose that is one up to rounding: published numbers stay as is."""
    near = (
        np.abs(pose[:3, :3] - np.eye(3)).max() < 10.0 * ANGLE_TOLERANCE
        and np.abs(pose[:3, 3]).max() < 10.0 * LENGTH_TOLERANCE
    )
    return np.eye(4) if near else pose


def _flange(
    chain: SerialChain,
    reference: ArmDescription,
    last: NDArray[np.float64],
) -> tuple[str | None, list[Finding]]:
    """Compare the flange, where the URDF has a link of that name (link8, flange)."""
    endings = (f'link{reference.n + 1}', 'flange')
    link = next((name for name in chain.tool_frames if name.endswith(endings)), None)
    if link is None:
        return None, []
    found = inverse_transform(last) @ chain.tool_frames[link]
    expected = reference.flange_transform()
    findings = []
    if np.abs(found[:3, 3] - expected[:3, 3]).max() > 10.0 * LENGTH_TOLERANCE:
        findings.append(
            Finding(
                f'link {link}',
                'position in the last joint frame',
                f'{_triple(found[:3, 3])} m',
                f'{_triple(expected[:3, 3])} m',
                'an edited or missing flange',
            )
        )
    if np.abs(found[:3, :3] - expected[:3, :3]).max() > 10.0 * ANGLE_TOLERANCE:
        angle = math.acos(
            min(1.0, max(-1.0, 0.5 * (np.trace(expected[:3, :3].T @ found[:3, :3]) - 1.0)))
        )
        findings.append(
            Finding(
                f'link {link}',
                'orientation',
                f'{math.degrees(angle):.4g} deg off',
                '0 deg',
                'the zero of the last joint is shifted, or the '
                "hand's -45 deg was put into the flange",
            )
        )
    return link, findings


def _triple(vector: NDArray[np.float64]) -> str:
    return '(' + ', '.join(f'{value + 0.0:.6g}' for value in vector.round(9)) + ')'
