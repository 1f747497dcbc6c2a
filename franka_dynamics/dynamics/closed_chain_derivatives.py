# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of a closed chain's motor torques (Kwon, (14), corrected and extended)."""

from dataclasses import dataclass

import numpy as np

from .body_tree import BodyTree
from .closed_chain import ClosedChain
from .derivatives import (
    dynamics_derivatives,
    DynamicsDerivatives,
    StateDerivative,
    tree_motion,
)
from .regressor import torque_regressor, wrench_regressor
from .sampling import JointStates
from ..arrays import Array, ArrayLike
from ..constants import GRAVITY
from ..spatial import ad, adjoint, adjoint_inverse


@dataclass(frozen=True, eq=False)
class ParameterDerivatives:
    """
    Derivatives of joint wrenches and torques by the inertial parameters of all bodies.

    `wrench` (..., n, 6, n, 10) holds dF_i/dphi_j, with F_i the wrench through joint i in body i's
    frame and phi_j the `LinkInertia.parameters()` of body j; `tau` (..., n, n, 10) holds
    dtau_i/dphi_j. Wrenches F and torques tau are linear in the parameters phi: F is dF/dphi times
    phi plus the contribution of a tool wrench, tau is dtau/dphi times phi plus the contributions
    of a tool wrench and of the rotors.
    """

    wrench: Array
    tau: Array


def differentiate_by_parameters(
    tree: BodyTree,
    q: ArrayLike,
    dq: ArrayLike,
    ddq: ArrayLike,
    *,
    gravity: ArrayLike = GRAVITY,
) -> ParameterDerivatives:
    """
    Return the derivatives of a tree's joint wrenches and torques by its inertial parameters.

    The derivative of the wrench F_i by body i's own parameters is Kwon's (4) with the spatial
    inertia G_i replaced by its derivative; transformed to the frame of an ancestor, it is the
    derivative of the ancestor's wrench.

    Raises
    ------
    JointVectorError
        If a vector has the wrong shape or is not finite.

    """
    motion = tree_motion(tree, q, dq, ddq, gravity=gravity)
    n = tree.n
    own_wrenches = wrench_regressor(motion.twists, motion.accelerations)
    wrench = np.zeros((*motion.tau.shape[:-1], n, 6, n, 10))
    for i in range(n):
        wrench[..., i, :, i, :] = own_wrenches[..., i, :, :]
    columns = wrench.reshape(*wrench.shape[:-2], 10 * n)
    wrench = tree.sweep_inward(adjoint_inverse(motion.transforms), columns).reshape(wrench.shape)
    tau = torque_regressor(tree, q, dq, ddq, gravity)
    return ParameterDerivatives(wrench, tau.reshape(*tau.shape[:-1], n, 10))


@dataclass(frozen=True, eq=False)
class MotorDerivatives:
    """
    Derivatives of motor torques by joint twists, tool pose, motor motion, inertial parameters.

    For a number a of motors, `by_corrections` (..., a, n + 1, 6) are the derivatives by those of
    joint twists and tool pose, at a fixed motion of the motors; `by_q`, `by_dq`, `by_ddq`
    (..., a, a) those by the motors' positions, velocities, accelerations; `by_parameters` (..., a,
    n, 10) those by the bodies' inertial parameters.
    """

    by_corrections: Array
    by_q: Array
    by_dq: Array
    by_ddq: Array
    by_parameters: Array


def reduced_torque_derivative(chain: ClosedChain, motion: JointStates) -> StateDerivative:
    """
    Return the derivative of motor torques by joint twists, tool pose, q, dq, ddq (Kwon's (14)).

    The entries of lambda = [eta, q, dq, ddq] of the tree count as independent, as in Kwon. The
    loops couple them: `motor_derivatives` takes that into account. `all_columns` has shape
    (..., a, 9n + 6), its columns in the order of lambda. The derivative is

        S_a + J_p^T S_p - G_a + g_a^T g_p^{-T} G_p

    S_a and S_p are the derivatives of the tree's torques at active and passive joints. A joint's
    row of G_a or G_p is tau_hat^T times the derivative of the joint's column of the loop Jacobian
    g, where tau_hat = g_p^{-T} tau_p. Columns of joints that move a loop's second body have a
    minus sign. So for Kwon's five-bar row 2 of G_a is -tau_hat^T dw4', and row 3 of G_p is
    -tau_hat^T dw5', which Kwon prints as zero.
    """
    tree = dynamics_derivatives(chain.tree, *motion, gravity=chain.gravity)
    return StateDerivative(_tau_gradient(chain, motion, tree), chain.tree.n)


def motor_derivatives(chain: ClosedChain, motion: JointStates) -> MotorDerivatives:
    """
    Return motor torques' derivatives by joint twists, tool, motor motion, inertial parameters.

    `motion` is a result of `ClosedChain.motion` at positions with closed loops. Kwon's (14) is
    completed by the chain rule: positions, velocities and accelerations of the passive joints
    change so that a loop's two bodies keep equal poses, twists and accelerations. Kwon's Algorithm
    1 gives the derivatives of poses, twists and accelerations.
    """
    tree = dynamics_derivatives(chain.tree, *motion, gravity=chain.gravity)
    partial = _tau_gradient(chain, motion, tree)
    constraint = _constraint_derivative(chain, motion.q, tree)
    n = chain.tree.n
    # Columns are those of eta, q, dq and ddq, one after the other. Those of the passive joints'
    # q, dq and ddq depend on all others.
    eta_count = 6 * (n + 1)
    starts = eta_count + n * np.arange(3)[:, None]  # of q, dq and ddq
    dependent = (starts + chain.passive).ravel()
    independent = np.concatenate((np.arange(eta_count), (starts + chain.active).ravel()))
    dependent_by_independent = -np.linalg.solve(
        constraint[..., dependent], constraint[..., independent]
    )
    total = partial[..., independent] + partial[..., dependent] @ dependent_by_independent
    by_q, by_dq, by_ddq = np.split(total[..., eta_count:], 3, axis=-1)
    regressor = torque_regressor(chain.tree, *motion, gravity=chain.gravity)
    regressor = regressor.reshape(*motion.q.shape, n, 10)
    reduction = chain.reduction_matrix(motion.q)
    return MotorDerivatives(
        by_corrections=total[..., :eta_count].reshape(*total.shape[:-1], n + 1, 6),
        by_q=by_q,
        by_dq=by_dq,
        by_ddq=by_ddq,
        by_parameters=np.einsum('...ja,...jbk->...abk', reduction, regressor),
    )


def _tau_gradient(chain: ClosedChain, motion: JointStates, partial: DynamicsDerivatives) -> Array:
    """Return motor torques' derivative by joint twists, tool, q, dq, ddq, (..., a, 9n + 6)."""
    g_p, g_a = chain.split_loop_jacobian(chain.loop_jacobian(motion.q))
    tau_p = partial.motion.tau[..., chain.passive]
    tau_hat = np.linalg.solve(np.swapaxes(g_p, -1, -2), tau_p[..., None])[..., 0]
    d_twists = _space_twist_derivatives(chain, motion.q, partial)
    G = np.zeros((*d_twists.shape[:-2], d_twists.shape[-1]))
    first = 0
    for loop, signs in zip(chain.loops, chain.loop_signs):
        direction_count = len(loop.directions)
        loop_wrench = tau_hat[..., first : first + direction_count] @ loop.directions
        G += signs[:, None] * np.einsum('...i,...jik->...jk', loop_wrench, d_twists)
        first += direction_count
    J_p_transposed = np.swapaxes(-np.linalg.solve(g_p, g_a), -1, -2)  # -g_a^T g_p^{-T}
    S_minus_G = partial.tau.all_columns - G
    at_active = S_minus_G[..., chain.active, :]
    at_passive = S_minus_G[..., chain.passive, :]
    return at_active + J_p_transposed @ at_passive


def _space_twist_derivatives(chain: ClosedChain, q: Array, partial: DynamicsDerivatives) -> Array:
    """Return joint twists' derivatives in {S} by corrections, q, dq, ddq, (..., n, 6, 9n + 6)."""
    # Joint j's space-frame twist w'_j = Ad(T_j) A_j changes by Ad(T_j) ([D_j, A_j] + dA_j), with
    # D_j = (T_j^-1 dT_j)^vee and dA_j = -[A_j, eta_j] (Kwon, (8)).
    ad_twists = ad(chain.tree.twists)
    change = -ad_twists @ partial.displacement.all_columns
    for j in range(chain.tree.n):
        change[..., j, :, 6 * j : 6 * j + 6] -= ad_twists[j]
    return adjoint(chain.tree.poses(q)) @ change


def _constraint_derivative(chain: ClosedChain, q: Array, partial: DynamicsDerivatives) -> Array:
    """
    Return derivatives of loop errors and their two rates by twists, q, dq, ddq, (..., 3k, 9n + 6).

    The errors are those of pose, twist and acceleration in the k directions of all loops.
    """
    # A body twist V changes in the space frame by d(Ad(T) V) = Ad(T) (dV - [V, D]), with D = (T^-1
    # dT)^vee.
    poses = adjoint(chain.tree.poses(q))
    D = partial.displacement.all_columns
    velocity = partial.twist.all_columns - ad(partial.motion.twists) @ D
    acceleration = partial.acceleration.all_columns - ad(partial.motion.accelerations) @ D
    differences = [
        chain.loop_differences(poses @ change) for change in (D, velocity, acceleration)
    ]
    return np.concatenate(differences, axis=-2)
