# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Derivatives of a body tree's inverse dynamics (Kwon, (1) to (10) and Algorithm 1, corrected).

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

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .body_tree import as_body_tree, BASE_BODY, BodyTree, RobotLike
from .model import as_gravity_vector, broadcast_states, solve_acceleration
from ..arrays import Array, ArrayLike, as_array, as_joint_values
from ..constants import GRAVITY
from ..errors import JointVectorError
from ..spatial import ad, ad_dual, adjoint_inverse, exp6, matvec


@dataclass(frozen=True, eq=False)
class StateDerivative:
    """
    Derivative of a quantity by corrections eta of joint twists and tool, and by q, dq, ddq.

    The last axis of `all_columns` has all 9n + 6 columns, for n joints. `by_corrections`,
    `by_q`, `by_dq` and `by_ddq` are views of its blocks.
    """

    all_columns: Array
    n: int

    @property
    def by_corrections(self) -> Array:
        """Derivative by eta, the corrections of n joint twists and the tool, (..., n + 1, 6)."""
        columns = 6 * (self.n + 1)
        return self.all_columns[..., :columns].reshape(*self.all_columns.shape[:-1], self.n + 1, 6)

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

    def _joint_block(self, derivative_order: int) -> Array:
        """Return the derivative by q (order 0), dq (1) or ddq (2), shape (..., n)."""
        start = 6 * (self.n + 1) + derivative_order * self.n
        return self.all_columns[..., start : start + self.n]


@dataclass(frozen=True, eq=False)
class TreeMotion:
    """
    Poses, twists, accelerations, wrenches and joint torques of a tree's bodies (Kwon, (1)-(5)).

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
    A tree's motion and its derivatives by corrections of twists and tool, q, dq, ddq (Kwon, (9)).

    `twist`, `acceleration` and `wrench` are Kwon's P, Q and R; their `all_columns` has shape (...,
    n, 6, 9n + 6). `displacement`, of the same shape, is (T_i^-1 dT_i)^vee, with T_i the pose of
    body i in the space frame. `tau`, the derivative of the joint torques, is Kwon's S, shape (...,
    n, 9n + 6).
    """

    motion: TreeMotion
    displacement: StateDerivative
    twist: StateDerivative
    acceleration: StateDerivative
    wrench: StateDerivative
    tau: StateDerivative


def tree_motion(
    robot: RobotLike,
    q: ArrayLike,
    dq: ArrayLike,
    ddq: ArrayLike,
    *,
    gravity: ArrayLike = GRAVITY,
    tool_wrench: ArrayLike | None = None,
) -> TreeMotion:
    """
    Return bodies' poses, twists, accelerations, wrenches; torques with rotors (Kwon, (1)-(5)).

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
    return _TreeRecursion(as_body_tree(robot), q, dq, ddq, gravity, tool_wrench).motion()


def dynamics_derivatives(
    robot: RobotLike,
    q: ArrayLike,
    dq: ArrayLike,
    ddq: ArrayLike,
    *,
    gravity: ArrayLike = GRAVITY,
    tool_wrench: ArrayLike | None = None,
) -> DynamicsDerivatives:
    """
    Return a tree's motion, torques and their derivatives by joint twists, tool pose, q, dq, ddq.

    Parameters and errors are those of `tree_motion`; the cost grows with n^2. The module
    `closed_chain_derivatives` computes the derivatives by the inertial parameters.

    This is Kwon's Algorithm 1 with the corrections that the module's docstring lists.

    Returns
    -------
    DynamicsDerivatives
        The motion and its derivatives, with stacks of matrices (..., n, 6, 9n + 6) for the bodies
        and (..., n, 9n + 6) for the joint torques.

    """
    return _TreeRecursion(as_body_tree(robot), q, dq, ddq, gravity, tool_wrench).derivatives()


class TreeKinematics:
    """
    Poses in their parents, twists and accelerations of a tree's bodies (Kwon, (1)-(3)).

    `states` are q, dq and ddq, (..., n) each, `gravity` is (3,), all checked. `V` and `dV` are
    the twists and accelerations of `TreeMotion`, `transforms` (..., n, 4, 4) the bodies' poses
    T_{parent,i} in their parents, `adjoint_inverse` (..., n, 6, 6) is Ad(T_{parent,i})^-1.
    """

    def __init__(self, tree: BodyTree, states: Iterable[Array], gravity: Array) -> None:
        """Compute poses, twists and accelerations at a stack of states."""
        self.tree = tree
        self.q, self.dq, self.ddq = states
        self.transforms = tree.transforms(self.q)
        self.adjoint_inverse = adjoint_inverse(self.transforms)
        # Gravity enters as an upward acceleration of the base: dV_0 = -g.
        self.base_acceleration = np.concatenate((-gravity, np.zeros(3)))
        rates = self.dq[..., None] * tree.twists  # A_i dq_i
        self.ad_rates = ad(rates)
        self.V = tree.sweep_outward(self.adjoint_inverse, rates[..., None])[..., 0]  # (2)
        # (3), with ad_V (A dq) = -ad_{A dq} V
        driven = self.ddq[..., None] * tree.twists - matvec(self.ad_rates, self.V)
        base = self.base_acceleration[:, None]
        self.dV = tree.sweep_outward(self.adjoint_inverse, driven[..., None], base)[..., 0]


class _TreeRecursion(TreeKinematics):
    """The outward and inward Newton-Euler recursions over a body tree, at a stack of states."""

    def __init__(
        self,
        tree: BodyTree,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        gravity: ArrayLike,
        tool_wrench: ArrayLike | None,
    ) -> None:
        """Check the states, and compute twists, accelerations and wrenches of all bodies."""
        exerted = np.zeros(6) if tool_wrench is None else tool_wrench
        *states, exerted = broadcast_states(tree, q=q, dq=dq, ddq=ddq, wrench=exerted)
        super().__init__(tree, states, as_gravity_vector(gravity))
        self.n = tree.n
        self.column_count = 9 * tree.n + 6
        self.placement_adjoint_inverse = adjoint_inverse(tree.placements)  # Ad(M_i)^-1
        self.ad_V = ad(self.V)
        # For each body i, its parent's twist and acceleration in body i's frame at q_i = 0.
        self.V_parent, self.dV_parent = (
            matvec(self.placement_adjoint_inverse, tree.values_of_parents(values, base))
            for values, base in (
                (self.V, np.zeros(6)),
                (self.dV, self.base_acceleration),
            )
        )
        # Wrenches from the tips to the base: (4). The joints transmit the opposite of the wrench
        # that the surroundings exert on the tool.
        self.inertias = tree.spatial_inertias()
        momentum = matvec(self.inertias, self.V)
        self.ad_dual_momentum = ad_dual(momentum)
        needed = matvec(self.inertias, self.dV) - matvec(np.swapaxes(self.ad_V, -1, -2), momentum)
        self.tool_load = -exerted @ adjoint_inverse(tree.tool_pose)
        needed[..., tree.tool_body, :] += self.tool_load
        self.F = tree.sweep_inward(self.adjoint_inverse, needed[..., None])[..., 0]

    @cached_property
    def joint_adjoint_inverse(self) -> Array:
        """Ad(exp([A_i] q_i))^-1 of all joints, (..., n, 6, 6)."""
        return adjoint_inverse(exp6(self.tree.twists, self.q))

    def motion(self) -> TreeMotion:
        """Return all bodies' poses, twists, accelerations and wrenches, and joint torques."""
        tau = np.einsum('ij,...ij->...i', self.tree.twists, self.F)  # (5)
        tau = tau + self.tree.rotor_inertias * self.ddq
        return TreeMotion(self.transforms, self.V, self.dV, self.F, tau)

    def derivatives(self) -> DynamicsDerivatives:
        """Return the TreeMotion and its derivatives (Kwon's Algorithm 1)."""
        D, P, Q = self._outward_derivatives()
        R = self._wrench_derivatives(P, Q)
        n = self.n
        S = np.einsum('ij,...ijk->...ik', self.tree.twists, R)
        own = np.einsum('...ij,ijk->...ik', self.F, ad(self.tree.twists))
        for i in range(n):
            eta, _, _, ddq = self._joint_columns(i)
            S[..., i, eta] -= own[..., i, :]
            S[..., i, ddq] += self.tree.rotor_inertias[i]
        derivatives = (StateDerivative(full, n) for full in (D, P, Q, R, S))
        return DynamicsDerivatives(self.motion(), *derivatives)

    def _joint_columns(self, i: int) -> tuple[slice, int, int, int]:
        """Return column indices of derivatives by joint i's twist correction, q, dq and ddq."""
        first = 6 * (self.n + 1) + i
        n = self.n
        return slice(6 * i, 6 * i + 6), first, first + n, first + 2 * n

    def _outward_derivatives(self) -> tuple[Array, Array, Array]:
        """Return derivatives of poses, twists, accelerations (Kwon's Algorithm 1, lines 5-20)."""
        own = self.joint_adjoint_inverse
        A = self.tree.twists
        ad_A = ad(self.tree.twists)
        turned = matvec(self.ad_V, A)  # line 10: [V_i, A] = [Ad^-1 V, A]
        carried = matvec(own, self.dV_parent)
        # Algorithm 1, line 7, simplified by Ad^-1 ad_V Ad = ad_{Ad^-1 V} and ad_{Ad^-1 V} +
        # ad_{A dq} = ad_{V_i}.
        by_eta = own @ ad(self.V_parent) - self.ad_V
        again = (  # line 8
            own @ ad(self.dV_parent)
            - ad(carried)
            - self.dq[..., None, None] * (self.ad_V @ ad_A)
            - self.ddq[..., None, None] * ad_A
        )
        D, P, Q = np.zeros((3, *self.q.shape[:-1], self.n, 6, self.column_count))
        for i in range(self.n):
            eta, q, dq, ddq = self._joint_columns(i)
            D[..., i, :, eta] = own[..., i, :, :] - np.eye(6)
            D[..., i, :, q] = A[i]
            P[..., i, :, eta] = by_eta[..., i, :, :]
            P[..., i, :, q] = turned[..., i, :]
            P[..., i, :, dq] = A[i]
            Q[..., i, :, eta] = again[..., i, :, :]
            Q[..., i, :, q] = -matvec(ad_A[i], carried[..., i, :])  # line 11
            Q[..., i, :, dq] = turned[..., i, :]  # line 13
            Q[..., i, :, ddq] = A[i]
        D, P = (self.tree.sweep_outward(self.adjoint_inverse, one) for one in (D, P))
        return (  # line 19
            D,
            P,
            self.tree.sweep_outward(self.adjoint_inverse, Q - self.ad_rates @ P),
        )

    def _wrench_derivatives(self, P: Array, Q: Array) -> Array:
        """Return the derivatives of all bodies' wrenches (Kwon's Algorithm 1, lines 21-31)."""
        gyroscopic = np.swapaxes(self.ad_V, -1, -2) @ self.inertias + self.ad_dual_momentum
        R = self.inertias @ Q - gyroscopic @ P
        tool = R[..., self.tree.tool_body, :, 6 * self.n : 6 * self.n + 6]
        tool -= ad_dual(self.tool_load)
        moved = np.swapaxes(self.adjoint_inverse, -1, -2) @ ad_dual(self.F)
        # Algorithm 1, line 24: eta_i displaces body i by (Ad(exp([A_i] q_i))^-1 - 1) eta_i, in
        # body i's frame.
        displaced = moved - moved @ self.joint_adjoint_inverse
        turned = matvec(moved, self.tree.twists)  # line 26
        for i, parent in enumerate(self.tree.parents):
            if parent != BASE_BODY:
                eta, q, *_ = self._joint_columns(i)
                R[..., parent, :, eta] += displaced[..., i, :, :]
                R[..., parent, :, q] -= turned[..., i, :]
        return self.tree.sweep_inward(self.adjoint_inverse, R)


@dataclass(frozen=True, eq=False)
class Linearization:
    """
    A linear model of forward dynamics near a state x0 = (q0, dq0) and torque tau0.

    With x = (q, dq), d/dt (x - x0) = A (x - x0) + B (tau - tau0) + (dq0, ddq0). A is (2n, 2n), B
    is (2n, n), `ddq` is the acceleration ddq0 (n,) at the state x0. At an equilibrium dq0 = ddq0 =
    0; at other states the linear model needs (dq0, ddq0).
    """

    A: Array
    B: Array
    ddq: Array


def linearize(
    robot: RobotLike,
    q: ArrayLike,
    dq: ArrayLike,
    tau: ArrayLike,
    *,
    gravity: ArrayLike = GRAVITY,
    tool_wrench: ArrayLike | None = None,
) -> Linearization:
    """
    Return A, B and ddq of the forward dynamics linearised at a state (q, dq, tau).

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
    tree = as_body_tree(robot)
    n = tree.n
    named = {'q': q, 'dq': dq, 'tau': tau}.items()
    q, dq, tau = (as_joint_values(x, k, tree.joint_names, allow_stack=False) for k, x in named)
    if tool_wrench is not None:
        words = 'The tool wrench, force [N] then moment [N m],'
        tool_wrench = as_array(tool_wrench, (6,), words, JointVectorError)
    zero = np.zeros(n)
    steady = dynamics_derivatives(tree, q, dq, zero, gravity=gravity, tool_wrench=tool_wrench)
    mass = steady.tau.by_ddq
    ddq = solve_acceleration(mass, tau - steady.motion.tau)
    moving = dynamics_derivatives(tree, q, dq, ddq, gravity=gravity, tool_wrench=tool_wrench).tau
    inverse = np.linalg.inv(mass)
    below = [-inverse @ moving.by_q, -inverse @ moving.by_dq]
    A = np.block([[np.zeros((n, n)), np.eye(n)], below])
    return Linearization(A, np.vstack((np.zeros((n, n)), inverse)), ddq)
