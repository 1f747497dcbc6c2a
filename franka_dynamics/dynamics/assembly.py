# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Assembles several arms, mounted on a fixed base or a moving torso, into one tree of bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .body_tree import BASE, BodyTree
from .tree_frames import with_axes_along_z
from ..arm import ArmDescription
from ..errors import TreeError
from ..spatial import rigid_transform
from ..typing import Array


@dataclass(frozen=True, eq=False)
class Mount:
    """
    An arm and the pose at which it is mounted on a torso's body or the space frame.

    Parameters
    ----------
    arm : ArmDescription
        Its `base` is the pose of its own frame {0} in the mount's frame.
    pose : array_like, shape (4, 4)
        Pose of the mount's frame in the carrier's frame.
    carrier : int
        Number of the torso's body that carries the arm; by default BASE (-1), the space frame.
    prefix : str
        Put in front of the names of the arm's joints, without a separator.

    """

    arm: ArmDescription
    pose: Array = field(default_factory=lambda: np.eye(4))
    carrier: int = BASE
    prefix: str = ''


def assemble(mounts: Sequence[Mount], torso: BodyTree | None = None) -> BodyTree:
    """
    Return mounted arms, and the torso (if any) that carries them, as one BodyTree.

    The tree's bodies are the torso's, then each arm's from base to tip; every joint's axis is the
    z axis of its body's frame. The base link (`ArmDescription.base_link`) of an arm on the torso
    moves with the body that carries the arm, so its inertia is added to this body's. The tree's
    tool is the last arm's flange.

    Raises
    ------
    TreeError
        If there is no arm, a carrier is neither BASE nor a body of the torso, or two joints have
        the same name.
    InertiaError
        If a mount's pose is not a rigid transform.

    """
    if not mounts:
        raise TreeError('There is no arm to assemble: give at least one Mount.')
    parts = [] if torso is None else [torso]
    carriers = sum(part.n for part in parts)
    parents, names, carried = (
        [each for part in parts for each in getattr(part, field)]
        for field in ('parents', 'names', 'inertias')
    )
    placements = [part.placements for part in parts]
    for mount in mounts:
        if not BASE <= mount.carrier < carriers:
            raise TreeError(
                f'{mount.arm.name} is mounted on body {mount.carrier}; it must be '
                f'{BASE} (the base)..{carriers - 1}, a body of the torso.'
            )
        arm = BodyTree.from_description(mount.arm)
        placed, pose = np.array(arm.placements), rigid_transform(mount.pose)
        placed[0] = pose @ placed[0]
        if mount.carrier != BASE and mount.arm.base_link is not None:
            carried[mount.carrier] += mount.arm.base_link.expressed_in(pose @ mount.arm.base)
        parents += [mount.carrier, *range(len(parents), len(parents) + arm.n - 1)]
        names += [mount.prefix + name for name in mount.arm.joint_names]
        placements.append(placed)
        parts.append(arm)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TreeError(f'Two joints are called {twice[0]}; give the arms different prefixes.')
    return with_axes_along_z(
        BodyTree(
            parents=tuple(parents),
            placements=np.concatenate(placements),
            twists=np.concatenate([part.twists for part in parts]),
            inertias=(*carried, *(body for mount in mounts for body in mount.arm.links)),
            rotor_inertias=np.concatenate([part.rotor_inertias for part in parts]),
            tool=parts[-1].tool,
            names=tuple(names),
        )
    )
