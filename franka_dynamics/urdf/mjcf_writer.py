# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Writes an arm description as an MJCF.

The frames of bodies are those of `arm.frames`, and each actuator is a motor, whose control input
is its joint's torque or force. Geoms do not collide. Joints have the armature and friction that
are known of the real arm, unless the ideal arm is asked for: then MuJoCo computes the rigid-body
dynamics of the model only. Numbers are those of `writer`; MuJoCo's own writer keeps six digits.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple
import xml.etree.ElementTree as ElementTree

import numpy as np

from . import writer
from .document import UniqueNames
from .writer import add_tag, Element
from ..arm.arm_fields import Joint
from ..arm.description import ArmDescription
from ..arm.friction import FrictionModel, LinearFriction
from ..arm.inertia import LinkInertia
from ..arm.shapes import Shape, ShapeKind
from ..arrays import Array
from ..errors import DescriptionError, InertiaError, list_text
from ..spatial import inverse_transform, JointKind, rpy_from_rotation

# MuJoCo finds the principal axes of a full tensor to six digits if its products of inertia are
# smaller than this, relative to its moments.
_MAX_SMALL_INERTIA_PRODUCT_TO_MOMENT = 1e-4
_MAX_INERTIA_PRODUCT_ROUNDING_RATIO = 1e-13  # less are rounding errors
_MUJOCO_MIN_VALUE = 1e-15  # MuJoCo's mjMINVAL, for mass and principal moments of moving links
_TIMESTEP_S = 1e-3  # the period of the robot's own control loop
_MJCF_JOINT_TYPES = {JointKind.REVOLUTE: 'hinge', JointKind.PRISMATIC: 'slide'}


def mjcf_text(
    description: ArmDescription,
    *,
    shapes: Mapping[int, Sequence[Shape]] | None = None,
    tool_shapes: Sequence[Shape] = (),
    ideal: bool = False,
) -> str:
    """
    Return the MJCF of an arm as indented XML, with its limits, shapes and home pose.

    Parameters
    ----------
    description : ArmDescription
        The arm with hand and payload.
    shapes : mapping of int to Shapes, optional
        Visual shapes in each DH frame, by its number (0 is the base).
    tool_shapes : sequence of Shape
        Visual shapes of the tool, in the flange frame.
    ideal : bool
        Whether the joints have neither friction nor armature, so that M, C and g of MuJoCo are
        those of the models. Otherwise they have the arm's `simulated_armature`, and the viscous
        and Coulomb part of its `friction`, else of its `simulated_friction`. A comment says what
        is left out of friction.

    Returns
    -------
    str
        The XML of the MJCF.

    Raises
    ------
    InertiaError
        If a link is not physical, or has no mass or inertia, which MuJoCo would refuse.

    """
    description.require_physical('an MJCF')
    links = writer.links_to_write(description, UniqueNames('world'))
    empty_links = _links_without_body(description, links)
    _require_mass_and_motion(description, empty_links)
    root = Element('mujoco', model=description.name)
    known_friction = None if ideal else _simulated_friction(description)
    friction, left_out = writer.sliding_friction(known_friction, description.n)
    if left_out:
        root.append(ElementTree.Comment(left_out))
    if not ideal and description.simulated_armature is not None:
        description = description.with_armature()
    # Capital letters in eulerseq mean rotations about fixed axes, like those of URDF's rpy.
    add_tag(root, 'compiler', angle='radian', eulerseq='XYZ')
    add_tag(root, 'option', timestep=_TIMESTEP_S, gravity='0 0 -9.81')
    world = add_tag(root, 'worldbody')
    bodies = _add_bodies(
        world, description, links.moving_links, shapes or {}, friction, empty_links
    )
    # The pose of each joint's frame, and first of the space frame, in the frame of its body.
    joint_in_body = [np.eye(4), *(inverse_transform(link.pose) for link in links.moving_links)]
    flange = joint_in_body[-1] @ description.flange_transform()
    _add_geoms(bodies[-1], [shape.expressed_in(flange) for shape in tool_shapes])
    for link in (links.flange, links.base, *links.extra_frames):
        carrier = (world, *bodies)[link.carrier_joint]
        pose = joint_in_body[link.carrier_joint] @ link.pose
        add_tag(carrier, 'site', name=link.name, **_pose_attributes(pose))
    _add_motors(root, description)
    if description.home is not None:
        add_tag(add_tag(root, 'keyframe'), 'key', name='home', qpos=description.home)
    ElementTree.indent(root)
    return f'{ElementTree.tostring(root, encoding="unicode")}\n'


def _links_without_body(description: ArmDescription, links: writer.LinksToWrite) -> set[int]:
    """
    Return the joint numbers of the links that get no body, because MuJoCo refuses massless ones.

    The joint of such a link, as between two joints of a body, is that of the next link's body. A
    link that carries a frame needs its body nevertheless.
    """
    carriers = {frame.carrier_joint for frame in links.extra_frames}
    return {
        number
        for number, link in enumerate(description.links[:-1], 1)
        if not link.parameters().any() and number not in carriers
    }


def _simulated_friction(description: ArmDescription) -> FrictionModel | None:
    """Return the friction to simulate: the arm's, if it has viscous and Coulomb parts."""
    if isinstance(description.friction, LinearFriction):
        return description.friction
    return description.simulated_friction or description.friction


def _add_motors(root: Element, description: ArmDescription) -> None:
    """Add a motor for each joint, limited to its effort where that is known."""
    actuators = add_tag(root, 'actuator')
    for joint in description.joints:
        effort = joint.limits.effort
        limits: dict[str, Any] = {}
        if np.isfinite(effort):
            limits = {'ctrllimited': 'true', 'ctrlrange': (-effort, effort)}
        add_tag(actuators, 'motor', name=joint.name, joint=joint.name, **limits)


class _JointToAdd(NamedTuple):
    """A joint, the pose of a frame on its axis in the link's frame, and its friction."""

    joint: Joint
    axis_pose: Array
    friction: Sequence[float]


def _add_bodies(
    world: Element,
    description: ArmDescription,
    links: Sequence[writer.LinkToWrite],
    shapes: Mapping[int, Sequence[Shape]],
    friction_by_joint: Sequence[tuple[float, ...]],
    empty_links: Collection[int],
) -> list[Element]:
    """
    Add the base's geoms and the bodies of links to a <worldbody>; return each link's body.

    The body of a link that has none is that of the link before.
    """
    # Frames: from the frame of the link before, by the DH frame of the joint before, to the axis
    # of the joint, which moves it to the DH frame of the joint, and to the link's own frame.
    bodies = [world]
    dh_in_previous_link = np.asarray(description.base)
    link_in_body = np.eye(4)  # of the link in the last body that was added
    joints_to_add: list[_JointToAdd] = []
    base_shapes = [shape.expressed_in(dh_in_previous_link) for shape in shapes.get(0, ())]
    _add_geoms(world, base_shapes)
    moving = zip(
        description.joints,
        description.links,
        links,
        description.joint_placements(),
        friction_by_joint,
    )
    for joint, inertia, link, (axis_in_previous_dh, dh_in_axis), joint_friction in moving:
        link_in_axis = dh_in_axis @ link.pose
        dh_in_link = inverse_transform(link.pose)
        link_in_previous = dh_in_previous_link @ axis_in_previous_dh @ link_in_axis
        previous_in_link = inverse_transform(link_in_previous)
        link_in_body = link_in_body @ link_in_previous
        joints_to_add = [
            waiting._replace(axis_pose=previous_in_link @ waiting.axis_pose)
            for waiting in joints_to_add
        ]
        own_axis = inverse_transform(link_in_axis)
        joints_to_add.append(_JointToAdd(joint, own_axis, joint_friction))
        dh_in_previous_link = dh_in_link
        if link.carrier_joint in empty_links:
            bodies.append(bodies[-1])
            continue
        body = add_tag(bodies[-1], 'body', name=link.name, **_pose_attributes(link_in_body))
        bodies.append(body)
        for waiting in joints_to_add:
            _add_joint(body, *waiting)
        joints_to_add = []
        link_in_body = np.eye(4)
        in_link = inertia.expressed_in(dh_in_link)
        add_tag(
            body,
            'inertial',
            pos=in_link.center_of_mass,
            mass=in_link.mass,
            **_tensor_attributes(in_link),
        )
        link_shapes = shapes.get(link.carrier_joint, ())
        _add_geoms(body, [shape.expressed_in(dh_in_link) for shape in link_shapes])
    return bodies[1:]


def _tensor_attributes(link: LinkInertia) -> dict[str, Any]:
    """Return the <inertial> attributes that state a link's tensor about its centre of mass."""
    tensor = link.inertia_at_center_of_mass
    products = tensor[np.triu_indices(3, 1)]
    ratio = np.abs(products).max() / max(np.abs(tensor).max(), _MUJOCO_MIN_VALUE)
    if not _MAX_INERTIA_PRODUCT_ROUNDING_RATIO < ratio < _MAX_SMALL_INERTIA_PRODUCT_TO_MOMENT:
        return {'fullinertia': [*np.diag(tensor), *products]}
    moments, axes = np.linalg.eigh(tensor)
    axes *= np.sign(np.linalg.det(axes))  # right-handed
    return {'diaginertia': moments, 'euler': rpy_from_rotation(axes)}


def _require_mass_and_motion(description: ArmDescription, excluded_links: Collection[int]) -> None:
    """Raise InertiaError for links without mass or inertia, DescriptionError for equal limits."""
    for joint in description.joints:
        if joint.limits.lower == joint.limits.upper:
            raise DescriptionError(
                f'{description.name}: {joint.name} is limited to the one position '
                f'{joint.limits.lower:g}, which MuJoCo refuses; give its limits.'
            )
    empty = [
        f'{name} ({link.mass:g} kg)'
        for i, (name, link) in enumerate(zip(description.link_names, description.links), 1)
        if i not in excluded_links
        and min(link.mass, *np.linalg.eigvalsh(link.inertia_at_center_of_mass)) < _MUJOCO_MIN_VALUE
    ]
    if empty:
        where = description.urdf.words.inertial if description.urdf else 'mass and inertia'
        raise InertiaError(f'MuJoCo needs {where} of {list_text(empty)} in {description.name}.')


def _pose_attributes(pose: Array) -> dict[str, Array]:
    """Return the attributes pos and euler of a pose (4, 4)."""
    return {'pos': pose[:3, 3], 'euler': rpy_from_rotation(pose[:3, :3])}


def _add_joint(body: Element, joint: Joint, axis_pose: Array, friction: Sequence[float]) -> None:
    """Add a joint to a <body>; `axis_pose` is the pose of a frame whose z is the joint's axis."""
    known: dict[str, Any] = {}
    if writer.has_position_limits(joint):
        ends = writer.finite_limits([joint.limits.lower, joint.limits.upper])
        known = {'limited': 'true', 'range': ends}
    if joint.rotor_inertia:
        known['armature'] = joint.rotor_inertia
    known |= zip(('damping', 'frictionloss'), friction)
    kind = _MJCF_JOINT_TYPES[joint.kind]
    turns = joint.kind is JointKind.REVOLUTE
    place = {
        'pos': axis_pose[:3, 3] if turns else np.zeros(3),
        'axis': axis_pose[:3, 2],
    }
    add_tag(body, 'joint', name=joint.name, type=kind, **place, **known)


def _add_geoms(body: Element, shapes: Sequence[Shape]) -> None:
    """Add shapes to a <body> as geoms that do not collide."""
    for shape in shapes:
        # MJCF's `size` has half lengths, but whole radii.
        size = 0.5 * np.array(shape.size)
        if shape.kind is not ShapeKind.BOX:
            size[0] = shape.size[0]
        place = _pose_attributes(shape.pose)
        untouched = {'contype': '0', 'conaffinity': '0'}
        add_tag(body, 'geom', type=shape.kind.value, size=size, **place, **untouched)
