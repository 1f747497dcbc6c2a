# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Move a spherical five-bar from point to point, and compute its motors' torques.

The mechanism, with two motors and one loop, is from section 3 of Kwon, "Differential Dynamics and
Mesh-Based Inertia"; numbers in parentheses are that text's equations. Its links are meshes, whose
inertia is computed. The program prints the motors' torques on a minimum-jerk motion, and how far
the loop opens if the passive joints are integrated instead of solved for; it draws all that in
`five_bar.png`.
"""

import numpy as np

try:
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection
    from scipy.integrate import solve_ivp
except ImportError as error:
    raise SystemExit(f"{error}; run, in the clone, pip install '.[replay]'") from None

from franka_dynamics.arm import LinkInertia
from franka_dynamics.dynamics.body_tree import BASE_BODY, BodyTree
from franka_dynamics.dynamics.closed_chain import ClosedChain, Loop
from franka_dynamics.mesh.mesh import mesh_inertia, TriangleMesh
from franka_dynamics.spatial import joint_twist

# Angles of the axes at q = 0: motors 1 and 4, elbows 2 and 5, and joint 3 between links 2 and 3.
# Kwon gives no dimensions; this project chose them.
POLAR, AZIMUTH = np.radians([[75, 55, 20, 75, 55], [-140, 140, -90, -40, 40]])  # joints 1 to 5
LINK_ENDS = {
    1: (1, 2),
    2: (2, 3),
    3: (3, 5),
    4: (4, 5),
}  # the joints at each link's ends
# m
RADIUS = 0.2
WIDTH = 0.02
THICKNESS = 0.01
DENSITY = 2700.0  # kg/m^3
START = np.zeros(2)  # rad
END = np.radians([35.0, -45.0])
LINK_COLOURS = ('tab:blue', 'tab:green', 'gold', 'tab:orange')


def five_bar_axes():
    """Return the unit axes w_1..w_5 at q = 0 in the space frame, shape (5, 3)."""
    radial = np.sin(POLAR)
    return np.array([radial * np.cos(AZIMUTH), radial * np.sin(AZIMUTH), np.cos(POLAR)]).T


def five_bar_meshes():
    """Return meshes [m] of links 1 to 4 at q = 0: bars that are bent along great circles."""
    axes = five_bar_axes()
    return tuple(arc_bar(axes[start - 1], axes[end - 1]) for start, end in LINK_ENDS.values())


def spherical_five_bar(inertias=None):
    """
    Return a five-bar with the topology of Kwon, section 3: motors at joints 1 and 4.

    The tree is links 1-2-3 and link 4; joint 5, at which link 3 meets link 4, is cut and moves a
    body without mass, whose orientation must be link 3's, Kwon's (11). Joints are numbered from 0
    in arrays: motors 0 and 3, passive joints 1, 2 and 4. `inertias` are those of links 1 to 4 in
    the space frame at q = 0 (by default of `five_bar_meshes` in aluminium).
    """
    links = inertias or [mesh_inertia(mesh, DENSITY) for mesh in five_bar_meshes()]
    tree = BodyTree(
        parents=(BASE_BODY, 0, 1, BASE_BODY, 3),
        placements=np.tile(np.eye(4), (5, 1, 1)),  # at q = 0 all frames are the space frame
        twists=joint_twist(five_bar_axes(), np.zeros(3)),
        inertias=(*links, LinkInertia.zero()),
    )
    return ClosedChain(tree, (0, 3), [Loop(2, 4, 'spherical')])


def arc_bar(start, end, segments=12):
    """Return the mesh of a rectangular bar along the great circle from one axis to another."""
    across = np.cross(start, end) / np.linalg.norm(np.cross(start, end))
    along = np.cross(across, start)
    angles = np.linspace(0.0, np.arctan2(along @ end, start @ end), segments + 1)[:, None]
    outwards = np.cos(angles) * start + np.sin(angles) * along
    # Four corners per cross-section, counter-clockwise if one looks along the arc from its start.
    corners = [
        (RADIUS + out * THICKNESS / 2.0) * outwards + side * WIDTH / 2.0 * across
        for out, side in ((1, 1), (-1, 1), (-1, -1), (1, -1))
    ]
    last = 4 * segments
    faces = [
        [0, 1, 2],
        [0, 2, 3],
        [last, last + 2, last + 1],
        [last, last + 3, last + 2],
    ]
    for here in range(0, last, 4):
        for a, b in ((0, 1), (1, 2), (2, 3), (3, 0)):
            faces += [
                [here + a, here + 4 + b, here + b],
                [here + a, here + 4 + a, here + 4 + b],
            ]
    return TriangleMesh(np.stack(corners, axis=1).reshape(-1, 3), np.array(faces))


def quintic(times, duration):
    """Return the motors' position, velocity and acceleration, (N, 2) each, from START to END."""
    s = np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])  # at rest at both ends
    r = (np.asarray(times) / duration)[:, None]
    way = END - START
    q, dq, ddq = (s.deriv(k)(r) / duration**k * way for k in range(3))
    return START + q, dq, ddq


def reach(chain, times):
    """Return all joints' motion at times [s], the last of which is the motion's duration."""
    q, dq, ddq = quintic(times, times[-1])
    return chain.motion(chain.assemble_path(q, np.zeros(chain.tree.n)), dq, ddq)


def drift(chain, times, start):
    """Return how far the loop opens, (N,) [rad], if dq_p = J_p dq_a is integrated from a start."""
    q = np.array(start)

    def rate(time, passive):
        (q[chain.active],), (dq,), _ = quintic([time], times[-1])
        q[chain.passive] = passive
        return chain.passive_jacobian(q) @ dq

    path = np.tile(q, (len(times), 1))
    path[:, chain.active] = quintic(times, times[-1])[0]
    path[:, chain.passive] = solve_ivp(rate, times[[0, -1]], q[chain.passive], t_eval=times).y.T
    return np.abs(chain.closure_error(path)).max(axis=-1)


def draw(space, chain, q):
    """Draw the links at joint positions (n,), and the motors' axes."""
    for mesh, pose, colour in zip(five_bar_meshes(), chain.tree.poses(q), LINK_COLOURS):
        corners = mesh.expressed_in(pose).vertices[mesh.faces]
        space.add_collection3d(Poly3DCollection(corners, facecolors=colour, shade=True))
    for motor, axis in enumerate(five_bar_axes()[chain.active], 1):
        tip = 1.35 * RADIUS * axis
        space.plot(*np.stack((np.zeros(3), tip)).T, color='black', linewidth=1.0)
        space.text(*(1.05 * tip), f'motor {motor}', ha='right' if motor == 1 else 'left')
    side = (-RADIUS, RADIUS)
    space.set(xlim=side, ylim=side, zlim=(0.0, RADIUS))
    space.set_box_aspect((2.0, 2.0, 1.0), zoom=1.15)
    space.set_axis_off()
    space.view_init(elev=28, azim=-75)


def main():
    """Print the motors' torques and the loop's error; draw them and the links."""
    chain = spherical_five_bar()
    times = np.linspace(0.0, 1.0, 201)
    motion = reach(chain, times)
    solved = np.abs(chain.closure_error(motion.q)).max(axis=-1)
    integrated = drift(chain, times, motion.q[0])
    figure = Figure(figsize=(10.0, 6.0), layout='constrained')
    for column, title in enumerate(('start', 'end')):
        space = figure.add_subplot(2, 2, 1 + column, projection='3d', title=title)
        draw(space, chain, motion.q[-column])
    torque = figure.add_subplot(2, 2, 3)
    opening = figure.add_subplot(2, 2, 4)
    for motor, torques in enumerate(chain.inverse_dynamics(motion).T, 1):
        most = np.abs(torques).max()
        rms = np.sqrt(np.mean(torques**2))
        print(f'motor {motor}: at most {most:.4f} N m, root mean square {rms:.4f} N m')
        torque.plot(times, torques, label=f'motor {motor}')
    print(f'loop open by at most {solved.max():.1e} rad where it is solved for, ', end='')
    print(f'by {integrated.max():.1e} rad where the passive joints are integrated')
    torque.set(xlabel='time [s]', ylabel='torque [N m]', title="motors' torques, (13)")
    opening.plot(times, 1e3 * integrated, label='passive joints integrated')
    opening.plot(times, 1e3 * solved, label='loop solved at every instant')
    opening.set(
        xlabel='time [s]',
        ylabel='loop open by [mrad]',
        title='drift of the constraint (11)',
    )
    torque.legend()
    opening.set_ylim(top=1.4)
    opening.legend()
    figure.savefig('five_bar.png', dpi=110)


if __name__ == '__main__':
    main()
