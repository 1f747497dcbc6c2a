# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The closed chains of the tests: the five-bar of examples/, and a planar four-bar."""

import numpy as np

from franka_dynamics.arm import LinkInertia
from franka_dynamics.dynamics.body_tree import BASE, BodyTree
from franka_dynamics.dynamics.closed_chain import ClosedChain, Loop, PLANAR_XY

from ..scripts import example, loaded

with loaded(example('five_bar')) as five_bar:
    five_bar_axes = five_bar.five_bar_axes
    five_bar_meshes = five_bar.five_bar_meshes
    spherical_five_bar = five_bar.spherical_five_bar


def planar_four_bar(lengths, inertias, gravity=(0.0, -9.81, 0.0)):
    """
    Return a four-bar in the x-y plane, driven at its crank.

    The crank turns about the origin, the rocker about (ground, 0, 0); at q = 0 crank and coupler
    lie along x and the rocker along -x. The coupler's far end is cut: joint 4 there moves a body
    without mass that must coincide with the coupler's frame.

    Parameters
    ----------
    lengths : sequence of four float
        Crank, coupler, rocker and ground [m].
    inertias : sequence of three LinkInertia
        Crank, coupler and rocker, each in a frame at its first joint with x along the link; the
        coupler's first joint is the crank's end, the rocker's the ground.
    gravity : array_like, shape (3,)
        In the space frame [m/s^2].

    """
    crank, coupler, rocker, ground = (float(length) for length in lengths)
    placements = np.broadcast_to(np.eye(4), (4, 4, 4)).copy()
    placements[:, 0, 3] = 0.0, crank, ground, rocker
    # Joint 4 turns about the rocker's end; the coupler's end must be there.
    coupler_end = np.eye(4)
    coupler_end[0, 3] = coupler
    tree = BodyTree(
        parents=(BASE, 0, BASE, 2),
        placements=placements,
        twists=np.tile((0.0, 0.0, 0.0, 0.0, 0.0, 1.0), (4, 1)),
        inertias=(*inertias, LinkInertia.zero()),
        names=('crank', 'coupler', 'rocker', 'pin'),
    )
    return ClosedChain(tree, (0,), [Loop(1, 3, PLANAR_XY, first_frame=coupler_end)], gravity)
