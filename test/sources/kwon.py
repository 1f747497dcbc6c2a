# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Misprints of Kwon, with true values by finite differences."""

from dataclasses import replace

import numpy as np

from franka_dynamics.arm import JointKind
from franka_dynamics.dynamics.closed_chain import ClosedChain
from franka_dynamics.dynamics.derivatives import dynamics_derivatives, tree_motion
from franka_dynamics.mesh.mesh import mesh_inertia, vertex_derivatives
from franka_dynamics.spatial import ad, ad_dual, adjoint, adjoint_inverse, exp6, hat

from ..agreement import differences
from ..dynamics.mechanisms import spherical_five_bar
from ..dynamics.trees import random_tree
from ..mesh.meshes import bumpy_cuboid

STEP = 1e-3
ATOL = 1e-9  # error of the finite differences


def kwon():
    return [*algorithm_1(), *five_bar(), *mesh()]


def algorithm_1():
    # Kwon's M_i = 1.
    tree = random_tree(0, (-1, 0, 1, 2), (JointKind.REVOLUTE,))
    tree = replace(tree, placements=np.broadcast_to(np.eye(4), (4, 4, 4)))
    rng = np.random.default_rng(1)
    q, dq, ddq = rng.normal(size=(3, 4))
    wrench = rng.normal(size=6)
    here = tree_motion(tree, q, dq, ddq, tool_wrench=wrench)
    i, A = 2, tree.twists[2]
    exponentials = exp6(tree.twists, q)
    product = exponentials[0] @ exponentials[1] @ exponentials[2]
    by_position = differences(
        lambda change: tree_motion(tree, q + change, dq, ddq).twists[i], 4, STEP
    )[:, i]

    def by_velocity(name, body):
        def of(change):
            motion = tree_motion(tree, q, dq + change, ddq, tool_wrench=wrench)
            return getattr(motion, name)[body]

        return differences(of, 4, STEP)

    G, V = tree.spatial_inertias()[1], here.twists[1]
    P, Q = by_velocity('twists', 1), by_velocity('accelerations', 1)
    carried = adjoint_inverse(here.transforms[2]).T @ by_velocity('wrenches', 2) + G @ Q

    def corrected_twists(change):
        return tree.with_twist_corrections(change.reshape(5, 6))

    def by_eta(name):
        def of(change):
            moved = corrected_twists(change)
            return getattr(tree_motion(moved, q, dq, ddq, tool_wrench=wrench), name)

        return differences(of, 30, STEP)

    own = slice(6 * i, 6 * i + 6)
    R = by_eta('wrenches')[i][:, own]
    torques = by_eta('tau')
    derived = dynamics_derivatives(tree, q, dq, ddq, tool_wrench=wrench)
    product_i, own_i = (adjoint_inverse(T) @ ad(V) @ A for T in (product, exponentials[i]))
    before, after = ad(V).T @ G, ad_dual(G @ V)
    f = by_velocity('wrenches', 1)
    corrected, last = A @ R - here.wrenches[i] @ ad(A), derived.tau.by_eta[:, 4]
    return [
        ('Ad_i', product_i, own_i, by_position, 0.08903, ATOL),
        ('lines 3, 4: columns', 6 * 5, 9 * 4 + 6, derived.twist.full.shape[-1], 12.0),
        (
            'line 30',
            carried - (before - after) @ P,
            carried - (before + after) @ P,
            f,
            1.217,
            ATOL,
        ),
        ("S_i, joint i's own block", A @ R, corrected, torques[i, own], 26.52, ATOL),
        ('the last six columns', np.zeros((4, 6)), last, torques[:, 24:], 0.9161, ATOL),
    ]


def five_bar():
    chain = spherical_five_bar()
    motion = chain.motion(chain.assemble([0.4, -0.3], np.zeros(5)), [1.0, -0.7], [2.0, 1.5])
    active, passive = [0, 3], [1, 2, 4]

    def axes(tree):
        return (adjoint(tree.poses(motion.q)) @ tree.twists[..., None])[:, 3:, 0]

    def torque(change):
        tree = chain.tree.with_twist_corrections(change.reshape(6, 6))
        tau = tree_motion(tree, motion.q, motion.dq, motion.ddq).tau
        turned = ClosedChain(tree, active, chain.loops)
        return tau, axes(tree), tau[active] + turned.passive_jacobian(motion.q).T @ tau[passive]

    S, slopes, expected = (
        differences(lambda change, k=k: torque(change)[k], 36, STEP) for k in range(3)
    )
    tau, w, _ = torque(np.zeros(36))
    g_p, g_a = np.stack([w[1], w[2], -w[4]], axis=1), np.stack([w[0], -w[3]], axis=1)
    tau_hat = np.linalg.solve(g_p.T, tau[passive])
    pulls = np.einsum('i,jik->jk', tau_hat, slopes)

    def equation_14(sign_of_4=-1.0, sign_of_5=-1.0):
        G_a = np.stack([pulls[0], sign_of_4 * pulls[3]])
        G_p = np.stack([pulls[1], pulls[2], sign_of_5 * pulls[4]])
        J_p = -np.linalg.solve(g_p, g_a)
        return -G_a - J_p.T @ G_p + S[active] + J_p.T @ S[passive]

    return [
        ('(14), entries of tau_hat', len(tau), len(tau_hat), len(g_p), 2.0),
        ('(14), G_a row 2', equation_14(1.0), equation_14(), expected, 0.07617, ATOL),
        ('(14), G_p row 3', equation_14(-1.0, 0.0), equation_14(), expected, 0.15, ATOL),
    ]


def mesh():
    shape, density = bumpy_cuboid(0, 1.0), 700.0

    def terms(face, corner):
        """Return a face's derivatives of m, Ixx, Iyy, Izz, Ixy, Ixz, Iyz by one corner."""
        v = shape.vertices[face]
        i, j, k = corner, (corner + 1) % 3, (corner + 2) % 3
        normal, det = np.cross(v[1] - v[0], v[2] - v[0]), np.linalg.det(v)
        by_det, total = v[j] @ hat(v[k]), v.sum(axis=0)
        pairs = [(a, b) for a in range(3) for b in range(a, 3)]
        g = sum(v[a] * v[b] for a, b in pairs)
        mass = density / 18.0 * (normal + total @ hat(v[k] - v[j]))
        inner = np.outer(g, by_det) + det * np.diag(total + v[i])
        off = np.outer(sum(r(v[a]) @ v[b] for a, b in pairs), by_det) + det * r(v[i] + total)
        return np.vstack(
            (mass, density / 60.0 * (np.ones((3, 3)) - np.eye(3)) @ inner, -density / 120.0 * off)
        )

    def r(v):
        x, y, z = v
        return np.array([[y, x, 0.0], [z, 0.0, x], [0.0, z, y]])

    # m, then xx, yy, zz, then xy, xz, yz, in the order of LinkInertia.parameters().
    order = [9, 0, 3, 5, 1, 2, 4]

    def numbers(change):
        vertices = shape.vertices.copy()
        vertices[0] += change
        return mesh_inertia(replace(shape, vertices=vertices), density).parameters()[order]

    # In print the sum runs over all corners of all faces, not only over those at vertex i.
    printed = sum(terms(face, corner) for face in shape.faces for corner in range(3))
    expected = differences(numbers, 3, STEP)
    per_vertex = vertex_derivatives(shape, density)[order, 0]
    return [
        (f'{item}: i summed', printed[at], per_vertex[at], expected[at], by, ATOL)
        for item, at, by in (
            ('(18)', slice(0, 1), 203.5),
            ('(23)', slice(1, 4), 371.8),
            ('(27)', slice(4, 7), 159.6),
        )
    ]
