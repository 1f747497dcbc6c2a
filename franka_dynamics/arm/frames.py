# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds an arm's frames by number and name, the arm's mount, and modified DH frames.

Numbers are those of the DH frames, 1..n, and n + 1 is the flange. Names are those of joints, links
and of frames that are fixed to the arm. A joint's name, also that of a held or fixed joint of a
file, is the frame of the link that it carries, as in Pinocchio, tf and MuJoCo. Where one joint and
the link of another have the same name, it is the link's. The names of links that do not move are
frames, too.
"""

from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .arm_fields import link_names
from .denavit_hartenberg import to_modified_rows
from .description import ArmDescription
from .hands import available_hands, hand_frames
from ..arrays import Array
from ..constants import Convention
from ..errors import FrameError, list_text, short_repr
from ..spatial import inverse_transform

Frame = int | str | None  # a frame's number or name, or FLANGE
FLANGE = None  # the arm's flange, which is also called 'flange' unless a link of it has that name
ROOT_LINK = 'base'  # root link of the URDFs that are written
MIN_ROTATION_RAD = 1e-6  # a base or a mount that is turned less is level


class FramePlacement(NamedTuple):
    """
    The joint whose link carries a frame, and the frame's constant pose in that link.

    `joint` is 1..n, and `pose`, shape (4, 4), in the joint's DH frame; a frame of the base has the
    joint 0, and its pose is in the space frame.
    """

    joint: int
    pose: Array


def frame_placement(frame: Frame, arm: ArmDescription) -> FramePlacement:
    """
    Return the joint that carries a frame and the frame's pose in its link; FrameError if unknown.

    Raises
    ------
    FrameError
        If `frame` is neither 1..n + 1, nor the name of a joint, a link or a fixed frame.

    """
    with suppress(KeyError, TypeError):
        if not isinstance(frame, (bool, np.bool_)):  # which would be the numbers 0 and 1
            return frame_table(arm)[frame]
    raise unknown_frame_error(frame, arm)


def frame_table(arm: ArmDescription) -> dict[Frame, FramePlacement]:
    """
    Return the carrying joint and the pose of all frames, by number and by each name.

    Fixed frames are found with the prefix of numbered links, too, as fr3_hand_tcp. The table is
    kept with the arm, because making it takes longer than a Jacobian; arm and table never change.
    """
    if '_frame_table' not in vars(arm):
        vars(arm)['_frame_table'] = _new_frame_table(arm)
    table: dict[Frame, FramePlacement] = vars(arm)['_frame_table']
    return table


def _new_frame_table(arm: ArmDescription) -> dict[Frame, FramePlacement]:
    """Return a new table of all frames' placements, which `frame_table` then keeps."""
    names = link_names(arm.joint_names)
    fixed = fixed_frame_placements(arm)
    links = link_placements(arm)
    flange = FramePlacement(arm.n, arm.flange_transform())
    base = FramePlacement(0, np.eye(4))
    # Of two frames with one name the later entry overwrites the earlier one.
    # The arm's own names for flange and base.
    table: dict[Frame, FramePlacement] = {'flange': flange, names.flange: flange}
    if not any(place.joint == 0 for place in fixed.values()):
        table |= {ROOT_LINK: base, names.base: base}
    # Moving joints, then links: a link overwrites a joint of the same name.
    table |= zip(arm.joint_names, links)
    table |= zip(arm.link_names, links)
    # Fixed frames with the prefix of the links, whether or not their own names have it.
    for name, place in fixed.items():
        table[names.prefix + name.removeprefix(names.prefix)] = place
    # Held and fixed joints of a file: they overwrite none of the names above.
    for joint, link in arm.urdf.other_joint_links if arm.urdf else ():
        if link in fixed and joint not in table:
            table[joint] = fixed[link]
    # Fixed frames by their own names: they overwrite all names above.
    table |= fixed.items()
    table |= {i: FramePlacement(i, np.eye(4)) for i in range(1, arm.n + 1)}
    return table | {arm.n + 1: flange, FLANGE: flange}


def link_placements(arm: ArmDescription) -> tuple[FramePlacement, ...]:
    """
    Return the placements of the frames of the moving links, in the order of the joints.

    A link has the fixed frame of its name, such as that of the URDF it is from, or else the frame
    on its joint's axis: for modified DH rows the DH frame.
    """
    fixed = fixed_frame_placements(arm)
    places = []
    for i, (name, (_, behind_joint)) in enumerate(
        zip(arm.link_names, arm.joint_placements()), start=1
    ):
        place = fixed.get(name)
        if place is None or place.joint != i:
            place = FramePlacement(i, inverse_transform(behind_joint))
        places.append(place)
    return tuple(places)


def fixed_frame_placements(arm: ArmDescription) -> dict[str, FramePlacement]:
    """Return the placements of fixed frames by name; without a joint they are on the flange."""
    flange_pose = arm.flange_transform()
    placements = {}
    for frame in arm.fixed_frames:
        if frame.joint is None:
            placements[frame.name] = FramePlacement(arm.n, flange_pose @ frame.matrix())
        else:
            placements[frame.name] = FramePlacement(frame.joint, frame.matrix())
    return placements


def unknown_frame_error(frame: object, arm: ArmDescription) -> FrameError:
    """Return the FrameError to raise for a frame that an arm does not have."""
    names = sorted(name for name in frame_table(arm) if isinstance(name, str))
    bare_name = str(frame).removeprefix(link_names(arm.joint_names).prefix)
    fix = ''
    for hand in available_hands():
        if any(hand_frame.name == bare_name for hand_frame in hand_frames(hand)):
            fix = f' It is one of the hand {hand!r}: choose that (hand=, --hand).'
            break
    return FrameError(
        f'There is no frame {short_repr(frame)}: frames are 1..{arm.n} (joints) and '
        f'{arm.n + 1} (flange), or have the names of joints and links: {list_text(names)}.{fix}'
    )


def mount_rotation(arm: ArmDescription) -> Array:
    """Return the orientation in {S} of the base, or of a URDF's link before joint 1, (3, 3)."""
    # Frame {0} of a URDF is a choice of the import.
    return np.asarray((arm.mount_pose if arm.urdf else arm.base)[:3, :3])


def is_base_tilted(arm: ArmDescription) -> bool:
    """Return whether the URDF, or the arm file's `base`, mounts the arm tilted."""
    return bool(np.abs(mount_rotation(arm)[2] - [0.0, 0.0, 1.0]).max() > MIN_ROTATION_RAD)


def to_modified_convention(description: ArmDescription) -> ArmDescription:
    """
    Return the arm in modified (Craig) DH frames, without a standard flange row's a and alpha.

    Link i and its fixed frames are given in the modified frame {i}, on the axis of joint i. A
    standard flange row's a and alpha are dropped, because a modified row ends with d: unless both
    are 0, the flange's pose changes.
    """
    if description.convention is Convention.MODIFIED:
        return description
    rows = [*(joint.row for joint in description.joints), description.flange]
    (*joint_rows, flange_row), remainders = to_modified_rows(rows)
    # Poses of the standard frames, each in the modified frame of its number.
    poses = [remainder.transform(Convention.MODIFIED) for remainder in remainders]
    # Frames without a number are on the flange, those of joint 0 on the base.
    fixed_frames = tuple(
        frame.expressed_in(poses[frame.joint - 1]) if frame.joint else frame
        for frame in description.fixed_frames
    )
    return replace(
        description,
        convention=Convention.MODIFIED,
        joints=tuple(
            replace(joint, row=row) for joint, row in zip(description.joints, joint_rows)
        ),
        links=tuple(link.expressed_in(pose) for link, pose in zip(description.links, poses)),
        flange=flange_row,
        fixed_frames=fixed_frames,
    )
