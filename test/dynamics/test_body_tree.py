# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of bodies: of one arm and of several, with corrected twists, from wrong input."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import tree_motion
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import TreeError

from .trees import random_tree
from ..agreement import assert_close, refuses
from ..arms import random_arm


@pytest.mark.parametrize(
    'arm',
    [load('fer'), load('rpr'), random_arm(np.random.default_rng(0))],
    ids=lambda arm: arm.name,
)
def test_a_tree_of_an_arm_keeps_flange_pose_and_torques(arm):
    tree, model = BodyTree.from_description(arm), NewtonEulerModel(arm)
    q, dq, ddq = np.random.default_rng(1).normal(size=(3, arm.n))
    motion = tree_motion(tree, q, dq, ddq)
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
    good = BodyTree((-1,), [np.eye(4)], [(0, 0, 0, 0, 0, 1.0)], (LinkInertia.zero(),))
    with refuses(TreeError, *names):
        replace(good, **change)
