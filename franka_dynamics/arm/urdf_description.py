# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A URDF in the DH frames of a described arm, right or wrong, to be compared with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .denavit_hartenberg import Convention
from .description import ArmDescription, Joint, JointLimits
from .pose import inverse_pose
from .serial_chain import ChainJoint, read_chain
from .urdf_detection import detect_arm
from .urdf_document import parse_urdf
from .urdf_geometry import compare_geometry

# 1 - cos of the angle between the last frame's z and the last joint's axis: rounding of a text.
_ALONG_AXIS = 1e-9


def description_from_urdf(xml: str, source: str, *, arm: str | None = None,
                          prefix: str | None = None, trust_last_frame: bool = False,
                          ) -> tuple[ArmDescription, ArmDescription]:
    """
    Return the arm that a URDF should be, and what the URDF says, both in DH frames.

    Unlike the reading for use as a model nothing is refused: what differs is for a comparison to
    name. Rows follow the URDF's own joint axes, links are in the frames of these rows. What a
    URDF does not hold (rotors, friction, accelerations) is the described arm's.

    Parameters
    ----------
    xml : str
        The URDF's text.
    source : str
        What error messages call it.
    arm, prefix : str, optional
        As for `detect_arm`.
    trust_last_frame : bool
        No axis behind the last joint defines where along it and at which angle its frame lies.
        False takes the described arm's d and theta; True takes the URDF's own frame for it.

    Raises
    ------
    UrdfError
        If the text is no URDF or holds no such chain of joints.

    """
    document = parse_urdf(xml, source)
    reference, names = detect_arm(document, arm=arm, prefix=prefix)
    reference = replace(reference, joints=tuple(
        replace(joint, name=name) for joint, name in zip(reference.joints, names)))
    chain = read_chain(document, names, source)
    rows = compare_geometry(chain, reference).description(reference)
    if trust_last_frame:
        rows = _ending_in(rows, chain.joints[-1].frame)
    pose, links = np.asarray(rows.base, dtype=float), []
    for step, joint in zip(rows.joint_transforms(np.zeros(rows.n)), chain.joints):
        pose = pose @ step
        links.append(joint.inertia.expressed_in(inverse_pose(pose) @ joint.frame))
    joints = tuple(_with_limits(joint, read) for joint, read in zip(rows.joints, chain.joints))
    return reference, replace(rows, joints=joints, links=tuple(links), source=source, file=source,
                              inertial_set='as written', hand='as written', rounding=0.0)


def _ending_in(rows: ArmDescription, frame: NDArray[np.float64]) -> ArmDescription:
    """Return the rows with the last d and theta such that the last frame is the given one."""
    pose = np.asarray(rows.base, dtype=float)
    for step in rows.joint_transforms(np.zeros(rows.n)):
        pose = pose @ step
    offset = inverse_pose(pose) @ frame
    if rows.convention is not Convention.MODIFIED or abs(offset[2, 2] - 1.0) > _ALONG_AXIS:
        return rows
    last = rows.joints[-1]
    row = replace(last.row, d=last.row.d + float(offset[2, 3]),
                  theta=last.row.theta + float(np.arctan2(offset[1, 0], offset[0, 0])))
    return replace(rows, joints=(*rows.joints[:-1], replace(last, row=row)))


def _with_limits(joint: Joint, read: ChainJoint) -> Joint:
    limits = read.limits or JointLimits()
    return replace(joint, kind=read.kind, limits=replace(
        joint.limits, lower=limits.lower, upper=limits.upper, velocity=limits.velocity,
        effort=limits.effort))
