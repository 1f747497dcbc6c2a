# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives by inertial parameters: exact, because everything is linear in them."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.dynamics.closed_chain_derivatives import differentiate_by_parameters
from franka_dynamics.dynamics.derivatives import tree_motion

from .trees import pinocchio_tree, random_link, random_tree

ATOL = 1e-12  # N m per unit parameter, of entries up to 20; 2e-14 measured
PARENTS = [(-1, 0, 1, 2), (-1, 0, 0, 2, -1)]


@pytest.mark.parametrize('parents', PARENTS, ids=['chain', 'tree'])
def test_other_bodies_change_wrenches_and_torques_as_derived(
    parents,
):
    tree, rng = random_tree(0, parents), np.random.default_rng(1)
    q, dq, ddq = rng.normal(size=(3, tree.n))
    others = [random_link(rng) for _ in range(tree.n)]
    change = np.array(
        [new.parameters() - old.parameters() for new, old in zip(others, tree.inertias)]
    )
    before = tree_motion(tree, q, dq, ddq)
    after = tree_motion(replace(tree, inertias=others), q, dq, ddq)
    by = differentiate_by_parameters(tree, q, dq, ddq)
    np.testing.assert_allclose(
        np.einsum('ijk,jk->i', by.tau, change), after.tau - before.tau, rtol=0.0, atol=ATOL
    )
    np.testing.assert_allclose(
        np.einsum('iajk,jk->ia', by.wrench, change),
        after.wrenches - before.wrenches,
        rtol=0.0,
        atol=ATOL,
    )


@pytest.mark.parametrize('parents', PARENTS, ids=['chain', 'tree'])
def test_parameter_derivatives_agree_with_pinocchios_regressor(parents):
    # Given joint frames at the body frames, so that both mean the same parameters.
    source = random_tree(2, parents)
    spin = np.hstack((np.zeros((source.n, 3)), np.tile((0.0, 0.6, 0.8), (source.n, 1))))
    tree = type(source)(
        parents=parents, placements=source.placements, twists=spin, inertias=source.inertias
    )
    q, dq, ddq = np.random.default_rng(3).normal(size=(3, tree.n))
    model = pinocchio_tree(tree)
    regressor = pin.computeJointTorqueRegressor(model, model.createData(), q, dq, ddq)
    ours = differentiate_by_parameters(tree, q, dq, ddq).tau
    # Pinocchio's order is m, hx, hy, hz, xx, xy, yy, xz, yz, zz.
    theirs = regressor.reshape(tree.n, tree.n, 10)[..., [4, 5, 7, 6, 8, 9, 1, 2, 3, 0]]
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=ATOL)
