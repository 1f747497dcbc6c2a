# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds which moving joints of a URDF are the arm, and which link is its flange.

Without the gripper's joints, mimic joints and joints that the user holds, the moving joints must
be one unbranched chain; otherwise the user chooses one. The flange, on which a payload is, is
found by the names in use. REP 199 has two frames there: `tool0`, whose z axis points away from the
arm, and `flange`, whose x axis does.
"""

from collections.abc import Collection, Sequence
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
# Endings of a flange's name; the first one that a link has counts. They are of REP 199, of MuJoCo
# Menagerie's sites, of Kinova, KUKA (lbr-stack) and UFACTORY. After them come Franka's link n + 1
# and the other frame of REP 199.
_FLANGE_NAME_ENDINGS = (
    'tool0',
    'attachment_site',
    'end_effector_link',
    'link_ee',
    'link_eef',
)
_MAX_SAME_ORIGIN_DISTANCE_M = 1e-3  # of frames with different origins
_MIN_OUTWARD_COSINE = 0.7  # between the z axis of a flange and the direction away from the arm
_MIN_AXIAL_TO_OFFSET = 0.3  # the part along the last joint's axis of the way to the flange


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
        return arm, tuple(name for name in gripper if arm[-1] in document.unfixed_joints_to(name))
    choices = list(chains)
    shared = _shared_beginning(chains)
    if shared:  # it is the arm if the chains part in its hand
        choices.insert(0, shared)
    beginning = f' with the prefix {prefix!r}' if prefix else ''
    if not any(joint.is_moving for joint in document.joints.values()):
        problem = 'has no joint that moves, and so no arm.'
    elif not chains:
        problem = _no_chain_text(beginning, gripper)
    else:
        problem = _several_chains_text(len(chains), beginning, choices, bool(shared))
    raise AmbiguousUrdfError(f'{document.source_name}: {problem}', tuple(choices))


def _shared_beginning(chains: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the joints at the beginning of all chains, from the root to where they part."""
    shared = []
    for names in zip(*chains):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return tuple(shared)


def _no_chain_text(beginning: str, gripper: Sequence[str]) -> str:
    """Return the problem of a file in which all moving joints are taken for a gripper."""
    taken = f' ({list_text(gripper)})' if gripper else ''
    return (
        f'has no chain of moving joints{beginning} that are not taken for a gripper{taken}; name '
        'the joints of the arm, from base to tip (joints=[...], --joints).'
    )


def _several_chains_text(
    count: int, beginning: str, choices: Sequence[tuple[str, ...]], begins_with_shared: bool
) -> str:
    """Return the problem of a file with several chains, and the options that choose one."""
    options = [f'--joints {",".join(chain)}' for chain in choices[:_MAX_LISTED_CHAINS]]
    if len(choices) > len(options):
        options.append(f'{len(choices) - len(options)} more')
    first = ', the first of which they share' if begins_with_shared else ''
    return (
        f'has {count} chains of moving joints{beginning}; name the joints of one, from base to '
        f'tip (joints=[...], or on the command line one of these{first}), or a prefix (prefix=, '
        '--arm-prefix), or hold the other joints (held={...}, --hold JOINT=POSITION): '
        f'{"; ".join(options)}.'
    )


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
    usable = [
        joint.name
        for joint in document.joints.values()
        if joint.is_moving
        and joint.leader is None
        and joint.name not in excluded
        and joint.name.startswith(prefix)
    ]
    carriers = {name for joint in usable for name in document.unfixed_joints_to(joint)[:-1]}
    chains = []
    for tip in usable:
        if tip in carriers:
            continue
        path = document.unfixed_joints_to(tip)
        chain = tuple(name for name in path if name in usable)
        for name in path[path.index(chain[0]) :]:
            leader = document.joints[name].leader
            if leader is not None and name not in excluded:
                raise document.error(
                    f'joint {name!r}, in the chain to {tip!r}, mimics {leader!r}; an arm with a '
                    'mimic joint inside its chain is not supported.'
                )
        chains.append(chain)
    return chains


def gripper_joints(document: UrdfDocument) -> tuple[str, ...]:
    """
    Return the names of moving joints of grippers at the ends of chains, in the URDF's order.

    A joint is a gripper's if it carries no joints but those of a gripper, and one of the signs of
    `_GripperSearch.has_sign` is there.
    """
    return _GripperSearch(document).gripper_joints()


class _GripperSearch:
    """Finds the joints of grippers, from the tips of the tree towards its root."""

    def __init__(self, document: UrdfDocument) -> None:
        """Find which moving joint each moving joint stands on, and which it carries."""
        self._loops = document.loops
        self._moving = {name: joint for name, joint in document.joints.items() if joint.is_moving}
        self._carrier: dict[str, str | None] = {}  # None: it stands on the root
        self._carried: dict[str | None, list[str]] = {}
        for name in self._moving:
            path = document.unfixed_joints_to(name)
            carrier = path[-2] if len(path) > 1 else None
            self._carrier[name] = carrier
            self._carried.setdefault(carrier, []).append(name)
        self._found: set[str] = set()

    def gripper_joints(self) -> tuple[str, ...]:
        """Return the names of all grippers' joints, in the order of the file."""
        while True:
            # A joint that was found may be a sign of others, which it carries or that it mimics.
            new = {name for name in self._moving if self._is_new_gripper_joint(name)}
            if not new:
                return tuple(name for name in self._moving if name in self._found)
            self._found |= new

    def _is_new_gripper_joint(self, name: str) -> bool:
        """Return whether a joint that was not found yet is a gripper's, as far as is known now."""
        carries_gripper_only = all(
            carried in self._found or self._moving[carried].leader
            for carried in self._carried.get(name, ())
        )
        return name not in self._found and carries_gripper_only and self.has_sign(name)

    def has_sign(self, name: str) -> bool:
        """
        Return whether one of the signs is there that a joint is a gripper's.

        - It is part of a loop that is closed between two bodies.
        - A word such as 'finger' is in its name or, if it carries no joint, in its link's. A joint
          named after a gripper and a rotation (gripper_roll) is the wrist.
        - It mimics a joint of a gripper, or is mimicked by one.
        - A joint beside it, on the same link, mimics it, and no joint that it carries does.
        - It is one of two prismatic joints beside each other that carry no joints.
        """
        joint = self._moving[name]
        carried = self._carried.get(name, [])
        followers = {other for other in self._moving if self._moving[other].leader == name}
        return (
            any(name in loop for loop in self._loops)
            or _has_gripper_name(joint, bool(carried))
            or joint.leader in self._found
            or not followers.isdisjoint(self._found)
            or self._is_followed_beside_only(name, followers)
            or self._is_one_of_two_slides(name)
        )

    def _beside(self, name: str) -> list[str]:
        """Return the joints that stand on the same moving joint as another; none on the root."""
        carrier = self._carrier[name]
        if carrier is None:
            return []
        return [other for other in self._carried[carrier] if other != name]

    def _is_followed_beside_only(self, name: str, followers: set[str]) -> bool:
        """Return whether joints beside a joint, and none that it carries, mimic it."""
        followed_beside = not followers.isdisjoint(self._beside(name))
        return followed_beside and followers.isdisjoint(self._carried.get(name, ()))

    def _is_one_of_two_slides(self, name: str) -> bool:
        """Return whether a joint and one beside it slide, and neither carries a joint."""
        ends = [other for other in (name, *self._beside(name)) if other not in self._carried]
        slides = [other for other in ends if self._moving[other].type == 'prismatic']
        return name in slides and len(slides) > 1


def _has_gripper_name(joint: UrdfJoint, carries_joints: bool) -> bool:
    """
    Return whether the name of a joint, or of the link that it moves, is that of a gripper part.

    The link's name counts if the joint slides or carries no other joint.
    """
    words = _words_of_name(joint.name)
    link_words = _words_of_name(joint.child)
    slides = joint.type == 'prismatic'
    if (slides or not carries_joints) and not link_words & {'fixed', 'base'}:
        # A revolute joint that moves the link of a whole gripper is the wrist.
        words |= link_words if slides else link_words - {'gripper', 'grip'}
    is_of_gripper = any(_GRIPPER_WORD_PATTERN.fullmatch(word) for word in words)
    return is_of_gripper and not words & _WRIST_WORDS


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
    words = document.wording
    links = [name for name in chain.tool_links if document.is_link_of_file(name)]
    links = links or list(chain.tool_links)
    if requested is not None:
        if requested not in chain.tool_links:
            raise document.error(
                f'{words.link} {requested!r} is not fixed to {chain.joints[-1].child!r}; choose '
                f'{list_text(links)}.'
            )
        return FlangeChoice(requested)
    how = 'another is chosen by fd.load(..., tip=) and arm import --tip'
    endings = (*_FLANGE_NAME_ENDINGS, f'link{len(chain.joints) + 1}', 'flange')
    named = [name for ending in endings for name in links if _name_ends_with(name, ending)]
    if named:
        doubts = _flange_doubts(chain, named)
        note = (
            f'the flange is {named[0]!r}: {"; ".join(doubts)}; a payload counts in its frame '
            f'({how}).'
        )
        return FlangeChoice(named[0], (note,) if doubts else ())
    others = [name for name in links if name != links[0]]
    choice = f'; fixed to it are {list_text(others)}' if others else ''
    note = (
        f'no {words.link} has the name of a flange: {links[0]!r} is taken, the last that '
        f'moves, and a payload counts from there ({how}{choice}).'
    )
    return FlangeChoice(links[0], (note,), is_guess=True)


def _flange_doubts(chain: SerialChain, named: Sequence[str]) -> list[str]:
    """Return what is doubtful about the first of the links with a flange's name as flange."""
    flange_pose = chain.link_poses[named[0]]
    doubts = []
    elsewhere = dict.fromkeys(
        name
        for name in named
        if np.linalg.norm(chain.link_poses[name][:3, 3] - flange_pose[:3, 3])
        > _MAX_SAME_ORIGIN_DISTANCE_M
    )
    if elsewhere:
        doubts.append(f'{list_text([*elsewhere])} elsewhere has the name of one, too')
    axis = _outward_axis(chain, flange_pose)
    if axis != '+z':
        doubts.append(f'its {axis} axis points away from the arm, not z')
    return doubts


def _name_ends_with(name: str, ending: str) -> bool:
    """Return whether a name, also in camel or kebab case, ends with the words of `ending`."""
    words = re.sub(r'(?<=[a-z])(?=[A-Z])|[^A-Za-z0-9]+', '_', name).lower()
    return re.search(rf'(^|_){ending}$', words) is not None


def _outward_axis(chain: SerialChain, flange_pose: Array) -> str:
    """
    Return which axis of a flange, such as '+z', points away from the arm at position zero.

    The direction away from the arm is that of the last joint's axis, with the sign that leads to
    the flange. But if the last joint turns and its flange lies mainly beside its axis, it is the
    way to the flange: from the origin of the last joint's frame or, if the flange has the same
    origin, from that of the frame before.
    """
    poses = [chain.link_poses[joint.child] for joint in chain.joints]
    last = poses[-1]
    before_last = poses[-2] if len(poses) > 1 else chain.mount_pose
    back = inverse_transform(flange_pose)
    way = -(back @ last[:, 3])[:3]
    if np.linalg.norm(way) < _MAX_SAME_ORIGIN_DISTANCE_M:
        way = -(back @ before_last[:, 3])[:3]
    length = float(np.linalg.norm(way))
    joint = chain.joints[-1]
    axis = (back @ last)[:3, :3] @ joint.axis
    along_axis = float(way @ axis)
    slides = joint.joint_kind is JointKind.PRISMATIC
    away = way
    if slides or abs(along_axis) > _MIN_AXIAL_TO_OFFSET * length:
        away = np.copysign(1.0, along_axis) * axis
        length = 1.0
    if away[2] >= _MIN_OUTWARD_COSINE * length:
        return '+z'
    largest = int(np.abs(away).argmax())
    sign = '-' if away[largest] < 0.0 else '+'
    return f'{sign}{"xyz"[largest]}'
