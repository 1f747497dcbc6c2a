# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations generated for trees against the recursion of the tree, and batches of them."""

import numpy as np
import pytest

from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.codegen.equations import customised_equations, Quantity
from franka_dynamics.dynamics.derivatives import differentiate, tree_motion
from franka_dynamics.dynamics.regressor import torque_regressor

from .arms import runnable
from ..agreement import assert_close
from ..identification.trees import random_tree_of_rows

TILTED = (3.0, -5.0, -7.0)


@pytest.mark.parametrize('seed', range(3))
def test_a_random_tree_written_plainly_has_its_own_dynamics(seed):
    # Several roots, slides, branches askew: gamma and b are not zero.
    tree = random_tree_of_rows(seed, special=(0.6, 0.9)[seed % 2])
    gravity = ((0.0, 0.0, -9.81), TILTED)[seed % 2]
    q, dq, ddq = np.random.default_rng(seed).uniform(-2.0, 2.0, (3, tree.n))
    still = np.zeros(tree.n)
    moving = differentiate(tree, q, dq, ddq, gravity=gravity)
    expected = {
        Quantity.INVERSE_DYNAMICS: ((q, dq, ddq), moving.motion.tau),
        Quantity.GRAVITY: ((q,), tree_motion(tree, q, still, still, gravity=gravity).tau),
        Quantity.CORIOLIS: ((q, dq), tree_motion(tree, q, dq, still, gravity=(0, 0, 0)).tau),
        Quantity.MASS_MATRIX: ((q,), moving.tau.by_ddq),
    }
    for quantity, (arguments, value) in expected.items():
        out = np.full(value.shape, np.nan)
        runnable(customised_equations(tree, quantity, gravity))[quantity.value](*arguments, out)
        assert_close(out, value)


def test_stacks_of_a_trees_states_run_as_a_batch_row_by_row():
    # Three bodies, two of them on the first: larger trees' code only takes longer to compile.
    tree = random_tree_of_rows(105, special=0.9)
    assert tree.parents == (-1, 0, 0)
    batch = BatchModel(tree)
    # Not a whole number of blocks of lanes.
    q, dq, ddq = np.random.default_rng(2).uniform(-2.0, 2.0, (3, 7, 11, tree.n))
    moving = differentiate(tree, q, dq, ddq)
    assert_close(batch.inverse_dynamics(q, dq, ddq), moving.motion.tau)
    assert_close(batch.mass_matrix(q), moving.tau.by_ddq)
    assert_close(batch.gravity(q[0]), tree_motion(tree, q[0], 0 * q[0], 0 * q[0]).tau)
    ddq_back = batch.forward_dynamics(q, dq, moving.motion.tau)
    assert_close(ddq_back, ddq)  # through M's inverse, whose condition is at most 6
    slopes = batch.inverse_dynamics_derivatives(q, dq, ddq)
    for own, other in zip(slopes, (moving.tau.by_q, moving.tau.by_dq, moving.tau.by_ddq)):
        assert_close(own, other)
    assert_close(batch.regressor(q, dq, ddq), torque_regressor(tree, q, dq, ddq))
    assert_close(batch.flange_pose(q), tree.poses(q)[..., tree.tool_body, :, :] @ tree.tool)
