# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The forward dynamics linearised at a state, for controller design."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .body_tree import BodyTree
from .derivatives import differentiate
from .model import GRAVITY, solve_acceleration

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Linearization:
    """
    d/dt (x - x0) = A (x - x0) + B (tau - tau0) + (dq0, ddq0) with x = (q, dq).

    A is (2n, 2n), B is (2n, n), ddq is the acceleration (n,) at the state itself. At an
    equilibrium dq0 = ddq0 = 0 and the last term vanishes; elsewhere it belongs to the model.
    """

    A: Array
    B: Array
    ddq: Array


def linearize(tree: BodyTree, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, *,
              gravity: ArrayLike = GRAVITY, tool_wrench: ArrayLike | None = None) -> Linearization:
    """
    Return A and B of the rigid-body forward dynamics at a state.

    With ddq from M ddq = tau - h, d(ddq)/dx = -M^-1 d ID(q, dq, ddq)/dx and d(ddq)/dtau = M^-1,
    where ID is the inverse dynamics. Joint friction is not in it.

    Parameters
    ----------
    tree : BodyTree
        `BodyTree.from_description(arm)` for a serial arm.
    q, dq, tau : array_like, shape (n,)
        Position, velocity, torque [rad or m, per s, N m or N].
    gravity : array_like, shape (3,)
        In the space frame [m/s^2].
    tool_wrench : array_like, shape (6,), optional
        What the surroundings exert on the tool, constant in the tool's frame.

    Raises
    ------
    JointVectorError
        If a vector has the wrong shape or is not finite.
    InertiaError
        If the mass matrix is singular.

    """
    n = tree.n
    at_rest = differentiate(tree, q, dq, np.zeros(n), gravity=gravity, tool_wrench=tool_wrench)
    mass = at_rest.tau.by_ddq
    ddq = solve_acceleration(mass, tree.joint_vector(tau, 'tau') - at_rest.motion.tau)
    moving = differentiate(tree, q, dq, ddq, gravity=gravity, tool_wrench=tool_wrench).tau
    inverse = np.linalg.inv(mass)
    A = np.block([[np.zeros((n, n)), np.eye(n)],
                  [-inverse @ moving.by_q, -inverse @ moving.by_dq]])
    return Linearization(A, np.vstack((np.zeros((n, n)), inverse)), ddq)
