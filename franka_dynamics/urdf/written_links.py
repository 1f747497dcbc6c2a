# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Names the links of a URDF or MJCF that is written, each once, and says where their frames lie.

A link keeps its name and its frame of `arm.frames`; a link that the file needs besides gets a name
that no other has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arm.description import ArmDescription
from ..arm.frames import fixed_places, FramePlace, link_places, ROOT
from ..arm.link_names import link_names
from ..spatial import inverse_transform, JointKind
from ..typing import Array

_ON_AXIS_M = 1e-9  # largest distance of a frame's origin from an axis that passes through it


class WrittenLink(NamedTuple):
    """A link to write: its name, and the place of its frame, as a `FramePlace` has it."""

    name: str
    joint: int
    pose: Array


@dataclass(frozen=True, eq=False)
class WrittenLinks:
    """
    The links of a file: those that move, the base's, the flange's, and further `frames`.

    `root` is the name of the link in the space frame.
    """

    root: str
    base: WrittenLink
    moving: tuple[WrittenLink, ...]
    flange: WrittenLink
    frames: tuple[WrittenLink, ...]


class FreeNames:
    """Gives out names, each once; those of `taken` are in use already."""

    def __init__(self, *taken: str) -> None:
        self._taken = set(taken)

    def __call__(self, wanted: str) -> str:
        """Return the wanted name, with underscores behind it if it is in use."""
        while wanted in self._taken:
            wanted += '_'
        self._taken.add(wanted)
        return wanted


def written_links(
    arm: ArmDescription, free: FreeNames, *, root: str = ROOT, on_axes: bool = False
) -> WrittenLinks:
    """
    Return an arm's links with names that `free` gives out.

    The root link is called `root` unless the arm has a frame there, as one from a URDF has. With
    `on_axes` the frame of every link that turns lies on its joint's axis, as URDF wants it.
    """
    names, flange = link_names(arm.joint_names), arm.flange_transform()
    on_flange = {one.name for one in arm.fixed_frames if one.joint is None}
    frames = {
        names.prefix + name.removeprefix(names.prefix) if name in on_flange else name: place
        for name, place in fixed_places(arm).items()
    }
    for name in frames:
        free(name)

    def link(wanted: str, place: FramePlace) -> WrittenLink:
        """Return a link at a place, which is the frame of that name if it is there."""
        own = frames.get(wanted)
        if own and own.joint == place.joint and np.array_equal(own.pose, place.pose):
            del frames[wanted]
            return WrittenLink(wanted, *place)
        return WrittenLink(free(wanted), *place)

    moving = []
    own_frames = zip(arm.joints, link_places(arm), arm.joint_placements(), arm.link_names)
    for i, (joint, place, (_, behind), wanted) in enumerate(own_frames, start=1):
        away = float(np.linalg.norm((behind @ place.pose)[:2, 3]))
        if on_axes and joint.kind is JointKind.REVOLUTE and away > _ON_AXIS_M:
            place = FramePlace(i, inverse_transform(behind))
        moving.append(link(wanted, place))
    base = FramePlace(0, np.eye(4))
    if (own := frames.get(names.base)) and own.joint == 0:
        base = own
    base_link = link(names.base, base)
    roots = (
        name for name, one in frames.items() if not (one.joint or (one.pose - np.eye(4)).any())
    )
    if own_root := next(roots, ''):
        del frames[own_root]
    return WrittenLinks(
        own_root or free(root),
        base_link,
        tuple(moving),
        link(names.flange, FramePlace(arm.n, flange)),
        tuple(WrittenLink(name, *place) for name, place in frames.items()),
    )
