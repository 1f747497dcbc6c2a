# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A Pinocchio model of an arm, built from its description."""

import numpy as np
import pinocchio as pin

from .model import MIN_FREE_TO_MAX_INERTIA, require_centers_of_mass
from ..arm import ArmDescription, JointKind, LinkInertia
from ..arm.frames import Frame, frame_table

# Pinocchio's order of the six tensor elements is xx, xy, yy, xz, yz, zz.
PINOCCHIO_PARAMETER_ORDER = (9, 6, 7, 8, 0, 1, 3, 2, 4, 5)
_JOINT_MODELS = {
    JointKind.REVOLUTE: pin.JointModelRZ,
    JointKind.PRISMATIC: pin.JointModelPZ,
}


def pinocchio_inertia(inertia: LinkInertia) -> pin.Inertia:
    """Return a link's inertial parameters as a pinocchio.Inertia, about the centre of mass."""
    if inertia.mass == 0.0:
        return pin.Inertia(0.0, np.zeros(3), np.array(inertia.inertia))
    return pin.Inertia.FromDynamicParameters(inertia.parameters()[list(PINOCCHIO_PARAMETER_ORDER)])


def build_pinocchio_model(description: ArmDescription) -> pin.Model:
    """
    Return the Pinocchio model of an arm, with each frame of the arm under its name or number.

    Raises
    ------
    InertiaError
        If a link has a first moment but no mass, because Pinocchio needs a centre of mass.

    """
    require_centers_of_mass(description)
    model = pin.Model()
    model.name = description.name
    parent = 0
    # Poses of the DH frames in the frames of their joints; the first one is that of the universe.
    dh_frames = [pin.SE3.Identity()]
    before = pin.SE3(np.array(description.base))  # the previous DH frame in the parent joint
    placements = description.joint_placements()
    for joint, link, (to_axis, behind_axis) in zip(
        description.joints, description.links, placements
    ):
        placement = before * pin.SE3(to_axis)
        dh_frame = pin.SE3(behind_axis)
        limits = [
            np.array([limit])
            for limit in (
                joint.limits.effort,
                joint.limits.velocity,
                joint.limits.lower,
                joint.limits.upper,
            )
        ]
        kind = _JOINT_MODELS[joint.kind]()
        parent = model.addJoint(parent, kind, placement, joint.name, *limits)
        model.appendBodyToJoint(parent, pinocchio_inertia(link), dh_frame)
        dh_frames.append(dh_frame)
        before = dh_frame
    for frame, (joint_number, pose) in frame_table(description).items():
        name = pinocchio_frame_name(frame)
        pose_in_joint = dh_frames[joint_number] * pin.SE3(pose)
        model.addFrame(pin.Frame(name, joint_number, 0, pose_in_joint, pin.FrameType.OP_FRAME))
    model.armature = np.array([joint.rotor_inertia for joint in description.joints])
    return model


def pinocchio_frame_name(frame: Frame) -> str:
    """Return the name that a frame, given by number or name, has in Pinocchio's model."""
    return frame if isinstance(frame, str) else f'{{{frame}}}'


def has_regular_mass_matrix(description: ArmDescription, model: pin.Model) -> bool:
    """
    Return whether the links' inertias guarantee an invertible mass matrix at every position.

    False means that it is not known. If links are physical, the inertia that joint j moves while
    the later joints are free is at least that of link j alone about its axis. M_jj is at most the
    inertia of all links as far from any axis as the arm is long.
    """
    if not all(joint.kind is JointKind.REVOLUTE for joint in description.joints):
        return False
    if description.inconsistencies():
        return False
    links = zip(list(model.inertias)[1:], description.joints)
    least_free_inertia = min(
        float(inertia.matrix()[5, 5]) + joint.rotor_inertia for inertia, joint in links
    )
    arm_length = sum(np.linalg.norm(place.translation) for place in model.jointPlacements)
    largest_inertia = max(model.armature) + sum(
        np.linalg.norm(body.matrix()) * (1.0 + arm_length) ** 2 for body in model.inertias
    )
    return bool(least_free_inertia > MIN_FREE_TO_MAX_INERTIA * largest_inertia)
