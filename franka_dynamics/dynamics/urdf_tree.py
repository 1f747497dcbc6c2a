# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A URDF, of a torso with two arms for instance, as a tree of bodies."""

from __future__ import annotations

import numpy as np

from .body_tree import BASE, BodyTree
from .tree_rows import with_axes_along_z
from ..arm import LinkInertia
from ..errors import TreeError, UrdfError
from ..typing import Array
from ..urdf.document import parse_urdf, UrdfDocument, UrdfJoint

_TURNS = ('revolute', 'continuous')
_FIXED = 'fixed'


def tree_from_urdf(urdf: str | UrdfDocument, source: str = 'the URDF') -> BodyTree:
    """
    Return the moving bodies of a URDF, every joint along the z of its body's frame.

    Joints are in the order of a walk that finishes one branch before the next and takes children
    as the URDF lists them. Links behind fixed joints are parts of the body that carries them; what
    stands on the ground moves nothing. Rotor inertias are no part of a URDF, joint friction and
    damping are left out. The tool is the last body's frame.

    Parameters
    ----------
    urdf : str or UrdfDocument
        The text, or what `parse_urdf` made of it.
    source : str
        What messages call it.

    Raises
    ------
    UrdfError
        If it is no URDF, a joint mimics another or is of a type that is neither revolute,
        continuous, prismatic nor fixed, or nothing moves.

    """
    document = parse_urdf(urdf, source) if isinstance(urdf, str) else urdf
    reader = _TreeReader(document)
    reader.walk(document.root, BASE, np.eye(4))
    if not reader.parents:
        raise UrdfError(f'{document.source} has no moving joint, so that there is no tree.')
    try:
        return with_axes_along_z(
            BodyTree(
                tuple(reader.parents),
                np.array(reader.placements),
                np.array(reader.twists),
                tuple(reader.inertias),
                names=tuple(reader.names),
            )
        )
    except TreeError as error:
        raise UrdfError(f'{document.source}: {error}') from error


class _TreeReader:
    def __init__(self, document: UrdfDocument) -> None:
        self.document = document
        self.parents: list[int] = []
        self.placements: list[Array] = []
        self.twists: list[Array] = []
        self.inertias: list[LinkInertia] = []
        self.names: list[str] = []

    def walk(self, link: str, body: int, pose: Array) -> None:
        """Add a link that stands at a pose in a body's frame, and all that hangs on it."""
        inertia = self.document.links[link].inertia
        if inertia is not None and body != BASE:
            self.inertias[body] = self.inertias[body] + inertia.expressed_in(pose)
        for joint in self.document.joints_from(link):
            at = pose @ joint.origin
            if joint.kind == _FIXED:
                self.walk(joint.child, body, at)
                continue
            self.parents.append(body)
            self.placements.append(at)
            self.twists.append(self._twist(joint))
            self.inertias.append(LinkInertia.zero())
            self.names.append(joint.name)
            self.walk(joint.child, len(self.parents) - 1, np.eye(4))

    def _twist(self, joint: UrdfJoint) -> Array:
        if joint.mimics is not None:
            raise UrdfError(
                f'{self.document.source}: joint {joint.name} mimics {joint.mimics}; make it '
                'fixed, or a joint of its own.'
            )
        if not joint.moves:
            raise UrdfError(
                f'{self.document.source}: joint {joint.name} is {joint.kind}; a tree has '
                'revolute, continuous, prismatic and fixed joints.'
            )
        twist = np.zeros(6)
        twist[3:] = joint.axis if joint.kind in _TURNS else 0.0
        twist[:3] = 0.0 if joint.kind in _TURNS else joint.axis
        return twist
