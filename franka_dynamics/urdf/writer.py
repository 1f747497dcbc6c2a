# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Writes an arm description as URDF or MJCF.

The frame of a URDF's link lies on its joint's axis. In the modified convention the link's frame is
the DH frame, as in Franka's own URDFs. A standard DH frame lies at the far end of its link, so the
link's frame is the previous DH frame, moved by the joint. The choice of link frames changes
neither kinematics nor dynamics.

Numbers have up to 15 decimals, small masses and tensors 12 digits; MuJoCo's own writer keeps six.
In MJCF the body frames are the DH frames, and each actuator is a motor, whose control input is its
joint's torque or force. Geoms do not collide. Joints have the armature and friction that are known
of the real arm, unless the ideal arm is asked for: then MuJoCo computes the rigid-body dynamics of
the model only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import math
from typing import Any
import xml.etree.ElementTree as ElementTree

import numpy as np
from numpy.typing import ArrayLike

from .document import UNLIMITED_JOINT_LIMIT
from ..arm.description import ArmDescription, Joint
from ..arm.friction import Friction, LinearFriction
from ..arm.inertia import LinkInertia, six_from_tensor, TENSOR_ORDER
from ..arm.link_names import link_names
from ..arm.shapes import Shape, ShapeKind
from ..errors import DescriptionError, InertiaError, listed
from ..spatial import inverse_transform, JointKind, rpy_from_rotation
from ..typing import Array

# Decimals of the written values (m, rad, kg, kg m^2); further digits are rounding errors, but of
# values that are small beside 1 as a whole: they have _DIGITS significant digits.
_DECIMALS, _DIGITS = 15, 12
_LENGTHS_AND_ANGLES = ('xyz', 'rpy', 'pos', 'euler', 'axis')
_MIN_INERTIA = 1e-15  # MuJoCo's mjMINVAL, for mass and principal moments of moving links
# Invented inertia of a fixed base, written if the arm's description has none. It has no effect on
# the joints, but without it Gazebo ignores the whole arm.
_STANDING = LinkInertia.from_center_of_mass(1.0, np.zeros(3), 0.004 * np.eye(3))
Element = ElementTree.Element


def urdf_text(
    description: ArmDescription,
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
    description : ArmDescription
        The arm; a hand or payload in its last link stays in that link.
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
        The XML of the URDF, with the viscous and Coulomb friction of the arm. Comments list
        its rotor inertias, which URDF cannot hold, and what is left out of friction.

    Raises
    ------
    InertiaError
        If a link is not physical, which Gazebo and MuJoCo would refuse.

    """
    description.require_physical('a URDF')
    names, shapes = link_names(description.joint_names), shapes or {}
    robot = Element('robot', name=description.name)
    friction, left_out = _simulated_friction(description.friction, description.n)
    for comment in filter(None, (_rotors(description), left_out)):
        robot.append(ElementTree.Comment(comment))
    # The base's link lies in the space frame {S}; its shapes and inertia are given in frame {0}.
    parent, pose, standing = names.base, np.asarray(description.base), description.base_link
    inertia = _STANDING if standing is None else standing.expressed_in(pose)
    of_base = [shape.expressed_in(pose) for shape in shapes.get(0, ())]
    _add_link(robot, root)
    _add_fixed(robot, root, parent, np.eye(4), inertia, of_base)
    placements = description.joint_placements()
    moving = zip(description.joints, description.links, names.moving, placements, friction)
    for i, (joint, link, name, (before, offset), rubbing) in enumerate(moving, start=1):
        _add_moving(robot, joint, parent, name, pose @ before, rubbing)
        moved = [shape.expressed_in(offset) for shape in shapes.get(i, ())]
        _add_link(robot, name, link.expressed_in(offset), moved)
        parent, pose = name, offset
    flange = names.flange
    _add_fixed(robot, parent, flange, pose @ description.flange_transform())
    for name, at, place in _further_frames(description):
        carrier, pose = (
            (flange, np.eye(4)) if at is None else (names.moving[at], placements[at][1])
        )
        _add_fixed(robot, carrier, name, pose @ place)
    if tool is not None:
        _add_fixed(robot, flange, tool[0], np.eye(4), tool[1], tool_shapes)
    return xml_text(robot)


def _rotors(description: ArmDescription) -> str:
    """Return a comment on the rotor inertias, empty if there are none."""
    rotors = ', '.join(
        f'{joint.name} {number_text(joint.rotor_inertia)}'
        for joint in description.joints
        if joint.rotor_inertia
    )
    return rotors and f' Left out, as URDF has no rotor inertias [kg m^2]: {rotors} '


def _further_frames(description: ArmDescription) -> Iterator[tuple[str, int | None, Array]]:
    """Yield name, joint (from 0; None: the flange) and pose of frames that are no link already."""
    names = link_names(description.joint_names)
    known = {names.base, *names.moving, names.flange}
    for frame in description.fixed_frames:
        name = frame.name if frame.name.startswith(names.prefix) else names.prefix + frame.name
        if name not in known:
            known.add(name)
            yield name, None if frame.joint is None else frame.joint - 1, frame.matrix()


def xml_text(robot: Element) -> str:
    """Return an XML element as the text of an indented XML document."""
    ElementTree.indent(robot)
    return f'<?xml version="1.0"?>\n{ElementTree.tostring(robot, encoding="unicode")}\n'


def add(parent: Element, tag: str, **attributes: Any) -> Element:
    """Add an XML element to `parent` and return it; attributes may be text, numbers or arrays."""
    texts = {
        key: value
        if isinstance(value, str)
        else number_text(*np.ravel(value), small=key not in _LENGTHS_AND_ANGLES)
        for key, value in attributes.items()
    }
    return ElementTree.SubElement(parent, tag, texts)


def number_text(*values: float, small: bool = True) -> str:
    """
    Return numbers as text, separated by blanks, rounded to 15 decimals.

    If all are `small`, they are rounded to 12 significant digits of the largest.
    """
    largest, decimals = max(map(abs, values), default=0.0), _DECIMALS
    if small and largest:
        decimals = max(decimals, _DIGITS - 1 - math.floor(math.log10(largest)))
    return ' '.join(
        repr(round(float(value), decimals) + 0.0).removesuffix('.0') for value in values
    )


def _add_link(
    robot: Element, name: str, inertia: LinkInertia | None = None, shapes: Sequence[Shape] = ()
) -> None:
    link = add(robot, 'link', name=name)
    add_shapes(link, shapes)
    if inertia is not None and inertia.parameters().any():
        add_inertial(link, inertia)


def add_shapes(link: Element, shapes: Sequence[Shape]) -> None:
    """Add shapes to a <link> as visual and collision elements."""
    for shape in (part for whole in shapes for part in whole.urdf_primitives()):
        size: dict[str, Any] = dict(zip(('radius', 'length'), shape.size))
        if shape.kind is ShapeKind.BOX:
            size = {'size': shape.size}
        for tag in ('visual', 'collision'):
            element = add(link, tag)
            _add_origin(element, shape.pose)
            add(add(element, 'geometry'), shape.kind.value, **size)


def add_inertial(link: Element, inertia: LinkInertia) -> None:
    """Add an <inertial> to a <link>: centre of mass, mass and tensor about the centre of mass."""
    inertial, center = add(link, 'inertial'), np.eye(4)
    center[:3, 3] = inertia.center_of_mass
    _add_origin(inertial, center)
    add(inertial, 'mass', value=inertia.mass)
    six = number_text(*six_from_tensor(inertia.inertia_at_center_of_mass)).split()
    add(inertial, 'inertia', **{f'i{axes}': text for axes, text in zip(TENSOR_ORDER, six)})


def _add_joint(
    robot: Element, name: str, parent: str, child: str, pose: Array, kind: str = 'fixed'
) -> Element:
    joint = add(robot, 'joint', name=name, type=kind)
    _add_origin(joint, pose)
    add(joint, 'parent', link=parent)
    add(joint, 'child', link=child)
    return joint


def _add_fixed(
    robot: Element,
    parent: str,
    child: str,
    pose: Array,
    inertia: LinkInertia | None = None,
    shapes: Sequence[Shape] = (),
) -> None:
    _add_joint(robot, f'{child}_joint', parent, child, pose)
    _add_link(robot, child, inertia, shapes)


def _add_moving(
    robot: Element,
    joint: Joint,
    parent: str,
    child: str,
    pose: Array,
    friction: tuple[float, float] | None,
) -> None:
    free = joint.kind is JointKind.REVOLUTE and not _bounded(joint)
    stated = [*(() if free else ('lower', 'upper')), 'effort', 'velocity']
    kind = 'continuous' if free else joint.kind.value
    element = _add_joint(robot, joint.name, parent, child, pose, kind)
    add(element, 'axis', xyz='0 0 1')
    # URDF requires effort and velocity limits, so unknown limits are written as
    # UNLIMITED_JOINT_LIMIT.
    add(element, 'limit', **{key: _finite(getattr(joint.limits, key)) for key in stated})
    if friction is not None:
        add(element, 'dynamics', damping=friction[0], friction=friction[1])


def _simulated_friction(
    friction: Friction | None, n: int
) -> tuple[Sequence[tuple[float, float] | None], str]:
    """
    Return what URDF and MJCF can hold of a friction model, and a comment on what they cannot.

    Per joint that is viscous [N m s/rad or N s/m], and Coulomb with all Maxwell-slip elements
    slipping [N m or N]; None without friction, or with a model of another kind.
    """
    if not isinstance(friction, LinearFriction):
        other = '' if friction is None else f' Left out: {type(friction).__name__} '
        return [None] * n, other
    held = list(zip(friction.viscous, friction.coulomb + friction.slip.sum(axis=0)))
    if not (friction.offset.any() or friction.slip.any()):
        return held, ''
    offsets = number_text(*friction.offset)
    return held, f' Left out of friction: presliding, and offsets of efforts [N m]: {offsets} '


def _bounded(joint: Joint) -> bool:
    """Return whether a joint has a lower or an upper position limit."""
    return math.isfinite(joint.limits.lower) or math.isfinite(joint.limits.upper)


def _finite(limits: ArrayLike) -> Array:
    return np.clip(limits, -UNLIMITED_JOINT_LIMIT, UNLIMITED_JOINT_LIMIT)


def _add_origin(element: Element, pose: Array) -> None:
    add(element, 'origin', xyz=pose[:3, 3], rpy=rpy_from_rotation(pose[:3, :3]))


_TIMESTEP = 1e-3  # s, the period of the robot's own control loop
_JOINT_TYPES = {JointKind.REVOLUTE: 'hinge', JointKind.PRISMATIC: 'slide'}


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
        and Coulomb part of its `friction`, else of its `simulated_friction`. A comment
        says what is left out of friction.

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
    _require_movable(description)
    root = Element('mujoco', model=description.name)
    known = None if ideal else description.friction
    if not (ideal or isinstance(known, LinearFriction)):
        known = description.simulated_friction or known
    friction, left_out = _simulated_friction(known, description.n)
    if left_out:
        root.append(ElementTree.Comment(left_out))
    if not ideal and description.simulated_armature is not None:
        description = description.with_armature()
    # Capital letters in eulerseq mean rotations about fixed axes, like those of URDF's rpy.
    add(root, 'compiler', angle='radian', eulerseq='XYZ')
    add(root, 'option', timestep=_TIMESTEP, gravity='0 0 -9.81')
    last = _add_bodies(add(root, 'worldbody'), description, shapes or {}, friction)
    flange = description.flange_transform()
    _add_geoms(last, [shape.expressed_in(flange) for shape in tool_shapes])
    add(last, 'site', name=link_names(description.joint_names).flange, **_placement(flange))
    actuators = add(root, 'actuator')
    for joint in description.joints:
        effort, limits = joint.limits.effort, dict[str, Any]()
        if np.isfinite(effort):
            limits = {'ctrllimited': 'true', 'ctrlrange': (-effort, effort)}
        add(actuators, 'motor', name=joint.name, joint=joint.name, **limits)
    if description.home is not None:
        add(add(root, 'keyframe'), 'key', name='home', qpos=description.home)
    ElementTree.indent(root)
    return f'{ElementTree.tostring(root, encoding="unicode")}\n'


def _add_bodies(
    world: Element,
    description: ArmDescription,
    shapes: Mapping[int, Sequence[Shape]],
    friction: Sequence[tuple[float, float] | None],
) -> Element:
    """Add the base's geoms and the moving bodies to a <worldbody>; return the last body."""
    parent, pose = world, np.asarray(description.base)
    _add_geoms(parent, [shape.expressed_in(pose) for shape in shapes.get(0, ())])
    names, placements = link_names(description.joint_names), description.joint_placements()
    moving = zip(description.joints, description.links, names.moving, placements, friction)
    for i, (joint, link, name, (before, behind), rubbing) in enumerate(moving, start=1):
        parent = add(parent, 'body', name=name, **_placement(pose @ before @ behind))
        _add_mjcf_joint(parent, joint, behind, rubbing)
        tensor = link.inertia_at_center_of_mass
        for site, at, place in _further_frames(description):
            if at == i - 1 or (at is None and i == description.n):
                place = place if at is not None else description.flange_transform() @ place
                add(parent, 'site', name=site, **_placement(place))
        six = [*np.diag(tensor), *tensor[np.triu_indices(3, 1)]]
        add(parent, 'inertial', pos=link.center_of_mass, mass=link.mass, fullinertia=six)
        _add_geoms(parent, shapes.get(i, ()))
        pose = np.eye(4)
    return parent


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
        if min(link.mass, *np.linalg.eigvalsh(link.inertia_at_center_of_mass)) < _MIN_INERTIA
    ]
    if empty:
        where = description.urdf.words.inertial if description.urdf else 'mass and inertia'
        raise InertiaError(
            f'{description.name}: MuJoCo moves no link without mass and inertia; give {where} of '
            f'{listed(empty)}.'
        )


def _placement(pose: Array) -> dict[str, Array]:
    return {'pos': pose[:3, 3], 'euler': rpy_from_rotation(pose[:3, :3])}


def _add_mjcf_joint(
    body: Element, joint: Joint, behind: Array, friction: tuple[float, float] | None
) -> None:
    axis, known = inverse_transform(behind), dict[str, Any]()
    if _bounded(joint):
        ends = _finite([joint.limits.lower, joint.limits.upper])
        known = {'limited': 'true', 'range': ends}
    if joint.rotor_inertia:
        known['armature'] = joint.rotor_inertia
    if friction is not None:
        known |= {'damping': friction[0], 'frictionloss': friction[1]}
    kind = _JOINT_TYPES[joint.kind]
    place = {'pos': axis[:3, 3], 'axis': axis[:3, 2]}
    add(body, 'joint', name=joint.name, type=kind, **place, **known)


def _add_geoms(body: Element, shapes: Sequence[Shape]) -> None:
    for shape in shapes:
        # MJCF's `size` has half lengths, but whole radii.
        size = 0.5 * np.array(shape.size)
        if shape.kind is not ShapeKind.BOX:
            size[0] = shape.size[0]
        place, untouched = _placement(shape.pose), {'contype': '0', 'conaffinity': '0'}
        add(body, 'geom', type=shape.kind.value, size=size, **place, **untouched)
