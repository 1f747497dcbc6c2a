# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads the links, joints and limits of a URDF, and checks the text before Pinocchio reads it.

Pinocchio's URDF reader, which reads poses, axes and inertias (`serial_chain`), ignores some errors
and only prints the reason of others. This module refuses, among others, duplicate names, a second
<inertial> or <limit>, links that form no tree, words instead of numbers, a zero axis, an
<inertial> without <mass>, and a revolute or prismatic joint without <limit>.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
import math
from pathlib import Path
from typing import TypeVar
import xml.etree.ElementTree as ElementTree

import numpy as np

from ..arm.description import JointLimits
from ..arm.typed_file import MOST_EFFORT
from ..errors import DescriptionError, listed, unreadable, UrdfError
from ..options import decimal
from ..typing import Array

MOVING_TYPES = ('revolute', 'continuous', 'prismatic')
JOINT_TYPES = (*MOVING_TYPES, 'fixed', 'floating', 'planar')
_TENSOR_ATTRIBUTES = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
# URDF requires numbers as limits; a number of at least UNLIMITED in absolute value means no limit.
UNLIMITED = 1e9
# Largest deviation of a joint axis from unit length, which URDF requires, that causes no note.
_AXIS_LENGTH_TOLERANCE = 1e-6

_Named = TypeVar('_Named')


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """
    A joint of a URDF.

    `limits` is None if `moves` is False, and for a continuous joint without <limit>. A missing
    lower or upper bound is zero, as the URDF format says; if both are missing, or the joint is
    continuous, they are infinite. `mimics` is the name of the joint that this joint follows, or
    None.
    """

    name: str
    kind: str
    parent: str
    child: str
    limits: JointLimits | None = None
    mimics: str | None = None

    @property
    def moves(self) -> bool:
        """Whether the joint is revolute, continuous or prismatic."""
        return self.kind in MOVING_TYPES


@dataclass(frozen=True, eq=False)
class UrdfDocument:
    """
    The tree of links and joints of a URDF, in the order of its text.

    `name` is the robot's, `source` the name of the `text` in error messages, `root` the link
    without a parent. `links` says for each link's name whether it has mass or inertia. `notes` are
    sentences about tolerated deviations from the format and doubtful limits.
    """

    name: str
    source: str
    text: str
    links: dict[str, bool]
    joints: dict[str, UrdfJoint]
    root: str
    notes: tuple[str, ...] = ()

    def joints_from(self, link: str) -> list[UrdfJoint]:
        """Return the joints whose parent is `link`."""
        return [joint for joint in self.joints.values() if joint.parent == link]

    def path_to(self, link: str) -> list[UrdfJoint]:
        """Return the joints from the root to `link`."""
        to = {joint.child: joint for joint in self.joints.values()}
        path: list[UrdfJoint] = []
        while link in to:
            path.append(to[link])
            link = to[link].parent
        return path[::-1]


def read_urdf(path: Path) -> str:
    """
    Return the text of a URDF file, or of a xacro file expanded with its default arguments.

    Returns
    -------
    str
        The XML of the URDF.

    Raises
    ------
    UrdfError
        If the file cannot be read or expanded; the message names the file and the reason.

    """
    try:
        if path.suffix == '.xacro':
            return _expanded(path)
        return path.read_text(encoding='utf-8')
    except OSError as error:
        raise UrdfError(unreadable(path, error)) from error
    except UnicodeDecodeError as error:
        raise UrdfError(
            f'{path} cannot be read: byte {error.start} is not UTF-8; is it a URDF?'
        ) from error


def _expanded(path: Path) -> str:
    """Return the text of a file expanded by xacro; raise UrdfError for any error of xacro."""
    try:
        import xacro
    except ImportError as error:
        raise UrdfError(
            f'{path}: xacro, which expands it, is not installed; pip install xacro, or run '
            '"xacro FILE > robot.urdf" where it is.'
        ) from error
    if not path.is_file():
        raise FileNotFoundError(2, 'No such file or directory')
    try:
        return str(xacro.process_file(str(path)).toxml())
    except Exception as error:
        reason = ' '.join(str(error).split())
        if 'AMENT_PREFIX_PATH' in reason or 'package' in reason:
            reason = (
                'it asks ROS for packages ($(find ...)): source ROS and the workspace of these '
                'packages, or run "xacro FILE > robot.urdf" where they are installed'
            )
        raise UrdfError(f'{path}: xacro cannot expand it: {reason}.') from error


def parse_urdf(text: str, source: str = 'the URDF') -> UrdfDocument:
    """
    Read a URDF's text, with xacro already expanded.

    `source`, a path or a topic, is the text's name in error messages.

    Raises
    ------
    UrdfError
        If the text is no URDF, a value cannot be used, or its links and joints form no tree; the
        message names the source, the element, the value and the fix.

    """
    return _Parser(source).document(text)


class _Parser:
    """Reads one URDF; collects notes on tolerated deviations from the format, doubtful limits."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._notes: list[str] = []

    def _error(self, problem: str) -> UrdfError:
        return UrdfError(f'{self._source}: {problem}')

    def document(self, text: str) -> UrdfDocument:
        robot = self._robot(text)
        links = self._named(robot, 'link', self._link)
        joints = self._named(robot, 'joint', self._joint)
        root = self._root(links, joints.values())
        return UrdfDocument(
            robot.get('name', ''), self._source, text, links, joints, root, tuple(self._notes)
        )

    def _root(self, links: Iterable[str], joints: Iterable[UrdfJoint]) -> str:
        """Return the root: the only link that is not the child of a joint."""
        carriers: dict[str, UrdfJoint] = {}
        for joint in joints:
            for link in (joint.parent, joint.child):
                if link not in links:
                    raise self._error(
                        f'joint {joint.name!r} refers to the link {link!r}, which does not exist.'
                    )
            if joint.child in carriers:
                raise self._error(
                    f'the link {joint.child!r} hangs on two joints, '
                    f'{carriers[joint.child].name!r} and {joint.name!r}; a URDF is a tree.'
                )
            carriers[joint.child] = joint
        roots = [link for link in links if link not in carriers]
        if len(roots) > 1:
            raise self._error(
                f'has {len(roots)} root links ({listed(roots)}); join '
                'them with fixed joints, a URDF is one tree.'
            )
        reached = list(roots)
        for link in reached:
            reached += [child for child, joint in carriers.items() if joint.parent == link]
        lost = ', '.join(sorted(set(links) - set(reached)))
        if lost or not roots:
            problem = f'the links {lost} form a loop of joints' if lost else 'has no links'
            raise self._error(f'{problem}; a URDF is a tree with one root link.')
        return roots[0]

    def _robot(self, text: str) -> ElementTree.Element:
        if not text.strip():
            raise self._error('is empty; a URDF starts with <robot name="...">.')
        try:
            # For a str ElementTree ignores the declared encoding, which was that of the file.
            robot = ElementTree.fromstring(text)
        except (ElementTree.ParseError, UnicodeEncodeError) as error:
            raise self._error(
                f'is not well-formed XML: {error}. The file may be cut short.'
            ) from error
        if robot.tag in ('sdf', 'mujoco'):
            raise self._error(
                f'is {"SDF" if robot.tag == "sdf" else "MJCF"}, not URDF; give the '
                'URDF that it was made from.'
            )
        if robot.tag != 'robot':
            raise self._error(f'has <{robot.tag}> as its root element; a URDF has <robot>.')
        if any(
            'xacro' in str(element.tag) or '${' in value
            for element in robot.iter()
            for value in (*element.attrib.values(), '')
        ):
            raise self._error(
                'is a xacro file that has not been expanded; run "xacro FILE > robot.urdf" first.'
            )
        return robot

    def _named(
        self,
        robot: ElementTree.Element,
        tag: str,
        read: Callable[[ElementTree.Element, str], _Named],
    ) -> dict[str, _Named]:
        """Return `read(element, name)` for each element with a tag, by the element's name."""
        found: dict[str, _Named] = {}
        for element in robot.findall(tag):
            name = element.get('name', '')
            if not name:
                raise self._error(f'has a <{tag}> without a name.')
            if name in found:
                raise self._error(f'has two <{tag}> elements named {name!r}; names must differ.')
            found[name] = read(element, name)
        return found

    def _require_once(self, element: ElementTree.Element, where: str, *known: str) -> None:
        """Refuse a known child element that is there twice, or is written in capitals."""
        tags = [child.tag for child in element]
        for tag in tags:
            if tag.lower() in known and tag not in known:
                raise self._error(f'{where} has <{tag}>; URDF writes <{tag.lower()}>.')
            if tag in known and tags.count(tag) > 1:
                raise self._error(f'{where} has two <{tag}> elements; keep the right one.')

    def _link(self, element: ElementTree.Element, name: str) -> bool:
        self._require_once(element, f'link {name!r}', 'inertial')
        inertial = element.find('inertial')
        if inertial is None:
            return False
        where = f'link {name!r}, <inertial>'
        self._require_once(inertial, where, 'mass', 'inertia', 'origin')
        mass_element, tensor_element = inertial.find('mass'), inertial.find('inertia')
        if mass_element is None or tensor_element is None:
            missing = 'mass' if mass_element is None else 'inertia'
            raise self._error(
                f'{where} has no <{missing}>; give it, or leave <inertial> out for '
                'a link without mass.'
            )
        mass = self._number(mass_element, 'value', f'{where}, <mass>')
        if mass < 0.0:
            raise self._error(f'{where} has a mass of {mass} kg; a mass cannot be negative.')
        six = [
            self._number(tensor_element, key, f'{where}, <inertia>') for key in _TENSOR_ATTRIBUTES
        ]
        self._check_origin(inertial, where)
        return any((mass, *six))

    def _joint(self, element: ElementTree.Element, name: str) -> UrdfJoint:
        where = f'joint {name!r}'
        self._require_once(element, where, 'parent', 'child', 'origin', 'axis', 'limit', 'mimic')
        kind = element.get('type', '')
        if kind not in JOINT_TYPES:
            raise self._error(
                f'{where} has the type {kind!r}; URDF knows {", ".join(JOINT_TYPES)}.'
            )
        ends = [element.find(tag) for tag in ('parent', 'child')]
        parent, child = ('' if end is None else end.get('link', '') for end in ends)
        if not (parent and child):
            raise self._error(f'{where} names no {"child" if parent else "parent"} link.')
        mimic = element.find('mimic')
        self._check_origin(element, where)
        self._check_axis(element, where)
        return UrdfJoint(
            name,
            kind,
            parent,
            child,
            self._limits(element, kind, where),
            None if mimic is None else mimic.get('joint', '(unnamed)'),
        )

    def _check_origin(self, element: ElementTree.Element, where: str) -> None:
        origin = element.find('origin')
        if origin is not None:
            for key in ('xyz', 'rpy'):
                self._numbers(origin, key, f'{where}, <origin>', '0 0 0')

    def _check_axis(self, element: ElementTree.Element, where: str) -> None:
        axis = element.find('axis')
        if axis is None or element.get('type') == 'fixed':
            return
        vector = self._numbers(axis, 'xyz', f'{where}, <axis>', '1 0 0')
        length = float(np.linalg.norm(vector))
        if length < _AXIS_LENGTH_TOLERANCE:
            raise self._error(
                f'{where} has the axis {vector.tolist()}, which has no direction; '
                'give a unit vector such as 0 0 1.'
            )
        if abs(length - 1.0) > _AXIS_LENGTH_TOLERANCE:
            self._notes.append(
                f'{where} has an axis of length {length:.6g}; its direction alone was used.'
            )

    def _limits(self, element: ElementTree.Element, kind: str, where: str) -> JointLimits | None:
        limit = element.find('limit')
        if kind not in MOVING_TYPES or (limit is None and kind == 'continuous'):
            return None
        if limit is None:
            raise self._error(
                f'{where} is {kind} without <limit>; URDF requires effort and velocity limits '
                'for it. Give them, or make the joint continuous.'
            )

        def value(key: str, absent: float) -> float:
            stated = absent
            # URDF requires effort and velocity limits: with an infinite `absent` a missing limit
            # is an error.
            if key in limit.attrib or math.isinf(absent):
                stated = self._number(limit, key, f'{where}, <limit>')
            return math.copysign(math.inf, stated) if abs(stated) >= UNLIMITED else stated

        unstated = not {'lower', 'upper'} & set(limit.attrib)
        unbounded = kind == 'continuous' or unstated
        if unstated and kind != 'continuous':
            self._notes.append(
                f'{where} has neither a lower nor an upper limit, which URDF reads as 0 to 0: it '
                'could not move. It is taken for unlimited; give both.'
            )
        lower = -math.inf if unbounded else value('lower', 0.0)
        upper = math.inf if unbounded else value('upper', 0.0)
        if lower == upper:
            self._notes.append(f'{where} is limited to the one position {lower:g}.')
        velocity, effort = value('velocity', math.inf), value('effort', math.inf)
        if MOST_EFFORT < effort < math.inf:
            self._notes.append(f'{where} has an effort limit of {effort:g}, taken for none.')
            effort = math.inf
        for name, bound in (('effort', effort), ('velocity', velocity)):
            if bound == 0.0:
                self._notes.append(
                    f'{where} has a limit of 0 on its {name}, which forbids any; if it is '
                    'unknown, give a true one.'
                )
        try:
            return JointLimits(lower=lower, upper=upper, velocity=velocity, effort=effort)
        except DescriptionError as error:
            raise self._error(f'{where}, <limit>: {error}') from None

    def _numbers(
        self, element: ElementTree.Element, key: str, where: str, absent: str | None = None
    ) -> Array:
        """
        Return the finite numbers of an attribute, as many as its default `absent` has.

        Without a default the attribute is required and must be one number.
        """
        text = element.get(key, absent)
        if text is None:
            raise self._error(f'{where} has no attribute {key!r}.')
        words, count = text.split(), 1 if absent is None else len(absent.split())
        if len(words) != count:
            wanted = 'one number' if count == 1 else 'three numbers'
            raise self._error(f'{where}: {key}="{text}" must be {wanted}.')
        try:
            values = np.array([decimal(word) for word in words])
        except ValueError:
            values = np.array([math.nan])
        if not np.isfinite(values).all():
            raise self._error(f'{where}: {key}="{text}" is no finite number.')
        return values

    def _number(self, element: ElementTree.Element, key: str, where: str) -> float:
        return float(self._numbers(element, key, where)[0])
