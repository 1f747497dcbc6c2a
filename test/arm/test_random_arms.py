# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Random arms cover what they are meant to cover, are real, and come back from their seed."""

import numpy as np

from franka_dynamics.arm import Convention, JointKind
from franka_dynamics.arm.sampling import random_arm


def test_fifty_seeds_give_all_lengths_conventions_and_kinds():
    arms = [random_arm(np.random.default_rng(seed)) for seed in range(50)]
    assert {arm.n for arm in arms} == set(range(1, 9))
    assert {arm.convention for arm in arms} == set(Convention)
    assert {joint.kind for arm in arms for joint in arm.joints} == set(JointKind)
    # Bases are tilted: z of {0} is off the vertical.
    assert sum(abs(arm.base[2, 2]) < 0.99 for arm in arms) > 40


def test_links_of_random_arms_are_physical():
    for seed in range(20):
        arm = random_arm(np.random.default_rng(seed))
        assert arm.inconsistencies() == ()
        assert all(link.mass > 0.5 for link in arm.links)
        assert all(joint.rotor_inertia > 0.0 for joint in arm.joints)
