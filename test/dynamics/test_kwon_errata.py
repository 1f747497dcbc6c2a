# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Algorithm 1 of Kwon transcribed line by line: it holds corrected, and fails as printed.

The transcription takes the misprints as switches. Twists are (v, omega) here too, which changes
the order of rows and columns and nothing else.
"""

import numpy as np
import pytest
from scipy.linalg import expm

from franka_dynamics.arm import JointKind
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.product_of_exponentials import spatial_inertia

from .trees import ad, adjoint, complex_step, hat6, random_link, random_twist, skew

N = 4
GRAVITY = (0.0, 0.0, -9.81)
RTOL = 1e-13  # relative to the largest entry; 4e-15 measured
FORCE = np.array([3.0, -20.0, 5.0, 1.0, 2.0, -4.0])  # N, N m


def arm_4r():
    rng = np.random.default_rng(0)
    return BodyTree.from_space_twists(
        range(-1, N - 1),
        [random_twist(rng, (JointKind.REVOLUTE,)) for _ in range(N)],
        [random_link(rng) for _ in range(N)],
    )


def ad_star(F):
    return np.block([[np.zeros((3, 3)), skew(F[:3])], [skew(F[:3]), skew(F[3:])]])


def algorithm_1(tree, q, dq, ddq, force, *, line_30=+1, own_term=True, cumulative=False):
    """Return S, (n, 9n + 6); the defaults are the corrected form."""
    A, G = tree.twists, [spatial_inertia(inertia) for inertia in tree.inertias]
    own = [adjoint(expm(hat6(A[i]) * q[i])) for i in range(N)]
    Ad = [
        np.linalg.multi_dot([*own[: i + 1], np.eye(6)]) if cumulative else own[i] for i in range(N)
    ]
    inv = [np.linalg.inv(X) for X in Ad]
    one, K = np.eye(6), 9 * N + 6
    eta, pos, vel, acc = (
        lambda i: slice(6 * i, 6 * i + 6),
        lambda i: 6 * N + 6 + i,
        lambda i: 7 * N + 6 + i,
        lambda i: 8 * N + 6 + i,
    )
    V_last, dV_last = np.zeros(6), np.concatenate((-np.array(GRAVITY), np.zeros(3)))
    P_last = Q_last = np.zeros((6, K))
    V, dV, P, Q = [], [], [], []
    for i in range(N):
        true_inverse = np.linalg.inv(own[i])
        V.append(A[i] * dq[i] + true_inverse @ V_last)
        dV.append(A[i] * ddq[i] + true_inverse @ dV_last + ad(V[i]) @ A[i] * dq[i])
        P_bar, Q_bar = np.zeros((6, K)), np.zeros((6, K))
        P_bar[:, eta(i)] = inv[i] @ ad(V_last) @ (one - Ad[i]) - ad(A[i] * dq[i])  # line 7
        Q_bar[:, eta(i)] = (
            inv[i] @ ad(dV_last) @ (one - Ad[i]) - ad(V[i]) @ ad(A[i] * dq[i]) - ad(A[i] * ddq[i])
        )  # line 8
        P_bar[:, pos(i)] = inv[i] @ ad(V_last) @ A[i]  # line 10
        Q_bar[:, pos(i)] = inv[i] @ ad(dV_last) @ A[i]
        P_bar[:, vel(i)] = A[i]
        Q_bar[:, vel(i)] = ad(V[i]) @ A[i]
        Q_bar[:, acc(i)] = A[i]  # line 15
        P.append(inv[i] @ P_last + P_bar)
        Q.append(inv[i] @ Q_last - ad(A[i] * dq[i]) @ P[i] + Q_bar)
        V_last, dV_last, P_last, Q_last = V[i], dV[i], P[i], Q[i]
    F, R = [None] * N, [None] * N
    for i in reversed(range(N)):
        F[i] = G[i] @ dV[i] - ad(V[i]).T @ G[i] @ V[i]
        dual = ad_star(G[i] @ V[i])
        if i == N - 1:
            F[i] = F[i] - force
            R[i] = -(ad(V[i]).T @ G[i] + dual) @ P[i] + G[i] @ Q[i]  # line 21
            continue
        F[i] = F[i] + np.linalg.inv(own[i + 1]).T @ F[i + 1]
        R_bar, back = np.zeros((6, K)), inv[i + 1].T
        R_bar[:, eta(i + 1)] = -back @ ad_star(F[i + 1]) @ (inv[i + 1] - one)  # line 24
        R_bar[:, pos(i + 1)] = -back @ ad_star(F[i + 1]) @ A[i + 1]  # line 26
        R[i] = (
            back @ R[i + 1] - (ad(V[i]).T @ G[i] + line_30 * dual) @ P[i] + G[i] @ Q[i] + R_bar
        )  # line 30
    S = np.array([A[i] @ R[i] for i in range(N)])
    for i in range(N if own_term else 0):
        S[i, eta(i)] -= F[i] @ ad(A[i])
    return S


@pytest.fixture(scope='module')
def case():
    """Return a 4R arm, a state, and the torques' derivatives by complex steps."""
    tree, rng = arm_4r(), np.random.default_rng(1)
    q, dq, ddq = rng.normal(size=(3, N)) * 2.0
    return tree, (q, dq, ddq), complex_step(tree, q, dq, ddq, GRAVITY, FORCE)['tau']


def difference(S, expected):
    """Return the largest difference but for the tool's columns, which the print leaves at zero."""
    tool = slice(6 * N, 6 * N + 6)
    return np.abs(np.delete(S - expected, tool, axis=1)).max()


def test_corrected_algorithm_1_agrees_with_complex_steps(case):
    tree, states, expected = case
    assert difference(algorithm_1(tree, *states, FORCE), expected) < RTOL * np.abs(expected).max()


@pytest.mark.parametrize(
    'misprint',
    [
        {'line_30': -1},  # -(ad_V^T G - ad*_{GV}) P
        {'own_term': False},  # A^T R alone
        {'cumulative': True},  # Ad_i of the product from the base
    ],
    ids=['line_30', 'own_term', 'cumulative'],
)
def test_a_misprint_in_algorithm_1_is_off_by_newton_metres(case, misprint):
    tree, states, expected = case
    assert difference(algorithm_1(tree, *states, FORCE, **misprint), expected) > 1.0
