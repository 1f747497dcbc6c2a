# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of bodies: of one arm and of several, with corrected twists, from wrong input."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.dynamics.assembly import assemble, Mount
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import tree_motion
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import TreeError
from franka_dynamics.spatial import pose_from_xyz_rpy

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


def test_arms_mounted_on_the_ground_are_independent():
    fer, rpr = load('fer'), load('rpr')
    pose = pose_from_xyz_rpy((1.0, 0.5, 0.2), (0.3, -0.4, 0.5))
    tree = assemble([Mount(fer), Mount(rpr, pose, prefix='other_')])
    assert tree.parents == (-1, 0, 1, 2, 3, 4, 5, -1, 7, 8)
    assert tree.names[-1] == 'other_rpr_joint3'
    q, dq, ddq = np.random.default_rng(1).normal(size=(3, 10))
    both = tree_motion(tree, q, dq, ddq).tau
    for arm, base, part in ((fer, np.eye(4), slice(0, 7)), (rpr, pose, slice(7, 10))):
        alone = tree_motion(replace(arm, base=base @ arm.base), q[part], dq[part], ddq[part]).tau
        np.testing.assert_allclose(both[part], alone, rtol=0.0, atol=1e-12)


def test_the_base_link_of_an_arm_turns_with_the_torso_that_carries_it():
    # Nothing else has mass: a point of 2 kg, 0.4 m from the torso's vertical axis, in the frame
    # {0} of an arm whose base is turned by a quarter about z in the mount's frame.
    nothing = LinkInertia.zero()
    point = LinkInertia.from_center_of_mass(2.0, (0.0, -0.2, 0.0), np.zeros(6))
    base = pose_from_xyz_rpy((0.1, 0.0, 0.0), (0.0, 0.0, np.pi / 2))
    arm = replace(load('rpr'), base=base, base_link=point, links=(nothing,) * 3)
    torso = BodyTree((-1,), [np.eye(4)], [(0, 0, 0, 0, 0, 1.0)], (nothing,))
    tree = assemble([Mount(arm, pose_from_xyz_rpy((0.1, 0.0, 0.5), np.zeros(3)), 0)], torso)
    tau = tree_motion(tree, np.ones(4), np.zeros(4), np.array([1.0, 0.0, 0.0, 0.0])).tau
    np.testing.assert_allclose(tau, [2.0 * 0.4**2, 0.0, 0.0, 0.0], rtol=0.0, atol=1e-14)
    beside = assemble([Mount(arm)], torso)  # on the floor, where the base link does not move
    assert not tree_motion(beside, np.ones(4), np.zeros(4), np.array([1.0, 0, 0, 0])).tau.any()


def test_the_tool_of_several_arms_is_the_last_ones_flange():
    arms = load('rpr'), load('fer')
    pose = pose_from_xyz_rpy((1.0, 0.5, 0.2), (0.3, -0.4, 0.5))
    q = np.random.default_rng(2).normal(size=10)
    for (first, second), at in ((arms, q[3:]), (arms[::-1], q[7:])):
        tree = assemble([Mount(first), Mount(second, pose)])
        found = tree.poses(q)[tree.tool_body] @ tree.tool
        expected = pose @ NewtonEulerModel(second).frames(at)[-1]
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize(
    ('mounts', 'names'),
    [
        ([], ['no arm']),
        ([Mount(load('rpr'), carrier=0)], ['rpr', 'body 0', '-1']),
        ([Mount(load('rpr'))] * 2, ['rpr_joint1']),
    ],
)
def test_mounts_that_do_not_fit_are_refused_each_by_its_reason(mounts, names):
    with refuses(TreeError, *names):
        assemble(mounts)
