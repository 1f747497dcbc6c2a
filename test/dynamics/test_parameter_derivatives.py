# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives by inertial parameters: exact, because everything is linear in them."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.dynamics.closed_chain_derivatives import differentiate_by_parameters
from franka_dynamics.dynamics.derivatives import tree_motion

from .trees import random_link, random_tree

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
