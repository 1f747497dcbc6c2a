# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The serial arm inside a URDF: a neutral reading that knows neither DH rows nor a library.

Fixed joints are folded away and every body is added to the moving link that carries it. A joint
that moves but is none of the arm's (a finger, a camera's pan) is held at zero, or at its limit
next to zero, and its bodies are added too; the notes say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .document import parse_urdf, UrdfDocument, UrdfJoint
from ..arm.description import JointLimits
from ..arm.inertia import LinkInertia
from ..errors import listed, UrdfError
from ..spatial import exp3, inverse_transform, JointKind, pose_from_xyz_rpy
from ..typing import Array

_KINDS = {
    'revolute': JointKind.REVOLUTE,
    'continuous': JointKind.REVOLUTE,
    'prismatic': JointKind.PRISMATIC,
}


@dataclass(frozen=True, eq=False)
class ChainJoint:
    """
    A joint of the arm and the link that it moves.

    `frame` is the joint's frame in the base frame with all joints at zero, shape (4, 4); `axis`
    is a unit vector in that frame; `inertia` is that of all bodies which `bodies` names, in that
    frame and about its origin. `limits` is None where the URDF states none.
    """

    name: str
    kind: JointKind
    link: str
    frame: Array
    axis: Array
    inertia: LinkInertia
    bodies: tuple[str, ...]
    limits: JointLimits | None = None

    @property
    def direction(self) -> Array:
        """The joint axis in the base frame with all joints at zero, shape (3,)."""
        return self.frame[:3, :3] @ self.axis


@dataclass(frozen=True, eq=False)
class SerialChain:
    """
    A serial arm as a URDF describes it.

    The base frame is that of `base`, the link that joint 1 hangs on; `mount` is its pose in the
    URDF's root link. `tool_frames` holds the poses, in the base frame with all joints at zero, of
    the links fixed behind the last joint; `massless` the moving links without any inertia;
    `held_joints` the joints that are none of the arm's, held at zero or the limit next to it.
    `base_inertia` is that of all that stands still, in the base frame. `name` is the robot's,
    `source` what error messages call the text, `notes` are sentences about what was read
    leniently.
    """

    name: str
    source: str
    base: str
    mount: Array
    base_inertia: LinkInertia | None
    joints: tuple[ChainJoint, ...]
    tool_frames: dict[str, Array] = field(default_factory=dict)
    massless: tuple[str, ...] = ()
    held_joints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def flange(self) -> str | None:
        """The link behind the last joint that is named as a flange is, None if there is none."""
        endings = (f'link{len(self.joints) + 1}', 'flange', 'tool0')
        named = (name for one in endings for name in self.tool_frames if name.endswith(one))
        return next(named, None)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, from base to tip."""
        return tuple(joint.name for joint in self.joints)


def read_chain(
    urdf: str | UrdfDocument, joint_names: Sequence[str], source: str = 'the URDF'
) -> SerialChain:
    """
    Read the arm with these joints out of a URDF.

    Parameters
    ----------
    urdf : str or UrdfDocument
        The text, or what `parse_urdf` made of it.
    joint_names : sequence of str
        The arm's joints in order from base to tip, as the URDF names them.
    source : str
        What error messages call the text.

    Raises
    ------
    UrdfError
        If the text is no URDF, a joint is missing, fixed or a mimic of another, the joints are
        not one chain in this order, or the arm stands on something that moves.

    """
    document = urdf if isinstance(urdf, UrdfDocument) else parse_urdf(urdf, source)
    arm = _require_chain(document, tuple(joint_names))
    places = {joint.name: k for k, joint in enumerate(arm)}
    base = arm[0].parent
    mount = np.eye(4)
    for joint in document.path_to(base):
        mount = mount @ joint.origin
    frames: list[Array] = []
    carried = [LinkInertia.zero() for _ in arm]
    standing = LinkInertia.zero()
    bodies: list[list[str]] = [[] for _ in arm]
    tools: dict[str, Array] = {}
    held: dict[str, None] = {}
    # A link, its pose in the frame of the arm's joint that carries it (in the base frame where
    # it stands still), the number of that joint (-1: none), and whether it is fixed to it.
    frontier = [(document.root, inverse_transform(mount), -1, True)]
    while frontier:
        link, pose, k, rigid = frontier.pop(0)
        inertia = document.links[link]
        if inertia is not None and k < 0:
            standing = standing + inertia.expressed_in(pose)
        elif inertia is not None and inertia.parameters().any():
            carried[k] = carried[k] + inertia.expressed_in(pose)
            bodies[k].append(link)
        if k == len(arm) - 1 and rigid and link != arm[k].child:
            tools[link] = frames[k] @ pose
        for joint in document.joints_from(link):
            placed = pose @ joint.origin
            if joint.name in places:
                frames.append(placed if k < 0 else frames[k] @ placed)
                frontier.append((joint.child, np.eye(4), places[joint.name], True))
            elif k >= 0:
                if joint.kind != 'fixed':
                    held[joint.name] = None
                    placed = placed @ _held_motion(joint)
                frontier.append((joint.child, placed, k, rigid and joint.kind == 'fixed'))
            elif joint.kind == 'fixed':
                frontier.append((joint.child, placed, k, rigid))
    others = [
        joint.name
        for joint in document.joints.values()
        if joint.moves and joint.name not in places and joint.name not in held
    ]
    notes = [*document.notes]
    if held:
        notes.append(
            f'{", ".join(held)}: not part of the arm, held at zero (or at the limit next to it); '
            'what they carry counts to the arm.'
        )
    if others:
        notes.append(f'{listed(others)}: on another branch of the URDF, left out.')
    return SerialChain(
        document.name,
        document.source,
        base,
        mount,
        standing if standing.parameters().any() else None,
        tuple(
            ChainJoint(
                joint.name,
                _KINDS[joint.kind],
                joint.child,
                frames[k],
                joint.axis,
                carried[k],
                tuple(bodies[k]),
                joint.limits,
            )
            for k, joint in enumerate(arm)
        ),
        tools,
        tuple(joint.child for joint, names in zip(arm, bodies) if not names),
        tuple(held),
        tuple(notes),
    )


def find_chains(document: UrdfDocument) -> list[tuple[str, ...]]:
    """
    Return the joint names of every unbranched run of moving joints that starts at the base.

    A run ends where moving joints branch (a gripper's fingers) and at mimic joints. A URDF of two
    arms has two runs; a lone finger joint behind an arm lengthens its run by one.
    """
    chains = []
    for first in _next_moving(document, document.root):
        run, joint = [first.name], first
        while True:
            following = _next_moving(document, joint.child)
            if len(following) != 1:
                break
            joint = following[0]
            run.append(joint.name)
        chains.append(tuple(run))
    return chains


def _next_moving(document: UrdfDocument, link: str) -> list[UrdfJoint]:
    """Return the moving joints next below a link, through fixed joints; mimics left out."""
    found, frontier = [], [link]
    while frontier:
        for joint in document.joints_from(frontier.pop(0)):
            if joint.kind == 'fixed':
                frontier.append(joint.child)
            elif joint.moves and joint.mimics is None:
                found.append(joint)
    return found


def _held_motion(joint: UrdfJoint) -> Array:
    """Return the motion of a joint that is held: none, or up to the limit next to zero."""
    limits = joint.limits
    at = 0.0 if limits is None else min(max(0.0, limits.lower), limits.upper)
    if joint.kind == 'prismatic':
        return pose_from_xyz_rpy(at * joint.axis, np.zeros(3))
    pose = np.eye(4)
    pose[:3, :3] = exp3(joint.axis, at)
    return pose


def _require_chain(document: UrdfDocument, names: tuple[str, ...]) -> list[UrdfJoint]:
    """Return the joints of these names, which are one chain in this order on a base at rest."""

    def error(problem: str) -> UrdfError:
        return UrdfError(f'{document.source}: {problem}')

    if not names:
        raise error("no joint names were given; name the arm's joints from base to tip.")
    arm = []
    for name in names:
        joint = document.joints.get(name)
        if joint is None:
            raise error(f'has no joint {name!r}; {_joints_it_has(document, name)}')
        if joint.mimics is not None:
            raise error(
                f'joint {name!r} mimics {joint.mimics!r}; a joint of the arm must move on its own.'
            )
        if not joint.moves:
            raise error(
                f'joint {name!r} is {joint.kind}; a joint of the arm must be '
                'revolute, continuous or prismatic.'
            )
        arm.append(joint)
    moving = [joint for joint in document.path_to(arm[-1].child) if joint.kind != 'fixed']
    found = tuple(joint.name for joint in moving[-len(arm) :])
    if found != names:
        raise error(
            f'on the way to {names[-1]!r} the moving joints are '
            f'{", ".join(found) or "none"}; expected {", ".join(names)} as one chain in '
            'this order. It is another arm, or joint_names is not its order from base to tip.'
        )
    if len(moving) > len(arm):
        carrier = moving[-len(arm) - 1]
        raise error(
            f'{names[0]!r} hangs below the {carrier.kind} joint {carrier.name!r}: the '
            'base of the arm moves, and its dynamics then depend on that motion. Give a URDF '
            'in which the base stands still.'
        )
    return arm


def _joints_it_has(document: UrdfDocument, requested: str) -> str:
    moving = [joint.name for joint in document.joints.values() if joint.moves]
    if not moving:
        return 'none of its joints moves.'
    prefixed = sorted({name[: -len(requested)] for name in moving if name.endswith(requested)})
    if prefixed:
        return (
            f'it has that joint under the prefix {" and ".join(map(repr, prefixed))}; say which '
            'arm is meant (arm_prefix, --arm-prefix).'
        )
    return (
        f'its moving joints are {listed(moving)}. Name the arm in it (robot_type and arm_prefix, '
        '--arm and --arm-prefix, or joint_names).'
    )
