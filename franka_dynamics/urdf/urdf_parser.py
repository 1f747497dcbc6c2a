# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads the links and joints of a URDF, checking every value that is used.

Refused are, among others, duplicate names, a second <inertial> or <limit>, links that form no
tree, words instead of numbers, a zero axis, and an <inertial> without <mass>. Pinocchio's own
reader, with which each import is compared, ignores some of these errors, and only prints the
reason of others.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np

from .document import MOVING_JOINT_TYPES, Notes, UrdfDocument, UrdfInertial, UrdfJoint
from ..arm.arm_fields import JointLimits
from ..arm.inertia import tensor_from_elements, TENSOR_ORDER
from ..arrays import Array
from ..constants import parse_float
from ..errors import DescriptionError, list_text, UrdfError
from ..spatial import pose_from_xyz_rpy

URDF_JOINT_TYPES = (*MOVING_JOINT_TYPES, 'fixed', 'floating', 'planar')
# URDF requires numbers as limits; a number of at least UNLIMITED_JOINT_LIMIT in absolute value
# means no limit.
UNLIMITED_JOINT_LIMIT = 1e9
# Largest deviation of a joint axis from unit length, which URDF requires, that causes no note.
_UNIT_AXIS_TOLERANCE = 1e-6
_MAX_ORIGIN_ANGLE_RAD = 1.001 * math.tau  # [rad] of an <origin>, larger ones are doubted


def parse_urdf_text(text: str, source_name: str) -> UrdfDocument:
    """Return links and joints in a URDF's text, `source_name` in messages, or raise UrdfError."""
    text, notes = _normalize_text(text)
    robot = _robot_element(text, source_name, Notes([], notes))
    links = {name: _parse_inertial(link) for name, link in _named_elements(robot, 'link').items()}
    elements = _named_elements(robot, 'joint')
    joints = {name: _parse_joint(name, joint) for name, joint in elements.items()}
    rubbing = [
        name
        for name, joint in elements.items()
        for dynamics in joint.element.findall('dynamics')
        if any(not _is_zero(dynamics.get(key, '0')) for key in ('damping', 'friction'))
    ]
    if rubbing:
        notes.append(f'{list_text(rubbing)}: damping and friction of <dynamics> are in no model.')
    notes += [*_rotor_inertia_notes(robot.element), *_gravity_off_notes(robot.element)]
    order = tuple(_order_links(robot, links, joints.values()))
    name = robot.element.get('name', '')
    torque_notes = tuple(robot.notes.torque_notes)
    return UrdfDocument(name, source_name, text, links, joints, order, tuple(notes), torque_notes)


def _is_zero(text: str) -> bool:
    """Return whether text is the number zero."""
    try:
        return parse_float(text) == 0.0
    except ValueError:
        return False


def _rotor_inertia_notes(robot: ElementTree.Element) -> Iterator[str]:
    """Yield a note on each <transmission> that states a rotor inertia other than zero."""
    for transmission in robot.iter('transmission'):
        stated = {  # Drake has the number as `value`
            element.tag.rpartition('}')[2]: (element.get('value') or element.text or '').strip()
            for element in transmission.iter()
        }
        inertia = stated.get('motorInertia', stated.get('rotor_inertia', '0'))
        ratio = stated.get('mechanicalReduction', stated.get('gear_ratio')) or '1'
        try:
            at_motor = parse_float(inertia)
            reduction = parse_float(ratio)
        except ValueError:
            if _is_zero(inertia):
                continue
            what = f'{inertia!r} kg m^2 behind a reduction of {ratio!r}, which are no numbers,'
        else:
            if at_motor == 0.0:
                continue
            at_joint = f'{at_motor * reduction**2:g} at the joint,'
            what = f'{at_motor:g} kg m^2 behind a reduction of {reduction:g}, {at_joint}'
        joints = list_text([joint.get('name') for joint in transmission.iter('joint')])
        yield f'{joints}: the rotor inertia {what} is in no model; arm files can have it.'


def _gravity_off_notes(robot: ElementTree.Element) -> Iterator[str]:
    """Yield a note on the links on which <gazebo> elements switch gravity off."""
    off = [
        gazebo.get('reference')
        for gazebo in robot.iter('gazebo')
        if (gazebo.findtext('turnGravityOff') or '').strip().lower() in ('true', '1')
        or (gazebo.findtext('gravity') or '').strip().lower() in ('false', '0')
    ]
    if off:
        yield f'{list_text(off)}: Gazebo lets no gravity act there; g(q) has the whole weight.'


@dataclass(frozen=True)
class _Element:
    """An element of a URDF, the words that begin messages about it, and notes on the file."""

    element: ElementTree.Element
    location: str
    notes: Notes

    def error(self, problem: str) -> UrdfError:
        """Return a UrdfError whose message begins with the place of this element."""
        return UrdfError(f'{self.location}{problem}')

    def children(self, *tags: str) -> 'dict[str, _Element]':
        """Return the children with given tags; UrdfError for one repeated or with capitals."""
        found: dict[str, _Element] = {}
        for child in self.element:
            tag = child.tag.lower()
            if tag in tags and tag != child.tag:
                raise self.error(f' has <{child.tag}>; URDF writes <{tag}>.')
            if tag in found:
                raise self.error(f' has two <{tag}> elements; keep the right one.')
            if tag in tags:
                found[tag] = _Element(child, f'{self.location}, <{tag}>', self.notes)
        return found

    def pose(self) -> Array:
        """Return the pose (4, 4) that this <origin> states; note an angle of more than a turn."""
        angles = self.vector('rpy', '0 0 0')
        if np.abs(angles).max() > _MAX_ORIGIN_ANGLE_RAD:
            doubt = f'rpy="{self.element.get("rpy")}" is more than a turn. Are these degrees?'
            self.notes.torque_notes.append(f'{self.location}: {doubt}')
        return pose_from_xyz_rpy(self.vector('xyz', '0 0 0'), angles)

    def vector(self, key: str, default: str | None = None, count: int = 3) -> Array:
        """Return `count` finite numbers of an attribute, or of `default`; otherwise UrdfError."""
        text = self.element.get(key, default)
        if text is None:
            raise self.error(f' has no attribute {key!r}.')
        words = text.split()
        if len(words) != count:
            wanted = 'one number' if count == 1 else 'three numbers'
            raise self.error(f': {key}="{text}" must be {wanted}.')
        try:
            values = np.array([parse_float(word) for word in words])
        except ValueError:
            values = np.array([math.nan])
        if not np.isfinite(values).all():
            raise self.error(f': {key}="{text}" is no finite number.')
        return values

    def number(self, key: str, default: str | None = None) -> float:
        """Return an attribute's finite number, or `default`'s if it is missing; else UrdfError."""
        return float(self.vector(key, default, count=1)[0])


def _normalize_text(text: str) -> tuple[str, list[str]]:
    """
    Return a URDF's text, changed so that Python's XML parser reads it as ROS does, and notes.

    They allow blanks and comments before the XML declaration, ignore a default namespace, and
    allow prefixes of namespaces that are not declared.
    """
    # Atomic: else the search would try every way to read many comments without a declaration.
    text = re.sub(r'\A(?>\s|<!--.*?-->)*<\?xml.*?\?>', '', text, count=1, flags=re.DOTALL)
    text = re.sub(r'(<robot\b[^>]*?)\sxmlns="[^"]*"', r'\1', text, count=1)
    try:
        ElementTree.fromstring(text)
    except (ElementTree.ParseError, UnicodeEncodeError) as reason:
        if 'unbound prefix' in str(reason):
            used = dict.fromkeys(re.findall(r'[<\s]/?([A-Za-z_][\w.-]*):[\w.-]+[\s=/>]', text))
            missing = [name for name in used if f'xmlns:{name}' not in text and name != 'xmlns']
            notes = [f'the namespace prefix {name!r} is not declared.' for name in missing]
            declared = ''.join(f' xmlns:{name}="{name}"' for name in missing)
            return re.sub(r'<robot(?=[\s>])', f'<robot{declared}', text, count=1), notes
    return text, []


def _robot_element(text: str, source_name: str, notes: Notes) -> _Element:
    """Return a text's <robot>; UrdfError if it is no URDF, unexpanded xacro or has no name."""
    problem = ''
    try:
        # For a str ElementTree ignores the declared encoding, which was that of the file.
        robot = ElementTree.fromstring(text)
    except (ElementTree.ParseError, UnicodeEncodeError) as reason:
        if text.strip():
            problem = f'is not well-formed XML: {reason}. It may be cut short, or no URDF.'
        else:
            problem = 'is empty; a URDF starts with <robot name="...">.'
        raise UrdfError(f'{source_name}: {problem}') from reason
    if robot.tag != 'robot':
        kind = {'sdf': 'SDF'}.get(robot.tag, f'<{robot.tag}>')
        problem = f'is {kind}, not URDF, which has <robot>; give the URDF that it was made from.'
    elif any(
        'xacro' in element.tag or any('${' in value for value in element.attrib.values())
        for element in robot.iter()
    ):
        problem = 'is a xacro file not yet expanded; run "xacro FILE > robot.urdf" first.'
    elif not robot.get('name'):
        problem = '<robot> has no name, which URDF requires; write <robot name="...">.'
    if problem:
        raise UrdfError(f'{source_name}: {problem}')
    return _Element(robot, f'{source_name}:', notes)


def _named_elements(robot: _Element, tag: str) -> dict[str, _Element]:
    """Return the elements with a tag by name; UrdfError for a missing or repeated name."""
    found: dict[str, _Element] = {}
    for element in robot.element.findall(tag):
        name = element.get('name', '')
        if not name:
            raise robot.error(f' has a <{tag}> without a name.')
        if name in found:
            raise robot.error(f' has two <{tag}> elements named {name!r}; names must differ.')
        found[name] = _Element(element, f'{robot.location} {tag} {name!r}', robot.notes)
    return found


def _order_links(robot: _Element, links: Iterable[str], joints: Iterable[UrdfJoint]) -> list[str]:
    """Return the links, each after its parent; raise UrdfError unless they form one tree."""
    carriers: dict[str, UrdfJoint] = {}
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in links:
                raise robot.error(f' joint {joint.name!r} refers to a missing link, {link!r}.')
        other = carriers.setdefault(joint.child, joint)
        if other is not joint:
            raise robot.error(
                f' the link {joint.child!r} hangs on two joints, {other.name!r} and '
                f'{joint.name!r}; a URDF is a tree.'
            )
    roots = [link for link in links if link not in carriers]
    if len(roots) > 1:
        raise robot.error(f' has several roots, {list_text(roots)}; join them by fixed joints.')
    reached = list(roots)
    for link in reached:  # the list grows by the links that each one carries
        reached += [child for child, joint in carriers.items() if joint.parent == link]
    lost = ', '.join(sorted(set(links) - set(reached)))
    if lost or not roots:
        problem = f'the links {lost} form a loop of joints' if lost else 'has no links'
        raise robot.error(f' {problem}; a URDF is a tree with one root link.')
    return reached


def _parse_inertial(link: _Element) -> UrdfInertial:
    """Return a link's <inertial>, without one zeros; UrdfError if a value is missing or wrong."""
    inertial = link.children('inertial').get('inertial')
    if inertial is None:
        return UrdfInertial()
    parts = inertial.children('mass', 'inertia', 'origin')
    for tag in ('mass', 'inertia'):
        if tag not in parts:
            raise inertial.error(f' has no <{tag}>; add it; without mass, leave <inertial> out.')
    mass = parts['mass'].number('value')
    if mass < 0.0:
        raise inertial.error(f' has a mass of {mass} kg; a mass cannot be negative.')
    for upper, lower in (('ixy', 'iyx'), ('ixz', 'izx'), ('iyz', 'izy')):
        stated = parts['inertia'].element.attrib
        if lower in stated and parts['inertia'].number(lower) != parts['inertia'].number(upper):
            raise parts['inertia'].error(
                f' has {upper}="{stated[upper]}" and {lower}="{stated[lower]}"; a tensor is '
                f'symmetric, and URDF knows {upper} alone. Leave {lower} out.'
            )
    tensor = tensor_from_elements([parts['inertia'].number(f'i{axes}') for axes in TENSOR_ORDER])
    return UrdfInertial(mass, tensor, parts['origin'].pose() if 'origin' in parts else np.eye(4))


def _parse_joint(name: str, joint: _Element) -> UrdfJoint:
    """Return a <joint> with checked type, links, origin, axis, limits, <mimic>; note oddities."""
    parts = joint.children('parent', 'child', 'origin', 'axis', 'limit', 'mimic')
    kind = joint.element.get('type', '')
    if kind not in URDF_JOINT_TYPES:
        raise joint.error(f' has the type {kind!r}; URDF knows {", ".join(URDF_JOINT_TYPES)}.')
    parent = parts['parent'].element.get('link', '') if 'parent' in parts else ''
    child = parts['child'].element.get('link', '') if 'child' in parts else ''
    if not (parent and child):
        raise joint.error(f' names no {"child" if parent else "parent"} link.')
    origin = parts['origin'].pose() if 'origin' in parts else np.eye(4)
    axis = np.eye(3)[0]
    if 'axis' in parts and kind != 'fixed':
        axis = parts['axis'].vector('xyz', '1 0 0')
        length = float(np.linalg.norm(axis))
        if length < _UNIT_AXIS_TOLERANCE:
            raise joint.error(f' has the axis {axis.tolist()}, which has no direction.')
        if abs(length - 1.0) > _UNIT_AXIS_TOLERANCE:
            doubt = f'has an axis of length {length:.6g}; its direction alone was used.'
            joint.notes.other_notes.append(f'joint {name!r} {doubt}')
        axis = axis / length
    limits, doubts = _parse_limits(parts.get('limit'), kind)
    joint.notes.other_notes.extend(f'joint {name!r} {doubt}' for doubt in doubts)
    parsed = UrdfJoint(name, kind, parent, child, origin, axis, limits)
    mimic = parts.get('mimic')
    if mimic is None:
        return parsed
    return replace(
        parsed,
        leader=mimic.element.get('joint', '(unnamed)'),
        multiplier=mimic.number('multiplier', '1'),
        offset=mimic.number('offset', '0'),
    )


def _parse_limits(limit: _Element | None, joint_type: str) -> tuple[JointLimits | None, list[str]]:
    """Return a moving joint's limits (of others, and without <limit>, None), and notes on them."""
    if joint_type not in MOVING_JOINT_TYPES or limit is None:
        return None, []
    is_continuous = joint_type == 'continuous'
    position_limits = limit.element.attrib.keys() & {'lower', 'upper'}
    doubts = []
    bounds: dict[str, float] = {}
    for key in ('effort', 'velocity'):
        bound = _limit_number(limit, key)
        if bound == 0.0:
            word = f'{key}="0"' if key in limit.element.attrib else f'no {key}'
            doubts.append(f'has {word} as its limit, taken for unknown.')
            bound = math.inf
        bounds[key] = bound
    if is_continuous and position_limits:
        doubts.append('is continuous: its lower and upper limits are left out, as URDF says.')
    elif not is_continuous and not position_limits:
        doubts.append(
            'has neither a lower nor an upper limit, which URDF reads as 0 to 0: it could not '
            'move. It is taken for unlimited; give both.'
        )
    elif not is_continuous:
        bounds['lower'] = _limit_number(limit, 'lower')
        bounds['upper'] = _limit_number(limit, 'upper')
        if bounds['lower'] == bounds['upper']:
            doubts.append(f'is limited to the one position {bounds["lower"]:g}.')
    try:
        return JointLimits(**bounds), doubts
    except DescriptionError as error:
        raise limit.error(f': {error}') from None


def _limit_number(limit: _Element, key: str) -> float:
    """Return a number of a <limit>, 0 if it is missing, and infinity where it says no limit."""
    number = limit.number(key, '0')
    is_unlimited = abs(number) >= UNLIMITED_JOINT_LIMIT
    return math.copysign(math.inf, number) if is_unlimited else number
