# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms that the tests of generated code share: random ones, and hard cases chosen on purpose."""

from dataclasses import replace

import numpy as np

from franka_dynamics.arm import (
    ArmDescription,
    Convention,
    DHRow,
    Joint,
    JointKind,
    LinkInertia,
    load,
)

QUARTER = np.pi / 2.0


def random_arm(seed, n=5, *, convention=Convention.MODIFIED, right_angles=False):
    """Return an arm of n joints, a third of them prismatic, with rotors and a tilted base."""
    rng = np.random.default_rng(seed)
    joints, links = [], []
    for i in range(n):
        alpha = QUARTER * rng.integers(-1, 3) if right_angles else rng.uniform(-3.0, 3.0)
        theta = QUARTER * rng.integers(0, 4) if right_angles else rng.uniform(-3.0, 3.0)
        kind = JointKind.PRISMATIC if rng.random() < 0.33 else JointKind.REVOLUTE
        a, d = (0.0 if rng.random() < 0.4 else rng.uniform(-0.5, 0.5) for _ in range(2))
        joints.append(
            Joint(
                f'joint{i + 1}',
                kind,
                DHRow(a, alpha, d, theta),
                rotor_inertia=rng.uniform(0.01, 0.3),
            )
        )
        half = rng.normal(size=(4, 4))
        pseudo = half @ half.T
        second = pseudo[:3, :3]
        links.append(
            LinkInertia(pseudo[3, 3], pseudo[:3, 3], np.trace(second) * np.eye(3) - second)
        )
    base = np.eye(4)
    base[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    base[:3, 0] *= np.sign(np.linalg.det(base[:3, :3]))
    return ArmDescription('random', convention, tuple(joints), tuple(links), base=base)


def with_rotors(description):
    """Return the arm with a different rotor behind every joint."""
    return replace(
        description,
        joints=tuple(
            replace(joint, rotor_inertia=0.1 * (i + 1))
            for i, joint in enumerate(description.joints)
        ),
    )


def arms():
    """Return the arms on which every quantity is checked, by name."""
    return {
        'fer': load('fer'),
        'fr3 with hand': load('fr3', hand='franka_hand'),
        'scemi (parallel axes)': load('scemi'),
        'stanford (prismatic)': load('stanford'),
        'rpr (standard rows)': with_rotors(load('rpr')),
        'skew twists': random_arm(1),
        'skew twists, standard': random_arm(2, convention=Convention.STANDARD),
        'right angles': random_arm(3, n=6, right_angles=True),
        'right angles, standard': random_arm(
            4, n=6, convention=Convention.STANDARD, right_angles=True
        ),
        'one joint': random_arm(5, n=1),
        'two joints': random_arm(6, n=2, right_angles=True),
    }
