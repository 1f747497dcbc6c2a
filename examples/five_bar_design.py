# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Lower a five-bar's motor torques by moving a link's mesh vertices and three joint axes.

The setting of Kwon: the vertices change the link's inertia by (15) to (28), the axes change
by (6), and the torques over a point-to-point motion change by Algorithm 1 and (14), so that one
gradient serves them all. Run `python examples/five_bar_design.py`; it takes some ten
seconds and writes `five_bar_design.png`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, OptimizeResult

from franka_dynamics.dynamics.closed_chain import ClosedChain
from franka_dynamics.dynamics.closed_chain_derivatives import motor_derivatives
from franka_dynamics.dynamics.mechanisms import five_bar_meshes, quintic, spherical_five_bar
from franka_dynamics.errors import OutputError
from franka_dynamics.files import writable_file
from franka_dynamics.mesh.mesh import (
    in_parameter_order,
    mesh_inertia,
    TriangleMesh,
    vertex_derivatives,
)
from franka_dynamics.mesh.solid_check import find_defects
from franka_dynamics.spatial import hat

DENSITY = 2700.0  # kg/m^3
LINK = 1  # number of the link that is shaped: link 2 of Kwon
AXES = (1, 2, 4)  # the passive joints: 2, 3 and 5 of Kwon
VERTEX_REACH = 0.003  # m; the bar is 10 mm thick, so that opposite faces cannot meet
AXIS_REACH = 0.15  # rad
START, END, DURATION = np.zeros(2), np.radians([35.0, -45.0]), 0.5  # rad, rad, s


@dataclass(frozen=True)
class Objective:
    """
    Mean square of the motors' torques over the motion, as a function of u in [-1, 1].

    u holds the vertices' displacements over VERTEX_REACH, then the turns of the three axes over
    AXIS_REACH. The links keep their places at q = 0 while the axes turn.
    """

    samples: int = 21

    @property
    def meshes(self) -> tuple[TriangleMesh, ...]:
        """The links before the change."""
        return five_bar_meshes()

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.meshes[LINK].vertices.size + 3 * len(AXES)

    def mesh(self, u: np.ndarray) -> TriangleMesh:
        """Return the shaped link."""
        before = self.meshes[LINK]
        moved = u[: before.vertices.size].reshape(-1, 3) * VERTEX_REACH
        return TriangleMesh(before.vertices + moved, before.faces)

    def turns(self, u: np.ndarray) -> np.ndarray:
        """Return the rotation vectors of the axes, shape (3, 3) [rad]."""
        return u[-3 * len(AXES) :].reshape(-1, 3) * AXIS_REACH

    def chain(self, u: np.ndarray) -> ClosedChain:
        """Return the changed mechanism."""
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
        """Return the mean square torque [N^2 m^2] and its gradient by u."""
        chain = self.chain(u)
        times = np.linspace(0.0, DURATION, self.samples)
        q, dq, ddq = quintic(START, END, DURATION, times)
        motion = chain.motion(chain.follow(q, np.zeros(chain.tree.n)), dq, ddq)
        torques = chain.inverse_dynamics(motion)
        by = motor_derivatives(chain, motion)
        weights = 2.0 * torques / self.samples
        by_parameters = np.einsum('ta,tak->k', weights, by.by_parameters[..., LINK, :])
        by_vertices = np.tensordot(
            by_parameters, in_parameter_order(vertex_derivatives(self.mesh(u), DENSITY)), 1
        )
        by_eta = np.einsum('ta,tajk->jk', weights, by.by_eta)[list(AXES), 3:]
        # by_eta belongs to a further turn of the axis as it stands: exp(d eta) exp(turn).
        by_turns = [slope @ left_jacobian(turn) for slope, turn in zip(by_eta, self.turns(u))]
        return float((torques**2).sum() / self.samples), np.concatenate(
            (by_vertices.ravel() * VERTEX_REACH, np.ravel(by_turns) * AXIS_REACH)
        )

    def mass_and_gradient(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the shaped link's mass [kg] and its gradient by u."""
        mesh = self.mesh(u)
        gradient = np.zeros(self.size)
        gradient[: mesh.vertices.size] = (
            VERTEX_REACH * vertex_derivatives(mesh, DENSITY)[0].ravel()
        )
        return mesh_inertia(mesh, DENSITY).mass, gradient


def left_jacobian(turn: np.ndarray) -> np.ndarray:
    """Return J with exp(turn + d) = exp(J d) exp(turn) to first order, shape (3, 3)."""
    angle = np.linalg.norm(turn)
    if angle < 1e-6:
        return np.eye(3) + 0.5 * hat(turn)
    K = hat(turn / angle)
    return np.eye(3) + (1.0 - np.cos(angle)) / angle * K + (1.0 - np.sin(angle) / angle) * K @ K


def optimise(objective: Objective, iterations: int = 200) -> OptimizeResult:
    """Minimise within the bounds, the link no lighter than before, with scipy's SLSQP."""
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
    """Return the largest relative error against central differences along random directions."""
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


def torques(
    objective: Objective,
    u: np.ndarray,
    samples: int = 101,
) -> tuple[np.ndarray, np.ndarray]:
    """Return times and torques over the motion, (N,) and (N, 2)."""
    chain, times = objective.chain(u), np.linspace(0.0, DURATION, samples)
    q, dq, ddq = quintic(START, END, DURATION, times)
    motion = chain.motion(chain.follow(q, np.zeros(chain.tree.n)), dq, ddq)
    return times, chain.inverse_dynamics(motion)


def draw(objective: Objective, u: np.ndarray, path: str) -> None:
    """Write torques before and after, and the link's shape."""
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    figure = Figure(figsize=(12.0, 5.0), layout='constrained')
    axes = figure.add_subplot(1, 2, 1)
    for point, style, label in ((np.zeros_like(u), '--', 'before'), (u, '-', 'after')):
        times, values = torques(objective, point)
        for motor, colour in enumerate(('tab:blue', 'tab:orange')):
            axes.plot(
                times, values[:, motor], style, color=colour, label=f'motor {motor + 1}, {label}'
            )
    axes.set(xlabel='time [s]', ylabel='torque [N m]')
    axes.grid(alpha=0.3)
    axes.legend()
    shape = figure.add_subplot(1, 2, 2, projection='3d')
    for mesh, colour, opacity in (
        (objective.meshes[LINK], 'grey', 0.25),
        (objective.mesh(u), 'tab:green', 0.7),
    ):
        shape.add_collection3d(
            Poly3DCollection(
                mesh.vertices[mesh.faces] * 1e3,
                alpha=opacity,
                facecolor=colour,
                edgecolor='black',
                linewidth=0.2,
            )
        )
    corners = objective.mesh(u).vertices * 1e3
    middle, radius = corners.mean(axis=0), 0.55 * np.ptp(corners, axis=0).max()
    shape.set(
        xlim=(middle[0] - radius, middle[0] + radius),
        ylim=(middle[1] - radius, middle[1] + radius),
        zlim=(middle[2] - radius, middle[2] + radius),
        xlabel='x [mm]',
        ylabel='y [mm]',
        zlabel='z [mm]',
        title='link 2 before (grey) and after',
    )
    shape.view_init(elev=12, azim=20)
    figure.savefig(path, dpi=110)


def main(argv: Sequence[str] | None = None) -> None:
    """Optimise, check the gradient, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--picture', default='five_bar_design.png', metavar='FILE')
    parser.add_argument(
        '--iterations', type=int, default=200, help='at most (default: %(default)s)'
    )
    arguments = parser.parse_args(argv)
    if arguments.iterations < 1:
        parser.error(f'--iterations is {arguments.iterations}; it must be at least 1.')
    try:
        writable_file(arguments.picture)
    except OutputError as error:
        parser.error(f'{error}')
    objective = Objective()
    start = np.zeros(objective.size)
    print(
        f'{objective.size} variables: {len(objective.meshes[LINK].vertices)} vertices of link 2 '
        f'and {len(AXES)} axes'
    )
    print(f'gradient against central differences: {gradient_error(objective, start):.1e} relative')
    result = optimise(objective, arguments.iterations)
    before, after = (
        np.sqrt((torques(objective, u)[1] ** 2).sum(axis=1).mean()) for u in (start, result.x)
    )
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
    turned = np.degrees(np.linalg.norm(objective.turns(result.x), axis=1))
    print(
        'turns of axes 2, 3 and 5: ' + ', '.join(f'{angle:.1f}' for angle in turned) + ' degrees'
    )
    draw(objective, result.x, arguments.picture)
    print(f'written: {arguments.picture}')


if __name__ == '__main__':
    main()
