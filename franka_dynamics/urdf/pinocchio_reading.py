# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Builds Pinocchio's models of whole URDFs and MJCFs, and reads the shapes of a URDF's links."""

import os
from pathlib import Path
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin

from .document import CUBE_CORNERS, MOVING_JOINT_TYPES, UrdfDocument
from ..arm.arm_fields import JointLimits
from ..arrays import Array
from ..errors import UrdfError
from ..spatial import JointKind

_URDFDOM_REQUIRED_LIMITS = ('effort', 'velocity')  # in a <limit>, by urdfdom
_UNALIGNED_JOINT_MODELS = {
    JointKind.REVOLUTE: pin.JointModelRevoluteUnaligned,
    JointKind.PRISMATIC: pin.JointModelPrismaticUnaligned,
}


def pinocchio_model_of_urdf(text: str, source_name: str, *, with_mimic: bool = False) -> pin.Model:
    """
    Return Pinocchio's model of a URDF without <material> and <dynamics>, or raise UrdfError.

    By `with_mimic` joints follow others, unless one follows a joint that Pinocchio reads later;
    else they are independent.
    """
    stripped = ElementTree.tostring(urdf_for_pinocchio(text), encoding='unicode')
    reason: Exception | None = None
    for follows in dict.fromkeys((with_mimic, False)):
        try:
            return pin.buildModelFromXML(stripped, mimic=follows)
        except (ValueError, RuntimeError) as error:
            reason = error
    raise UrdfError(f'{source_name}: Pinocchio cannot read it: {reason}')


def urdf_for_pinocchio(text: str) -> ElementTree.Element:
    """
    Return a URDF changed so that Pinocchio reads it, without entries that it may refuse.

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
        if joint.get('type') in MOVING_JOINT_TYPES:
            limit = joint.find('limit')
            if limit is None:
                limit = ElementTree.SubElement(joint, 'limit', lower='-9', upper='9')
            for key in _URDFDOM_REQUIRED_LIMITS:
                limit.set(key, limit.get(key, '9'))
    return robot


def pinocchio_model_of_document(document: UrdfDocument) -> pin.Model:
    """
    Return Pinocchio's model of a document, with a frame of type BODY for each link.

    Mimic joints are independent joints in it. A URDF is read by Pinocchio itself.
    """
    if not document.mjcf_source:
        return pinocchio_model_of_urdf(document.text, document.source_name)
    model = pin.Model()
    root = document.root_link
    placed = {root: (0, pin.SE3.Identity())}
    model.addFrame(pin.Frame(root, 0, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    for joint in document.joints_from_root():
        parent, pose = placed[joint.parent]
        pose = pose * pin.SE3(joint.origin)
        if joint.type != 'fixed':
            kind = pin.JointModelFreeFlyer()
            if joint.is_moving:
                kind = _UNALIGNED_JOINT_MODELS[joint.joint_kind](*joint.axis)
            to_axis = pin.SE3(np.eye(3), joint.axis_point)
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


def shape_points_by_link(
    model: pin.Model, document: UrdfDocument, urdf_path: Path | None
) -> tuple[dict[str, list[Array]], set[str], dict[str, list[str]]]:
    """
    Return three things by link: points of its shapes, whether it has meshes, and those not read.

    Points (K, 3) [m] are in the frame of the link's joint; a box, sphere or cylinder is given as
    the corners of the box around it. The second is the set of links with meshes, the third the
    names of the meshes of a link that were not read. All three are empty for an MJCF.
    """
    meshed = set[str]()
    unread = dict[str, list[str]]()
    if document.mjcf_source:
        return {}, meshed, unread
    robot = urdf_for_pinocchio(document.text)
    for link in robot.findall('link'):
        for element in list(link):
            if (mesh := element.find('geometry/mesh')) is None:
                continue
            name = mesh.get('filename', '')
            if (path := _mesh_path(urdf_path, name)) is None:
                unread.setdefault(link.get('name', ''), []).append(name)
                link.remove(element)
                continue
            meshed.add(link.get('name', ''))
            mesh.set('filename', str(path))
            if path.suffix.lower() == '.dae':  # coal does not read the file's unit
                unit = re.search(r'<unit[^>]* meter="([^"]+)"', path.read_text(errors='replace'))
                scale = np.array(mesh.get('scale', '1 1 1').split(), dtype=float)
                scale *= float(unit[1]) if unit else 1.0
                mesh.set('scale', ' '.join(map(str, scale)))
    text = ElementTree.tostring(robot, encoding='unicode')
    found: dict[str, list[Array]] = {}
    for kind in (pin.GeometryType.COLLISION, pin.GeometryType.VISUAL):
        for one in pin.buildGeomFromUrdfString(model, text, kind).geometryObjects:
            shape = one.geometry
            if not hasattr(shape, 'computeLocalAABB'):  # Pinocchio was built without coal
                continue
            shape.computeLocalAABB()
            box = shape.aabb_local
            corners = 0.5 * (box.min_ + box.max_ + CUBE_CORNERS * (box.max_ - box.min_))
            points = shape.vertices() if hasattr(shape, 'vertices') else corners
            rotation = one.placement.rotation
            origin = one.placement.translation
            link_name = model.frames[one.parentFrame].name
            found.setdefault(link_name, []).append(points @ rotation.T + origin)
    return found, meshed, unread


def _mesh_path(urdf_path: Path | None, filename: str) -> Path | None:
    """Return a mesh file's path, seeking package://NAME/PATH above the URDF; None if absent."""
    name = filename.removeprefix('file://')
    folders = [urdf_path.parent] if urdf_path else []
    if urdf_path and name.startswith('package://'):
        name = name.removeprefix('package://')
        folders = [*urdf_path.resolve().parents]
    return next((one / name for one in folders if os.path.isfile(one / name)), None)
