# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Writes an arm description as a URDF, and chooses the links to write to a URDF or an MJCF.

The frames of links are those of `arm.frames`; one that does not lie on its joint's axis, as URDF
wants it, is a link fixed to the moving one. A link that the file needs besides gets a name that no
other has. Numbers have up to 15 decimals, small masses and tensors 12 digits.
"""

from collections.abc import Mapping, Sequence
import math
from typing import Any, NamedTuple
import xml.etree.ElementTree as ElementTree

import numpy as np

from .document import UniqueNames
from .serial_chain import read_chain
from .urdf_parser import UNLIMITED_JOINT_LIMIT
from ..arm.arm_fields import Joint, link_names
from ..arm.description import ArmDescription
from ..arm.frames import (
    fixed_frame_placements,
    FramePlacement,
    link_placements,
    ROOT_LINK,
)
from ..arm.friction import Friction, LinearFriction
from ..arm.inertia import elements_from_tensor, LinkInertia, TENSOR_ORDER
from ..arm.shapes import Shape, ShapeKind
from ..arrays import Array, ArrayLike
from ..spatial import inverse_transform, JointKind, rpy_from_rotation

# Decimals of the written values (m, rad, kg, kg m^2); further digits are rounding errors.
_MAX_DECIMAL_COUNT = 15
# Digits of values that are small beside 1 as a whole.
_SIGNIFICANT_DIGIT_COUNT = 12
_LENGTH_AND_ANGLE_ATTRIBUTES = ('xyz', 'rpy', 'pos', 'euler', 'axis')
_MAX_OFF_AXIS_DISTANCE_M = 1e-9  # largest distance of a frame's origin from an axis through it
# Invented inertia of a fixed base, written if the arm's description has none. It has no effect on
# the joints, but without it Gazebo ignores the whole arm.
_INVENTED_BASE_INERTIA = LinkInertia.from_center_of_mass(1.0, np.zeros(3), 0.004 * np.eye(3))
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
    Return the URDF of an arm as indented XML; raise InertiaError if a link is not physical.

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
    UrdfError
        If the text cannot be read as this arm's URDF: a name has characters that XML has not.

    """
    description.require_physical('a URDF')
    unique_name = UniqueNames()
    links = links_to_write(description, unique_name, root=root, on_axes=True)
    robot = Element('robot', name=description.name)
    joint_name = UniqueNames(*description.joint_names)
    friction, left_out = sliding_friction(description.friction, description.n)
    for comment in (_rotor_inertia_comment(description), left_out):
        if comment:
            robot.append(ElementTree.Comment(comment))

    def add_fixed_link(parent: str, child: str, pose: Array, *link_content: Any) -> None:
        """Add a link and the fixed joint that places it in its parent."""
        _add_joint(robot, joint_name(f'{child}_joint'), 'fixed', parent, child, pose)
        _add_link(robot, child, *link_content)

    shapes = shapes or {}
    _add_link(robot, links.root_name)
    base = links.base
    # The base's shapes and inertia are given in frame {0}, which the base's link need not have.
    space_in_base = inverse_transform(base.pose)
    dh_in_base = space_in_base @ description.base
    base_inertia = _INVENTED_BASE_INERTIA
    if description.base_link is not None:
        base_inertia = description.base_link.expressed_in(dh_in_base)
    base_shapes = [shape.expressed_in(dh_in_base) for shape in shapes.get(0, ())]
    add_fixed_link(links.root_name, base.name, base.pose, base_inertia, base_shapes)
    joints_in_links = _add_moving_links(robot, description, links, dh_in_base, shapes, friction)
    # Poses of the joints in the frames of their links, the first one that of the space frame.
    joints_in_links = [space_in_base, *joints_in_links]
    for frame in (links.flange, *links.extra_frames):
        carrier = (base, *links.moving_links)[frame.carrier_joint]
        add_fixed_link(carrier.name, frame.name, joints_in_links[frame.carrier_joint] @ frame.pose)
    if tool is not None:
        tool_name, tool_inertia = tool
        add_fixed_link(
            links.flange.name, unique_name(tool_name), np.eye(4), tool_inertia, tool_shapes
        )
    text = xml_text(robot)
    # A name may have characters that XML lacks, which nothing checks before.
    read_chain(text, description.joint_names, f'The URDF of {description.name}')
    return text


def _add_moving_links(
    robot: Element,
    description: ArmDescription,
    links: 'LinksToWrite',
    dh_in_base: Array,
    shapes: Mapping[int, Sequence[Shape]],
    friction: Sequence[tuple[float, ...]],
) -> list[Array]:
    """
    Add the moving joints and their links; return each joint's pose in the frame of its link.

    `dh_in_base` is the pose of frame {0} in the base's link.
    """
    # From the frame of the link before, by the DH frame of the joint before, to the axis of the
    # joint, which moves it to the DH frame of the joint, and to the link's own frame.
    previous = links.base
    dh_in_previous_link = dh_in_base
    joints_in_links: list[Array] = []
    moving = zip(
        description.joints,
        description.links,
        links.moving_links,
        description.joint_placements(),
        friction,
    )
    for joint, inertia, link, (axis_in_previous_dh, dh_in_axis), joint_friction in moving:
        link_in_axis = dh_in_axis @ link.pose
        dh_in_link = inverse_transform(link.pose)
        pose = dh_in_previous_link @ axis_in_previous_dh @ link_in_axis
        axis = link_in_axis[2, :3]
        _add_moving_joint(robot, joint, previous.name, link.name, pose, axis, joint_friction)
        link_shapes = shapes.get(link.carrier_joint, ())
        moved_shapes = [shape.expressed_in(dh_in_link) for shape in link_shapes]
        _add_link(robot, link.name, inertia.expressed_in(dh_in_link), moved_shapes)
        previous = link
        dh_in_previous_link = dh_in_link
        joints_in_links.append(dh_in_link)
    return joints_in_links


def _rotor_inertia_comment(description: ArmDescription) -> str:
    """Return an XML comment's text on rotor inertias, which URDF lacks; '' if all are 0."""
    geared = [joint for joint in description.joints if joint.rotor_inertia]
    if not geared:
        return ''
    rotors = ', '.join(f'{joint.name} {number_text(joint.rotor_inertia)}' for joint in geared)
    slides = any(joint.kind is JointKind.PRISMATIC for joint in geared)
    units = 'kg m^2, of sliding joints kg' if slides else 'kg m^2'
    return f' Left out, as URDF has no rotor inertias [{units}]: {rotors} '


def xml_text(root_element: Element) -> str:
    """Return an XML element as the text of an indented XML document."""
    ElementTree.indent(root_element)
    return f'<?xml version="1.0"?>\n{ElementTree.tostring(root_element, encoding="unicode")}\n'


def add_tag(parent: Element, tag: str, **attributes: Any) -> Element:
    """Add an XML element to `parent` and return it; attributes may be text, numbers or arrays."""
    texts = {}
    for key, value in attributes.items():
        keep_digits = key not in _LENGTH_AND_ANGLE_ATTRIBUTES
        is_text = isinstance(value, str)
        texts[key] = value if is_text else number_text(*np.ravel(value), keep_digits=keep_digits)
    return ElementTree.SubElement(parent, tag, texts)


def number_text(*values: float, keep_digits: bool = True) -> str:
    """
    Return numbers as text, separated by blanks, with up to 15 decimals or 12 digits.

    With `keep_digits`, small numbers are rounded to 12 significant digits of the largest.
    """
    largest = max(map(abs, values), default=0.0)
    decimals = _MAX_DECIMAL_COUNT
    if keep_digits and largest:
        decimals = max(decimals, _SIGNIFICANT_DIGIT_COUNT - 1 - math.floor(math.log10(largest)))
    rounded = (round(float(value), decimals) + 0.0 for value in values)
    return ' '.join(repr(value).removesuffix('.0') for value in rounded)


def _add_link(
    robot: Element,
    name: str,
    inertia: LinkInertia | None = None,
    shapes: Sequence[Shape] = (),
) -> None:
    """Add a <link> with shapes and, if `inertia` is neither None nor zero, an <inertial>."""
    link = add_tag(robot, 'link', name=name)
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
            element = add_tag(link, tag)
            _add_origin(element, shape.pose)
            add_tag(add_tag(element, 'geometry'), shape.kind.value, **size)


def add_inertial(link: Element, inertia: LinkInertia) -> None:
    """Add an <inertial> with mass, centre of mass and tensor about the latter to a <link>."""
    inertial = add_tag(link, 'inertial')
    center = np.eye(4)
    center[:3, 3] = inertia.center_of_mass
    _add_origin(inertial, center)
    add_tag(inertial, 'mass', value=inertia.mass)
    # Written together, because all six are rounded to digits of the largest.
    six = number_text(*elements_from_tensor(inertia.inertia_at_center_of_mass)).split()
    add_tag(
        inertial,
        'inertia',
        **{f'i{axes}': text for axes, text in zip(TENSOR_ORDER, six)},
    )


def _add_joint(
    robot: Element, name: str, kind: str, parent: str, child: str, pose: Array
) -> Element:
    """Add a <joint> of a kind at a pose (4, 4) in its parent link, and return it."""
    joint = add_tag(robot, 'joint', name=name, type=kind)
    _add_origin(joint, pose)
    add_tag(joint, 'parent', link=parent)
    add_tag(joint, 'child', link=child)
    return joint


def _add_moving_joint(
    robot: Element,
    joint: Joint,
    parent: str,
    child: str,
    pose: Array,
    axis: Array,
    friction: Sequence[float],
) -> None:
    """Add a revolute, continuous or prismatic <joint> with axis, limits and friction."""
    is_continuous = joint.kind is JointKind.REVOLUTE and not has_position_limits(joint)
    kind = 'continuous' if is_continuous else joint.kind.value
    element = _add_joint(robot, joint.name, kind, parent, child, pose)
    add_tag(element, 'axis', xyz=axis)
    stated = ['effort', 'velocity']
    if not is_continuous:
        stated = ['lower', 'upper', *stated]
    # URDF requires effort and velocity limits, so unknown limits are written as
    # UNLIMITED_JOINT_LIMIT.
    limits = {key: finite_limits(getattr(joint.limits, key)) for key in stated}
    add_tag(element, 'limit', **limits)
    if friction:
        add_tag(element, 'dynamics', **dict(zip(('damping', 'friction'), friction)))


def sliding_friction(friction: Friction | None, n: int) -> tuple[Sequence[tuple[float, ...]], str]:
    """
    Return joints' viscous and Coulomb (with slip) friction, () if none, and a comment on the rest.

    Viscous friction is in N m s/rad or N s/m, Coulomb friction, with all Maxwell-slip elements
    slipping, in N m or N. A joint has () without friction, or with a model of another kind.
    """
    if friction is None:
        return [()] * n, ''
    if not isinstance(friction, LinearFriction):
        return [()] * n, f' Left out: {type(friction).__name__} '
    coulomb = friction.coulomb + friction.slip.sum(axis=0)
    left_out = ''
    if friction.offset.any() or friction.slip.any():
        offsets = number_text(*friction.offset)
        left_out = f' Left out of friction: presliding, and offsets of efforts: {offsets} '
    if friction.load_dependent is not None and friction.load_dependent.any():
        shares = number_text(*friction.load_dependent)
        left_out += (
            ' Left out of friction: what grows with the load, as a share of the torque of the '
            f'rigid bodies, for which neither URDF nor MuJoCo has a term: {shares} '
        )
    if friction.stribeck is not None and friction.stribeck.any():
        falling = number_text(*friction.stribeck)
        left_out += (
            ' Left out of friction: what falls with the speed, for which neither URDF nor MuJoCo '
            f'has a term: exp(-|dq| / {number_text(friction.stribeck_speed)}) times {falling} '
        )
    return list(zip(friction.viscous, coulomb)), left_out


def has_position_limits(joint: Joint) -> bool:
    """Return whether a joint has a lower or an upper position limit."""
    return math.isfinite(joint.limits.lower) or math.isfinite(joint.limits.upper)


def finite_limits(limits: ArrayLike) -> Array:
    """Return limits clipped to +-UNLIMITED_JOINT_LIMIT, which stands for infinity."""
    return np.clip(limits, -UNLIMITED_JOINT_LIMIT, UNLIMITED_JOINT_LIMIT)


def _add_origin(element: Element, pose: Array) -> None:
    """Add an <origin> with the position and the roll, pitch and yaw of a pose (4, 4)."""
    add_tag(element, 'origin', xyz=pose[:3, 3], rpy=rpy_from_rotation(pose[:3, :3]))


class LinkToWrite(NamedTuple):
    """A link to write, the joint that carries it, and its frame's pose in that joint's frame."""

    name: str
    carrier_joint: int
    pose: Array


class LinksToWrite(NamedTuple):
    """
    The links to write to an arm's file: base, moving links, flange and additional frames.

    `root_name` is that of the link in the space frame.
    """

    root_name: str
    base: LinkToWrite
    moving_links: tuple[LinkToWrite, ...]
    flange: LinkToWrite
    extra_frames: tuple[LinkToWrite, ...]


def links_to_write(
    arm: ArmDescription,
    unique_name: UniqueNames,
    *,
    root: str = ROOT_LINK,
    on_axes: bool = False,
) -> LinksToWrite:
    """
    Return the links to write for an arm, with names that `unique_name` makes unique.

    The root link is called `root` unless the arm has a frame there, as one from a URDF has. With
    `on_axes` the frame of every link that turns lies on its joint's axis, as URDF wants it.
    """
    names = link_names(arm.joint_names)
    on_flange = {frame.name for frame in arm.fixed_frames if frame.joint is None}
    # The fixed frames that no link has taken yet: each `unique_link` below takes the one of its
    # name, if it is there, and those that are left become links of their own.
    remaining = {
        names.prefix + name.removeprefix(names.prefix) if name in on_flange else name: place
        for name, place in fixed_frame_placements(arm).items()
    }
    for name in remaining:
        unique_name(name)

    def unique_link(name: str, placement: FramePlacement) -> LinkToWrite:
        """Return the link to write at a place, called `name`, or a new name if taken elsewhere."""
        own = remaining.get(name)
        if own and own.joint == placement.joint and np.array_equal(own.pose, placement.pose):
            del remaining[name]
            return LinkToWrite(name, *placement)
        return LinkToWrite(unique_name(name), *placement)

    moving = []
    moving_links = zip(arm.joints, arm.link_names, link_placements(arm), arm.joint_placements())
    for i, (joint, name, place, (_, dh_in_axis)) in enumerate(moving_links, start=1):
        distance_to_axis = float(np.linalg.norm((dh_in_axis @ place.pose)[:2, 3]))
        is_off_axis = distance_to_axis > _MAX_OFF_AXIS_DISTANCE_M
        if on_axes and joint.kind is JointKind.REVOLUTE and is_off_axis:
            place = FramePlacement(i, inverse_transform(dh_in_axis))
        moving.append(unique_link(name, place))
    base = FramePlacement(0, np.eye(4))
    own_base = remaining.get(names.base)
    if own_base and own_base.joint == 0:
        base = own_base
    base_link = unique_link(names.base, base)
    at_root = [
        name
        for name, place in remaining.items()
        if place.joint == 0 and np.array_equal(place.pose, np.eye(4))
    ]
    if at_root:
        root = at_root[0]
        del remaining[root]
    else:
        root = unique_name(root)
    flange_link = unique_link(names.flange, FramePlacement(arm.n, arm.flange_transform()))
    others = tuple(LinkToWrite(name, *place) for name, place in remaining.items())
    return LinksToWrite(root, base_link, tuple(moving), flange_link, others)
