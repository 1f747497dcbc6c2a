# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two closed chains: the spherical five-bar of Kwon, section 3, and a planar four-bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from .body_tree import BASE, BodyTree
from .closed_chain import ChainMotion, ClosedChain, Loop, PLANAR_XY, SPHERICAL
from .model import GRAVITY
from ..arm import LinkInertia
from ..mesh.mesh import mesh_inertia, TriangleMesh
from ..spatial import joint_twist
from ..typing import Array

# Axes of the five-bar at q = 0 as (polar angle, azimuth) [deg]: motors 1 and 4, elbows 2 and 5,
# and joint 3 between links 2 and 3. Kwon gives no dimensions; these are ours.
_AXES = {1: (75.0, -140.0), 2: (55.0, 140.0), 3: (20.0, -90.0), 4: (75.0, -40.0), 5: (55.0, 40.0)}
_LINK_ENDS = {1: (1, 2), 2: (2, 3), 3: (3, 5), 4: (4, 5)}
_RADIUS, _WIDTH, _THICKNESS = 0.2, 0.02, 0.01  # m
_ALUMINIUM = 2700.0  # kg/m^3


def five_bar_axes() -> Array:
    """Return the unit axes w_1..w_5 at q = 0 in the space frame, shape (5, 3)."""
    polar, azimuth = np.radians(np.array([_AXES[j] for j in range(1, 6)])).T
    return np.stack(
        (np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)), axis=1
    )


def five_bar_meshes() -> tuple[TriangleMesh, ...]:
    """Return links 1 to 4 as bars that are bent along great circles, at q = 0 [m]."""
    axes = five_bar_axes()
    return tuple(
        arc_bar(axes[start - 1], axes[end - 1], _RADIUS, _WIDTH, _THICKNESS)
        for start, end in _LINK_ENDS.values()
    )


def spherical_five_bar(
    inertias: Sequence[LinkInertia] | None = None,
    axes: ArrayLike | None = None,
    gravity: ArrayLike = GRAVITY,
) -> ClosedChain:
    """
    Return the five-bar of Kwon, section 3, with motors at joints 1 and 4.

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
    links = (
        inertias
        if inertias is not None
        else [mesh_inertia(mesh, _ALUMINIUM) for mesh in five_bar_meshes()]
    )
    directions = five_bar_axes() if axes is None else np.asarray(axes, dtype=float)
    tree = BodyTree.from_space_twists(
        (BASE, 0, 1, BASE, 3), joint_twist(directions, np.zeros(3)), (*links, LinkInertia.zero())
    )
    return ClosedChain(tree, (0, 3), [Loop(2, 4, SPHERICAL)], gravity)


def planar_four_bar(
    lengths: Sequence[float],
    inertias: Sequence[LinkInertia],
    gravity: ArrayLike = (0.0, -9.81, 0.0),
) -> ClosedChain:
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


def arc_bar(
    start: ArrayLike,
    end: ArrayLike,
    radius: float,
    width: float,
    thickness: float,
    segments: int = 12,
) -> TriangleMesh:
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
    corners = np.stack(
        [
            (radius + out * 0.5 * thickness) * outwards + side * 0.5 * width * across
            for out, side in ((1, 1), (-1, 1), (-1, -1), (1, -1))
        ],
        axis=1,
    )
    faces = [[0, 1, 2], [0, 2, 3]]
    for section in range(segments):
        here, there = 4 * section, 4 * section + 4
        for corner in range(4):
            after = (corner + 1) % 4
            faces += [
                [here + corner, there + after, here + after],
                [here + corner, there + corner, there + after],
            ]
    last = 4 * segments
    faces += [[last, last + 2, last + 1], [last, last + 3, last + 2]]
    return TriangleMesh(corners.reshape(-1, 3), np.array(faces))


@dataclass(frozen=True, eq=False)
class PointToPointMotion:
    """
    A point-to-point motion: times (N,) [s], the chain's motion, the motors' torques (N, a).

    `closure` (N,) is the largest opening of the loops with positions from `assemble` [rad or m],
    `drift` (N,) with passive positions integrated from dq_p = J_p dq_a instead.
    """

    times: Array
    motion: ChainMotion
    torques: Array
    closure: Array
    drift: Array


def quintic(
    start: ArrayLike,
    end: ArrayLike,
    duration: float,
    times: ArrayLike,
) -> tuple[Array, Array, Array]:
    """
    Return position, velocity and acceleration of the minimum-jerk motion, each (N, a).

    s = 10 r^3 - 15 r^4 + 6 r^5 with r = t / duration: at rest, and without acceleration, at both
    ends.
    """
    first, last = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    r = (np.asarray(times, dtype=float) / duration)[:, None]
    s = r**3 * (10.0 - 15.0 * r + 6.0 * r**2)
    ds = 30.0 * r**2 * (1.0 - r) ** 2 / duration
    dds = 60.0 * r * (1.0 - r) * (1.0 - 2.0 * r) / duration**2
    return first + s * (last - first), ds * (last - first), dds * (last - first)


def reach(
    chain: ClosedChain,
    start: ArrayLike,
    end: ArrayLike,
    duration: float,
    samples: int,
    guess: ArrayLike,
) -> PointToPointMotion:
    """
    Move a chain's motors from one point to another and return what that takes.

    Parameters
    ----------
    chain : ClosedChain
        The mechanism.
    start, end : array_like, shape (a,)
        Motor positions [rad or m].
    duration : float
        [s]
    samples : int
        Number of instants, both ends included.
    guess : array_like, shape (n,)
        A position of all joints near `start`, by which the assembly is chosen.

    Raises
    ------
    LoopError
        If the path leaves the workspace or meets a singular position.

    """
    times = np.linspace(0.0, duration, samples)
    q_a, dq_a, ddq_a = quintic(start, end, duration, times)
    motion = chain.motion(chain.follow(q_a, guess), dq_a, ddq_a)
    integrated = _integrate(chain, start, end, duration, times, motion.q[0])
    return PointToPointMotion(
        times,
        motion,
        chain.inverse_dynamics(motion),
        np.abs(chain.closure_error(motion.q)).max(axis=-1),
        np.abs(chain.closure_error(integrated)).max(axis=-1),
    )


def _integrate(
    chain: ClosedChain, start: ArrayLike, end: ArrayLike, duration: float, times: Array, q: Array
) -> Array:
    """Return joint positions with the passive ones integrated by Runge and Kutta's rule."""

    def rate(time: float, passive: Array) -> Array:
        motors, speed, _ = quintic(start, end, duration, [time])
        here = np.empty(chain.tree.n)
        here[chain.active], here[chain.passive] = motors[0], passive
        return chain.passive_jacobian(here) @ speed[0]

    path = [q]
    passive = q[chain.passive]
    for before, after in pairwise(times):
        h = after - before
        k1 = rate(before, passive)
        k2 = rate(before + 0.5 * h, passive + 0.5 * h * k1)
        k3 = rate(before + 0.5 * h, passive + 0.5 * h * k2)
        k4 = rate(after, passive + h * k3)
        passive = passive + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        here = np.empty(chain.tree.n)
        here[chain.active] = quintic(start, end, duration, [after])[0][0]
        here[chain.passive] = passive
        path.append(here)
    return np.array(path)
