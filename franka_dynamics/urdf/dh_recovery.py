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

from collections.abc import Sequence
from dataclasses import replace
import math
from typing import NamedTuple

import numpy as np

from .arm_choice import find_flange
from .serial_chain import SerialChain
from ..arm.arm_fields import Joint, JointLimits, UrdfProvenance
from ..arm.bodies import FixedFrame
from ..arm.denavit_hartenberg import DHRow, to_modified_rows, to_standard_rows
from ..arm.description import ArmDescription
from ..arrays import Array
from ..constants import Convention
from ..spatial import inverse_transform, JointKind, rpy_from_rotation, snapped_angle

# [rad] Axes with a smaller angle between them get Hayati's parameters, because their common normal
# may lie kilometres away. Some URDFs write pi as 3.14, which is 1.6e-3 off.
MAX_NEARLY_PARALLEL_ANGLE_RAD = 0.1
# [m] Parallel axes at most COINCIDENT_AXES_TOLERANCE_M apart count as one line, which has no
# common normal.
COINCIDENT_AXES_TOLERANCE_M = 1e-13
# Angles [rad] within _ANGLE_ERROR_RAD of a multiple of 45 degrees become the multiple; lengths [m]
# are rounded to _LENGTH_DECIMAL_COUNT.
_ANGLE_ERROR_RAD = 1e-11
_LENGTH_DECIMAL_COUNT = 14
# Cosine of the angle up to which a direction counts as along another.
_MIN_PARALLEL_COSINE = 1.0 - 5e-9


class JointAxis(NamedTuple):
    """A joint axis at position zero, given by its unit direction and a point on it [m]."""

    direction: Array
    point: Array
    is_direction_only: bool = False  # True for a prismatic joint: its axis is a direction only


def dh_rows_from_axes(
    axes: Sequence[JointAxis],
    preferred_base: Array,
    flange_pose: Array,
    convention: Convention,
) -> tuple[Array, list[DHRow]]:
    """
    Return frame {0}'s pose (4, 4), and DH rows of joints with the given axes and of the flange.

    The origin of frame {0} is the point of axis 1 nearest to the origin of `preferred_base`; its x
    axis is as close to that of `preferred_base` as possible. Of the two directions of a normal the
    one is taken for which theta lies within 90 degrees of zero, as in Franka's own table.
    Between parallel axes d is zero. All poses are in one frame, with all joints at zero.
    """
    base = _frame_on_axis(axes[0], preferred_base)
    pose = base  # of the frame behind the rows so far
    rows: list[DHRow] = []
    for line in (*axes, JointAxis(flange_pose[:3, 2], flange_pose[:3, 3])):
        normal, foot, a, alpha, beta = _common_normal(pose, line)
        along_x, along_y, _ = pose[:3, :3].T @ normal
        d = float((foot - pose[:3, 3]) @ pose[:3, 2])
        # A standard row has d and theta along one line, a and alpha of the normal to the next.
        rows.append(DHRow(a, alpha, d, math.atan2(along_y, along_x), beta))
        pose = pose @ rows[-1].transform(Convention.STANDARD)
    rest = inverse_transform(pose) @ flange_pose  # a turn about z and a way along it
    rows.append(DHRow(d=float(rest[2, 3]), theta=math.atan2(rest[1, 0], rest[0, 0])))
    modified = [_row_without_rounding_errors(row) for row in to_modified_rows(rows)[0][1:]]
    return base, modified if convention is Convention.MODIFIED else to_standard_rows(modified)


def _common_normal(frame: Array, axis: JointAxis) -> tuple[Array, Array, float, float, float]:
    """
    Return the normal (direction, foot on z) from a frame's z axis to a line, and a, alpha, beta.

    For nearly parallel axes the normal leads instead from the origin of the frame, at right angles
    to its z, to the line, and beta is the line's tilt about y (Hayati's parameters).
    """
    x = frame[:3, 0]
    y = frame[:3, 1]
    z = frame[:3, 2]
    origin = frame[:3, 3]
    point = origin if axis.is_direction_only else axis.point
    cross = np.cross(z, axis.direction)
    between = point - origin
    sine = float(np.linalg.norm(cross))
    cosine = float(z @ axis.direction)
    if sine > MAX_NEARLY_PARALLEL_ANGLE_RAD:
        normal = cross / sine
        foot = origin + (np.cross(between, axis.direction) @ cross / sine**2) * z
        normal = -normal if _is_normal_reversed(normal, x, y) else normal
        alpha = math.atan2(float(cross @ normal), cosine)
        return normal, foot, float(between @ normal), alpha, 0.0
    # The point where the line crosses the plane through the origin of the frame across its z.
    across = between - (between @ z) / cosine * axis.direction
    distance = float(np.linalg.norm(across))
    normal = x if distance <= COINCIDENT_AXES_TOLERANCE_M else across / distance
    normal = -normal if _is_normal_reversed(normal, x, y) else normal
    along_y = float(np.cross(z, normal) @ axis.direction)
    alpha = math.atan2(-along_y, cosine)
    beta = math.asin(float(normal @ axis.direction))
    return normal, origin, float(across @ normal), alpha, beta


def _is_normal_reversed(normal: Array, x: Array, y: Array) -> bool:
    """Return whether a normal points against the axis x or, if perpendicular to it, against y."""
    along = float(normal @ x)
    return along < 0.0 if abs(along) > _ANGLE_ERROR_RAD else float(normal @ y) < 0.0


def description_from_chain(
    chain: SerialChain, convention: Convention, flange_link: str | None = None
) -> ArmDescription:
    """
    Return the ArmDescription, with DH rows in `convention`, of a serial arm in a URDF.

    The space frame {S} is the URDF's root link. `flange_link` is the flange, by default the
    chain's, or the last joint's link. Frame {0} is that of `dh_rows_from_axes` near joint 1's
    parent link.

    Raises
    ------
    UrdfError
        If `flange_link` is not fixed to the last link.

    """
    arm = _dh_arm(chain, convention, flange_link)
    links = []
    fixed_frames = [
        _fixed_frame(name, 0, chain.link_poses[name])
        for name in chain.fixed_links[chain.document.root_link]
    ]
    frames = arm.frames(np.zeros(arm.n))[:-1]
    moving = zip(arm.links, chain.joints, frames)
    for number, (inertia, joint, frame) in enumerate(moving, start=1):
        root_in_frame = inverse_transform(frame)
        links.append(inertia.expressed_in(root_in_frame @ chain.link_poses[joint.child]))
        fixed_frames += [
            _fixed_frame(name, number, root_in_frame @ chain.link_poses[name])
            for name in chain.fixed_links[joint.child]
        ]
    return replace(arm, links=tuple(links), fixed_frames=tuple(fixed_frames))


def _dh_arm(chain: SerialChain, convention: Convention, flange_link: str | None) -> ArmDescription:
    """Return a chain's arm with DH rows, but with link inertias in the URDF's link frames."""
    document = chain.document
    tool = find_flange(chain, flange_link)
    axes = []
    for joint in chain.joints:
        pose = chain.link_poses[joint.child]
        direction = pose[:3, :3] @ joint.axis
        point = pose[:3, :3] @ joint.axis_point + pose[:3, 3]
        axes.append(JointAxis(direction, point, joint.joint_kind is JointKind.PRISMATIC))
    tool_pose = chain.link_poses[tool.link_name]
    base, (*rows, flange) = dh_rows_from_axes(axes, chain.mount_pose, tool_pose, convention)
    base_inertia = chain.inertia(document.root_link).expressed_in(inverse_transform(base))
    names = tuple(joint.name for joint in chain.joints)
    others = tuple(
        (joint.name, joint.child)
        for joint in document.joints.values()
        if joint.name not in names and not (document.mjcf_source and joint.type == 'fixed')
    )
    provenance = UrdfProvenance(
        name_in_messages=document.source_name,
        urdf_text=document.text,
        joint_names=names,
        held_positions=tuple(chain.held_positions.items()),
        tip_link=tool.link_name,
        flange_notes=tool.notes,
        tip_is_guess=tool.is_guess,
        mjcf_text=document.mjcf_source,
        other_joint_links=others,
    )
    return ArmDescription(
        name=document.robot_name or 'arm',
        convention=convention,
        joints=tuple(
            Joint(
                joint.name,
                joint.joint_kind,
                row,
                joint.limits or JointLimits(),
                link=joint.child,
            )
            for joint, row in zip(chain.joints, rows)
        ),
        links=tuple(chain.inertia(joint.child) for joint in chain.joints),
        flange=flange,
        base=base,
        base_link=base_inertia if base_inertia.parameters().any() else None,
        source=document.source_name,
        mount_pose=chain.mount_pose,
        urdf=provenance,
    )


def _fixed_frame(name: str, joint: int, pose: Array) -> FixedFrame:
    """Return a URDF's link as a frame at its pose in a joint's frame, without rounding errors."""
    xyz = np.round(pose[:3, 3], _LENGTH_DECIMAL_COUNT) + 0.0  # 0.0 in place of -0.0
    rpy = np.round(rpy_from_rotation(pose[:3, :3]), _LENGTH_DECIMAL_COUNT) + 0.0
    return FixedFrame(name=name, joint=joint, xyz=xyz, rpy=rpy)


def _frame_on_axis(axis: JointAxis, preferred_pose: Array) -> Array:
    """Return the frame with its z on a line, and its x and origin nearest to those of a pose."""
    z = preferred_pose[:3, :3].T @ axis.direction
    point = (inverse_transform(preferred_pose) @ [*axis.point, 1.0])[:3]
    # Make the x of `preferred_pose`, or -z if x is nearly along the line, perpendicular to it.
    candidate = np.eye(3)[0] if abs(z[0]) < _MIN_PARALLEL_COSINE else -np.eye(3)[2]
    x = candidate - (candidate @ z) * z
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.column_stack((x, np.cross(z, x), z))
    pose[:3, 3] = point - (point @ z) * z
    return preferred_pose @ pose


def _row_without_rounding_errors(row: DHRow) -> DHRow:
    """Return a row without rounding errors in lengths and in multiples of 45 degrees."""

    def length(value: float) -> float:
        """Return a length [m] without rounding errors."""
        return round(value, _LENGTH_DECIMAL_COUNT) + 0.0

    def angle(value: float) -> float:
        """Return an angle [rad] without rounding errors."""
        return snapped_angle(value, math.pi / 4.0, _ANGLE_ERROR_RAD)

    return DHRow(length(row.a), angle(row.alpha), length(row.d), angle(row.theta), angle(row.beta))
