# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Builds Pinocchio's models of whole URDFs and MJCFs, and reads the shapes of a URDF's links."""

from contextlib import suppress
import os
from pathlib import Path
import re
from typing import NamedTuple
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin

from .document import CUBE_CORNERS, MOVING_JOINT_TYPES, UrdfDocument
from ..arm.arm_fields import JointLimits
from ..arrays import Array
from ..errors import UrdfError
from ..spatial import JointKind

_URDFDOM_REQUIRED_LIMITS = ('effort', 'velocity')  # in a <limit>, by urdfdom
# Stands for a limit that Pinocchio must find and that nothing reads.
_ANY_LIMIT = '9'
_UNALIGNED_JOINT_MODELS = {
    JointKind.REVOLUTE: pin.JointModelRevoluteUnaligned,
    JointKind.PRISMATIC: pin.JointModelPrismaticUnaligned,
}


def pinocchio_model_of_urdf(text: str, source_name: str, *, with_mimic: bool = False) -> pin.Model:
    """
    Return Pinocchio's model of a URDF without <material> and <dynamics>, or raise UrdfError.

    With `with_mimic` joints follow others, unless one follows a joint that Pinocchio reads later;
    else they are independent.
    """
    stripped = ElementTree.tostring(urdf_for_pinocchio(text), encoding='unicode')
    if with_mimic:
        with suppress(ValueError, RuntimeError):
            return pin.buildModelFromXML(stripped, mimic=True)
    try:
        return pin.buildModelFromXML(stripped, mimic=False)
    except (ValueError, RuntimeError) as error:
        raise UrdfError(f'{source_name}: Pinocchio cannot read it: {error}') from error


def urdf_for_pinocchio(text: str) -> ElementTree.Element:
    """
    Return a URDF changed so that Pinocchio reads it, without entries that it may refuse.

    No term here depends on them; Pinocchio refuses two materials of one name, negative friction,
    a blank after a number, and a joint without limits, which gets some.
    """
    robot = ElementTree.fromstring(text)
    for parent in robot.iter():
        for child in list(parent):
            if child.tag in ('material', 'dynamics'):
                parent.remove(child)
        for key in parent.attrib.keys() - {'name', 'link', 'joint'}:
            parent.set(key, parent.attrib[key].strip())
    for joint in robot.iter('joint'):
        if joint.get('type') in MOVING_JOINT_TYPES:
            limit = joint.find('limit')
            if limit is None:
                limit = ElementTree.SubElement(
                    joint, 'limit', lower=f'-{_ANY_LIMIT}', upper=_ANY_LIMIT
                )
            for key in _URDFDOM_REQUIRED_LIMITS:
                limit.set(key, limit.get(key, _ANY_LIMIT))
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
            bounds = [
                np.full(kind.nv, limits.effort),
                np.full(kind.nv, limits.velocity),
                np.full(kind.nq, limits.lower),
                np.full(kind.nq, limits.upper),
            ]
            parent = model.addJoint(parent, kind, pose * to_axis, joint.name, *bounds)
            pose = to_axis.inverse()
        placed[joint.child] = parent, pose
        link = document.links[joint.child]
        inertia = pin.Inertia(link.mass, np.zeros(3), link.tensor)
        model.appendBodyToJoint(parent, inertia, pose * pin.SE3(link.origin))
        model.addFrame(pin.Frame(joint.child, parent, 0, pose, pin.FrameType.BODY))
    return model


class LinkShapes(NamedTuple):
    """
    The shapes of a URDF's links; all empty for an MJCF.

    `points` are points (K, 3) [m] of each link's shapes, in the frame of the link's joint; a box,
    sphere or cylinder is given as the corners of the box around it. `meshed_links` have meshes.
    `unread_meshes` are the names of the meshes of a link that were not read.
    """

    points: dict[str, list[Array]]
    meshed_links: set[str]
    unread_meshes: dict[str, list[str]]


def shape_points_by_link(
    model: pin.Model, document: UrdfDocument, urdf_path: Path | None
) -> LinkShapes:
    """Return the shapes of a document's links; meshes are read only if `urdf_path` is given."""
    shapes = LinkShapes({}, set(), {})
    if document.mjcf_source:
        return shapes
    robot = urdf_for_pinocchio(document.text)
    for link in robot.findall('link'):
        name = link.get('name', '')
        for element in list(link):
            mesh = element.find('geometry/mesh')
            if mesh is None:
                continue
            path = _mesh_path(urdf_path, mesh.get('filename', ''))
            if path is None:
                shapes.unread_meshes.setdefault(name, []).append(mesh.get('filename', ''))
                link.remove(element)
            else:
                shapes.meshed_links.add(name)
                _point_to_mesh_file(mesh, path)
    text = ElementTree.tostring(robot, encoding='unicode')
    for kind in (pin.GeometryType.COLLISION, pin.GeometryType.VISUAL):
        for placed in pin.buildGeomFromUrdfString(model, text, kind).geometryObjects:
            shape = placed.geometry
            if not hasattr(shape, 'computeLocalAABB'):  # Pinocchio was built without coal
                continue
            shape.computeLocalAABB()
            box = shape.aabb_local
            corners = 0.5 * (box.min_ + box.max_ + CUBE_CORNERS * (box.max_ - box.min_))
            points = shape.vertices() if hasattr(shape, 'vertices') else corners
            link_name = model.frames[placed.parentFrame].name
            in_joint = points @ placed.placement.rotation.T + placed.placement.translation
            shapes.points.setdefault(link_name, []).append(in_joint)
    return shapes


def _point_to_mesh_file(mesh: ElementTree.Element, path: Path) -> None:
    """Set the path of a <mesh>, and scale it by the unit of its file."""
    mesh.set('filename', str(path))
    if path.suffix.lower() == '.dae':  # coal does not read the file's unit
        unit = re.search(r'<unit[^>]* meter="([^"]+)"', path.read_text(errors='replace'))
        scale = np.array(mesh.get('scale', '1 1 1').split(), dtype=float)
        scale *= float(unit[1]) if unit else 1.0
        mesh.set('scale', ' '.join(map(str, scale)))


def _mesh_path(urdf_path: Path | None, filename: str) -> Path | None:
    """Return a mesh file's path, seeking package://NAME/PATH above the URDF; None if absent."""
    name = filename.removeprefix('file://')
    folders = [urdf_path.parent] if urdf_path else []
    if urdf_path and name.startswith('package://'):
        name = name.removeprefix('package://')
        folders = [*urdf_path.resolve().parents]
    paths = (folder / name for folder in folders)
    return next((path for path in paths if os.path.isfile(path)), None)
