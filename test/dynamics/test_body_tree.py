# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of bodies, and their derivatives against complex steps and other formulations."""

from dataclasses import replace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.errors import InertiaError, JointVectorError, TreeError

from .trees import complex_step, random_link, random_tree, slow_dynamics, vee
from ..agreement import assert_close, refuses
from ..arms import random_arm


@pytest.mark.parametrize(
    'arm',
    [fd.load('fer'), fd.load('rpr'), random_arm(np.random.default_rng(0))],
    ids=lambda arm: arm.name,
)
def test_a_tree_of_an_arm_keeps_flange_pose_and_torques(arm):
    tree, model = fd.BodyTree.from_description(arm), fd.NewtonEulerModel(arm)
    q, dq, ddq = np.random.default_rng(1).normal(size=(3, arm.n))
    motion = fd.tree_motion(tree, q, dq, ddq)
    pose = np.linalg.multi_dot([*motion.transforms, tree.tool])
    np.testing.assert_allclose(pose, model.frames(q)[-1], rtol=0.0, atol=1e-14)
    assert_close(motion.tau, model.inverse_dynamics(q, dq, ddq), 1e-13)


def test_repeated_corrections_keep_twists_unit_and_without_pitch():
    # Corrections (6) keep |omega| = 1 and omega . v = 0 by themselves: 1e-15 per step measured.
    tree, rng = random_tree(2, (-1, 0, 1, 1)), np.random.default_rng(3)
    for _ in range(100):
        tree = tree.with_twist_corrections(rng.normal(size=(5, 6)) * 0.3)
    v, omega = tree.twists[:, :3], tree.twists[:, 3:]
    turning = np.linalg.norm(omega, axis=1) > 0.5
    assert turning.any() and not turning.all()
    np.testing.assert_allclose(
        np.linalg.norm(np.where(turning[:, None], omega, v), axis=1), 1.0, rtol=0.0, atol=1e-12
    )
    np.testing.assert_allclose((omega * v).sum(axis=1), 0.0, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    ('change', 'names'),
    [
        ({'parents': (0,)}, ['joint 1', 'body 0', '-1']),
        ({'twists': np.zeros((2, 6))}, ['twists', '(1, 6)']),
        ({'twists': [(0, 0, 0, 0, 0, 2.0)]}, ['joint 1', 'revolute']),
        ({'twists': [(0, 0, 1.0, 0, 0, 1.0)]}, ['joint 1', 'omega . v = 0']),
        ({'inertias': ()}, ['1 inertias', 'got 0']),
        ({'tool_body': 3}, ['body 3', '0..0']),
        ({'rotor_inertias': [1.0, 2.0]}, ['rotor inertias', '1 bodies']),
        ({'tool': 2.0 * np.eye(4)}, ['tool', 'pose']),
        ({'placements': [2.0 * np.eye(4)]}, ['joint 1', 'pose']),
    ],
)
def test_a_tree_that_contradicts_itself_is_refused_by_name(change, names):
    good = fd.BodyTree((-1,), [np.eye(4)], [(0, 0, 0, 0, 0, 1.0)], (fd.LinkInertia.zero(),))
    with refuses(TreeError, *names):
        replace(good, **change)


CHAIN, TREE = (-1, 0, 1, 2, 3), (-1, 0, 0, 2, 2, -1, 5)
both_trees = pytest.mark.parametrize('parents', [CHAIN, TREE], ids=['chain', 'tree'])
TILTED = (1.0, -2.0, -9.5)
# Relative to the largest entry; 5e-15 measured over these trees.
RTOL = 2e-13


@pytest.fixture(scope='module', params=[CHAIN, TREE], ids=['chain', 'tree'])
def case(request):
    """Return a random tree, its state, a wrench, our derivatives and the complex steps."""
    tree, rng = random_tree(3, request.param), np.random.default_rng(4)
    q, dq, ddq = rng.normal(size=(3, tree.n))
    wrench = rng.normal(size=6) * 10.0
    found = fd.dynamics_derivatives(tree, q, dq, ddq, gravity=TILTED, tool_wrench=wrench)
    expected = complex_step(tree, q, dq, ddq, TILTED, wrench)
    change = np.einsum('nab,nbck->knac', np.linalg.inv(tree.poses(q)), expected['pose'])
    expected['displacement'] = np.moveaxis(vee(change), 0, -1)
    return tree, (q, dq, ddq), wrench, found, expected


@pytest.mark.parametrize('name', ['displacement', 'twist', 'acceleration', 'wrench', 'tau'])
def test_tree_derivatives_agree_with_complex_steps(case, name):
    *_, found, expected = case
    assert_close(getattr(found, name).full, expected[name], RTOL)


@pytest.mark.parametrize(
    ('ddq', 'names'),
    [
        (np.zeros(4), ['ddq', '(4,)', '(..., 5)']),
        ([0, 0, np.nan, 0, 0], ['ddq of joint 3 is nan']),
        (np.zeros((2, 5)), ['q (3, 5), dq (5,), ddq (2, 5)']),
    ],
)
def test_a_bad_vector_is_named(ddq, names):
    with refuses(JointVectorError, *names):
        fd.tree_motion(random_tree(0, CHAIN), np.zeros((3, 5)), np.zeros(5), ddq)


@pytest.mark.parametrize(
    ('name', 'shape'),
    [
        *((name, (2, 5)) for name in ('q', 'dq', 'tau')),
        *(('tool_wrench', shape) for shape in ((2, 6), (1, 6), (3,))),
    ],
)
def test_a_linearization_is_of_one_state_under_one_wrench(name, shape):
    given = dict.fromkeys(('q', 'dq', 'tau'), np.zeros(5)) | {name: np.zeros(shape)}
    with refuses(JointVectorError, name.replace('_', ' '), '(6,)' if 'w' in name else shape):
        fd.linearize(random_tree(0, CHAIN), **given)
    with refuses(JointVectorError, 'wrench'):
        fd.dynamics_derivatives(
            random_tree(7, TREE), *np.zeros((3, 7)), tool_wrench=[0.0, 0.0, -20.0]
        )


def test_four_joints_that_move_a_point_mass_have_no_acceleration():
    # A point has three degrees of freedom, so M is singular, but by rounding not exactly.
    tree, nothing = random_tree(0, (-1, 0, 1, 2)), fd.LinkInertia.zero()
    point = fd.LinkInertia.from_center_of_mass(2.0, (0.3, -0.2, 0.1), np.zeros(6))
    tree = replace(tree, inertias=(nothing,) * 3 + (point,), rotor_inertias=np.zeros(4))
    with pytest.raises(InertiaError):
        fd.linearize(tree, np.ones(4), np.zeros(4), np.ones(4))


def test_a_trees_linearization_agrees_with_complex_steps(case):
    tree, (q, dq, ddq), wrench, _, expected = case
    n, still = tree.n, np.zeros((tree.n + 1, 6))
    tau = slow_dynamics(tree, still, q, dq, ddq, TILTED, wrench)['tau']
    here = fd.linearize(tree, q, dq, tau, gravity=TILTED, tool_wrench=wrench)
    by_q, by_dq, mass = np.split(expected['tau'][:, still.size :], 3, axis=1)
    zero, one, back = np.zeros((n, n)), np.eye(n), np.linalg.inv(mass)
    for found, theirs in (
        (here.ddq, ddq),
        (here.A, np.block([[zero, one], [-back @ by_q, -back @ by_dq]])),
        (here.B, np.vstack((zero, back))),
    ):
        assert_close(found, theirs, 1e-11)


@both_trees
def test_other_bodies_change_wrenches_and_torques_as_derived(parents):
    tree, rng = random_tree(0, parents), np.random.default_rng(1)
    q, dq, ddq = rng.normal(size=(3, tree.n))
    others = [random_link(rng) for _ in range(tree.n)]
    change = np.array(
        [new.parameters() - old.parameters() for new, old in zip(others, tree.inertias)]
    )
    before = fd.tree_motion(tree, q, dq, ddq)
    after = fd.tree_motion(replace(tree, inertias=others), q, dq, ddq)
    by = fd.differentiate_by_parameters(tree, q, dq, ddq)
    # Exact, because wrenches and torques are linear in the parameters: 2e-14 measured.
    for name, part, whole in (
        ('ijk,jk->i', by.tau, after.tau - before.tau),
        ('iajk,jk->ia', by.wrench, after.wrenches - before.wrenches),
    ):
        np.testing.assert_allclose(np.einsum(name, part, change), whole, rtol=0.0, atol=1e-12)
