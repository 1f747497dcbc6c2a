# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two closed chains: the spherical five-bar of seed 003, section 3, and a planar four-bar."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .body_tree import BASE, BodyTree
from .closed_chain import ClosedChain, Loop, PLANAR_XY, SPHERICAL
from .lie import joint_twist
from .model import GRAVITY
from ..arm import LinkInertia
from ..arm.mesh import mesh_inertia, TriangleMesh

Array = NDArray[np.float64]
# Axes of the five-bar at q = 0 as (polar angle, azimuth) [deg]: motors 1 and 4, elbows 2 and 5,
# and joint 3 between links 2 and 3. The seed gives no dimensions; these are ours.
_AXES = {1: (75.0, -140.0), 2: (55.0, 140.0), 3: (20.0, -90.0), 4: (75.0, -40.0), 5: (55.0, 40.0)}
_LINK_ENDS = {1: (1, 2), 2: (2, 3), 3: (3, 5), 4: (4, 5)}
_RADIUS, _WIDTH, _THICKNESS = 0.2, 0.02, 0.01  # m
_ALUMINIUM = 2700.0  # kg/m^3


def five_bar_axes() -> Array:
    """Return the unit axes w_1..w_5 at q = 0 in the space frame, shape (5, 3)."""
    polar, azimuth = np.radians(np.array([_AXES[j] for j in range(1, 6)])).T
    return np.stack((np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth),
                     np.cos(polar)), axis=1)


def five_bar_meshes() -> tuple[TriangleMesh, ...]:
    """Return links 1 to 4 as bars that are bent along great circles, at q = 0 [m]."""
    axes = five_bar_axes()
    return tuple(arc_bar(axes[start - 1], axes[end - 1], _RADIUS, _WIDTH, _THICKNESS)
                 for start, end in _LINK_ENDS.values())


def spherical_five_bar(inertias: Sequence[LinkInertia] | None = None,
                       axes: ArrayLike | None = None,
                       gravity: ArrayLike = GRAVITY) -> ClosedChain:
    """
    Return the five-bar of seed 003, section 3, with motors at joints 1 and 4.

    The tree is links 1-2-3 and link 4; joint 5, at which link 3 meets link 4, is cut and moves a
    body without mass, whose orientation must be link 3's, (11). Joints are numbered from 0 in
    arrays: motors 0 and 3, passive joints 1, 2 and 4.

    Parameters
    ----------
    inertias : sequence of four LinkInertia, optional
        Of links 1 to 4 in the space frame at q = 0; of `five_bar_meshes` in aluminium if not
        given.
    axes : array_like, shape (5, 3), optional
        Unit axes at q = 0, all through the origin; `five_bar_axes` if not given.
    gravity : array_like, shape (3,)
        In the space frame [m/s^2].

    """
    links = inertias if inertias is not None else [
        mesh_inertia(mesh, _ALUMINIUM) for mesh in five_bar_meshes()]
    directions = five_bar_axes() if axes is None else np.asarray(axes, dtype=float)
    tree = BodyTree.from_space_twists(
        (BASE, 0, 1, BASE, 3), joint_twist(directions, np.zeros(3)),
        (*links, LinkInertia.zero()))
    return ClosedChain(tree, (0, 3), [Loop(2, 4, SPHERICAL)], gravity)


def planar_four_bar(lengths: Sequence[float], inertias: Sequence[LinkInertia],
                    gravity: ArrayLike = (0.0, -9.81, 0.0)) -> ClosedChain:
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
        parents=(BASE, 0, BASE, 2), placements=placements,
        twists=np.tile((0.0, 0.0, 0.0, 0.0, 0.0, 1.0), (4, 1)),
        inertias=(*inertias, LinkInertia.zero()), names=('crank', 'coupler', 'rocker', 'pin'))
    return ClosedChain(tree, (0,), [Loop(1, 3, PLANAR_XY, first_frame=coupler_end)], gravity)


def arc_bar(start: ArrayLike, end: ArrayLike, radius: float, width: float, thickness: float,
            segments: int = 12) -> TriangleMesh:
    """
    Return a bar of rectangular section bent along the great circle from one axis to another.

    Parameters
    ----------
    start, end : array_like, shape (3,)
        Unit vectors, neither equal nor opposite.
    radius, width, thickness : float
        Of the centre line, along the sphere and along its radius [m].
    segments : int
        Along the arc.

    """
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    across = np.cross(a, b) / np.linalg.norm(np.cross(a, b))
    along = np.cross(across, a)
    angles = np.linspace(0.0, np.arctan2(along @ b, a @ b), segments + 1)[:, None]
    outwards = np.cos(angles) * a + np.sin(angles) * along
    # Four corners per section, counter-clockwise seen from in front of the start.
    corners = np.stack([(radius + out * 0.5 * thickness) * outwards + side * 0.5 * width * across
                        for out, side in ((1, 1), (-1, 1), (-1, -1), (1, -1))], axis=1)
    faces = [[0, 1, 2], [0, 2, 3]]
    for section in range(segments):
        here, there = 4 * section, 4 * section + 4
        for corner in range(4):
            after = (corner + 1) % 4
            faces += [[here + corner, there + after, here + after],
                      [here + corner, there + corner, there + after]]
    last = 4 * segments
    faces += [[last, last + 2, last + 1], [last, last + 3, last + 2]]
    return TriangleMesh(corners.reshape(-1, 3), np.array(faces))
