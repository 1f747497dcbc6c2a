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
from numpy.typing import NDArray

from .document import parse_urdf, UrdfDocument, UrdfJoint
from ..arm.description import JointLimits
from ..arm.inertia import LinkInertia
from ..errors import UrdfError
from ..spatial import exp3, JointKind, pose_from_xyz_rpy

_KINDS = {
    'revolute': JointKind.REVOLUTE,
    'continuous': JointKind.REVOLUTE,
    'prismatic': JointKind.PRISMATIC,
}
_MOST_NAMES = 16  # more joint names than this make an error message unreadable


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
    frame: NDArray[np.float64]
    axis: NDArray[np.float64]
    inertia: LinkInertia
    bodies: tuple[str, ...]
    limits: JointLimits | None = None

    @property
    def direction(self) -> NDArray[np.float64]:
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
    mount: NDArray[np.float64]
    base_inertia: LinkInertia | None
    joints: tuple[ChainJoint, ...]
    tool_frames: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    massless: tuple[str, ...] = ()
    held_joints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

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
    return _ChainReader(document, tuple(joint_names)).chain()


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


class _ChainReader:
    """Follows one chain through one document."""

    def __init__(self, document: UrdfDocument, joint_names: tuple[str, ...]) -> None:
        self._document = document
        self._names = joint_names
        self._held: list[str] = []
        self._notes: list[str] = []

    def _error(self, problem: str) -> UrdfError:
        return UrdfError(f'{self._document.source}: {problem}')

    def chain(self) -> SerialChain:
        path = self._path()
        base = path[0].parent
        poses = self._poses(path)
        joints, massless = [], []
        for joint in (step for step in path if step.name in self._names):
            stop = self._following(joint.name)
            inertia, bodies, _ = self._collect(joint.child, stop)
            if inertia.mass == 0.0:
                massless.append(joint.child)
            joints.append(
                ChainJoint(
                    joint.name,
                    _KINDS[joint.kind],
                    joint.child,
                    poses[joint.child],
                    joint.axis,
                    inertia,
                    bodies,
                    joint.limits,
                )
            )
        last = joints[-1]
        _, _, tool = self._collect(last.link, None)
        self._note_the_rest()
        return SerialChain(
            self._document.name,
            self._document.source,
            base,
            self._mount(base),
            self._document.links[base],
            tuple(joints),
            {link: last.frame @ pose for link, pose in tool.items()},
            tuple(massless),
            tuple(dict.fromkeys(self._held)),
            (*self._document.notes, *self._notes),
        )

    def _path(self) -> list[UrdfJoint]:
        """Return the joints from the arm's first to its last, fixed ones included."""
        if not self._names:
            raise self._error("no joint names were given; name the arm's joints from base to tip.")
        arm = [self._arm_joint(name) for name in self._names]
        path = self._document.path_to(arm[-1].child)
        moving = [joint for joint in path if joint.kind != 'fixed']
        found = tuple(joint.name for joint in moving[-len(arm) :])
        if found != self._names:
            raise self._error(
                f'on the way to {self._names[-1]!r} the moving joints are '
                f'{", ".join(found) or "none"}; expected {", ".join(self._names)} as one chain in '
                'this order. It is another arm, or joint_names is not its order from base to tip.'
            )
        if len(moving) > len(arm):
            carrier = moving[-len(arm) - 1]
            raise self._error(
                f'{self._names[0]!r} hangs below the {carrier.kind} joint {carrier.name!r}: the '
                'base of the arm moves, and its dynamics then depend on that motion. Give a URDF '
                'in which the base stands still.'
            )
        return path[path.index(arm[0]) :]

    def _arm_joint(self, name: str) -> UrdfJoint:
        joint = self._document.joints.get(name)
        if joint is None:
            raise self._error(f'has no joint {name!r}; {self._joints_it_has(name)}')
        if joint.mimics is not None:
            raise self._error(
                f'joint {name!r} mimics {joint.mimics!r}; a joint of the arm must move on its own.'
            )
        if not joint.moves:
            raise self._error(
                f'joint {name!r} is {joint.kind}; a joint of the arm must be '
                'revolute, continuous or prismatic.'
            )
        return joint

    def _joints_it_has(self, requested: str) -> str:
        moving = [joint.name for joint in self._document.joints.values() if joint.moves]
        if not moving:
            return 'none of its joints moves.'
        prefixed = sorted({name[: -len(requested)] for name in moving if name.endswith(requested)})
        if prefixed:
            return (
                'it has that joint under the prefix '
                f'{" and ".join(map(repr, prefixed))}; say which arm is meant (arm_prefix, '
                '--arm-prefix).'
            )
        shown = ', '.join(moving[:_MOST_NAMES]) + (', ...' if len(moving) > _MOST_NAMES else '')
        return (
            f'its moving joints are {shown}. Name the arm in it (robot_type and arm_prefix, '
            '--arm and --arm-prefix, or joint_names).'
        )

    def _following(self, name: str) -> str | None:
        place = self._names.index(name) + 1
        return self._names[place] if place < len(self._names) else None

    def _poses(self, path: list[UrdfJoint]) -> dict[str, NDArray[np.float64]]:
        """Return the pose of every link on the path in the base frame, all joints at zero."""
        poses = {path[0].parent: np.eye(4)}
        for joint in path:
            poses[joint.child] = poses[joint.parent] @ joint.origin
        return poses

    def _mount(self, base: str) -> NDArray[np.float64]:
        pose = np.eye(4)
        for joint in self._document.path_to(base):
            pose = pose @ joint.origin
        return pose

    def _collect(
        self,
        link: str,
        stop: str | None,
    ) -> tuple[LinkInertia, tuple[str, ...], dict[str, NDArray[np.float64]]]:
        """Return what `link` carries up to the arm's next joint: sum, names and link poses."""
        total, bodies = LinkInertia.zero(), []
        frames: dict[str, NDArray[np.float64]] = {}
        frontier = [(link, np.eye(4), True)]
        while frontier:
            name, pose, rigid = frontier.pop(0)
            inertia = self._document.links[name]
            if inertia is not None and inertia.mass > 0.0:
                total = total + inertia.expressed_in(pose)
                bodies.append(name)
            if rigid and name != link:
                frames[name] = pose
            for joint in self._document.joints_from(name):
                if joint.name == stop:
                    continue
                motion = self._held_motion(joint)
                frontier.append(
                    (joint.child, pose @ joint.origin @ motion, rigid and joint.kind == 'fixed')
                )
        return total, tuple(bodies), frames

    def _held_motion(self, joint: UrdfJoint) -> NDArray[np.float64]:
        """Return the motion of a joint that is held: none, or up to the limit next to zero."""
        if joint.kind == 'fixed':
            return np.eye(4)
        self._held.append(joint.name)
        limits = joint.limits
        at = 0.0 if limits is None else min(max(0.0, limits.lower), limits.upper)
        if joint.kind == 'prismatic':
            return pose_from_xyz_rpy(at * joint.axis, np.zeros(3))
        pose = np.eye(4)
        pose[:3, :3] = exp3(joint.axis, at)
        return pose

    def _note_the_rest(self) -> None:
        if self._held:
            self._notes.append(
                f'{", ".join(dict.fromkeys(self._held))}: not part of the arm, held at zero (or '
                'at the limit next to it); what they carry counts to the arm.'
            )
        others = [
            joint.name
            for joint in self._document.joints.values()
            if joint.moves and joint.name not in self._names and joint.name not in self._held
        ]
        if others:
            self._notes.append(
                f'{", ".join(others[:_MOST_NAMES])}: on another branch of the URDF, left out.'
            )
