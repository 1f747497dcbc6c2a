# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Differential dynamics of a tree of bodies: Kwon, (1) to (10) and Algorithm 1, corrected.

Quantities are differentiated with respect to lambda = [eta, q, dq, ddq] in R^(9n+6). eta_i are six
corrections of each joint's twist, A_i <- Ad(exp([eta_i])) A_i (Kwon, (6)), and six of the tool's
pose, T <- exp([eta]) T; q, dq, ddq are the joints' positions, velocities and accelerations.
Quantities of body i are in body i's frame. Twists and eta are (v, omega), wrenches (force,
moment), where Kwon has (omega, v) and (moment, force).

The code departs from Algorithm 1 as Kwon prints it:
- The second term of line 30 is -(ad_V^T G + ad*_{GV}) P.
- Ad_i is the joint's own Ad(exp([A_i] q_i)), not the product from the base.
- Lines 3 and 4 are left out, because lines 7 and 8 give the same with V_0 = 0.
- dtau_i has the term -F_i^T ad_{A_i} in joint i's own block.
- Sums over a body's children replace the body i + 1.
- The last six columns, zero as printed, are the derivatives by the tool's pose.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from .body_tree import as_tree, BASE, BodyTree
from .model import broadcast_states, GRAVITY, gravity_vector, solve_acceleration
from ..arm import ArmDescription
from ..arrays import checked, joint_values
from ..errors import JointVectorError
from ..spatial import ad, ad_dual, adjoint_inverse, apply, exp6
from ..typing import Array


@dataclass(frozen=True, eq=False)
class Derivative:
    """
    The derivative `full` of a quantity by lambda = [twist corrections eta, q, dq, ddq].

    The last axis of `full` has 9n + 6 columns, for n joints. `by_eta`, `by_q`, `by_dq` and
    `by_ddq` are views of blocks of `full`.
    """

    full: Array
    n: int

    @property
    def by_eta(self) -> Array:
        """Derivative by eta, (..., n + 1, 6): the n joint twists' corrections, then the tool's."""
        columns = 6 * (self.n + 1)
        return self.full[..., :columns].reshape(*self.full.shape[:-1], self.n + 1, 6)

    @property
    def by_q(self) -> Array:
        """Derivative by the joint positions, shape (..., n)."""
        return self._joint_block(0)

    @property
    def by_dq(self) -> Array:
        """Derivative by the joint velocities, shape (..., n)."""
        return self._joint_block(1)

    @property
    def by_ddq(self) -> Array:
        """Derivative by the joint accelerations, shape (..., n)."""
        return self._joint_block(2)

    def _joint_block(self, number: int) -> Array:
        start = 6 * (self.n + 1) + number * self.n
        return self.full[..., start : start + self.n]


@dataclass(frozen=True, eq=False)
class TreeMotion:
    """
    Results of Kwon's recursions (1) to (5), with the states' leading axes.

    `transforms` (..., n, 4, 4) are T_{parent,i}; `twists`, `accelerations` and `wrenches` (..., n,
    6) are V_i, dV_i and F_i in body i's frame, and `tau` (..., n) is in N m or N. dV_i is relative
    to free fall: for a body at rest it is -gravity. F_i is the wrench that the parent body exerts
    on body i through joint i.
    """

    transforms: Array
    twists: Array
    accelerations: Array
    wrenches: Array
    tau: Array


@dataclass(frozen=True, eq=False)
class DynamicsDerivatives:
    """
    The motion at a state and its derivatives by lambda = [eta, q, dq, ddq] (Kwon, (9)).

    `twist`, `acceleration` and `wrench` are Kwon's P, Q and R; their `full` has shape (..., n, 6,
    9n + 6). `displacement`, of the same shape, is (T_i^-1 dT_i)^vee, with T_i the pose of body i
    in the space frame. `tau`, the derivative of the joint torques, is Kwon's S, shape (..., n,
    9n + 6).
    """

    motion: TreeMotion
    displacement: Derivative
    twist: Derivative
    acceleration: Derivative
    wrench: Derivative
    tau: Derivative


def tree_motion(
    robot: ArmDescription | BodyTree | str | Path,
    q: ArrayLike,
    dq: ArrayLike,
    ddq: ArrayLike,
    *,
    gravity: ArrayLike = GRAVITY,
    tool_wrench: ArrayLike | None = None,
) -> TreeMotion:
    """
    Return motion, wrenches and torques (rotors included) of a tree by Kwon's (1) to (5).

    Parameters
    ----------
    robot : ArmDescription, BodyTree, str or Path
        The tree, or an arm or its name or file; an arm's bodies are its links in DH frames.
    q, dq, ddq : array_like, shape (..., n)
        Joint positions, velocities and accelerations [rad or m, per s, per s^2].
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    tool_wrench : array_like, shape (..., 6), optional
        (force [N], moment [N m]) that the surroundings exert on the tool, about the origin and
        in the axes of the tool's frame.

    Raises
    ------
    JointVectorError
        If a vector or the wrench has the wrong shape or is not finite, or the leading axes do not
        broadcast.

    """
    return _Recursion(as_tree(robot), q, dq, ddq, gravity, tool_wrench).motion()


def differentiate(
    robot: ArmDescription | BodyTree | str | Path,
    q: ArrayLike,
    dq: ArrayLike,
    ddq: ArrayLike,
    *,
    gravity: ArrayLike = GRAVITY,
    tool_wrench: ArrayLike | None = None,
) -> DynamicsDerivatives:
    """
    Return every body's motion and wrench, all torques, and derivatives by [eta, q, dq, ddq].

    Parameters and errors are those of `tree_motion`; the cost grows with n^2. The module
    `closed_chain_derivatives` computes the derivatives by the inertial parameters.

    `differentiate` is Kwon's Algorithm 1 with the corrections that the module's docstring lists.

    Returns
    -------
    DynamicsDerivatives
        The motion and its derivatives, with stacks of matrices (..., n, 6, 9n + 6) for the bodies
        and (..., n, 9n + 6) for the joint torques.

    """
    return _Recursion(as_tree(robot), q, dq, ddq, gravity, tool_wrench).derivatives()


class _Recursion:
    """The outward and the inward recursion over a tree, at a stack of states."""

    def __init__(
        self,
        tree: BodyTree,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        gravity: ArrayLike,
        tool_wrench: ArrayLike | None,
    ) -> None:
        self.tree = tree
        exerted = np.zeros(6) if tool_wrench is None else tool_wrench
        self.q, self.dq, self.ddq, exerted = broadcast_states(
            tree, q=q, dq=dq, ddq=ddq, wrench=exerted
        )
        self.n, self.columns = tree.n, 9 * tree.n + 6
        self.joint_motions = exp6(tree.twists, self.q)
        self.own_inverse = adjoint_inverse(self.joint_motions)  # Ad(exp([A_i] q_i))^-1
        self.zero_inverse = adjoint_inverse(tree.placements)  # Ad(M_i)^-1
        self.inverse = self.own_inverse @ self.zero_inverse  # Ad(T_{parent,i})^-1
        self.tool_inverse = adjoint_inverse(tree.tool)
        self.inertias = tree.spatial_inertias()
        self._twists_and_accelerations(gravity_vector(gravity))
        self._wrenches(exerted)

    def _twists_and_accelerations(self, gravity: Array) -> None:
        """Compute all twists and accelerations from the base to the tips: Kwon, (2) and (3)."""
        # Gravity enters as an upward acceleration of the base: dV_0 = -g.
        upwards = np.concatenate((-gravity, np.zeros(3)))
        rates = self.dq[..., None] * self.tree.twists  # A_i dq_i
        self.ad_rates = ad(rates)
        self.V = np.empty(rates.shape)
        self.dV = np.empty(rates.shape)
        # For each body i, its parent's twist and acceleration in body i's frame at q_i = 0.
        self.V_before = np.empty(rates.shape)
        self.dV_before = np.empty(rates.shape)
        for i, parent in enumerate(self.tree.parents):
            V_parent = np.zeros(6) if parent == BASE else self.V[..., parent, :]
            dV_parent = upwards if parent == BASE else self.dV[..., parent, :]
            self.V_before[..., i, :] = apply(self.zero_inverse[i], V_parent)
            self.dV_before[..., i, :] = apply(self.zero_inverse[i], dV_parent)
            own = self.own_inverse[..., i, :, :]
            self.V[..., i, :] = apply(own, self.V_before[..., i, :]) + rates[..., i, :]  # (2)
            self.dV[..., i, :] = (  # (3), with ad_V (A dq) = -ad_{A dq} V
                apply(own, self.dV_before[..., i, :])
                + self.ddq[..., i, None] * self.tree.twists[i]
                - apply(self.ad_rates[..., i, :, :], self.V[..., i, :])
            )
        self.ad_V = ad(self.V)

    def _wrenches(self, tool_wrench: Array) -> None:
        """Compute all wrenches from the tips to the base: Kwon, (4)."""
        momentum = apply(self.inertias, self.V)
        self.ad_dual_momentum = ad_dual(momentum)
        self.F = apply(self.inertias, self.dV) - apply(np.swapaxes(self.ad_V, -1, -2), momentum)
        # The joints transmit the opposite of the wrench that the surroundings exert on the tool.
        self.tool_load = -tool_wrench @ self.tool_inverse
        self.F[..., self.tree.tool_body, :] += self.tool_load
        for i in reversed(range(self.n)):
            parent = self.tree.parents[i]
            if parent != BASE:
                self.F[..., parent, :] += apply(
                    np.swapaxes(self.inverse[..., i, :, :], -1, -2), self.F[..., i, :]
                )

    def motion(self) -> TreeMotion:
        """Return every body's T_{parent,i}, twist, acceleration and wrench, and all torques."""
        tau = np.einsum('ij,...ij->...i', self.tree.twists, self.F)  # (5)
        return TreeMotion(
            self.tree.placements @ self.joint_motions,
            self.V,
            self.dV,
            self.F,
            tau + self.tree.rotor_inertias * self.ddq,
        )

    def derivatives(self) -> DynamicsDerivatives:
        """Return the derivatives, by Kwon's Algorithm 1."""
        D, P, Q = self._outwards()
        R = self._inwards(P, Q)
        n = self.n
        S = np.einsum('ij,...ijk->...ik', self.tree.twists, R)
        own = np.einsum('...ij,ijk->...ik', self.F, ad(self.tree.twists))
        for i in range(n):
            S[..., i, 6 * i : 6 * i + 6] -= own[..., i, :]
            S[..., i, self._column(2, i)] += self.tree.rotor_inertias[i]
        return DynamicsDerivatives(
            self.motion(), *(Derivative(full, n) for full in (D, P, Q, R, S))
        )

    def _column(self, block: int, i: int) -> int:
        """Return the index of q_i, dq_i or ddq_i (`block` 0, 1 or 2) in [eta, q, dq, ddq]."""
        return 6 * (self.n + 1) + block * self.n + i

    def _outwards(self) -> tuple[Array, Array, Array]:
        """Return displacement, twist and acceleration derivatives (Algorithm 1, lines 5 to 20)."""
        # The derivatives of displacement, twist and acceleration share one array, so that one
        # matrix product transforms all three.
        DPQ = np.zeros((*self.q.shape[:-1], self.n, 3, 6, self.columns))
        before, d_before = ad(self.V_before), ad(self.dV_before)
        ad_twists = ad(self.tree.twists)
        for i, parent in enumerate(self.tree.parents):
            own, A = self.own_inverse[..., i, :, :], self.tree.twists[i]
            ad_A, ad_V = ad_twists[i], self.ad_V[..., i, :, :]
            if parent != BASE:
                DPQ[..., i, :, :, :] = self.inverse[..., i, None, :, :] @ DPQ[..., parent, :, :, :]
            D, P, Q = (DPQ[..., i, k, :, :] for k in range(3))
            eta, q, dq, ddq = (slice(6 * i, 6 * i + 6), *(self._column(k, i) for k in range(3)))
            D[..., eta] += own - np.eye(6)
            D[..., q] += A
            # Algorithm 1, line 7, simplified by Ad^-1 ad_V Ad = ad_{Ad^-1 V} and ad_{Ad^-1 V} +
            # ad_{A dq} = ad_{V_i}.
            P[..., eta] += own @ before[..., i, :, :] - ad_V
            P[..., q] += ad_V @ A  # line 10: [V_i, A] = [Ad^-1 V, A]
            P[..., dq] += A
            Q -= self.ad_rates[..., i, :, :] @ P  # line 19
            carried = apply(own, self.dV_before[..., i, :])
            Q[..., eta] += (
                own @ d_before[..., i, :, :]
                - ad(carried)  # line 8
                - self.dq[..., i, None, None] * (ad_V @ ad_A)
                - self.ddq[..., i, None, None] * ad_A
            )
            Q[..., q] -= apply(ad_A, carried)  # line 11
            Q[..., dq] += ad_V @ A  # line 13
            Q[..., ddq] += A
        return DPQ[..., 0, :, :], DPQ[..., 1, :, :], DPQ[..., 2, :, :]

    def _inwards(self, P: Array, Q: Array) -> Array:
        """Return the wrenches' derivatives by [eta, q, dq, ddq] (Algorithm 1, lines 21 to 31)."""
        gyroscopic = np.swapaxes(self.ad_V, -1, -2) @ self.inertias + self.ad_dual_momentum
        R = self.inertias @ Q - gyroscopic @ P
        tool = R[..., self.tree.tool_body, :, 6 * self.n : 6 * self.n + 6]
        tool -= ad_dual(self.tool_load)
        for i in reversed(range(self.n)):
            parent = self.tree.parents[i]
            if parent == BASE:
                continue
            back = np.swapaxes(self.inverse[..., i, :, :], -1, -2)
            dual = ad_dual(self.F[..., i, :])
            block = back @ dual
            here = R[..., parent, :, :]
            here += back @ R[..., i, :, :]
            # Algorithm 1, line 24: eta_i displaces body i by (Ad(exp([A_i] q_i))^-1 - 1) eta_i, in
            # body i's frame.
            here[..., 6 * i : 6 * i + 6] += block - block @ self.own_inverse[..., i, :, :]
            here[..., self._column(0, i)] -= block @ self.tree.twists[i]  # line 26
        return R


@dataclass(frozen=True, eq=False)
class Linearization:
    """
    The linear model d/dt (x - x0) = A (x - x0) + B (tau - tau0) + (dq0, ddq0) with x = (q, dq).

    A is (2n, 2n), B is (2n, n), `ddq` is the acceleration ddq0 (n,) at the state x0. At an
    equilibrium dq0 = ddq0 = 0; at other states the linear model needs (dq0, ddq0).
    """

    A: Array
    B: Array
    ddq: Array


def linearize(
    robot: ArmDescription | BodyTree | str | Path,
    q: ArrayLike,
    dq: ArrayLike,
    tau: ArrayLike,
    *,
    gravity: ArrayLike = GRAVITY,
    tool_wrench: ArrayLike | None = None,
) -> Linearization:
    """
    Return the linear model of the rigid-body forward dynamics at a state.

    With the inverse dynamics ID and the acceleration ddq of the state, d(ddq)/dx =
    -M^-1 d ID(q, dq, ddq)/dx and d(ddq)/dtau = M^-1. Joint friction is not included.

    Parameters
    ----------
    robot : ArmDescription, BodyTree, str or Path
        The bodies, or an arm or its name or file.
    q, dq, tau : array_like, shape (n,)
        Position, velocity, torque [rad or m, per s, N m or N].
    gravity
        As in `tree_motion`.
    tool_wrench : array_like, shape (6,), optional
        As in `tree_motion`; the wrench is constant in the tool's frame.

    Returns
    -------
    Linearization
        Matrices A (2n, 2n) and B (2n, n), and the acceleration (n,) at the state.

    Raises
    ------
    JointVectorError
        If a vector or the wrench has the wrong shape or is not finite.
    InertiaError
        If the mass matrix is singular.

    """
    tree = as_tree(robot)
    n = tree.n
    q, dq, tau = (
        joint_values(vector, name, tree.joint_names, stack=False)
        for name, vector in (('q', q), ('dq', dq), ('tau', tau))
    )
    if tool_wrench is not None:
        words = 'The tool wrench, force [N] then moment [N m],'
        tool_wrench = checked(tool_wrench, (6,), words, JointVectorError)
    at_rest = differentiate(tree, q, dq, np.zeros(n), gravity=gravity, tool_wrench=tool_wrench)
    mass = at_rest.tau.by_ddq
    ddq = solve_acceleration(mass, tau - at_rest.motion.tau)
    moving = differentiate(tree, q, dq, ddq, gravity=gravity, tool_wrench=tool_wrench).tau
    inverse = np.linalg.inv(mass)
    A = np.block(
        [[np.zeros((n, n)), np.eye(n)], [-inverse @ moving.by_q, -inverse @ moving.by_dq]]
    )
    return Linearization(A, np.vstack((np.zeros((n, n)), inverse)), ddq)
