# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A and B against a simulation, against Pinocchio, and against the state-space form itself."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import expm

from franka_dynamics.arm import load
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import linearize
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import JointVectorError

from .trees import pinocchio_tree, random_tree

ARM = load('fer')
TREE = BodyTree.from_description(ARM)
BACKEND = PinocchioModel(ARM)
DURATION = 0.1  # s
STEP = 1e-4  # rad, rad/s or N m; the error of central differences grows with its square
# Of the largest response: the integrator's 1e-12 over 2e-4, and third derivatives; 7e-10 measured.
SIMULATION_RTOL = 3e-8


def simulate(x, tau):
    """Return the state after DURATION under a constant torque, with Pinocchio's dynamics."""
    from scipy.integrate import solve_ivp

    def rate(_, x):
        return np.concatenate((x[7:], pin.aba(BACKEND.model, BACKEND.data, x[:7], x[7:], tau)))

    return solve_ivp(rate, (0.0, DURATION), x, method='DOP853', rtol=1e-12, atol=1e-13).y[:, -1]


def test_a_nudged_arm_at_rest_follows_its_linear_system():
    # Given the ready pose held by its gravity torque: an equilibrium, so A and B stay constant.
    tau = BACKEND.gravity(ARM.home)
    here = linearize(TREE, ARM.home, np.zeros(7), tau)
    np.testing.assert_allclose(here.ddq, np.zeros(7), rtol=0.0, atol=1e-11)
    # When every state and every torque is changed a little both ways and simulated.
    x = np.concatenate((ARM.home, np.zeros(7)))
    nudges = STEP * np.eye(21)
    response = np.stack(
        [
            (
                simulate(x + nudge[:14], tau + nudge[14:])
                - simulate(x - nudge[:14], tau - nudge[14:])
            )
            / (2.0 * STEP)
            for nudge in nudges
        ],
        axis=1,
    )
    # Then the response is exp(A t) for the state, and its integral times B for the torque.
    exact = expm(DURATION * np.block([[here.A, here.B], [np.zeros((7, 21))]]))[:14]
    np.testing.assert_allclose(
        response, exact, rtol=0.0, atol=SIMULATION_RTOL * np.abs(exact).max()
    )


@pytest.mark.parametrize('parents', [(-1, 0, 1, 2, 3), (-1, 0, 0, 2, -1)], ids=['chain', 'tree'])
def test_a_moving_trees_linearization_agrees_with_pinocchios_aba(parents):
    tree, rng = random_tree(1, parents), np.random.default_rng(2)
    q, dq, tau = rng.normal(size=(3, tree.n))
    here = linearize(tree, q, dq, tau)
    model = pinocchio_tree(tree)
    data = model.createData()
    by_q, by_dq, by_tau = pin.computeABADerivatives(model, data, q, dq, tau)
    by_tau = np.triu(by_tau) + np.triu(by_tau, 1).T
    # 3e-14 of the largest entry measured.
    n, atol = tree.n, 1e-12 * np.abs(by_q).max()
    np.testing.assert_allclose(here.ddq, pin.aba(model, data, q, dq, tau), rtol=0.0, atol=atol)
    np.testing.assert_allclose(
        here.A, np.block([[np.zeros((n, n)), np.eye(n)], [by_q, by_dq]]), rtol=0.0, atol=atol
    )
    np.testing.assert_allclose(here.B, np.vstack((np.zeros((n, n)), by_tau)), rtol=0.0, atol=atol)


def test_linearizing_at_a_torque_of_wrong_length_names_its_shape():
    with pytest.raises(JointVectorError, match=r'tau has shape \(6,\), expected \(\.\.\., 7\)'):
        linearize(TREE, ARM.home, np.zeros(7), np.zeros(6))
