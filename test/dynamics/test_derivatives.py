# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 against complex steps through another formulation, and against Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.dynamics.derivatives import differentiate, tree_motion
from franka_dynamics.dynamics.model import GRAVITY
from franka_dynamics.errors import JointVectorError
from franka_dynamics.spatial import ad, ad_dual

from .trees import complex_step, pinocchio_tree, random_tree, slow_dynamics

CHAIN, TREE = (-1, 0, 1, 2, 3), (-1, 0, 0, 2, 2, -1, 5)
TILTED = (1.0, -2.0, -9.5)
# Relative to the largest entry; 5e-15 measured over these trees.
RTOL = 2e-13
# Against Pinocchio, absolute in N m (and per rad, ...) relative to max(1, |entry|): 1e-14.
PINOCCHIO_RTOL = 1e-11


def state(tree, seed):
    rng = np.random.default_rng(seed)
    return (*rng.normal(size=(3, tree.n)), rng.normal(size=6) * 10.0)


def assert_close(actual, expected, rtol=RTOL):
    np.testing.assert_allclose(
        actual, expected, rtol=0.0, atol=rtol * max(1.0, np.abs(expected).max())
    )


@pytest.fixture(scope='module', params=[CHAIN, TREE], ids=['chain', 'tree'])
def case(request):
    """Return a tree, a state, our derivatives and the complex steps."""
    tree = random_tree(3, request.param)
    q, dq, ddq, wrench = state(tree, 4)
    ours = differentiate(tree, q, dq, ddq, gravity=TILTED, tool_wrench=wrench)
    return tree, (q, dq, ddq, wrench), ours, complex_step(tree, q, dq, ddq, TILTED, wrench)


@pytest.mark.parametrize('name', ['twist', 'acceleration', 'wrench', 'tau'])
def test_tree_derivatives_agree_with_complex_steps(case, name):
    _, _, ours, expected = case
    assert_close(getattr(ours, name).full, expected[name])


def test_pose_derivatives_of_a_tree_agree_with_complex_steps(case):
    tree, (q, dq, ddq, wrench), ours, expected = case
    still = slow_dynamics(tree, np.zeros((tree.n + 1, 6)), q, dq, ddq, TILTED, wrench)
    still = still['pose']
    change = np.moveaxis(np.linalg.inv(still) @ np.moveaxis(expected['pose'], -1, 0), 0, -1)
    read = [(0, 3), (1, 3), (2, 3), (2, 1), (0, 2), (1, 0)]  # vee: v, then omega
    twists = np.stack([change[..., row, column, :] for row, column in read], axis=-2)
    assert_close(ours.displacement.full, twists)


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('parents', [CHAIN, TREE], ids=['chain', 'tree'])
def test_random_tree_derivatives_agree_with_pinocchio(seed, parents):
    tree = random_tree(seed, parents)
    q, dq, ddq, wrench = state(tree, seed + 10)
    ours = differentiate(tree, q, dq, ddq, tool_wrench=wrench)
    model = pinocchio_tree(tree)
    data = model.createData()
    tool = model.frames[model.getFrameId('tool')]
    forces = pin.StdVec_Force()
    for joint in range(model.njoints):
        forces.append(
            tool.placement.act(pin.Force(wrench))
            if joint == tool.parentJoint
            else pin.Force.Zero()
        )
    by_q, by_dq, mass = pin.computeRNEADerivatives(model, data, q, dq, ddq, forces)
    assert_close(ours.motion.tau, pin.rnea(model, data, q, dq, ddq, forces), PINOCCHIO_RTOL)
    assert_close(ours.tau.by_q, by_q, PINOCCHIO_RTOL)
    assert_close(ours.tau.by_dq, by_dq, PINOCCHIO_RTOL)
    assert_close(ours.tau.by_ddq, np.triu(mass) + np.triu(mass, 1).T, PINOCCHIO_RTOL)


def test_torques_without_a_tool_wrench_ignore_the_tools_pose():
    tree = random_tree(5, CHAIN)
    q, dq, ddq, wrench = state(tree, 6)
    free = differentiate(tree, q, dq, ddq).tau.by_eta[:, tree.n]
    loaded = differentiate(tree, q, dq, ddq, tool_wrench=wrench).tau.by_eta[:, tree.n]
    np.testing.assert_array_equal(free, np.zeros_like(free))
    assert np.abs(loaded).max() > 1.0  # N m per rad or m


def test_a_stack_of_states_derivatives_equals_each_on_its_own():
    tree = random_tree(7, TREE)
    rng = np.random.default_rng(8)
    q, dq, ddq = rng.normal(size=(3, 4, 2, tree.n))
    stack = differentiate(tree, q, dq, ddq, tool_wrench=rng.normal(size=6))
    assert stack.tau.full.shape == (4, 2, tree.n, 9 * tree.n + 6)
    rng = np.random.default_rng(8)
    rng.normal(size=(3, 4, 2, tree.n))
    one = differentiate(tree, q[2, 1], dq[2, 1], ddq[2, 1], tool_wrench=rng.normal(size=6))
    for name in ('displacement', 'twist', 'acceleration', 'wrench', 'tau'):
        assert_close(getattr(stack, name).full[2, 1], getattr(one, name).full, 1e-14)


def test_a_tool_wrench_of_three_numbers_is_refused_by_name():
    tree = random_tree(7, TREE)
    with pytest.raises(JointVectorError, match='six finite numbers, force'):
        differentiate(tree, *np.zeros((3, tree.n)), tool_wrench=[0.0, 0.0, -20.0])


def test_equation_10_holds_with_a_and_f_exchanged():
    rng = np.random.default_rng(9)
    A, F = rng.normal(size=(2, 5, 6))
    assert_close(np.einsum('kji,kj->ki', ad(A), F), np.einsum('kij,kj->ki', ad_dual(F), A), 1e-15)


@pytest.mark.parametrize(
    ('values', 'message'),
    [
        (np.zeros(4), r'ddq has shape \(4,\), expected \(\.\.\., 5\): one value per joint'),
        ([0, 0, np.nan, 0, 0], r'ddq of joint 3 is nan; every value must be a finite number'),
    ],
)
def test_given_a_bad_vector_when_differentiated_then_it_is_named(values, message):
    tree = random_tree(0, CHAIN)
    with pytest.raises(JointVectorError, match=message):
        tree_motion(tree, np.zeros(5), np.zeros(5), values, gravity=GRAVITY)
