# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms mounted on one base or on each other as one tree."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.assembly import assemble, Mount
from franka_dynamics.dynamics.derivatives import tree_motion
from franka_dynamics.errors import TreeError
from franka_dynamics.spatial import pose_from_xyz_rpy


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


@pytest.mark.parametrize(
    'mounts, sentence',
    [
        ([], 'There is no arm'),
        ([Mount(load('rpr'), carrier=0)], r'rpr is mounted on body 0; it must be -1 \(the base\)'),
        ([Mount(load('rpr'))] * 2, 'Two joints are called rpr_joint1'),
    ],
)
def test_mounts_that_do_not_fit_are_refused_each_by_its_reason(mounts, sentence):
    with pytest.raises(TreeError, match=sentence):
        assemble(mounts)
