# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads the links and joints of a URDF, checking every value.

Refused are, among others, duplicate names, a second <inertial> or <limit>, links that form no
tree, words instead of numbers, a zero axis, an <inertial> without <mass>, and a revolute or
prismatic joint without <limit>. Pinocchio's own reader, with which each import is compared,
ignores some of these errors, and only prints the reason of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
import math
from pathlib import Path
import re
import xml.etree.ElementTree as ElementTree

import numpy as np

from .mjcf import BETWEEN_JOINTS, GEOMS, is_mjcf_text, MJCF_TAG, urdf_of_mjcf
from .xacro_reader import expand_xacro
from ..arm.arm_file import is_urdf_text
from ..arm.description import JointLimits
from ..arm.inertia import LinkInertia, tensor_from_six, TENSOR_ORDER
from ..arm.urdf_provenance import MJCF, URDF, Words
from ..errors import DescriptionError, listed, unreadable_file_message, UrdfError
from ..files import read_text
from ..names import parse_float
from ..spatial import exp6, joint_twist, JointKind, pose_from_xyz_rpy
from ..typing import Array

MOVING_TYPES = ('revolute', 'continuous', 'prismatic')
JOINT_TYPES = (*MOVING_TYPES, 'fixed', 'floating', 'planar')
# URDF requires numbers as limits; a number of at least UNLIMITED_JOINT_LIMIT in absolute value
# means no limit.
UNLIMITED_JOINT_LIMIT = 1e9
# Largest deviation of a joint axis from unit length, which URDF requires, that causes no note.
_AXIS_LENGTH_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """
    A <joint> of a URDF: its type, links, origin, axis, limits and <mimic>.

    `origin`, shape (4, 4), is the pose of the child link in the parent link at position zero, and
    `axis` a unit vector in the child link's frame. `limits` is None if `moves` is False, and for a
    continuous joint without <limit>. A missing lower or upper bound is zero, as the URDF format
    says; if both are missing, or the joint is continuous, they are infinite. `mimics` is the name
    of the joint that this joint follows, at `multiplier` times its position plus `offset`, or
    None.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: Array
    axis: Array
    limits: JointLimits | None = None
    mimics: str | None = None
    multiplier: float = 1.0
    offset: float = 0.0

    @property
    def moves(self) -> bool:
        """Whether the joint is revolute, continuous or prismatic."""
        return self.kind in MOVING_TYPES

    @property
    def motion(self) -> JointKind:
        """Kind of a joint that moves: revolute (also if continuous) or prismatic."""
        return JointKind.PRISMATIC if self.kind == 'prismatic' else JointKind.REVOLUTE

    def pose(self, position: float) -> Array:
        """Return the pose (4, 4) of the child link in the parent link at a position [rad or m]."""
        twist = joint_twist(self.axis, np.zeros(3), self.motion)
        return np.asarray(self.origin @ exp6(twist, position))


@dataclass(frozen=True, eq=False)
class UrdfInertial:
    """
    The <inertial> of a URDF link; zeros if it has none.

    `tensor`, shape (3, 3), is about the centre of mass and, like that of the text, in the axes of
    the <inertial>'s frame, whose pose in the link's frame, shape (4, 4), is `origin`.
    """

    mass: float
    tensor: Array
    origin: Array

    @property
    def has_inertia(self) -> bool:
        """Whether the link's mass or inertia tensor is not zero."""
        return bool(self.mass or self.tensor.any())

    @property
    def inertia(self) -> LinkInertia:
        """Mass, first moment and inertia about the origin of the link's frame, in its axes."""
        body = LinkInertia.from_center_of_mass(self.mass, np.zeros(3), self.tensor)
        return body.expressed_in(self.origin)


@dataclass(frozen=True, eq=False)
class UrdfDocument:
    """
    The tree of links and joints of a URDF, in the order of its text.

    `name` is the robot's, `source` the name of the `text` in error messages. `order` are the
    links, each behind those on the way from the root to it. `notes` are sentences about
    tolerated deviations from the format and doubtful limits. `simulated` has, of an MJCF,
    `armature`, `damping`, `frictionloss` and, if it states one, `home` of each moving joint,
    `mjcf` is its path or text, and `tensors` names what states the tensor of a body.
    """

    name: str
    source: str
    text: str
    links: dict[str, UrdfInertial]
    joints: dict[str, UrdfJoint]
    order: tuple[str, ...]
    notes: tuple[str, ...] = ()
    simulated: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    mjcf: str = ''
    tensors: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> Words:
        """Terms of the file's format, URDF or MJCF, for messages."""
        return MJCF if self.mjcf else URDF

    def entries(self, link: str) -> Words:
        """Return `words` with the names of the entries that state a link's mass and inertia."""
        if (stated := self.tensors.get(link)) == GEOMS:
            mass, center, tensor = (f'{one} of its geoms' for one in ('mass', 'centre', 'inertia'))
            return replace(self.words, mass=mass, center=center, tensor=tensor)
        return replace(self.words, tensor=f'inertial {stated}') if stated else self.words

    def kind(self, joint: UrdfJoint) -> str:
        """Return a joint's type for a message; 'floating' in the terms of the file's format."""
        return self.words.floating if joint.kind == 'floating' else joint.kind

    def quoted(self, link: str) -> str:
        """Return a link's name in quotes, with its joint if it lies between joints of an MJCF."""
        name, between, joint = link.partition(BETWEEN_JOINTS if self.mjcf else '\0')
        return f'{name!r} at its joint {joint}' if between else repr(link)

    @property
    def root(self) -> str:
        """Name of the root link."""
        return self.order[0]

    @cached_property
    def _above(self) -> dict[str, UrdfJoint]:
        """The joint that moves each link, by the link's name."""
        return {one.child: one for one in self.joints.values()}

    def error(self, problem: str) -> UrdfError:
        """Return a UrdfError whose message begins with `source`, the name of the file."""
        return UrdfError(f'{self.source}: {problem}')

    def from_root(self) -> list[UrdfJoint]:
        """Return all joints in topological order, each after those between the root and it."""
        return [self._above[link] for link in self.order[1:]]

    def moving_joints_to(self, joint: str) -> list[str]:
        """Return the names of joints that are not fixed, from the root to `joint`, inclusive."""
        path, one = list[str](), self.joints.get(joint)
        while one is not None:
            if one.kind != 'fixed':
                path.append(one.name)
            one = self._above.get(one.parent)
        return path[::-1]

    def carries_mass(self, joint: str) -> bool:
        """Return whether any link that moves with `joint` has mass or inertia."""
        return any(
            self.links[one.child].has_inertia
            for one in self.joints.values()
            if joint in self.moving_joints_to(one.name)
        )


def read_urdf(path: Path, xacro: Mapping[str, object] | None = None) -> str:
    """
    Return the URDF text of a URDF or MJCF file, or of a xacro file with arguments `xacro`.

    Arguments that are not given have their defaults.

    Returns
    -------
    str
        The XML of the URDF.

    Raises
    ------
    UrdfError
        If the file cannot be read or expanded, or has no such argument; the message names the file
        and the reason.

    """
    try:
        if path.suffix == '.xacro':
            return expand_xacro(path, xacro or {})
        if xacro:
            names = listed([*xacro])
            raise UrdfError(f'{path} is no xacro file and has no arguments; leave {names} out.')
        text = read_text(path)
        return urdf_of_mjcf(text, str(path), path) if is_mjcf_text(text) else text
    except OSError as error:
        raise UrdfError(unreadable_file_message(path, error)) from error
    except UnicodeDecodeError as error:
        raise UrdfError(
            f'{path} cannot be read: byte {error.start} is not UTF-8; is it a URDF?'
        ) from error


def read_document(
    urdf: str | Path, source: str | None = None, xacro: Mapping[str, object] | None = None
) -> UrdfDocument:
    """
    Read links and joints of a URDF or MJCF (text or path) or of a xacro file (path).

    `source` is its name in error messages; default: the path, or 'the URDF'.

    Raises
    ------
    DescriptionError
        If a text is given with arguments.
    UrdfError
        As `read_urdf` and `parse_urdf`.

    """
    given = is_urdf_text(urdf)
    if given and xacro:
        raise DescriptionError('A text has no xacro arguments; leave xacro out, or give the file.')
    source = source or ('' if given else str(urdf))
    return parse_urdf(str(urdf).strip() if given else read_urdf(Path(urdf), xacro), source)


def parse_urdf(text: str, source: str = '') -> UrdfDocument:
    """
    Read links and joints from the text of a URDF, with xacro expanded, or of an MJCF.

    `source`, a path or a topic, is the text's name in error messages; default: 'the URDF' or 'the
    MJCF'.

    Raises
    ------
    UrdfError
        If the text is no URDF, a value cannot be used, or its links and joints form no tree; the
        message names the source, the element, the value and the fix.

    """
    if is_mjcf_text(text):
        source = source or 'the MJCF'
        text = urdf_of_mjcf(text, source)
    source = source or 'the URDF'
    text, notes = _as_others_read(text)
    robot = _robot(text, source)
    links = {name: _link(link) for name, link in _named(robot, 'link').items()}
    elements = _named(robot, 'joint')
    joints = {name: _joint(name, joint, notes) for name, joint in elements.items()}
    rubbing = [
        name
        for name, joint in elements.items()
        for one in joint.element.findall('dynamics')
        if any(one.get(key, '0').strip('0.') for key in ('damping', 'friction'))
    ]
    if rubbing:
        notes.append(f'{listed(rubbing)}: damping and friction of <dynamics> are in no model.')
    order = _from_root(robot, links, joints.values())
    document = UrdfDocument(
        robot.element.get('name', ''), source, text, links, joints, order, tuple(notes)
    )
    extra = robot.element.find(MJCF_TAG)
    return document if extra is None else _of_mjcf(document, extra)


def _of_mjcf(document: UrdfDocument, extra: ElementTree.Element) -> UrdfDocument:
    """Return a document with what an MJCF says beyond a URDF."""
    simulated = dict[str, dict[str, float]]()
    for one in extra.findall('joint'):
        part = _Part(one, f'{document.source}: {MJCF_TAG}')
        keys = (key for key in one.attrib if key != 'name')
        simulated[one.get('name', '')] = {key: part.number(key) for key in keys}
    notes = (note.get('text', '') for note in extra.findall('note'))
    return replace(
        document,
        notes=(*document.notes, *notes),
        simulated=simulated,
        mjcf=extra.get('original', ''),
        tensors={one.get('name', ''): one.get('tensor', '') for one in extra.findall('body')},
    )


@dataclass(frozen=True)
class _Part:
    """An element of a URDF, and the words that begin messages about it."""

    element: ElementTree.Element
    where: str

    def error(self, problem: str) -> UrdfError:
        return UrdfError(f'{self.where}{problem}')

    def parts(self, *tags: str) -> dict[str, _Part]:
        """Return the children of known tags; refuse a second one and capitals."""
        found: dict[str, _Part] = {}
        for child in self.element:
            tag = child.tag.lower()
            if tag in tags and tag != child.tag:
                raise self.error(f' has <{child.tag}>; URDF writes <{tag}>.')
            if tag in found:
                raise self.error(f' has two <{tag}> elements; keep the right one.')
            if tag in tags:
                found[tag] = _Part(child, f'{self.where}, <{tag}>')
        return found

    def pose(self) -> Array:
        """Return the pose that an <origin> states."""
        return pose_from_xyz_rpy(self.vector('xyz', '0 0 0'), self.vector('rpy', '0 0 0'))

    def vector(self, key: str, absent: str | None = None, count: int = 3) -> Array:
        """Return the `count` finite numbers of an attribute, `absent` if it is left out."""
        text = self.element.get(key, absent)
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

    def number(self, key: str, absent: str | None = None) -> float:
        """Return the finite number that an attribute must be, `absent` if it is left out."""
        return float(self.vector(key, absent, count=1)[0])


def _as_others_read(text: str) -> tuple[str, list[str]]:
    """
    Return a text that Python's parser reads as Pinocchio and ROS do, and notes on changes.

    They allow blanks and comments before the XML declaration, ignore a default namespace, and
    allow prefixes of namespaces that are not declared.
    """
    text = re.sub(r'\A(\s|<!--.*?-->)*<\?xml.*?\?>', '', text, count=1, flags=re.DOTALL)
    text = re.sub(r'(<robot\b[^>]*?)\sxmlns="[^"]*"', r'\1', text, count=1)
    try:
        ElementTree.fromstring(text)
    except (ElementTree.ParseError, UnicodeEncodeError) as reason:
        if 'unbound prefix' in str(reason):
            used = dict.fromkeys(re.findall(r'[<\s]/?([A-Za-z_][\w.-]*):[\w.-]+[\s=/>]', text))
            missing = [one for one in used if f'xmlns:{one}' not in text and one != 'xmlns']
            notes = [f'the namespace prefix {one!r} is not declared.' for one in missing]
            declared = ''.join(f' xmlns:{one}="{one}"' for one in missing)
            return re.sub(r'<robot(?=[\s>])', f'<robot{declared}', text, count=1), notes
    return text, []


def _robot(text: str, source: str) -> _Part:
    problem = ''
    try:
        # For a str ElementTree ignores the declared encoding, which was that of the file.
        robot = ElementTree.fromstring(text)
    except (ElementTree.ParseError, UnicodeEncodeError) as reason:
        if text.strip():
            problem = f'is not well-formed XML: {reason}. It may be cut short, or no URDF.'
        else:
            problem = 'is empty; a URDF starts with <robot name="...">.'
        raise UrdfError(f'{source}: {problem}') from reason
    if robot.tag != 'robot':
        kind = {'sdf': 'SDF'}.get(robot.tag, f'<{robot.tag}>')
        problem = f'is {kind}, not URDF, which has <robot>; give the URDF that it was made from.'
    elif any(
        'xacro' in element.tag or any('${' in value for value in element.attrib.values())
        for element in robot.iter()
    ):
        problem = (
            'is a xacro file that has not been expanded; run "xacro FILE > robot.urdf" first.'
        )
    elif not robot.get('name'):
        problem = '<robot> has no name, which URDF requires; write <robot name="...">.'
    if problem:
        raise UrdfError(f'{source}: {problem}')
    return _Part(robot, f'{source}:')


def _named(robot: _Part, tag: str) -> dict[str, _Part]:
    """Return the elements with a tag by their names."""
    found: dict[str, _Part] = {}
    for element in robot.element.findall(tag):
        name = element.get('name', '')
        if not name:
            raise robot.error(f' has a <{tag}> without a name.')
        if name in found:
            raise robot.error(f' has two <{tag}> elements named {name!r}; names must differ.')
        found[name] = _Part(element, f'{robot.where} {tag} {name!r}')
    return found


def _from_root(robot: _Part, links: Iterable[str], joints: Iterable[UrdfJoint]) -> tuple[str, ...]:
    """Return the links, each behind its parent; refuse what is no tree with one root."""
    carriers: dict[str, UrdfJoint] = {}
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in links:
                raise robot.error(
                    f' joint {joint.name!r} refers to the link {link!r}, which does not exist.'
                )
        other = carriers.setdefault(joint.child, joint)
        if other is not joint:
            raise robot.error(
                f' the link {joint.child!r} hangs on two joints, {other.name!r} and '
                f'{joint.name!r}; a URDF is a tree.'
            )
    roots = [link for link in links if link not in carriers]
    if len(roots) > 1:
        raise robot.error(
            f' has {len(roots)} root links ({listed(roots)}); join them with fixed joints, a '
            'URDF is one tree.'
        )
    reached = list(roots)
    for link in reached:
        reached += [child for child, joint in carriers.items() if joint.parent == link]
    lost = ', '.join(sorted(set(links) - set(reached)))
    if lost or not roots:
        problem = f'the links {lost} form a loop of joints' if lost else 'has no links'
        raise robot.error(f' {problem}; a URDF is a tree with one root link.')
    return tuple(reached)


def _link(link: _Part) -> UrdfInertial:
    inertial = link.parts('inertial').get('inertial')
    if inertial is None:
        return UrdfInertial(0.0, np.zeros((3, 3)), np.eye(4))
    parts = inertial.parts('mass', 'inertia', 'origin')
    for tag in ('mass', 'inertia'):
        if tag not in parts:
            raise inertial.error(
                f' has no <{tag}>; give it, or leave <inertial> out for a link without mass.'
            )
    mass = parts['mass'].number('value')
    if mass < 0.0:
        raise inertial.error(f' has a mass of {mass} kg; a mass cannot be negative.')
    tensor = tensor_from_six([parts['inertia'].number(f'i{axes}') for axes in TENSOR_ORDER])
    return UrdfInertial(mass, tensor, parts['origin'].pose() if 'origin' in parts else np.eye(4))


def _joint(name: str, joint: _Part, notes: list[str]) -> UrdfJoint:
    parts = joint.parts('parent', 'child', 'origin', 'axis', 'limit', 'mimic')
    kind = joint.element.get('type', '')
    if kind not in JOINT_TYPES:
        raise joint.error(f' has the type {kind!r}; URDF knows {", ".join(JOINT_TYPES)}.')
    parent, child = (
        parts[tag].element.get('link', '') if tag in parts else '' for tag in ('parent', 'child')
    )
    if not (parent and child):
        raise joint.error(f' names no {"child" if parent else "parent"} link.')
    origin, axis = parts['origin'].pose() if 'origin' in parts else np.eye(4), np.eye(3)[0]
    if 'axis' in parts and kind != 'fixed':
        axis = parts['axis'].vector('xyz', '1 0 0')
        length = float(np.linalg.norm(axis))
        if length < _AXIS_LENGTH_TOLERANCE:
            raise joint.error(f' has the axis {axis.tolist()}, which has no direction.')
        if abs(length - 1.0) > _AXIS_LENGTH_TOLERANCE:
            notes.append(
                f'joint {name!r} has an axis of length {length:.6g}; its direction alone was used.'
            )
        axis = axis / length
    limits, doubts = _limits(joint, parts.get('limit'), kind)
    notes += [f'joint {name!r} {doubt}' for doubt in doubts]
    if (mimic := parts.get('mimic')) is None:
        return UrdfJoint(name, kind, parent, child, origin, axis, limits)
    follows = mimic.element.get('joint', '(unnamed)')
    law = (mimic.number(key, absent) for key, absent in (('multiplier', '1'), ('offset', '0')))
    return UrdfJoint(name, kind, parent, child, origin, axis, limits, follows, *law)


def _limits(joint: _Part, limit: _Part | None, kind: str) -> tuple[JointLimits | None, list[str]]:
    """Return a joint's limits, None if it has none, and doubts about them."""
    if kind not in MOVING_TYPES or (limit is None and kind == 'continuous'):
        return None, []
    if limit is None:
        raise joint.error(
            f' is {kind} without <limit>; URDF requires effort and velocity limits for it. Give '
            f'them{", or make the joint continuous" if kind == "revolute" else ""}.'
        )
    stated = () if kind == 'continuous' else limit.element.attrib.keys() & {'lower', 'upper'}
    bounds = dict.fromkeys(('lower', 'upper'), 0.0) if stated else {}
    for key in (*stated, 'velocity', 'effort'):
        bounds[key] = limit.number(key)
        if abs(bounds[key]) >= UNLIMITED_JOINT_LIMIT:
            bounds[key] = math.copysign(math.inf, bounds[key])
    unknown = [key for key in ('effort', 'velocity') if bounds[key] == 0.0]
    doubts = [f'has {key}="0" as its limit, taken for unknown.' for key in unknown]
    bounds.update(dict.fromkeys(unknown, math.inf))
    if not stated and kind != 'continuous':
        doubts.append(
            'has neither a lower nor an upper limit, which URDF reads as 0 to 0: it could not '
            'move. It is taken for unlimited; give both.'
        )
    if stated and bounds['lower'] == bounds['upper']:
        doubts.append(f'is limited to the one position {bounds["lower"]:g}.')
    try:
        return JointLimits(**bounds), doubts
    except DescriptionError as error:
        raise limit.error(f': {error}') from None
