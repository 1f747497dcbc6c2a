# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The tree of links and joints of a URDF or MJCF, with limits, masses and notes on the file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from ..arm.arm_fields import FormatWords, JointLimits, MJCF_WORDS, URDF_WORDS
from ..arm.inertia import LinkInertia
from ..arrays import Array
from ..errors import UrdfError
from ..spatial import exp6, joint_twist, JointKind

MOVING_JOINT_TYPES = ('revolute', 'continuous', 'prismatic')
# In the name of a link that is no body of the MJCF, but stands between two joints of a body.
VIRTUAL_LINK_MARK = '@'
CUBE_CORNERS = np.array([*product((-1.0, 1.0), repeat=3)])  # (8, 3), of a cube with edges of 2
# What states the tensor of a body of an MJCF whose inertia is computed from its geoms.
TENSOR_FROM_GEOMS = 'geoms'


class Notes(NamedTuple):
    """Two lists of notes on a robot file, on what changes rigid-body torques and on the rest."""

    torque_notes: list[str]
    other_notes: list[str]


class UniqueNames:
    """A callable that makes names unique by appending underscores to names already in use."""

    def __init__(self, *used_names: str) -> None:
        """Store the names that are in use."""
        self._used_names = set(used_names)

    def __call__(self, name: str) -> str:
        """Return the name, with underscores behind it if it is in use, and keep it as used."""
        while name in self._used_names:
            name += '_'
        self._used_names.add(name)
        return name


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """
    A <joint> of a URDF with its type, links, origin, axis, limits and <mimic>.

    Attributes
    ----------
    name, type, parent, child : str
        Name and type of the joint, and names of its links.
    origin : ndarray, shape (4, 4)
        Pose of the child link in the parent link at position zero.
    axis : ndarray, shape (3,)
        Unit vector along the axis, in the child link's frame.
    limits : JointLimits or None
        None if the joint does not move (`is_moving`), or has no <limit>. A missing lower or upper
        bound is zero, as the URDF format says; if both are missing, or the joint is continuous,
        they are infinite.
    leader : str or None
        Name of the joint that this joint follows, at `multiplier` times its position plus
        `offset`.
    axis_point : ndarray, shape (3,)
        A point of the axis, in the child link's frame [m]; in a URDF the origin.

    """

    name: str
    type: str
    parent: str
    child: str
    origin: Array
    axis: Array
    limits: JointLimits | None = None
    leader: str | None = None
    multiplier: float = 1.0
    offset: float = 0.0
    axis_point: Array = field(default_factory=lambda: np.zeros(3))

    @property
    def is_moving(self) -> bool:
        """Whether the joint is revolute, continuous or prismatic."""
        return self.type in MOVING_JOINT_TYPES

    @property
    def joint_kind(self) -> JointKind:
        """Kind of a moving joint, revolute (also if it is continuous) or prismatic."""
        return JointKind.PRISMATIC if self.type == 'prismatic' else JointKind.REVOLUTE

    def pose(self, position: float) -> Array:
        """Return the pose (4, 4) of the child link in the parent link at a position [rad or m]."""
        twist = joint_twist(self.axis, self.axis_point, self.joint_kind)
        return np.asarray(self.origin @ exp6(twist, position))


@dataclass(frozen=True, eq=False)
class UrdfInertial:
    """
    The <inertial> of a URDF link; zeros if it has none.

    `tensor`, shape (3, 3), is about the centre of mass and, like that of the text, in the axes of
    the <inertial>'s frame, whose pose in the link's frame, shape (4, 4), is `origin`.
    """

    mass: float = 0.0
    tensor: Array = field(default_factory=lambda: np.zeros((3, 3)))
    origin: Array = field(default_factory=lambda: np.eye(4))

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
    The tree of links and joints of a URDF or MJCF, with notes on the file.

    Attributes
    ----------
    robot_name, source_name, text : str
        Name of the robot, name of the file in messages, and the URDF's XML.
    links : dict of UrdfInertial
        The links' inertias, by name.
    joints : dict of UrdfJoint
        The joints, by name.
    link_order : tuple of str
        Names of the links, a parent always before its children.
    notes : tuple of str
        Sentences about tolerated deviations from the format and doubtful limits.
    torque_notes : tuple of str
        Sentences about what changes torques.
    simulation_values : mapping of mappings
        Of each moving joint of an MJCF `armature`, `damping`, `frictionloss` and, if the file
        states one, `home`.
    mjcf_source : str
        Path or text of an MJCF; empty for a URDF.
    tensor_sources : mapping of str
        By body of an MJCF, what gives its inertia tensor.
    loops : tuple of frozenset of str
        The joints of each loop that an MJCF closes between two bodies.

    """

    robot_name: str
    source_name: str
    text: str
    links: dict[str, UrdfInertial]
    joints: dict[str, UrdfJoint]
    link_order: tuple[str, ...]
    notes: tuple[str, ...] = ()
    torque_notes: tuple[str, ...] = ()
    simulation_values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    mjcf_source: str = ''
    tensor_sources: Mapping[str, str] = field(default_factory=dict)
    loops: tuple[frozenset[str], ...] = ()

    @property
    def wording(self) -> FormatWords:
        """Words of the file's format, URDF or MJCF, for messages."""
        return MJCF_WORDS if self.mjcf_source else URDF_WORDS

    def inertial_words(self, link: str) -> FormatWords:
        """Return the format's words for messages, with the entries that state a link's inertia."""
        attribute = self.tensor_sources.get(link)
        if attribute == TENSOR_FROM_GEOMS:
            return self.wording._replace(
                mass='mass of its geoms',
                center='centre of its geoms',
                tensor='inertia of its geoms',
            )
        if attribute:
            return self.wording._replace(tensor=f'inertial {attribute}')
        return self.wording

    def joint_type_text(self, joint: UrdfJoint) -> str:
        """Return a joint's type for a message, in the terms of the file's format."""
        return self.wording.floating_joints if joint.type == 'floating' else joint.type

    def is_link_of_file(self, link: str) -> bool:
        """Return whether a link is in the file; False if added between joints of an MJCF body."""
        return not (self.mjcf_source and VIRTUAL_LINK_MARK in link)

    @property
    def root_link(self) -> str:
        """Name of the root link."""
        return self.link_order[0]

    @cached_property
    def _joint_by_child(self) -> dict[str, UrdfJoint]:
        """The joint whose child is a link, by the link's name."""
        return {joint.child: joint for joint in self.joints.values()}

    def error(self, problem: str) -> UrdfError:
        """Return a UrdfError whose message begins with `source_name`, the name of the file."""
        return UrdfError(f'{self.source_name}: {problem}')

    def joints_from_root(self) -> list[UrdfJoint]:
        """Return all joints in topological order, each after those between the root and it."""
        return [self._joint_by_child[link] for link in self.link_order[1:]]

    def unfixed_joints_to(self, joint: str) -> list[str]:
        """
        Return the names of the joints that are not fixed, from the root to `joint`, inclusive.

        Floating and planar joints, of which `is_moving` is False, are among them.
        """
        path: list[str] = []
        here = self.joints.get(joint)
        while here is not None:
            if here.type != 'fixed':
                path.append(here.name)
            here = self._joint_by_child.get(here.parent)
        return path[::-1]

    def carries_mass(self, joint: str) -> bool:
        """Return whether any link that moves with `joint` has mass or inertia."""
        return any(
            joint in self.unfixed_joints_to(carried.name) and self.links[carried.child].has_inertia
            for carried in self.joints.values()
        )
