# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Writes an arm description as URDF or MJCF, or to an arm file.

The frame of a URDF's link lies on its joint's axis. In the modified convention the link's frame is
the DH frame, as in Franka's own URDFs. A standard DH frame lies at the far end of its link, so the
link's frame is the previous DH frame, moved by the joint. The choice of link frames changes
neither kinematics nor dynamics.

Numbers have up to 15 decimals; MuJoCo's own writer keeps six digits. In MJCF the body frames are
the DH frames, and each actuator is a motor, whose control input is its joint's torque or force.
Geoms do not collide. Joints have the armature and friction that are known of the real arm, unless
the ideal arm is asked for: then MuJoCo computes the rigid-body dynamics of the model only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from pathlib import Path
from typing import Any
import xml.etree.ElementTree as ElementTree

import numpy as np

from .document import UNLIMITED
from ..arm.arm_file_writer import arm_file_text
from ..arm.description import ArmDescription, Joint
from ..arm.friction import ViscousCoulombFriction
from ..arm.inertia import LinkInertia, six_from_tensor, TENSOR_ORDER
from ..arm.link_names import link_names
from ..arm.shapes import Shape, ShapeKind
from ..arm.source import described
from ..errors import DescriptionError, InertiaError, listed
from ..files import write_text
from ..spatial import inverse_transform, JointKind, rpy_from_rotation
from ..typing import Array

# Decimals of the written values (m, rad, kg, kg m^2); further digits are rounding errors.
_DECIMALS = 15
_LEAST_INERTIA = 1e-15  # MuJoCo's mjMINVAL, for mass and principal moments of moving links
# Invented inertia of a fixed base, written if the arm's description has none. It has no effect on
# the joints, but without it Gazebo ignores the whole arm.
_STANDING = LinkInertia.from_center_of_mass(1.0, np.zeros(3), 0.004 * np.eye(3))
Element = ElementTree.Element


def urdf_text(
    description: ArmDescription | str | Path,
    *,
    root: str = 'base',
    tool: tuple[str, LinkInertia] | None = None,
    shapes: Mapping[int, Sequence[Shape]] | None = None,
    tool_shapes: Sequence[Shape] = (),
) -> str:
    """
    Return the URDF of an arm as indented XML.

    Parameters
    ----------
    description : ArmDescription, str or Path
        The arm, or its name or file; a hand or payload in its last link stays in that link.
    root : str
        Name of the root link, which has no mass, because KDL ignores a root's mass with a warning.
    tool : (str, LinkInertia), optional
        A link after the flange and its inertia about the flange's origin, in the flange frame.
    shapes : mapping of int to Shapes, optional
        Visual and collision shapes in each DH frame, by its number (0 is the base).
    tool_shapes : sequence of Shape
        Visual and collision shapes of the tool, in the flange frame.

    Returns
    -------
    str
        The XML of the URDF. URDF has no rotor inertias; a comment lists the arm's.

    Raises
    ------
    InertiaError
        If a link is not physical, which Gazebo and MuJoCo would refuse.

    """
    description = described(description)
    description.require_physical('a URDF')
    names = link_names(description.joint_names)
    shapes = shapes or {}
    robot = Element('robot', name=description.name)
    rotors = ', '.join(
        f'{joint.name} {number_text(joint.rotor_inertia)}'
        for joint in description.joints
        if joint.rotor_inertia
    )
    if rotors:
        robot.append(
            ElementTree.Comment(f' Left out, as URDF has no rotor inertias [kg m^2]: {rotors} ')
        )
    # The base's link lies in the space frame {S}; its shapes and inertia are given in frame {0}.
    parent, pose = names.base, np.asarray(description.base, dtype=float)
    inertia, shapes_of_base = _STANDING, [shape.moved(pose) for shape in shapes.get(0, ())]
    if description.base_link is not None:
        inertia = description.base_link.expressed_in(pose)
    _add_link(robot, root, None, ())
    _add_joint(robot, f'{parent}_joint', root, parent, np.eye(4))
    _add_link(robot, parent, inertia, shapes_of_base)
    for i, (joint, link, name, (before, offset)) in enumerate(
        zip(description.joints, description.links, names.moving, description.joint_placements()),
        start=1,
    ):
        _add_moving(robot, joint, parent, name, pose @ before)
        _add_link(
            robot,
            name,
            link.expressed_in(offset),
            [shape.moved(offset) for shape in shapes.get(i, ())],
        )
        parent, pose = name, offset
    _add_joint(
        robot, f'{names.flange}_joint', parent, names.flange, pose @ description.flange_transform()
    )
    _add_link(robot, names.flange, None, ())
    if tool is not None:
        _add_joint(robot, f'{tool[0]}_joint', names.flange, tool[0], np.eye(4))
        _add_link(robot, tool[0], tool[1], tool_shapes)
    return xml_text(robot)


def write_urdf(description: ArmDescription | str | Path, path: str | Path, **options: Any) -> None:
    """
    Write the URDF of an arm to a file, which then appears complete or not at all.

    The options and errors are those of `franka_dynamics.urdf.writer.urdf_text`.

    Raises
    ------
    OutputError
        If the file cannot be written.

    """
    write_text(path, urdf_text(description, **options))


def save(description: ArmDescription | str | Path, path: str | Path, **words: str) -> None:
    """
    Write an arm file; the file appears complete or not at all.

    Parameters
    ----------
    description : ArmDescription, str or Path
        The arm, or its name or file.
    path : str or Path
        The file to write; an existing file is replaced.
    words : str
        `source`, `title`, `notes` and `friction_source`: the origin of the inertial set, the arm's
        full name, remarks on the inertial set, and the origin of the friction.

    Returns
    -------
    None

    Raises
    ------
    DescriptionError
        If `description` is no arm, its friction model is none of the three that an
        arm file can hold, or a number or name is one that `load` refuses.
    OutputError
        If the file cannot be written.

    """
    write_text(path, arm_file_text(described(description), **words))


def xml_text(robot: Element) -> str:
    """Return an element as an indented XML document."""
    ElementTree.indent(robot)
    return f'<?xml version="1.0"?>\n{ElementTree.tostring(robot, encoding="unicode")}\n'


def _add_link(
    robot: Element, name: str, inertia: LinkInertia | None, shapes: Sequence[Shape]
) -> None:
    link = ElementTree.SubElement(robot, 'link', name=name)
    add_shapes(link, shapes)
    if inertia is not None and inertia.parameters().any():
        add_inertial(link, inertia)


def add_shapes(link: Element, shapes: Sequence[Shape]) -> None:
    """Add shapes to a <link> as visual and collision elements."""
    for shape in (part for whole in shapes for part in whole.parts()):
        for tag in ('visual', 'collision'):
            element = ElementTree.SubElement(link, tag)
            _add_origin(element, shape.pose)
            geometry = ElementTree.SubElement(element, 'geometry')
            ElementTree.SubElement(geometry, shape.kind.value, _dimensions(shape))


def add_inertial(link: Element, inertia: LinkInertia) -> None:
    """Add an <inertial> to a <link>: centre of mass, mass and tensor about the centre of mass."""
    inertial = ElementTree.SubElement(link, 'inertial')
    center = np.eye(4)
    center[:3, 3] = inertia.center_of_mass
    _add_origin(inertial, center)
    ElementTree.SubElement(inertial, 'mass', value=number_text(inertia.mass))
    six = six_from_tensor(inertia.inertia_at_center_of_mass)
    ElementTree.SubElement(
        inertial,
        'inertia',
        {f'i{order}': number_text(value) for order, value in zip(TENSOR_ORDER, six)},
    )


def _dimensions(shape: Shape) -> dict[str, str]:
    if shape.kind is ShapeKind.BOX:
        return {'size': number_text(*shape.size)}
    return dict(zip(('radius', 'length'), map(number_text, shape.size)))


def _add_joint(
    robot: Element, name: str, parent: str, child: str, pose: Array, kind: str = 'fixed'
) -> Element:
    joint = ElementTree.SubElement(robot, 'joint', name=name, type=kind)
    _add_origin(joint, pose)
    ElementTree.SubElement(joint, 'parent', link=parent)
    ElementTree.SubElement(joint, 'child', link=child)
    return joint


def _add_moving(robot: Element, joint: Joint, parent: str, child: str, pose: Array) -> None:
    limits = joint.limits
    free = joint.kind is JointKind.REVOLUTE and not _bounded(joint)
    kind = 'continuous' if free else joint.kind.value
    element = _add_joint(robot, joint.name, parent, child, pose, kind)
    ElementTree.SubElement(element, 'axis', xyz='0 0 1')
    # URDF requires effort and velocity limits, so unknown limits are written as UNLIMITED.
    stated = {'effort': limits.effort, 'velocity': limits.velocity}
    if kind != 'continuous':
        stated = {'lower': limits.lower, 'upper': limits.upper, **stated}
    ElementTree.SubElement(
        element,
        'limit',
        {
            key: number_text(*np.clip([value], -UNLIMITED, UNLIMITED))
            for key, value in stated.items()
        },
    )


def _bounded(joint: Joint) -> bool:
    """Return whether a joint has a lower or an upper position limit."""
    return math.isfinite(joint.limits.lower) or math.isfinite(joint.limits.upper)


def _add_origin(element: Element, pose: Array) -> None:
    ElementTree.SubElement(
        element,
        'origin',
        xyz=number_text(*pose[:3, 3]),
        rpy=number_text(*rpy_from_rotation(pose[:3, :3])),
    )


def number_text(*values: float) -> str:
    """Return numbers as text, rounded to 15 decimals, without trailing zeros."""
    return ' '.join(
        repr(round(float(value), _DECIMALS) + 0.0).removesuffix('.0') for value in values
    )


_TIMESTEP = 1e-3  # s, the period of the robot's own control loop
_JOINT_TYPES = {JointKind.REVOLUTE: 'hinge', JointKind.PRISMATIC: 'slide'}


def mjcf_text(
    description: ArmDescription | str | Path,
    *,
    shapes: Mapping[int, Sequence[Shape]] | None = None,
    tool_shapes: Sequence[Shape] = (),
    ideal: bool = False,
) -> str:
    """
    Return the MJCF of an arm as indented XML, with its limits, shapes and home pose.

    Parameters
    ----------
    description : ArmDescription, str or Path
        The arm with hand and payload, or its name or file.
    shapes : mapping of int to Shapes, optional
        Visual shapes in each DH frame, by its number (0 is the base).
    tool_shapes : sequence of Shape
        Visual shapes of the tool, in the flange frame.
    ideal : bool
        Whether the joints have neither friction nor armature, so that M, C and g of MuJoCo are
        those of the models. Otherwise they have the arm's `simulated_armature`, and its `friction`
        if MJCF can hold it (viscous and Coulomb without an offset), else its `simulated_friction`.

    Returns
    -------
    str
        The XML of the MJCF.

    Raises
    ------
    InertiaError
        If a link is not physical, or has no mass or inertia, which MuJoCo would refuse.

    """
    description = described(description)
    description.require_physical('an MJCF')
    _require_movable(description)
    friction: list[dict[str, str]] = [{}] * description.n
    if not ideal:
        friction = _mjcf_friction(description)
        if description.simulated_armature is not None:
            description = description.with_armature()
    shapes, names = shapes or {}, link_names(description.joint_names)
    root = Element('mujoco', model=description.name)
    # Capital letters in eulerseq mean rotations about fixed axes, like those of URDF's rpy.
    ElementTree.SubElement(root, 'compiler', angle='radian', eulerseq='XYZ')
    ElementTree.SubElement(root, 'option', timestep=number_text(_TIMESTEP), gravity='0 0 -9.81')
    parent = ElementTree.SubElement(root, 'worldbody')
    pose = np.asarray(description.base, dtype=float)
    _add_geoms(parent, [shape.moved(pose) for shape in shapes.get(0, ())])
    for i, (joint, link, name, (before, behind)) in enumerate(
        zip(description.joints, description.links, names.moving, description.joint_placements()),
        start=1,
    ):
        pose = pose @ before @ behind
        parent = ElementTree.SubElement(parent, 'body', {'name': name, **_placement(pose)})
        _add_mjcf_joint(parent, joint, behind, friction[i - 1])
        _add_inertial(parent, link)
        _add_geoms(parent, shapes.get(i, ()))
        pose = np.eye(4)
    flange = description.flange_transform()
    _add_geoms(parent, [shape.moved(flange) for shape in tool_shapes])
    ElementTree.SubElement(parent, 'site', {'name': names.flange, **_placement(flange)})
    _add_motors(root, description)
    if description.home is not None:
        keyframe = ElementTree.SubElement(root, 'keyframe')
        ElementTree.SubElement(keyframe, 'key', name='home', qpos=number_text(*description.home))
    ElementTree.indent(root)
    return f'{ElementTree.tostring(root, encoding="unicode")}\n'


def _require_movable(description: ArmDescription) -> None:
    """Raise an error for a link without mass or inertia or a joint that cannot move."""
    for joint in description.joints:
        if joint.limits.lower == joint.limits.upper:
            raise DescriptionError(
                f'{description.name}: {joint.name} is limited to the one position '
                f'{joint.limits.lower:g}, which MuJoCo refuses; give its limits.'
            )
    names = description.link_names or tuple(f'behind {joint.name}' for joint in description.joints)
    empty = [
        f'{name} ({link.mass:g} kg)'
        for name, link in zip(names, description.links)
        if min(link.mass, *np.linalg.eigvalsh(link.inertia_at_center_of_mass)) < _LEAST_INERTIA
    ]
    if empty:
        raise InertiaError(
            f'{description.name}: MuJoCo moves no link without mass and inertia; give <inertial> '
            f'(in an arm file: mass and inertia) of link {listed(empty)}.'
        )


def write_mjcf(description: ArmDescription | str | Path, path: str | Path, **options: Any) -> None:
    """
    Write the MJCF of an arm to a file, which then appears complete or not at all.

    The options and errors are those of `franka_dynamics.urdf.writer.mjcf_text`, such as `ideal`.

    Raises
    ------
    OutputError
        If the file cannot be written.

    """
    write_text(path, mjcf_text(description, **options))


def _mjcf_friction(description: ArmDescription) -> list[dict[str, str]]:
    """Return each joint's damping [N m s/rad or N s/m] and frictionloss [N m or N], if known."""
    for friction in (description.friction, description.simulated_friction):
        if isinstance(friction, ViscousCoulombFriction) and not friction.offset.any():
            return [
                {'damping': number_text(viscous), 'frictionloss': number_text(coulomb)}
                for viscous, coulomb in zip(friction.viscous, friction.coulomb)
            ]
    return [{}] * description.n


def _placement(pose: Array) -> dict[str, str]:
    return {
        'pos': number_text(*pose[:3, 3]),
        'euler': number_text(*rpy_from_rotation(pose[:3, :3])),
    }


def _add_mjcf_joint(
    body: Element, joint: Joint, behind: Array, friction: Mapping[str, str]
) -> None:
    axis = inverse_transform(behind)
    attributes = {
        'name': joint.name,
        'type': _JOINT_TYPES[joint.kind],
        'pos': number_text(*axis[:3, 3]),
        'axis': number_text(*axis[:3, 2]),
    }
    if _bounded(joint):
        ends = np.clip([joint.limits.lower, joint.limits.upper], -UNLIMITED, UNLIMITED)
        attributes['limited'] = 'true'
        attributes['range'] = number_text(*ends)
    if joint.rotor_inertia:
        attributes['armature'] = number_text(joint.rotor_inertia)
    attributes.update(friction)
    ElementTree.SubElement(body, 'joint', attributes)


def _add_inertial(body: Element, link: LinkInertia) -> None:
    tensor = link.inertia_at_center_of_mass
    six = (tensor[0, 0], tensor[1, 1], tensor[2, 2], tensor[0, 1], tensor[0, 2], tensor[1, 2])
    ElementTree.SubElement(
        body,
        'inertial',
        pos=number_text(*link.center_of_mass),
        mass=number_text(link.mass),
        fullinertia=number_text(*six),
    )


def _add_geoms(body: Element, shapes: Sequence[Shape]) -> None:
    for shape in shapes:
        # MJCF's `size` has half lengths, but whole radii.
        halves = [0.5 * value for value in shape.size]
        size = halves if shape.kind is ShapeKind.BOX else [shape.size[0], *halves[1:]]
        ElementTree.SubElement(
            body,
            'geom',
            {
                'type': shape.kind.value,
                'size': number_text(*size),
                **_placement(shape.pose),
                'contype': '0',
                'conaffinity': '0',
            },
        )


def _add_motors(root: Element, description: ArmDescription) -> None:
    actuators = ElementTree.SubElement(root, 'actuator')
    for joint in description.joints:
        effort = joint.limits.effort
        limits = (
            {'ctrllimited': 'true', 'ctrlrange': number_text(-effort, effort)}
            if np.isfinite(effort)
            else {}
        )
        ElementTree.SubElement(
            actuators, 'motor', {'name': joint.name, 'joint': joint.name, **limits}
        )
