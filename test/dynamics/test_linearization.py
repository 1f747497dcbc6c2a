# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A and B against a simulation, against Pinocchio, and against the state-space form itself."""

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import linearize
from franka_dynamics.errors import JointVectorError

from .trees import pinocchio_tree, random_tree

ARM = load('fer')
TREE = BodyTree.from_description(ARM)


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
