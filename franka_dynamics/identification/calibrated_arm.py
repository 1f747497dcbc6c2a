# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A calibrated tree -> an arm description with DH rows, which every other part takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..arm import ArmDescription, JointKind
from ..arm.dh_recovery import recover_rows, RecoveredRows
from ..arm.serial_chain import ChainJoint, SerialChain
from ..dynamics.body_tree import BodyTree
from ..dynamics.lie import inverse_transform, log3
from ..dynamics.newton_euler import NewtonEulerModel
from ..dynamics.states import sample_states
from ..errors import CalibrationError

Array = NDArray[np.float64]
_FLANGE = 'flange'
_STATES = 100


@dataclass(frozen=True, eq=False)
class CalibratedArm:
    """
    The description, and how far its flange is from the tree's, at worst over the arm's range.

    `deviation` is (rad, m). Rows hold the geometry exactly but for axes within 1e-4 rad of
    parallel, which they take for parallel: a flange tilted by less than that.
    """

    description: ArmDescription
    deviation: tuple[float, float]


def calibrated_arm(nominal: ArmDescription, tree: BodyTree) -> CalibratedArm:
    """
    Return an arm with the geometry of a calibrated tree, its links where they are.

    Frames move with their axes, so that a and d may differ much from the nominal rows where two
    axes are nearly parallel (the flange's and the last joint's); poses and torques do not.
    `arm.arm_file_writer.arm_file_text` writes it to an arm file.

    Parameters
    ----------
    nominal : ArmDescription
        What the tree was made from; names, limits, rotors and the rest are kept.
    tree : BodyTree
        `BodyTree.from_description(nominal)`, calibrated.

    Raises
    ------
    CalibrationError
        If the tree is no serial arm with the same joints, its tool on the last link.

    """
    if tree.names != nominal.joint_names or not tree.is_chain or tree.tool_body != tree.n - 1:
        raise CalibrationError(
            f'The tree with the joints {", ".join(tree.names)} is not {nominal.name} with its '
            f'joints {", ".join(nominal.joint_names)} in a row and the tool on its last link.')
    zero = tree.poses(np.zeros(tree.n))
    rows = recover_rows(_chain(nominal, tree, zero), nominal.convention, _FLANGE)
    joints = tuple(replace(joint, row=row) for joint, row in zip(nominal.joints, rows.rows))
    links = tuple(link.expressed_in(inverse_transform(frame) @ pose)
                  for link, frame, pose in zip(tree.inertias, rows.frames, zero))
    description = replace(nominal, joints=joints, links=links, flange=rows.flange,
                          base=_base(rows), file='')
    return CalibratedArm(description, _deviation(description, tree))


def _chain(nominal: ArmDescription, tree: BodyTree, zero: Array) -> SerialChain:
    """Return the axes of a tree as the recovery of rows takes them."""
    joints = []
    for joint, twist, pose in zip(nominal.joints, tree.twists, zero):
        v, omega = twist[:3], twist[3:]
        foot = np.eye(4)
        if joint.kind is JointKind.REVOLUTE:
            foot[:3, 3] = np.cross(omega, v)
        axis = omega if joint.kind is JointKind.REVOLUTE else v
        # The inertia is not read; links are carried over with their own poses.
        joints.append(ChainJoint(joint.name, joint.kind, joint.name, pose @ foot, axis,
                                 nominal.links[0], ()))
    return SerialChain(nominal.name, 'the calibrated arm', 'base', np.eye(4), None, tuple(joints),
                       tool_frames={_FLANGE: zero[-1] @ tree.tool})


def _base(rows: RecoveredRows) -> Array:
    """Return frame {0} with its rotation orthonormal to the last digit."""
    base = np.array(rows.base)
    left, _, right = np.linalg.svd(base[:3, :3])
    base[:3, :3] = left @ right
    return base


def _deviation(description: ArmDescription, tree: BodyTree) -> tuple[float, float]:
    q = sample_states(description, _STATES, 0).q
    wanted = tree.poses(q)[:, -1] @ tree.tool
    off = inverse_transform(wanted) @ NewtonEulerModel(description).frames(q)[:, -1]
    return (float(np.linalg.norm(log3(off[:, :3, :3]), axis=1).max()),
            float(np.linalg.norm(off[:, :3, 3], axis=1).max()))
