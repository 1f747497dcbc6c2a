# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Optimise the design of a spherical five-bar (five_bar.py) for low motor torques.

The motors' torques on a fast motion are lowered by moving the vertices of one link's mesh, (15) to
(28) of Kwon, "Differential Dynamics and Mesh-Based Inertia", and by turning three joint axes, (6).
Algorithm 1 and (14) give the gradient of the torques by vertices and axes, and SLSQP minimises
them, while the link does not get lighter. The program takes some ten seconds and draws the link
and the torques before and after in `five_bar_design.png`.
"""

import five_bar
import numpy as np

try:
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection
    from scipy.optimize import minimize
except ImportError as error:
    raise SystemExit(f"{error}; run, in the clone, pip install '.[replay]'") from None

from franka_dynamics.dynamics.closed_chain import ClosedChain
from franka_dynamics.dynamics.closed_chain_derivatives import motor_derivatives
from franka_dynamics.mesh.mesh import mesh_inertia, TriangleMesh, vertex_derivatives
from franka_dynamics.spatial import hat

LINK = 1  # index of the link whose mesh changes: link 2 of Kwon
AXES = [1, 2, 4]  # the passive joints: 2, 3 and 5 of Kwon
# Largest displacement of a vertex along x, y and z [m]: the bar is 10 mm thick, and its opposite
# faces must not meet. Largest component of the rotation vector that turns a joint axis [rad].
VERTEX_REACH = 0.003
AXIS_REACH = 0.15
TIMES = np.linspace(0.0, 0.5, 21)  # s, of the motion for which the design is optimised
MOST_ITERATIONS = 200
MESHES = five_bar.five_bar_meshes()
START = np.zeros(MESHES[LINK].vertices.size + 3 * len(AXES))


def shaped(u):
    """Return the mesh of link 2 whose vertices are displaced by u, relative to VERTEX_REACH."""
    before = MESHES[LINK]
    moved = u[: before.vertices.size].reshape(-1, 3) * VERTEX_REACH
    return TriangleMesh(before.vertices + moved, before.faces)


def turns(u):
    """Return the rotation vectors by which u turns the three axes, shape (3, 3) [rad]."""
    return u[-3 * len(AXES) :].reshape(-1, 3) * AXIS_REACH


def designed(u):
    """Return the five-bar with link 2 and the three axes changed by u."""
    inertias = [mesh_inertia(mesh, five_bar.DENSITY) for mesh in MESHES]
    inertias[LINK] = mesh_inertia(shaped(u), five_bar.DENSITY)
    nominal = five_bar.spherical_five_bar(inertias)
    eta = np.zeros((nominal.tree.n + 1, 6))
    eta[AXES, 3:] = turns(u)  # at q = 0 the links stay where they are
    tree = nominal.tree.with_twist_corrections(eta)
    return ClosedChain(tree, nominal.active, nominal.loops, nominal.gravity)


def torque_and_gradient(u):
    """Return the motors' summed mean square torques [N^2 m^2] and their gradient by u."""
    chain = designed(u)
    motion = five_bar.reach(chain, TIMES)
    torques = chain.inverse_dynamics(motion)
    by = motor_derivatives(chain, motion)
    weights = 2.0 * torques / len(TIMES)
    by_parameters = np.einsum('ta,tak->k', weights, by.by_parameters[..., LINK, :])
    by_vertices = np.tensordot(by_parameters, vertex_derivatives(shaped(u), five_bar.DENSITY), 1)
    # The derivative by a further small rotation d eta of the turned axis, exp(d eta) exp(turn).
    by_eta = np.einsum('ta,tajk->jk', weights, by.by_corrections)[AXES, 3:]
    by_turns = [slope @ left_jacobian(turn) for slope, turn in zip(by_eta, turns(u))]
    gradient = (by_vertices.ravel() * VERTEX_REACH, np.ravel(by_turns) * AXIS_REACH)
    return (torques**2).sum() / len(TIMES), np.concatenate(gradient)


def mass_and_gradient(u):
    """Return the mass of link 2 [kg] and its gradient by u."""
    mesh = shaped(u)
    gradient = np.zeros(len(u))
    by_vertices = vertex_derivatives(mesh, five_bar.DENSITY)[-1]
    gradient[: by_vertices.size] = VERTEX_REACH * by_vertices.ravel()
    return mesh_inertia(mesh, five_bar.DENSITY).mass, gradient


def left_jacobian(turn):
    """Return the left Jacobian J: exp(turn + d) = exp(J d) exp(turn) to first order, (3, 3)."""
    angle = np.linalg.norm(turn)
    if angle < 1e-6:
        return np.eye(3) + 0.5 * hat(turn)
    K = hat(turn / angle)
    return np.eye(3) + (1.0 - np.cos(angle)) / angle * K + (1.0 - np.sin(angle) / angle) * K @ K


def optimise():
    """Minimise summed mean square torques by SLSQP within |u| <= 1, link 2 not getting lighter."""
    torque = torque_and_gradient(START)[0]
    mass = mass_and_gradient(START)[0]

    def scaled(u):
        value, gradient = torque_and_gradient(u)
        return value / torque, gradient / torque

    constraint = {
        'type': 'ineq',
        'fun': lambda u: mass_and_gradient(u)[0] / mass - 1.0,
        'jac': lambda u: mass_and_gradient(u)[1] / mass,
    }
    return minimize(
        scaled,
        START,
        jac=True,
        method='SLSQP',
        bounds=[(-1.0, 1.0)] * len(START),
        constraints=[constraint],
        options={'maxiter': MOST_ITERATIONS, 'ftol': 1e-5},
    ).x


def main():
    """Print torques and mass before and after the optimisation; draw torques and link."""
    found = optimise()
    before, after = (np.sqrt(torque_and_gradient(u)[0]) for u in (START, found))
    mass = [mass_and_gradient(u)[0] for u in (START, found)]
    change = 100.0 * (after / before - 1.0)
    print(f'root mean square torque: {before:.4f} -> {after:.4f} N m ({change:+.1f} %)')
    print(f'mass of link 2: {mass[0]:.4f} -> {mass[1]:.4f} kg')
    figure = Figure(figsize=(12.0, 5.0), layout='constrained')
    axes = figure.add_subplot(1, 2, 1)
    times = np.linspace(0.0, TIMES[-1], 101)
    shape = figure.add_subplot(1, 2, 2, projection='3d')
    for u, style, label, opacity in (
        (START, '--', 'before', 0.2),
        (found, '-', 'after', 0.7),
    ):
        chain = designed(u)
        torques = chain.inverse_dynamics(five_bar.reach(chain, times)).T
        for motor, (torque, colour) in enumerate(zip(torques, ('tab:blue', 'tab:orange')), 1):
            axes.plot(times, torque, style, color=colour, label=f'motor {motor}, {label}')
        corners = shaped(u).vertices[MESHES[LINK].faces] * 1e3
        colour = 'tab:green' if u is found else 'grey'
        faces = Poly3DCollection(corners, alpha=opacity, facecolor=colour, edgecolor='black')
        shape.add_collection3d(faces)
    low = corners.min(axis=(0, 1))
    high = corners.max(axis=(0, 1))
    shape.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    shape.set(xlabel='x [mm]', ylabel='y [mm]', zlabel='z [mm]', aspect='equal')
    shape.set_title('link 2 before (grey) and after')
    shape.locator_params(nbins=5)
    shape.view_init(elev=12, azim=20)
    axes.set(xlabel='time [s]', ylabel='torque [N m]')
    axes.legend()
    figure.savefig('five_bar_design.png', dpi=110)


if __name__ == '__main__':
    main()
