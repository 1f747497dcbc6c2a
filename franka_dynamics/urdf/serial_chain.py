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

    Attributes
    ----------
    document : UrdfDocument
        The file's tree of links and joints.
    joints : tuple of UrdfJoint
        The arm's joints, from base to tip.
    link_poses : dict of ndarray, shape (4, 4)
        Poses of all links in the root link, with the arm's joints at zero.
    fixed_links : dict of tuple of str
        Under the name of each link that a joint of the arm moves, this link and those fixed to it;
        under the name of the root link, the links that do not move.
    tool_links : tuple of str
        The last joint's link and the links fixed to it.
    held_positions : dict of float
        Positions [rad or m] of other moving joints, which the arm carries (a finger) or stands on
        (a lift).
    notes : tuple of str
        Sentences on tolerated deviations from the format, doubtful limits and joints that are left
        out.
    torque_notes : tuple of str
        Sentences on what changes torques: a tilted mount, held joints and missing masses.

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
        """Those of `fixed_links` that have a mass or an inertia, under the same names."""
        links = self.document.links
        return {
            carrier: tuple(name for name in fixed if links[name].has_inertia)
            for carrier, fixed in self.fixed_links.items()
        }

    @property
    def mount_pose(self) -> Array:
        """Pose of the parent link of joint 1 in the root link, shape (4, 4)."""
        return self.link_poses[self.joints[0].parent]

    @property
    def massless_links(self) -> tuple[str, ...]:
        """Names of the file's moving links that, with all fixed to them, lack mass and inertia."""
        links_with_mass = self.links_with_mass
        return tuple(
            joint.child
            for joint in self.joints
            if self.document.is_link_of_file(joint.child) and not links_with_mass[joint.child]
        )

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
    requested = held_positions or {}
    require_moving_joints(document, requested)
    arm = _require_chain(document, tuple(joint_names), requested)
    names = [joint.name for joint in arm]
    positions = _held_positions(document, names, requested)
    poses, carrier, tools = _link_poses_and_carriers(document, names, positions)
    keys = (document.root_link, *(joint.child for joint in arm))
    fixed = {key: tuple(link for link in document.links if carrier[link] == key) for key in keys}
    notes = [*document.notes, *_geom_inertia_note(document, arm, fixed)]
    torque_notes = [
        *document.torque_notes,
        *_tilted_mount_note(document, arm[0].parent, poses),
        *_held_joints_note(document, positions, gripper_joints),
    ]
    elsewhere = [
        joint.name
        for joint in document.joints.values()
        if joint.type != 'fixed' and not carrier[joint.child]
    ]
    if elsewhere:
        branch = f'another branch of the {document.wording.file}'
        notes.append(f'{list_text(elsewhere)}: on {branch}, left out.')
    chain = SerialChain(document, tuple(arm), poses, fixed, tools, positions, tuple(notes))
    return chain._replace(torque_notes=(*torque_notes, *_massless_link_notes(chain)))


def _geom_inertia_note(
    document: UrdfDocument, arm: Sequence[UrdfJoint], fixed_links: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return, in a list, a note on bodies whose inertia is that of their geoms, if any are."""
    moved = [name for joint in arm for name in fixed_links[joint.child]]
    by_geoms = [name for name in moved if document.tensor_sources.get(name) == TENSOR_FROM_GEOMS]
    if not by_geoms:
        return []
    return [f'{list_text(by_geoms)}: the inertia is computed from the geoms of the body.']


def _held_joints_note(
    document: UrdfDocument,
    held_positions: Mapping[str, float],
    gripper_joints: Collection[str],
) -> list[str]:
    """Return, in a list, a note on where joints are held, if any is."""
    if not held_positions:
        return []
    places = []
    for name, position in held_positions.items():
        kind = _kind_of_held(document, name, gripper_joints)
        places.append(f'{name} at {position:g}{kind}')
    return [
        f'{", ".join(places)}: not part of the arm (--joints chooses), and held there (held=, '
        '--hold); the bodies they carry count as part of the arm or of its base.'
    ]


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
    still = {*held_positions, *document.unfixed_joints_to(joint_names[0])}
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
    arm = [_independent_joint(document, name) for name in joint_names]
    path = document.unfixed_joints_to(joint_names[-1])
    on_path = [name for name in path if name in joint_names or name not in held_positions]
    begin = on_path.index(joint_names[0]) if joint_names[0] in on_path else len(on_path)
    _require_single_axes(document, on_path[begin:], joint_names[-1])
    end_of_path = on_path[-len(arm) :]
    if tuple(end_of_path) != joint_names:
        raise document.error(
            f'on the way to {joint_names[-1]!r} are the moving joints '
            f'{", ".join(end_of_path) or "none"}, not {", ".join(joint_names)} in this '
            'order. It is another arm, or joint_names is not its order from base to tip.'
        )
    # A mimic joint is held where the joint that it follows puts it.
    not_held = [
        joint
        for joint in (document.joints[name] for name in on_path[: -len(arm)])
        if joint.leader is None or joint.leader not in held_positions
    ]
    if not_held:
        raise _moving_base_error(document, joint_names[0], not_held)
    return arm


def _independent_joint(document: UrdfDocument, name: str) -> UrdfJoint:
    """Return the joint of a name; UrdfError unless it moves on its own, and in no loop."""
    joint = document.joints.get(name)
    if joint is None:
        raise document.error(f'has no joint {name!r}; {_missing_joint_hint(document, name)}')
    problem = ''
    if not joint.is_moving:
        problem = f'is {document.joint_type_text(joint)}'
    elif joint.leader is not None:
        problem = f'mimics {joint.leader!r}'
    if problem:
        raise document.error(
            f'joint {name!r} {problem}; it must be {document.wording.moving_joints}, independent.'
        )
    if any(name in loop for loop in document.loops):
        raise document.error(f'joint {name!r} is in an unsupported <connect> or <weld> loop.')
    return joint


def _require_single_axes(document: UrdfDocument, names: Sequence[str], last: str) -> None:
    """Raise UrdfError if a joint on the way through the arm is floating or planar."""
    for name in names:
        joint = document.joints[name]
        if not joint.is_moving:
            raise document.error(
                f'joint {name!r}, on the way to {last!r}, is {document.joint_type_text(joint)}; '
                f'an arm has {document.wording.moving_joints} joints alone.'
            )


def _moving_base_error(
    document: UrdfDocument, first_joint: str, below: Sequence[UrdfJoint]
) -> UrdfError:
    """Return the UrdfError to raise for an arm that stands on joints which are not held."""
    fix = 'Give a file in which the base stands still.'
    if all(joint.is_moving for joint in below):
        to_hold = dict.fromkeys(joint.leader or joint.name for joint in below)
        poses = ', '.join(f'{name!r}: 0.0' for name in to_hold)
        options = ' '.join(f'--hold {name}=0' for name in to_hold)
        fix = (
            f'Hold it at a pose: held={{{poses}}}, on the command line {options}; a node '
            f'takes the arm file of `franka-dynamics arm import FILE {options}`.'
        )
    return document.error(
        f'{first_joint!r} hangs below the {document.joint_type_text(below[-1])} joint '
        f'{below[-1].name!r}: the base of the arm moves, and torques depend on that. {fix}'
    )


def _kind_of_held(document: UrdfDocument, joint_name: str, gripper_joints: Collection[str]) -> str:
    """Return, in brackets, of what kind a held joint is; '' if it could be an arm's."""
    if joint_name in gripper_joints:
        return ' (taken for a gripper)'
    joint = document.joints[joint_name]
    return '' if joint.is_moving else f' ({document.joint_type_text(joint)})'


def require_moving_joints(document: UrdfDocument, held_joints: Collection[str]) -> None:
    """Raise UrdfError if one of `held_joints` (to be fixed) is no moving joint of the URDF."""
    moving = [joint.name for joint in document.joints.values() if joint.is_moving]
    for name in held_joints:
        if name not in moving:
            raise document.error(f'held has {name!r}; the moving joints are {list_text(moving)}.')


def _held_positions(
    document: UrdfDocument, arm: Sequence[str], requested: Mapping[str, float]
) -> dict[str, float]:
    """Return held positions of joints under or on the arm; UrdfError if one cannot be held."""
    for name, position in requested.items():
        _require_holdable(document, arm, name, position)
    for name, joint in document.joints.items():
        if joint.leader in arm and document.carries_mass(name):
            raise document.error(
                f'joint {name!r} mimics {joint.leader!r}, a joint of the arm: the motion of its '
                f'bodies is no part of a serial arm and not supported. If {joint.leader!r} is a '
                "gripper's, leave it out (joints=[...], --joints)."
            )
    under_arm = document.unfixed_joints_to(arm[0])
    return {
        name: _held_position(document, name, requested)
        for name, joint in document.joints.items()
        if joint.type != 'fixed'
        and name not in arm
        and (name in under_arm or arm[0] in document.unfixed_joints_to(name))
    }


def _require_holdable(
    document: UrdfDocument, arm: Sequence[str], name: str, position: float
) -> None:
    """Raise UrdfError if a joint cannot be held at a position [rad or m] beside the arm."""
    number = as_array(position, (), f'{document.source_name}: held {name!r}', UrdfError)
    joint = document.joints[name]
    if name in arm:
        raise document.error(f'held has {name!r}, which is a joint of the arm; leave it out.')
    if joint.leader is not None:
        raise document.error(f'held has {name!r}, which mimics {joint.leader!r}; hold that.')
    limits = joint.limits or JointLimits()
    if not (limits.lower <= number <= limits.upper):
        raise document.error(
            f'held has {name!r} at {float(number):g}, which is outside its limits, '
            f'{limits.lower:g} to {limits.upper:g}.'
        )


def _held_position(
    document: UrdfDocument,
    name: str,
    requested: Mapping[str, float],
    followers: tuple[str, ...] = (),
) -> float:
    """
    Return where a joint is held [rad or m]: as requested, where its leader puts it, or near zero.

    Without a leader and a request it is held at zero, or at its limit nearest to zero. `followers`
    are the joints that follow this one; UrdfError if it follows one of them itself, or one that is
    not there.
    """
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
    leader = _held_position(document, joint.leader, requested, (*followers, name))
    return joint.multiplier * leader + joint.offset


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
