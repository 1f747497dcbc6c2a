# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Move a spherical five-bar from point to point, then optimise its design for low motor torques.

The mechanism, with two motors and one loop, is from section 3 of Kwon, "Differential Dynamics and
Mesh-Based Inertia"; numbers in parentheses are that text's equations. The program first computes
the motors' torques on a minimum-jerk motion, and how far the loop opens if the passive joints are
integrated instead of solved for. The program then lowers the torques by moving the vertices of one
link's mesh, (15) to (28), and turning three joint axes, (6); Algorithm 1 and (14) give the
gradient of the torques by vertices and axes. Run `python examples/05_five_bar.py`; it takes some
ten seconds and writes `five_bar.png` and `five_bar_design.png`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize, OptimizeResult

from franka_dynamics.arm import LinkInertia
from franka_dynamics.dynamics.body_tree import BASE, BodyTree
from franka_dynamics.dynamics.closed_chain import ClosedChain, Loop
from franka_dynamics.dynamics.closed_chain_derivatives import motor_derivatives
from franka_dynamics.dynamics.sampling import JointStates
from franka_dynamics.mesh.mesh import (
    mesh_inertia,
    TriangleMesh,
    vertex_derivatives,
)
from franka_dynamics.mesh.solid_check import find_defects
from franka_dynamics.spatial import hat, joint_twist

# Axes of the five-bar at q = 0 as (polar angle, azimuth) [deg]: motors 1 and 4, elbows 2 and 5,
# and joint 3 between links 2 and 3. Kwon gives no dimensions; this project chose the axes.
JOINT_AXES = {
    1: (75.0, -140.0),
    2: (55.0, 140.0),
    3: (20.0, -90.0),
    4: (75.0, -40.0),
    5: (55.0, 40.0),
}
LINK_ENDS = {1: (1, 2), 2: (2, 3), 3: (3, 5), 4: (4, 5)}  # the joints at each link's ends
RADIUS, WIDTH, THICKNESS = 0.2, 0.02, 0.01  # m
DENSITY = 2700.0  # kg/m^3
LINK = 1  # index of the link whose mesh changes: link 2 of Kwon
MASS = -1  # place of the mass among a link's ten parameters
AXES = (1, 2, 4)  # the passive joints: 2, 3 and 5 of Kwon
# Largest displacement of a vertex along each of x, y and z [m]: the bar is 10 mm thick, and its
# opposite faces must not meet. Largest component of the rotation vector that turns a joint axis
# [rad].
VERTEX_REACH = 0.003
AXIS_REACH = 0.15
START, END = np.zeros(2), np.radians([35.0, -45.0])  # rad
DURATION = 0.5  # s, of the motion for which the design is optimised


def five_bar_axes() -> np.ndarray:
    """Return the unit axes w_1..w_5 at q = 0 in the space frame, shape (5, 3)."""
    polar, azimuth = np.radians(np.array([JOINT_AXES[j] for j in range(1, 6)])).T
    return np.stack(
        (np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)), axis=1
    )


def five_bar_meshes() -> tuple[TriangleMesh, ...]:
    """Return meshes [m] of links 1 to 4 at q = 0: bars that are bent along great circles."""
    axes = five_bar_axes()
    return tuple(
        arc_bar(axes[start - 1], axes[end - 1], RADIUS, WIDTH, THICKNESS)
        for start, end in LINK_ENDS.values()
    )


def spherical_five_bar(inertias: Sequence[LinkInertia] | None = None) -> ClosedChain:
    """
    Return a five-bar with the topology of Kwon, section 3: motors at joints 1 and 4.

    The tree is links 1-2-3 and link 4; joint 5, at which link 3 meets link 4, is cut and moves a
    body without mass, whose orientation must be link 3's, Kwon's (11). Joints are numbered from 0
    in arrays: motors 0 and 3, passive joints 1, 2 and 4. `inertias` are those of links 1 to 4 in
    the space frame at q = 0 (by default of `five_bar_meshes` in aluminium).
    """
    links = inertias or [mesh_inertia(mesh, DENSITY) for mesh in five_bar_meshes()]
    tree = BodyTree(
        parents=(BASE, 0, 1, BASE, 3),
        placements=np.tile(np.eye(4), (5, 1, 1)),  # at q = 0 all frames are the space frame
        twists=joint_twist(five_bar_axes(), np.zeros(3)),
        inertias=(*links, LinkInertia.zero()),
    )
    return ClosedChain(tree, (0, 3), [Loop(2, 4, 'spherical')])


def arc_bar(
    start: np.ndarray,
    end: np.ndarray,
    radius: float,
    width: float,
    thickness: float,
    segments: int = 12,
) -> TriangleMesh:
    """
    Return the mesh of a rectangular bar bent along the great circle from one axis to another.

    Parameters
    ----------
    start, end : array_like, shape (3,)
        Unit vectors, neither equal nor opposite.
    radius, width, thickness : float
        Radius of the centre line; width along the sphere, across the arc; thickness along the
        sphere's radius [m].
    segments : int
        Number of straight pieces along the arc.

    """
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    across = np.cross(a, b) / np.linalg.norm(np.cross(a, b))
    along = np.cross(across, a)
    angles = np.linspace(0.0, np.arctan2(along @ b, a @ b), segments + 1)[:, None]
    outwards = np.cos(angles) * a + np.sin(angles) * along
    # Four corners per cross-section, counter-clockwise if one looks along the arc from its start.
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


def quintic(
    start: np.ndarray, end: np.ndarray, duration: float, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return position, velocity, acceleration of the minimum-jerk motion, each (N, motors).

    s = 10 r^3 - 15 r^4 + 6 r^5 with r = t / duration: at rest, and without acceleration, at both
    ends.
    """
    first, way = np.asarray(start, dtype=float), np.subtract(end, start)
    r = (np.asarray(times, dtype=float) / duration)[:, None]
    return (
        first + r**3 * (10.0 - 15.0 * r + 6.0 * r**2) * way,
        30.0 * r**2 * (1.0 - r) ** 2 / duration * way,
        60.0 * r * (1.0 - r) * (1.0 - 2.0 * r) / duration**2 * way,
    )


def reach(chain: ClosedChain, times: np.ndarray) -> JointStates:
    """Return all joints' motion at times [s]: motors from START at 0 s to END at the last time."""
    q, dq, ddq = quintic(START, END, times[-1], times)
    return chain.motion(chain.follow(q, np.zeros(chain.tree.n)), dq, ddq)


def drift(chain: ClosedChain, times: np.ndarray, start: np.ndarray) -> np.ndarray:
    """
    Return how far the loop opens, (N,) [rad], if dq_p = J_p dq_a is integrated.

    The active joints move with the planned dq_a; the passive joints' dq_p is integrated by the
    Runge-Kutta method of fourth order. `start` holds all joints' positions at the first time.
    """

    def place(time: float, passive: np.ndarray) -> np.ndarray:
        here = np.empty(chain.tree.n)
        here[chain.active] = quintic(START, END, times[-1], [time])[0][0]
        here[chain.passive] = passive
        return here

    def rate(time: float, passive: np.ndarray) -> np.ndarray:
        speed = quintic(START, END, times[-1], [time])[1][0]
        return chain.passive_jacobian(place(time, passive)) @ speed

    path, passive = [start], start[chain.passive]
    for before, after in pairwise(times):
        h = after - before
        k1 = rate(before, passive)
        k2 = rate(before + 0.5 * h, passive + 0.5 * h * k1)
        k3 = rate(before + 0.5 * h, passive + 0.5 * h * k2)
        passive = passive + h / 6.0 * (k1 + 2.0 * (k2 + k3) + rate(after, passive + h * k3))
        path.append(place(after, passive))
    return np.abs(chain.closure_error(np.array(path))).max(axis=-1)


LINK_COLOURS = ('tab:blue', 'tab:green', 'gold', 'tab:orange')


def draw_motion(chain: ClosedChain, times: np.ndarray, path: str) -> None:
    """Draw the links at both ends of the motion, the motors' torques and the loop's drift."""
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    motion = reach(chain, times)
    figure = Figure(figsize=(15.0, 5.0), layout='constrained')
    space = figure.add_subplot(1, 3, 1, projection='3d')
    for instant, opacity in ((0, 0.25), (-1, 0.9)):
        poses = chain.tree.poses(motion.q[instant])
        for mesh, pose, colour in zip(five_bar_meshes(), poses, LINK_COLOURS):
            corners = mesh.moved(pose).vertices[mesh.faces]
            space.add_collection3d(Poly3DCollection(corners, facecolor=colour, alpha=opacity))
    for number, colour in enumerate(LINK_COLOURS, 1):
        space.plot([], [], color=colour, linewidth=5, label=f'link {number}')
    for motor, joint in enumerate(chain.active, 1):
        axis = 1.2 * RADIUS * chain.tree.twists[joint, 3:]
        space.plot(*np.stack((np.zeros(3), axis)).T, color='black', linewidth=1.0)
        space.text(*(1.25 * axis), f'motor {motor}', ha='center', va='top')
    side = (-1.1 * RADIUS, 1.1 * RADIUS)
    space.set(xlim=side, ylim=side, zlim=(0.0, 1.2 * RADIUS), title='start (pale) and end')
    space.set(xlabel='x [m]', ylabel='y [m]', zlabel='z [m]')
    space.locator_params(nbins=5)
    space.view_init(elev=28, azim=-75)
    torque, opening = figure.add_subplot(1, 3, 2), figure.add_subplot(1, 3, 3)
    for motor, torques in enumerate(chain.inverse_dynamics(motion).T, 1):
        torque.plot(times, torques, label=f'motor {motor}')
    torque.set(ylabel='torque [N m]', title="motors' torques, (13)")
    for label, values in (
        ('passive joints integrated', drift(chain, times, motion.q[0])),
        ('loop solved at every instant', np.abs(chain.closure_error(motion.q)).max(axis=-1)),
    ):
        opening.semilogy(times, np.maximum(values, 1e-17), label=label)
    opening.set(ylabel='loop open by [rad]', title='constraint drift, (11)')
    for axes in (torque, opening):
        axes.set_xlabel('time [s]')
        axes.grid(alpha=0.3)
    for axes in (space, torque, opening):
        axes.legend()
    figure.savefig(path, dpi=110)


@dataclass(frozen=True)
class Objective:
    """
    The motors' summed square torques, averaged over the motion, as a function of u in [-1, 1].

    The vector u holds the vertices' displacements relative to VERTEX_REACH, then the rotation
    vectors of the three axes relative to AXIS_REACH. At q = 0 the links stay where they are when
    the axes turn.
    """

    samples: int = 21

    @property
    def meshes(self) -> tuple[TriangleMesh, ...]:
        """The links' meshes before optimisation, at q = 0 [m]."""
        return five_bar_meshes()

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.meshes[LINK].vertices.size + 3 * len(AXES)

    def mesh(self, u: np.ndarray) -> TriangleMesh:
        """Return the mesh of link 2 with the vertices displaced by u."""
        before = self.meshes[LINK]
        moved = u[: before.vertices.size].reshape(-1, 3) * VERTEX_REACH
        return TriangleMesh(before.vertices + moved, before.faces)

    def turns(self, u: np.ndarray) -> np.ndarray:
        """Return the rotation vectors by which u turns the three axes, shape (3, 3) [rad]."""
        return u[-3 * len(AXES) :].reshape(-1, 3) * AXIS_REACH

    def chain(self, u: np.ndarray) -> ClosedChain:
        """Return the five-bar with link 2 and the three axes changed by u."""
        inertias = [mesh_inertia(mesh, DENSITY) for mesh in self.meshes]
        inertias[LINK] = mesh_inertia(self.mesh(u), DENSITY)
        nominal = spherical_five_bar(inertias)
        eta = np.zeros((nominal.tree.n + 1, 6))
        eta[AXES, 3:] = self.turns(u)
        return ClosedChain(
            nominal.tree.with_twist_corrections(eta),
            nominal.active,
            nominal.loops,
            nominal.gravity,
        )

    def value_and_gradient(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the motors' summed mean square torques [N^2 m^2] and the gradient by u."""
        chain = self.chain(u)
        motion = reach(chain, np.linspace(0.0, DURATION, self.samples))
        torques = chain.inverse_dynamics(motion)
        by = motor_derivatives(chain, motion)
        weights = 2.0 * torques / self.samples
        by_parameters = np.einsum('ta,tak->k', weights, by.by_parameters[..., LINK, :])
        by_vertices = np.tensordot(by_parameters, vertex_derivatives(self.mesh(u), DENSITY), 1)
        by_eta = np.einsum('ta,tajk->jk', weights, by.by_eta)[list(AXES), 3:]
        # by_eta: derivative of the summed mean square torques by a further small rotation d eta of
        # the turned axis, exp(d eta) exp(turn).
        by_turns = [slope @ left_jacobian(turn) for slope, turn in zip(by_eta, self.turns(u))]
        return float((torques**2).sum() / self.samples), np.concatenate(
            (by_vertices.ravel() * VERTEX_REACH, np.ravel(by_turns) * AXIS_REACH)
        )

    def mass_and_gradient(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mass of link 2 [kg] and the gradient of the mass by the variables u."""
        mesh = self.mesh(u)
        gradient = np.zeros(self.size)
        gradient[: mesh.vertices.size] = (
            VERTEX_REACH * vertex_derivatives(mesh, DENSITY)[MASS].ravel()
        )
        return mesh_inertia(mesh, DENSITY).mass, gradient


def left_jacobian(turn: np.ndarray) -> np.ndarray:
    """Return the left Jacobian J: exp(turn + d) = exp(J d) exp(turn) to first order, (3, 3)."""
    angle = np.linalg.norm(turn)
    if angle < 1e-6:
        return np.eye(3) + 0.5 * hat(turn)
    K = hat(turn / angle)
    return np.eye(3) + (1.0 - np.cos(angle)) / angle * K + (1.0 - np.sin(angle) / angle) * K @ K


def optimise(objective: Objective, iterations: int = 200) -> OptimizeResult:
    """Minimise summed mean square torques by SLSQP within |u| <= 1, link 2 not getting lighter."""
    start = np.zeros(objective.size)
    mass, _ = objective.mass_and_gradient(start)
    scale = objective.value_and_gradient(start)[0]

    def scaled(u: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = objective.value_and_gradient(u)
        return value / scale, gradient / scale

    constraint = {
        'type': 'ineq',
        'fun': lambda u: objective.mass_and_gradient(u)[0] / mass - 1.0,
        'jac': lambda u: objective.mass_and_gradient(u)[1] / mass,
    }
    return minimize(
        scaled,
        start,
        jac=True,
        method='SLSQP',
        bounds=[(-1.0, 1.0)] * len(start),
        constraints=[constraint],
        options={'maxiter': iterations, 'ftol': 1e-5},
    )


def gradient_error(objective: Objective, u: np.ndarray, directions: int = 5) -> float:
    """Return the gradient's largest relative error against differences in random directions."""
    rng, step = np.random.default_rng(0), 1e-4
    _, gradient = objective.value_and_gradient(u)
    errors = []
    for _ in range(directions):
        d = rng.normal(size=len(u))
        slope = (
            objective.value_and_gradient(u + step * d)[0]
            - objective.value_and_gradient(u - step * d)[0]
        ) / (2.0 * step)
        errors.append(abs(gradient @ d - slope) / abs(slope))
    return max(errors)


def draw_design(objective: Objective, u: np.ndarray, path: str) -> None:
    """Draw motor torques and the shape of link 2, each before and after optimisation."""
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    figure = Figure(figsize=(12.0, 5.0), layout='constrained')
    axes, times = figure.add_subplot(1, 2, 1), np.linspace(0.0, DURATION, 101)
    for point, style, label in ((np.zeros_like(u), '--', 'before'), (u, '-', 'after')):
        chain = objective.chain(point)
        torques = chain.inverse_dynamics(reach(chain, times)).T
        for motor, (torque, colour) in enumerate(zip(torques, ('tab:blue', 'tab:orange')), 1):
            axes.plot(times, torque, style, color=colour, label=f'motor {motor}, {label}')
    axes.set(xlabel='time [s]', ylabel='torque [N m]')
    axes.grid(alpha=0.3)
    axes.legend()
    shape = figure.add_subplot(1, 2, 2, projection='3d')
    for mesh, colour, opacity in (
        (objective.meshes[LINK], 'grey', 0.25),
        (objective.mesh(u), 'tab:green', 0.7),
    ):
        corners = mesh.vertices[mesh.faces] * 1e3
        shape.add_collection3d(
            Poly3DCollection(corners, alpha=opacity, facecolor=colour, edgecolor='black', lw=0.2)
        )
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    shape.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    shape.set(xlabel='x [mm]', ylabel='y [mm]', zlabel='z [mm]')
    shape.set(title='link 2 before (grey) and after', aspect='equal')
    shape.locator_params(nbins=5)
    shape.view_init(elev=12, azim=20)
    figure.savefig(path, dpi=110)


def main(argv: Sequence[str] | None = None) -> None:
    """Print and draw the motors' torques, then the optimised design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--plot', default='five_bar.png', metavar='FILE')
    parser.add_argument('--design-plot', default='five_bar_design.png', metavar='FILE')
    parser.add_argument(
        '--iterations', type=int, default=200, help='most SLSQP iterations (default: %(default)s)'
    )
    arguments = parser.parse_args(argv)
    chain, times = spherical_five_bar(), np.linspace(0.0, 1.0, 201)
    motion = reach(chain, times)
    for motor, torque in enumerate(chain.inverse_dynamics(motion).T, 1):
        print(
            f'motor {motor}: at most {np.abs(torque).max():.4f} N m, '
            f'root mean square {np.sqrt((torque**2).mean()):.4f} N m'
        )
    print(
        f'loop open by at most {np.abs(chain.closure_error(motion.q)).max():.1e} rad where it is '
        f'solved for, by {drift(chain, times, motion.q[0]).max():.1e} rad where the passive '
        'joints are integrated'
    )
    draw_motion(chain, times, arguments.plot)
    print(f'written: {arguments.plot}')
    objective = Objective()
    start = np.zeros(objective.size)
    print(
        f'{objective.size} variables: {len(objective.meshes[LINK].vertices)} vertices of link 2 '
        f'and {len(AXES)} axes'
    )
    print(f'gradient against central differences: {gradient_error(objective, start):.1e} relative')
    result = optimise(objective, arguments.iterations)
    before, after = (np.sqrt(objective.value_and_gradient(u)[0]) for u in (start, result.x))
    print(f'{result.message} ({result.nit} iterations)')
    print(
        f'root mean square torque: {before:.4f} -> {after:.4f} N m '
        f'({100.0 * (after / before - 1.0):+.1f} %)'
    )
    mass = [objective.mass_and_gradient(u)[0] for u in (start, result.x)]
    print(
        f'mass of link 2: {mass[0]:.4f} -> {mass[1]:.4f} kg; defects of its mesh: '
        f'{find_defects(objective.mesh(result.x)).sentences() or "none"}'
    )
    draw_design(objective, result.x, arguments.design_plot)
    print(f'written: {arguments.design_plot}')


if __name__ == '__main__':
    main()
