# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gravity vectors, and random trees whose joint axes are their frames' z axes, as in DH rows."""

from dataclasses import replace

import numpy as np

from franka_dynamics.arm import Convention, JointKind
from franka_dynamics.dynamics.body_tree import BASE, BodyTree
from franka_dynamics.identification.base_parameters import GRAVITY_BASIS_M_S2, NO_GRAVITY

from ..arms import make_random_arm

VERTICAL, TILTED = (0.0, 0.0, -9.81), (3.0, -5.0, -7.0)
GRAVITIES = (VERTICAL, TILTED, NO_GRAVITY, GRAVITY_BASIS_M_S2)


def random_tree_of_rows(seed, *, special=0.6, branching=0.5):
    """
    Return a tree of 2 to 8 joints, half of them slides.

    `special` is the probability of a zero length and of a turn from a short list, `branching`
    that a body hangs on any earlier one, or on the base, instead of on the last.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    arm, other = (make_random_arm([seed, k], n=n, special=special) for k in (0, 1))
    parents = [BASE] + [
        int(rng.integers(BASE, i)) if rng.random() < branching else i - 1 for i in range(1, n)
    ]
    placements = [
        replace(before.row, a=0.0, alpha=0.0).transform(Convention.MODIFIED)
        @ joint.row.transform(Convention.MODIFIED)
        for before, joint in zip(other.joints, arm.joints)
    ]
    revolute = np.array([joint.kind is JointKind.REVOLUTE for joint in arm.joints])
    twists = np.where(revolute[:, None], [0, 0, 0, 0, 0, 1.0], [0, 0, 1.0, 0, 0, 0])
    return BodyTree(
        tuple(parents), np.array(placements), twists, arm.links, rng.uniform(0.01, 0.1, n)
    )
