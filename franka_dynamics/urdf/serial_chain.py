# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads the serial arm in a URDF or MJCF.

The inertia of every body fixed to a moving link is added to that link. Other moving joints that
the arm carries (a finger, a camera's pan) or stands on (a lift) are held, and their bodies are
added, too. Moving joints on other branches, and their bodies, are left out.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .document import TENSOR_FROM_GEOMS, UrdfDocument, UrdfJoint
from .reading import parse_robot
from ..arm.arm_fields import JointLimits
from ..arm.frames import MIN_ROTATION_RAD
from ..arm.inertia import LinkInertia
from ..arrays import Array, as_array
from ..constants import GRAVITY
from ..errors import list_text, UrdfError
from ..spatial import inverse_transform


class SerialChain(NamedTuple):
    """
    A serial arm in a URDF or MJCF: its joints, and the poses and inertias of the file's links.

    `joints` are the arm's, from base to tip. `link_poses` are those of all links in the root link,
    with the arm's joints at zero, (4, 4). `fixed_links` lists, under the name of a link that a
    joint of the arm moves, this link and those fixed to it; under the name of the root link, the
    links that do not move. `links_with_mass` are those of them with mass or inertia. `tool_links`
    are the last joint's link and links fixed to it. `held_positions` are those [rad or m] of other
    moving joints that the arm carries (a finger) or stands on (a lift). `notes` are sentences
    about tolerated deviations from the format, doubtful limits and joints that are left out,
    `torque_notes` about what changes torques: a tilted mount, held joints and missing masses.
    """

    document: UrdfDocument
    joints: tuple[UrdfJoint, ...]
    link_poses: dict[str, Array]
    fixed_links: dict[str, tuple[str, ...]]
    tool_links: tuple[str, ...]
    held_positions: dict[str, float]
    notes: tuple[str, ...]
    torque_notes: tuple[str, ...] = ()

    @property
    def links_with_mass(self) -> dict[str, tuple[str, ...]]:
        """Names of links with mass or inertia on the root and each moving link, by its name."""
        links = self.document.links
        return {
            name: tuple(one for one in with_it if links[one].has_inertia)
            for name, with_it in self.fixed_links.items()
        }

    @property
    def mount_pose(self) -> Array:
        """Pose of the parent link of joint 1 in the root link, shape (4, 4)."""
        return self.link_poses[self.joints[0].parent]

    @property
    def massless_links(self) -> tuple[str, ...]:
        """Names of the file's moving links that, with all fixed to them, lack mass and inertia."""
        links = filter(self.document.is_link_of_file, (joint.child for joint in self.joints))
        bodies = self.links_with_mass
        return tuple(one for one in links if not bodies[one])

    def inertia(self, link: str) -> LinkInertia:
        """Return the inertia of a link and of what is fixed to it, in the link's frame."""
        whole = LinkInertia.zero()
        here = inverse_transform(self.link_poses[link])
        for name in self.links_with_mass[link]:
            whole += self.document.links[name].inertia.expressed_in(here @ self.link_poses[name])
        return whole


def read_chain(
    urdf: str | UrdfDocument,
    joint_names: Sequence[str],
    source_name: str = '',
    *,
    held_positions: Mapping[str, float] | None = None,
    gripper_joints: Collection[str] = (),
) -> SerialChain:
    """
    Return the serial arm, in a URDF or MJCF, whose joints from base to tip are `joint_names`.

    `urdf` is the text, called `source_name` in error messages, or the result of `parse_robot`.
    `held_positions` [rad or m] are those of other moving joints. Those that the arm carries need
    none: they are held at zero, or the limit nearest to it, and a mimic joint where it then is.
    `gripper_joints` are joints that were not chosen, of which a note tells.

    Raises
    ------
    UrdfError
        If the text is no URDF, a joint is missing, of another type or a mimic, the joints are
        not one chain in this order, the arm stands on a joint that is not held, a held position
        is impossible, or a body that the arm carries moves with a joint of the arm by <mimic>.

    """
    document = urdf if isinstance(urdf, UrdfDocument) else parse_robot(urdf, source_name)
    require_moving_joints(document, held_positions or {})
    arm = _require_chain(document, tuple(joint_names), held_positions or {})
    names = [joint.name for joint in arm]
    positions = _held_positions(document, names, held_positions or {})
    poses, carrier, tools = _link_poses_and_carriers(document, names, positions)
    keys = (document.root_link, *(joint.child for joint in arm))
    fixed = {link: tuple(one for one in document.links if carrier[one] == link) for link in keys}
    notes = list(document.notes)
    torque_notes = list(document.torque_notes)
    moved = (name for joint in arm for name in fixed[joint.child])
    sources = document.tensor_sources
    if by_geoms := [name for name in moved if sources.get(name) == TENSOR_FROM_GEOMS]:
        notes.append(f'{list_text(by_geoms)}: the inertia is computed from the geoms of the body.')
    torque_notes += _tilted_mount_note(document, arm[0].parent, poses)
    if positions:
        at = ', '.join(
            f'{name} at {position:g}{_kind_of_held(document, name, gripper_joints)}'
            for name, position in positions.items()
        )
        torque_notes.append(
            f'{at}: not part of the arm (--joints chooses), and held there (held=, --hold); '
            'the bodies they carry count as part of the arm or of its base.'
        )
    moving = (joint for joint in document.joints.values() if joint.type != 'fixed')
    if others := [joint.name for joint in moving if not carrier[joint.child]]:
        branch = f'another branch of the {document.wording.file}'
        notes.append(f'{list_text(others)}: on {branch}, left out.')
    chain = SerialChain(document, tuple(arm), poses, fixed, tools, positions, tuple(notes))
    return chain._replace(torque_notes=(*torque_notes, *_massless_link_notes(chain)))


def _link_poses_and_carriers(
    document: UrdfDocument,
    joint_names: Sequence[str],
    held_positions: Mapping[str, float],
) -> tuple[dict[str, Array], dict[str, str], tuple[str, ...]]:
    """
    Return each link's pose with the arm at q = 0, the arm's link that carries it, and tool links.

    Poses are in the root link. The carrier is the root for links that do not move, '' on other
    branches. `joint_names` are the arm's, `held_positions` those of held ones. Tool links are
    the last joint's link and those fixed to it.
    """
    root = document.root_link
    last = document.joints[joint_names[-1]].child
    poses = {root: np.eye(4)}
    carrier = {root: root}
    tools = [last]
    # What the arm stands on counts as fixed, whatever its joints are.
    still = {*held_positions, *document.moving_joints_to(joint_names[0])}
    for joint in document.joints_from_root():
        poses[joint.child] = poses[joint.parent] @ joint.pose(held_positions.get(joint.name, 0.0))
        carrier[joint.child] = carrier[joint.parent]
        if joint.name in joint_names:
            carrier[joint.child] = joint.child
        elif joint.type != 'fixed' and joint.name not in still:
            carrier[joint.child] = ''
        elif joint.type == 'fixed' and joint.parent in tools:
            tools.append(joint.child)
    return poses, carrier, tuple(tools)


def _massless_link_notes(chain: SerialChain) -> list[str]:
    """Return a list with a note on moving links without mass, if there are any."""
    document = chain.document
    words = chain.document.wording
    links = ', '.join(map(repr, chain.massless_links))
    if not any(chain.links_with_mass[joint.child] for joint in chain.joints):
        return [
            f'{document.source_name}: no moving {words.link} has an {words.inertial} with mass '
            f'({links}): M, C dq and g are zero, and only the geometry can be used.'
        ]
    what = f'neither the {words.link} nor what is fixed to it has an {words.inertial} with mass.'
    return [f'{links}: {what}'] if links else []


def _tilted_mount_note(document: UrdfDocument, base: str, poses: Mapping[str, Array]) -> list[str]:
    """Return a list, empty if the mount is upright, of a note on gravity in the base's frame."""
    up = poses[base][2, :3]
    if np.linalg.norm(up[:2]) <= MIN_ROTATION_RAD and up[2] > 0.0:
        return []
    gravity = ', '.join(f'{value + 0.0:.5g}' for value in (GRAVITY[2] * up).round(9))
    return [
        f'the {document.wording.file} mounts {base} tilted against its root {document.root_link}: '
        f'in the frame of {base} gravity is ({gravity}) m/s^2, if {document.root_link} is level.'
    ]


def _require_chain(
    document: UrdfDocument,
    joint_names: tuple[str, ...],
    held_positions: Mapping[str, float],
) -> list[UrdfJoint]:
    """Return the named joints; UrdfError unless independent, a chain, on a fixed or held base."""
    if not joint_names:
        raise document.error("no joint names were given; name the arm's joints from base to tip.")
    arm = []
    for name in joint_names:
        joint = document.joints.get(name)
        if joint is None:
            raise document.error(f'has no joint {name!r}; {_missing_joint_hint(document, name)}')
        if joint.leader is not None or not joint.is_moving:
            kind = f'is {document.joint_type_text(joint)}'
            what = f'mimics {joint.leader!r}' if joint.is_moving else kind
            raise document.error(
                f'joint {name!r} {what}; it must be {document.wording.moving_joints}, independent.'
            )
        if any(name in loop for loop in document.loops):
            raise document.error(f'joint {name!r} is in an unsupported <connect> or <weld> loop.')
        arm.append(joint)
    path = document.moving_joints_to(joint_names[-1])
    moving = [name for name in path if name in joint_names or name not in held_positions]
    first = moving.index(joint_names[0]) if joint_names[0] in moving else len(moving)
    for name in moving[first:]:
        if not document.joints[name].is_moving:
            raise document.error(
                f'joint {name!r}, on the way to {joint_names[-1]!r}, is '
                f'{document.joint_type_text(document.joints[name])}; an arm has '
                f'{document.wording.moving_joints} joints alone.'
            )
    if tuple(moving[-len(arm) :]) != joint_names:
        raise document.error(
            f'on the way to {joint_names[-1]!r} are the moving joints '
            f'{", ".join(moving[-len(arm) :]) or "none"}, not {", ".join(joint_names)} in this '
            'order. It is another arm, or joint_names is not its order from base to tip.'
        )
    below = [document.joints[name] for name in moving[: -len(arm)]]
    # A mimic joint is held where the joint that it follows puts it.
    if below := [one for one in below if one.leader is None or one.leader not in held_positions]:
        fix = 'Give a file in which the base stands still.'
        if all(joint.is_moving for joint in below):
            at = dict.fromkeys(joint.leader or joint.name for joint in below)
            poses = ', '.join(f'{name!r}: 0.0' for name in at)
            options = ' '.join(f'--hold {name}=0' for name in at)
            fix = (
                f'Hold it at a pose: held={{{poses}}}, on the command line {options}; a node '
                f'takes the arm file of `franka-dynamics arm import FILE {options}`.'
            )
        raise document.error(
            f'{joint_names[0]!r} hangs below the {document.joint_type_text(below[-1])} joint '
            f'{below[-1].name!r}: the base of the arm moves, and torques depend on that. {fix}'
        )
    return arm


def _kind_of_held(document: UrdfDocument, joint_name: str, gripper_joints: Collection[str]) -> str:
    """Return, in brackets, of what kind a held joint is; '' if it could be an arm's."""
    if joint_name in gripper_joints:
        return ' (taken for a gripper)'
    joint = document.joints[joint_name]
    return '' if joint.is_moving else f' ({document.joint_type_text(joint)})'


def require_moving_joints(document: UrdfDocument, held_joints: Collection[str]) -> None:
    """Raise UrdfError if one of `held_joints` (to be fixed) is no moving joint of the URDF."""
    moving = [one.name for one in document.joints.values() if one.is_moving]
    for name in held_joints:
        if name not in moving:
            raise document.error(f'held has {name!r}; the moving joints are {list_text(moving)}.')


def _held_positions(
    document: UrdfDocument, arm: Sequence[str], requested: Mapping[str, float]
) -> dict[str, float]:
    """Return held positions of joints under or on the arm; UrdfError if one cannot be held."""
    for name, given in requested.items():
        position = float(as_array(given, (), f'{document.source_name}: held {name!r}', UrdfError))
        joint = document.joints[name]
        if name in arm:
            raise document.error(f'held has {name!r}, which is a joint of the arm; leave it out.')
        if joint.leader is not None:
            raise document.error(f'held has {name!r}, which mimics {joint.leader!r}; hold that.')
        limits = joint.limits or JointLimits()
        if not (limits.lower <= position <= limits.upper):
            raise document.error(
                f'held has {name!r} at {position:g}, which is outside its limits, '
                f'{limits.lower:g} to {limits.upper:g}.'
            )

    def held_position(name: str, followers: tuple[str, ...] = ()) -> float:
        """Return a joint's position: held, nearest 0 or by its leader (UrdfError without one)."""
        joint = document.joints[name]
        if name in requested:
            return float(requested[name])
        if joint.leader is None:
            limits = joint.limits or JointLimits()
            return float(np.clip(0.0, limits.lower, limits.upper))
        if joint.leader not in document.joints or joint.leader in followers:
            raise document.error(
                f'joint {name!r} mimics {joint.leader!r}, which is no joint of the URDF, or '
                'follows it; name a joint that moves on its own in <mimic>.'
            )
        return joint.multiplier * held_position(joint.leader, (*followers, name)) + joint.offset

    for name, joint in document.joints.items():
        if joint.leader in arm and document.carries_mass(name):
            raise document.error(
                f'joint {name!r} mimics {joint.leader!r}, a joint of the arm: the motion of its '
                f'bodies is no part of a serial arm and not supported. If {joint.leader!r} is a '
                "gripper's, leave it out (joints=[...], --joints)."
            )
    return {
        name: held_position(name)
        for name, joint in document.joints.items()
        if joint.type != 'fixed' and name not in arm
        if arm[0] in document.moving_joints_to(name) or name in document.moving_joints_to(arm[0])
    }


def _missing_joint_hint(document: UrdfDocument, joint_name: str) -> str:
    """Return, for an error message, which joints the document has in place of a requested one."""
    moving = [joint.name for joint in document.joints.values() if joint.is_moving]
    if not moving:
        return 'none of its joints moves.'
    prefixed = sorted({name[: -len(joint_name)] for name in moving if name.endswith(joint_name)})
    if prefixed:
        return (
            f'it has that joint under the prefix {" and ".join(map(repr, prefixed))}; say which '
            'arm is meant (arm_prefix, --arm-prefix).'
        )
    return (
        f'its moving joints are {list_text(moving)}. Name those of the arm '
        '(joint_names, --joints), or the arm (robot_type and arm_prefix, --arm and --arm-prefix).'
    )
