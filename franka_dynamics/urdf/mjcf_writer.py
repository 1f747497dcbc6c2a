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
from typing import Any
import xml.etree.ElementTree as ElementTree

import numpy as np

from . import writer
from .document import UniqueNames
from .writer import add_tag, Element
from ..arm.arm_fields import Joint
from ..arm.description import ArmDescription
from ..arm.friction import LinearFriction
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
_TIMESTEP_S = 1e-3  # s, the period of the robot's own control loop
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
    # A link without mass, as between two joints of a body, is no body: the next one has its joint.
    empty = {i for i, one in enumerate(description.links[:-1], 1) if not one.parameters().any()}
    empty -= {one.carrier_joint for one in links.extra_frames}
    _require_mass_and_motion(description, empty)
    root = Element('mujoco', model=description.name)
    known = None if ideal else description.friction
    if not (ideal or isinstance(known, LinearFriction)):
        known = description.simulated_friction or known
    friction, left_out = writer.sliding_friction(known, description.n)
    if left_out:
        root.append(ElementTree.Comment(left_out))
    if not ideal and description.simulated_armature is not None:
        description = description.with_armature()
    # Capital letters in eulerseq mean rotations about fixed axes, like those of URDF's rpy.
    add_tag(root, 'compiler', angle='radian', eulerseq='XYZ')
    add_tag(root, 'option', timestep=_TIMESTEP_S, gravity='0 0 -9.81')
    world = add_tag(root, 'worldbody')
    bodies = _add_bodies(world, description, links.moving_links, shapes or {}, friction, empty)
    flange = description.flange_transform()
    own = [np.eye(4), *(inverse_transform(one.pose) for one in links.moving_links)]
    _add_geoms(bodies[-1], [shape.expressed_in(own[-1] @ flange) for shape in tool_shapes])
    for one in (links.flange, links.base, *links.extra_frames):
        k = one.carrier_joint
        pose = own[one.carrier_joint] @ one.pose
        add_tag((world, *bodies)[k], 'site', name=one.name, **_pose_attributes(pose))
    actuators = add_tag(root, 'actuator')
    for joint in description.joints:
        effort = joint.limits.effort
        limits = dict[str, Any]()
        if np.isfinite(effort):
            limits = {'ctrllimited': 'true', 'ctrlrange': (-effort, effort)}
        add_tag(actuators, 'motor', name=joint.name, joint=joint.name, **limits)
    if description.home is not None:
        add_tag(add_tag(root, 'keyframe'), 'key', name='home', qpos=description.home)
    ElementTree.indent(root)
    return f'{ElementTree.tostring(root, encoding="unicode")}\n'


def _add_bodies(
    world: Element,
    description: ArmDescription,
    links: Sequence[writer.LinkToWrite],
    shapes: Mapping[int, Sequence[Shape]],
    friction_by_joint: Sequence[tuple[float, ...]],
    empty_links: Collection[int],
) -> list[Element]:
    """Add base geoms and bodies to a <worldbody>; return links' bodies (massless: that before)."""
    pose = np.asarray(description.base)
    bodies = [world]
    place = np.eye(4)
    waiting = list[tuple[Joint, Array, Sequence[float]]]()
    _add_geoms(world, [shape.expressed_in(pose) for shape in shapes.get(0, ())])
    placements = description.joint_placements()
    moving = zip(description.joints, description.links, links, placements, friction_by_joint)
    for joint, inertia, link, (before, behind), joint_friction in moving:
        at = behind @ link.pose
        back = inverse_transform(link.pose)
        step = pose @ before @ at
        pose = back
        place = place @ step
        waiting = [(one, inverse_transform(step) @ axis, rub) for one, axis, rub in waiting]
        waiting.append((joint, inverse_transform(at), joint_friction))
        if link.carrier_joint in empty_links:
            bodies.append(bodies[-1])
            continue
        body = add_tag(bodies[-1], 'body', name=link.name, **_pose_attributes(place))
        bodies.append(body)
        for one in waiting:
            _add_joint(body, *one)
        place = np.eye(4)
        waiting = []
        own = inertia.expressed_in(back)
        add_tag(
            body,
            'inertial',
            pos=own.center_of_mass,
            mass=own.mass,
            **_tensor_attributes(own),
        )
        _add_geoms(body, [one.expressed_in(back) for one in shapes.get(link.carrier_joint, ())])
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
    known = dict[str, Any]()
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
