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
from .. import former_names
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

__getattr__ = former_names.of_module(__name__, '0.3', mjcf_text='.mjcf_writer.mjcf_text')

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
    for comment in filter(None, (_rotor_inertia_comment(description), left_out)):
        robot.append(ElementTree.Comment(comment))

    def add_fixed_link(parent: str, child: str, pose: Array, *link_content: Any) -> None:
        """Add a link and the fixed joint that places it in its parent."""
        _add_fixed_joint(robot, joint_name(f'{child}_joint'), parent, child, pose)
        _add_link(robot, child, *link_content)

    # The base's shapes and inertia are given in frame {0}.
    shapes = shapes or {}
    base = links.base
    here = inverse_transform(links.base.pose)
    pose = here @ description.base
    standing = description.base_link
    inertia = _INVENTED_BASE_INERTIA if standing is None else standing.expressed_in(pose)
    base_shapes = [shape.expressed_in(pose) for shape in shapes.get(0, ())]
    _add_link(robot, links.root_name)
    add_fixed_link(links.root_name, base.name, base.pose, inertia, base_shapes)
    before = base
    backs = [here]
    placed = zip(links.moving_links, description.joint_placements())
    moving = zip(description.joints, description.links, placed, friction)
    for joint, link, (own, (start, behind)), joint_friction in moving:
        at = behind @ own.pose
        back = inverse_transform(own.pose)
        element = _add_fixed_joint(robot, joint.name, before.name, own.name, pose @ start @ at)
        _add_motion(element, joint, at[2, :3], joint_friction)
        moved = [shape.expressed_in(back) for shape in shapes.get(own.carrier_joint, ())]
        _add_link(robot, own.name, link.expressed_in(back), moved)
        before = own
        pose = back
        backs.append(back)
    for one in (links.flange, *links.extra_frames):
        carrier = (base, *links.moving_links)[one.carrier_joint]
        add_fixed_link(carrier.name, one.name, backs[one.carrier_joint] @ one.pose)
    if tool is not None:
        tool_link = unique_name(tool[0]), np.eye(4), tool[1], tool_shapes
        add_fixed_link(links.flange.name, *tool_link)
    text = xml_text(robot)
    # A name may have characters that XML lacks, which nothing checks before.
    read_chain(text, description.joint_names, f'The URDF of {description.name}')
    return text


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
    texts = {
        key: value
        if isinstance(value, str)
        else number_text(*np.ravel(value), keep_digits=key not in _LENGTH_AND_ANGLE_ATTRIBUTES)
        for key, value in attributes.items()
    }
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
    six = number_text(*elements_from_tensor(inertia.inertia_at_center_of_mass)).split()
    add_tag(
        inertial,
        'inertia',
        **{f'i{axes}': text for axes, text in zip(TENSOR_ORDER, six)},
    )


def _add_fixed_joint(robot: Element, name: str, parent: str, child: str, pose: Array) -> Element:
    """Add a fixed <joint> at a pose (4, 4) in its parent link, and return it."""
    joint = add_tag(robot, 'joint', name=name, type='fixed')
    _add_origin(joint, pose)
    add_tag(joint, 'parent', link=parent)
    add_tag(joint, 'child', link=child)
    return joint


def _add_motion(element: Element, joint: Joint, axis: Array, friction: Sequence[float]) -> None:
    """Turn a fixed <joint> into a moving one with axis, limits and friction."""
    free = joint.kind is JointKind.REVOLUTE and not has_position_limits(joint)
    stated = [*(() if free else ('lower', 'upper')), 'effort', 'velocity']
    element.set('type', 'continuous' if free else joint.kind.value)
    add_tag(element, 'axis', xyz=axis)
    # URDF requires effort and velocity limits, so unknown limits are written as
    # UNLIMITED_JOINT_LIMIT.
    add_tag(
        element,
        'limit',
        **{key: finite_limits(getattr(joint.limits, key)) for key in stated},
    )
    if friction:
        add_tag(element, 'dynamics', **dict(zip(('damping', 'friction'), friction)))


def sliding_friction(friction: Friction | None, n: int) -> tuple[Sequence[tuple[float, ...]], str]:
    """
    Return joints' viscous and Coulomb (with slip) friction, () if none, and a comment on the rest.

    Viscous friction is in N m s/rad or N s/m, Coulomb friction, with all Maxwell-slip elements
    slipping, in N m or N. A joint has () without friction, or with a model of another kind.
    """
    if not isinstance(friction, LinearFriction):
        return [()] * n, '' if friction is None else f' Left out: {type(friction).__name__} '
    held = list(zip(friction.viscous, friction.coulomb + friction.slip.sum(axis=0)))
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
    return held, left_out


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
    flange = arm.flange_transform()
    on_flange = {one.name for one in arm.fixed_frames if one.joint is None}
    frames = {
        names.prefix + name.removeprefix(names.prefix) if name in on_flange else name: place
        for name, place in fixed_frame_placements(arm).items()
    }
    for name in frames:
        unique_name(name)

    def unique_link(name: str, placement: FramePlacement) -> LinkToWrite:
        """Return the link to write at a place, called `name`, or a new name if taken elsewhere."""
        own = frames.get(name)
        if own and own.joint == placement.joint and np.array_equal(own.pose, placement.pose):
            del frames[name]
            return LinkToWrite(name, *placement)
        return LinkToWrite(unique_name(name), *placement)

    moving = []
    own_frames = zip(arm.joints, link_placements(arm), arm.joint_placements(), arm.link_names)
    for i, (joint, place, (_, behind), wanted) in enumerate(own_frames, start=1):
        away = float(np.linalg.norm((behind @ place.pose)[:2, 3]))
        if on_axes and joint.kind is JointKind.REVOLUTE and away > _MAX_OFF_AXIS_DISTANCE_M:
            place = FramePlacement(i, inverse_transform(behind))
        moving.append(unique_link(wanted, place))
    base = FramePlacement(0, np.eye(4))
    if (own := frames.get(names.base)) and own.joint == 0:
        base = own
    base_link = unique_link(names.base, base)
    at_root = ((name, one.pose) for name, one in frames.items() if not one.joint)
    if own_root := next((name for name, pose in at_root if not (pose - np.eye(4)).any()), ''):
        del frames[own_root]
    root = own_root or unique_name(root)
    flange_link = unique_link(names.flange, FramePlacement(arm.n, flange))
    others = tuple(LinkToWrite(name, *place) for name, place in frames.items())
    return LinksToWrite(root, base_link, tuple(moving), flange_link, others)
