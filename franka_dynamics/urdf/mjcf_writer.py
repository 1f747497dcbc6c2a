# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
An arm description -> MJCF, every number in full: MuJoCo's own writer keeps six digits.

Bodies are the DH frames, the actuators are torque motors. Joints have neither friction nor
damping and geoms touch nothing, so that what MuJoCo computes is the rigid-body dynamics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import xml.etree.ElementTree as ElementTree

import numpy as np
from numpy.typing import NDArray

from .writer import link_names, number_text
from ..arm.denavit_hartenberg import Convention
from ..arm.description import ArmDescription, Joint
from ..arm.inertia import LinkInertia
from ..arm.shapes import Shape, ShapeKind
from ..spatial import inverse_transform, JointKind, rpy_from_rotation

_TIMESTEP = 1e-3  # s, the rate of the robot's own control loop
_JOINT_TYPES = {JointKind.REVOLUTE: 'hinge', JointKind.PRISMATIC: 'slide'}
Element = ElementTree.Element


def write_mjcf(
    description: ArmDescription,
    *,
    shapes: Mapping[int, Sequence[Shape]] | None = None,
    tool_shapes: Sequence[Shape] = (),
) -> str:
    """
    Return the MJCF of an arm, with its limits, looks and home pose, ending in a newline.

    Parameters
    ----------
    description : ArmDescription
        The arm with all that it carries.
    shapes : mapping of int to Shapes, optional
        What is seen of it, by DH frame (0 is the base) and in that frame.
    tool_shapes : sequence of Shape
        What is seen of the tool, in the flange frame.

    Raises
    ------
    InertiaError
        If a link is not physical: MuJoCo would refuse it.

    """
    description.require_physical('an MJCF')
    shapes, names = shapes or {}, link_names(description.joint_names)
    root = Element('mujoco', model=description.name)
    # Capital letters: turns about fixed axes, as URDF's rpy.
    ElementTree.SubElement(root, 'compiler', angle='radian', eulerseq='XYZ')
    ElementTree.SubElement(root, 'option', timestep=number_text(_TIMESTEP), gravity='0 0 -9.81')
    parent = ElementTree.SubElement(root, 'worldbody')
    pose = np.asarray(description.base, dtype=float)
    _add_geoms(parent, [shape.moved(pose) for shape in shapes.get(0, ())])
    for i, (joint, link, name) in enumerate(
        zip(description.joints, description.links, names.moving), start=1
    ):
        row = joint.row.transform(description.convention)
        parent = ElementTree.SubElement(parent, 'body', {'name': name, **_placement(pose @ row)})
        _add_joint(parent, joint, row, description.convention)
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


def _placement(pose: NDArray[np.float64]) -> dict[str, str]:
    return {
        'pos': number_text(*pose[:3, 3]),
        'euler': number_text(*rpy_from_rotation(pose[:3, :3])),
    }


def _add_joint(
    body: Element,
    joint: Joint,
    row: NDArray[np.float64],
    convention: Convention,
) -> None:
    # A standard row comes behind the joint's motion: its axis is z of the frame before.
    axis = np.eye(4) if convention is Convention.MODIFIED else inverse_transform(row)
    attributes = {
        'name': joint.name,
        'type': _JOINT_TYPES[joint.kind],
        'pos': number_text(*axis[:3, 3]),
        'axis': number_text(*axis[:3, 2]),
    }
    if np.isfinite([joint.limits.lower, joint.limits.upper]).all():
        attributes['limited'] = 'true'
        attributes['range'] = number_text(joint.limits.lower, joint.limits.upper)
    if joint.rotor_inertia:
        attributes['armature'] = number_text(joint.rotor_inertia)
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
        # MuJoCo takes half lengths, but whole radii.
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
