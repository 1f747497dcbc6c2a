# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Lagrange's equations, for tests alone: energies of poses, without Jacobians and recursions.

With P_l the pose of link l and S_l its pseudo-inertia, T = 1/2 sum tr(dP_l S_l dP_l^T) and
U = -sum gravity . (P_l S_l)'s first moment. Derivatives of P_l are exact: each joint moves along
the z axis of its row, and d/dq exp(Z q) = Z exp(Z q) (Uicker 1965).
"""

from functools import reduce

import numpy as np
from scipy.linalg import expm

from franka_dynamics.arm import Convention, JointKind

TURN_X, TURN_Z, SLIDE_X, SLIDE_Z = np.zeros((4, 4, 4))
TURN_X[2, 1] = TURN_Z[1, 0] = SLIDE_X[0, 3] = SLIDE_Z[2, 3] = 1.0
TURN_X[1, 2] = TURN_Z[0, 1] = -1.0


def steps(arm, q):
    """Return the pose of each frame in the one before, and its derivatives, (3, n, 4, 4)."""
    out = np.empty((3, arm.n, 4, 4))
    for i, joint in enumerate(arm.joints):
        moves = TURN_Z if joint.kind is JointKind.REVOLUTE else SLIDE_Z
        x = expm(TURN_X * joint.row.alpha + SLIDE_X * joint.row.a)
        z = expm(TURN_Z * joint.row.theta + SLIDE_Z * joint.row.d + moves * q[i])
        for order in range(3):
            out[order, i] = x @ z if arm.convention is Convention.MODIFIED else z @ x
            z = moves @ z
    return out


def derivatives(arm, q, order):
    """Return all links' poses differentiated `order` times by joints, (l, n, ..., 4, 4)."""
    each = steps(arm, q)
    out = np.zeros((arm.n, *order * (arm.n,), 4, 4))
    for link, *by in np.ndindex(out.shape[:-2]):
        if all(joint <= link for joint in by):
            factors = [each[by.count(i), i] for i in range(link + 1)]
            out[link, *by] = reduce(np.matmul, factors, arm.base)
    return out


def pseudo_inertias(arm):
    return np.array([link.pseudo_inertia() for link in arm.links])


def mass_matrix(arm, q):
    """Return M, shape (n, n)."""
    first = derivatives(arm, q, 1)
    links = np.einsum('liab,lbc,ljac->ij', first, pseudo_inertias(arm), first)
    return links + np.diag([joint.rotor_inertia for joint in arm.joints])


def coriolis_matrix(arm, q, dq):
    """Return C of Christoffel symbols of the first kind, shape (n, n)."""
    first = derivatives(arm, q, 1)
    second = derivatives(arm, q, 2)
    half = np.einsum('likab,lbc,ljac->ijk', second, pseudo_inertias(arm), first)
    slopes = half + np.swapaxes(half, 0, 1)
    across = np.einsum('ikj,k->ij', slopes, dq)
    return 0.5 * (slopes @ dq + across - across.T)


def potential_energy(arm, q, gravity, order=0):
    """Return U [J], or with order 1 its derivatives by joints, shape (n,)."""
    first_moments = pseudo_inertias(arm)[..., 3]
    moments = np.einsum('l...ab,lb->...a', derivatives(arm, q, order), first_moments)
    return -moments[..., :3] @ gravity
