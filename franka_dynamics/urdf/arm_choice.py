# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds which moving joints of a URDF are the arm, and which link is its flange.

Without the gripper's joints, mimic joints and joints that the user holds, the moving joints must
be one unbranched chain; otherwise the user chooses one. The flange, on which a payload is, is
found by the names in use. REP 199 has two frames there: `tool0`, whose z axis points away from the
arm, and `flange`, whose x axis does.
"""

from collections.abc import Collection
import re
from typing import NamedTuple

import numpy as np

from .document import UrdfDocument, UrdfJoint
from .serial_chain import SerialChain
from ..arrays import Array
from ..errors import AmbiguousUrdfError, list_text
from ..spatial import inverse_transform, JointKind

# One part of a name with underscores or capitals, with or without its side: l_finger, leftFinger.
_GRIPPER_WORD_PATTERN = re.compile(
    r'(l|r|left|right|inner|outer)?(finger|fingertip|gripper|grip|knuckle|jaw|thumb|claw)s?'
)
_WRIST_WORDS = {'roll', 'pitch', 'yaw', 'rotate', 'rotation', 'turn', 'twist', 'wrist'}
_MAX_LISTED_CHAINS = 12  # chains that an error message shows
# Endings of a flange's name, the first one that a link has counts: by REP 199, of MuJoCo
# Menagerie's sites, of Kinova, KUKA (lbr-stack) and UFACTORY; then Franka's link n + 1, and the
# other frame of REP 199.
_FLANGE_NAME_ENDINGS = (
    'tool0',
    'attachment_site',
    'end_effector_link',
    'link_ee',
    'link_eef',
)
_MAX_SAME_ORIGIN_DISTANCE_M = 1e-3  # of frames with different origins
_MIN_OUTWARD_COSINE = 0.7  # between the z axis of a flange and the direction away from the arm
_MIN_AXIAL_TO_OFFSET = 0.3  # of the way to the flange, along the last joint's axis


def choose_arm_joints(
    document: UrdfDocument, prefix: str = '', held_joints: Collection[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """
    Return names of the arm's joints, base to tip, and its gripper's, or raise AmbiguousUrdfError.

    Only joints whose names begin with `prefix` and that are not in `held_joints` can be the arm's.

    Raises
    ------
    AmbiguousUrdfError
        If there is no such joint, or the joints branch; its `choices` are the joints that all
        chains share, if there are any, and the chains.
    UrdfError
        If a joint inside the chain mimics another one.

    """
    gripper = gripper_joints(document)
    chains = joint_chains(document, prefix, {*gripper, *held_joints})
    if len(chains) == 1:
        (arm,) = chains
        return arm, tuple(name for name in gripper if arm[-1] in document.moving_joints_to(name))
    # What all chains share is the arm if they part in its hand.
    shared = [name for name, *others in zip(*chains) if {*others} <= {name}]
    choices = [tuple(shared), *chains] if shared else chains
    words = [f'--joints {",".join(chain)}' for chain in choices[:_MAX_LISTED_CHAINS]]
    if len(choices) > len(words):
        words.append(f'{len(choices) - len(words)} more')
    beginning = f' with the prefix {prefix!r}' if prefix else ''
    if not any(joint.is_moving for joint in document.joints.values()):
        problem = 'has no joint that moves, and so no arm.'
    elif not chains:
        problem = (
            f'has no chain of moving joints{beginning} that are not taken for a gripper'
            f'{f" ({list_text(gripper)})" if gripper else ""}; name the joints of the arm, from '
            'base to tip (joints=[...], --joints).'
        )
    else:
        problem = (
            f'has {len(chains)} chains of moving joints{beginning}; name the joints of one, from '
            'base to tip (joints=[...], or on the command line one of these'
            f'{", the first of which they share" if shared else ""}), or a prefix '
            '(prefix=, --arm-prefix), or hold the other joints (held={...}, --hold JOINT=POSITION)'
            f': {"; ".join(words)}.'
        )
    raise AmbiguousUrdfError(f'{document.source_name}: {problem}', tuple(choices))


def joint_chains(
    document: UrdfDocument, prefix: str = '', excluded: Collection[str] = ()
) -> list[tuple[str, ...]]:
    """
    Return joint names of each chain of moving joints, root to tip; UrdfError if one inside mimics.

    Left out are mimic joints, those named in `excluded`, and those without the prefix. Two chains
    that branch share their first joints.

    Raises
    ------
    UrdfError
        If a mimic joint lies between joints of a chain.

    """
    leading = [one for one in document.joints.values() if one.is_moving and one.leader is None]
    names = (one.name for one in leading if one.name not in excluded)
    able = [name for name in names if name.startswith(prefix)]
    chains = []
    carriers = {one for name in able for one in document.moving_joints_to(name)[:-1]}
    for tip in (name for name in able if name not in carriers):
        path = document.moving_joints_to(tip)
        chain = tuple(name for name in path if name in able)
        for name in path[path.index(chain[0]) :]:
            if (driver := document.joints[name].leader) is not None and name not in excluded:
                raise document.error(
                    f'joint {name!r}, in the chain to {tip!r}, mimics '
                    f'{driver!r}; an arm with a mimic joint inside its chain is not supported.'
                )
        chains.append(chain)
    return chains


def gripper_joints(document: UrdfDocument) -> tuple[str, ...]:
    """
    Return the names of moving joints of grippers at the ends of chains, in the URDF's order.

    A gripper's joint carries only joints of a gripper, and a word such as 'finger' is in its name
    or, if it carries none, in its link's; or it is one of two prismatic joints side by side; or a
    joint side by side with it mimics it, and none that it carries does; or it mimics a gripper's
    joint; or it is part of a loop that is closed between two bodies. A joint named after a gripper
    and a rotation (gripper_roll) is the wrist.
    """
    moving = {name: joint for name, joint in document.joints.items() if joint.is_moving}
    carrier = {name: ([None, *document.moving_joints_to(name)])[-2] for name in moving}
    carried: dict[str | None, list[str]] = {}
    for name, parent in carrier.items():
        carried.setdefault(parent, []).append(name)
    found: set[str] = set()

    def is_gripper(name: str) -> bool:
        """Return whether a joint is a gripper's, by the URDF and the joints already in `found`."""
        joint = moving[name]
        behind = carried.get(name, ())
        if any(name in loop for loop in document.loops) or _has_gripper_name(joint, bool(behind)):
            return True
        beside = [one for one in carried[carrier[name]] if one != name and carrier[name]]
        followers = {one for one in moving if moving[one].leader == name}
        if joint.leader in found or followers & found:
            return True
        if followers.intersection(beside) and not followers.intersection(behind):
            return True
        slides = [one for one in beside if moving[one].type == 'prismatic' and one not in carried]
        return joint.type == 'prismatic' and not behind and bool(slides)

    while more := {
        name
        for name in moving
        if name not in found
        and all(one in found or moving[one].leader for one in carried.get(name, ()))
        and is_gripper(name)
    }:
        found |= more
    return tuple(name for name in moving if name in found)


def _has_gripper_name(joint: UrdfJoint, carries_joints: bool) -> bool:
    """
    Return whether the name of a joint, or of the link that it moves, is that of a gripper part.

    The link's name counts if the joint slides or carries no other joint.
    """
    words = _words_of_name(joint.name)
    if joint.type == 'prismatic' or not carries_joints:
        link = _words_of_name(joint.child)
        # A revolute joint that moves a gripper's link is the wrist.
        if not link & {'fixed', 'base'}:
            words |= link if joint.type == 'prismatic' else link - {'gripper', 'grip'}
    return any(map(_GRIPPER_WORD_PATTERN.fullmatch, words)) and not words & _WRIST_WORDS


def _words_of_name(name: str) -> set[str]:
    """Return the words of a name in lower case, such as left and finger of LeftFinger."""
    return {word.lower() for word in re.findall(r'[A-Z]?[a-z]+|[A-Z]+(?![a-z])', name)}


class FlangeChoice(NamedTuple):
    """The link chosen as flange, notes on it, and whether it is only the last moving link."""

    link_name: str
    notes: tuple[str, ...] = ()
    is_guess: bool = False


def find_flange(chain: SerialChain, requested: str | None = None) -> FlangeChoice:
    """
    Return the flange, which is `requested`, a link with a flange's name, or the last moving link.

    Raises
    ------
    UrdfError
        If `requested` is not fixed to the last moving link.

    """
    document = chain.document
    words = chain.document.wording
    last = chain.joints[-1].child
    links = [*filter(document.is_link_of_file, chain.tool_links)] or [*chain.tool_links]
    if requested is not None:
        if requested not in chain.tool_links:
            problem = f'{words.link} {requested!r} is not fixed to {last!r}'
            raise document.error(f'{problem}; choose {list_text(links)}.')
        return FlangeChoice(requested)
    endings = (*_FLANGE_NAME_ENDINGS, f'link{len(chain.joints) + 1}', 'flange')
    named = [name for one in endings for name in links if _name_ends_with(name, one)]
    how = 'another is chosen by fd.load(..., tip=) and arm import --tip'
    if named:
        found = named[0]
        pose = chain.link_poses[named[0]]
        notes = []
        axis = _outward_axis(chain, pose)
        ways = {one: np.linalg.norm(chain.link_poses[one][:3, 3] - pose[:3, 3]) for one in named}
        if elsewhere := [name for name, way in ways.items() if way > _MAX_SAME_ORIGIN_DISTANCE_M]:
            notes.append(f'{list_text(elsewhere)} elsewhere has the name of one, too')
        if axis != '+z':
            notes.append(f'its {axis} axis points away from the arm, not z')
        doubts = f'{"; ".join(notes)}; a payload counts in its frame ({how}).'
        return FlangeChoice(found, (f'the flange is {found!r}: {doubts}',) if notes else ())
    others = [name for name in links if name != links[0]]
    choice = f'; fixed to it are {list_text(others)}' if others else ''
    sentence = (
        f'no {words.link} has the name of a flange: {links[0]!r} is taken, the last that '
        f'moves, and a payload counts from there ({how}{choice}).'
    )
    return FlangeChoice(links[0], (sentence,), is_guess=True)


def _name_ends_with(name: str, ending: str) -> bool:
    """Return whether a name, also in camel or kebab case, ends with the words of `ending`."""
    words = re.sub(r'(?<=[a-z])(?=[A-Z])|[^A-Za-z0-9]+', '_', name).lower()
    return re.search(rf'(^|_){ending}$', words) is not None


def _outward_axis(chain: SerialChain, flange_pose: Array) -> str:
    """
    Return which axis of a flange, such as '+z', points away from the arm at position zero.

    Away is the way to the flange from the last joint's frame or, if that has the same origin, from
    the frame of the joint before; unless it is small, its part along the last joint's axis.
    """
    frames = [
        chain.mount_pose,
        *(chain.link_poses[joint.child] for joint in chain.joints),
    ]
    back = inverse_transform(flange_pose)
    last = chain.joints[-1]
    ways = [-(back @ frame[:, 3])[:3] for frame in (frames[-1], frames[-2])]
    away = ways[float(np.linalg.norm(ways[0])) < _MAX_SAME_ORIGIN_DISTANCE_M]
    axis = (back @ frames[-1])[:3, :3] @ last.axis
    along = float(away @ axis)
    length = float(np.linalg.norm(away))
    if last.joint_kind is JointKind.PRISMATIC or abs(along) > _MIN_AXIAL_TO_OFFSET * length:
        away = np.copysign(1.0, along) * axis
        length = 1.0
    if away[2] >= _MIN_OUTWARD_COSINE * length:
        return '+z'
    largest = int(np.abs(away).argmax())
    return f'{"-" if away[largest] < 0.0 else "+"}{"xyz"[largest]}'
