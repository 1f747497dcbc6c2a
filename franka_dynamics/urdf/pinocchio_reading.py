# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pinocchio's models of whole files: its own reading of a URDF, ours of an MJCF."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin

from .document import MOVING_TYPES, UrdfDocument
from ..arm.fields import JointLimits
from ..errors import UrdfError
from ..spatial import JointKind

_REQUIRED = ('effort', 'velocity')  # in a <limit>, by urdfdom


def pinocchio_model(text: str, source: str, *, mimic: bool = False) -> pin.Model:
    """
    Return Pinocchio's model of a URDF, read as `without_material_and_dynamics`.

    With `mimic`, joints follow others, unless one follows a joint that Pinocchio reads later; else
    they are independent.
    """
    stripped = ElementTree.tostring(without_material_and_dynamics(text), encoding='unicode')
    reason: Exception | None = None
    for follows in dict.fromkeys((mimic, False)):
        try:
            return pin.buildModelFromXML(stripped, mimic=follows)
        except (ValueError, RuntimeError) as error:
            reason = error
    raise UrdfError(f'{source}: Pinocchio cannot read it: {reason}')


def without_material_and_dynamics(text: str) -> ElementTree.Element:
    """
    Return a URDF without <material> and <dynamics>, and without blanks around numbers.

    No term here depends on them; Pinocchio refuses two materials of one name, negative friction,
    a blank after a number, and a joint without limits, which gets some.
    """
    robot = ElementTree.fromstring(text)
    for parent in robot.iter():
        for child in [one for one in parent if one.tag in ('material', 'dynamics')]:
            parent.remove(child)
        for key in parent.attrib.keys() - {'name', 'link', 'joint'}:
            parent.set(key, parent.attrib[key].strip())
    for joint in robot.iter('joint'):
        if joint.get('type') in MOVING_TYPES:
            limit = joint.find('limit')
            if limit is None:
                limit = ElementTree.SubElement(joint, 'limit', lower='-9', upper='9')
            for key in _REQUIRED:
                limit.set(key, limit.get(key, '9'))
    return robot


_UNALIGNED = {
    JointKind.REVOLUTE: pin.JointModelRevoluteUnaligned,
    JointKind.PRISMATIC: pin.JointModelPrismaticUnaligned,
}


def pinocchio_tree(document: UrdfDocument) -> pin.Model:
    """
    Return Pinocchio's model of a document, with a frame of type BODY for each link.

    Mimic joints are independent joints in it. A URDF is read by Pinocchio itself.
    """
    if not document.mjcf:
        return pinocchio_model(document.text, document.source)
    model, root = pin.Model(), document.root
    placed = {root: (0, pin.SE3.Identity())}
    model.addFrame(pin.Frame(root, 0, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    for joint in document.from_root():
        parent, pose = placed[joint.parent]
        pose = pose * pin.SE3(joint.origin)
        if joint.kind != 'fixed':
            kind = pin.JointModelFreeFlyer()
            if joint.moves:
                kind = _UNALIGNED[joint.motion](*joint.axis)
            to_axis = pin.SE3(np.eye(3), joint.point)
            limits = joint.limits or JointLimits()
            ends = [np.full(kind.nv, one) for one in (limits.effort, limits.velocity)]
            ends += [np.full(kind.nq, one) for one in (limits.lower, limits.upper)]
            parent = model.addJoint(parent, kind, pose * to_axis, joint.name, *ends)
            pose = to_axis.inverse()
        placed[joint.child] = parent, pose
        link = document.links[joint.child]
        inertia = pin.Inertia(link.mass, np.zeros(3), link.tensor)
        model.appendBodyToJoint(parent, inertia, pose * pin.SE3(link.origin))
        model.addFrame(pin.Frame(joint.child, parent, 0, pose, pin.FrameType.BODY))
    return model
