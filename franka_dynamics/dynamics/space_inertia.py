# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Centres of mass and inertia of links in the space frame, at any arm pose.

The derivation is that of the library Exp[licit], with its errors corrected as in
docs/theory/errata.md.
"""

from dataclasses import dataclass

import numpy as np

from .newton_euler import NewtonEulerModel
from ..arm import LinkInertia
from ..arm_io import ArmLike, as_description
from ..arrays import Array, ArrayLike


@dataclass(frozen=True, eq=False)
class InertiaInSpaceFrame:
    """
    One link's mass, centre of mass and inertia tensors at one arm pose, in the axes of {S}.

    Attributes
    ----------
    mass : float
        [kg]
    center_of_mass : ndarray, shape (3,)
        Centre of mass in {S} [m]: S_c of the Exp[licit] derivation. The derivation's table lists
        m c, which is divided by m.
    about_frame_origin : ndarray, shape (3, 3)
        R I R^T, S_I of the Exp[licit] derivation [kg m^2]. Only the axes are rotated: as in the
        derivation's table, the tensor is about the origin of {i}.
    about_center_of_mass : ndarray, shape (3, 3)
        The tensor about the centre of mass, with Steiner's term subtracted [kg m^2].
    about_space_origin : ndarray, shape (3, 3)
        The tensor about the origin of {S}, the result of a full change of frame [kg m^2].

    """

    mass: float
    center_of_mass: Array
    about_frame_origin: Array
    about_center_of_mass: Array
    about_space_origin: Array

    @classmethod
    def from_link(cls, link: LinkInertia, pose: Array) -> 'InertiaInSpaceFrame':
        """Return a link's mass, centre of mass and tensors in {S} from its frame's pose (4, 4)."""
        turned = np.eye(4)
        turned[:3, :3] = pose[:3, :3]
        in_axes = link.expressed_in(turned)
        in_space = link.expressed_in(pose)
        tensors = in_axes.inertia, in_axes.inertia_at_center_of_mass, in_space.inertia
        return cls(link.mass, in_space.center_of_mass, *tensors)


def space_inertias(description: ArmLike, q: ArrayLike) -> tuple[InertiaInSpaceFrame, ...]:
    """
    Return centre of mass and inertia of every moving link in {S} at q (n,), from base to tip.

    The table of the Exp[licit] derivation is for q = 0.

    Returns
    -------
    tuple of InertiaInSpaceFrame
        Mass [kg], centre of mass [m] and inertia tensors [kg m^2] of each link.

    Raises
    ------
    JointVectorError
        If q does not have shape (n,) or is not finite.

    """
    description = as_description(description)
    poses = NewtonEulerModel(description).frames(description.joint_vector(q, 'q'))
    return tuple(map(InertiaInSpaceFrame.from_link, description.links, poses))
