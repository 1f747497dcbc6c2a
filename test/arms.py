# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms that tests share: random ones, and given ones with one number changed."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import ArmDescription, Convention, DHRow, Joint, JointKind, LinkInertia

# [m] Of frames 1 to 7 and the flange of a Franka arm at q = 0, as Franka and both notes give them.
FRANKA_ORIGINS_AT_ZERO = (
    (0, 0, 0.333),
    (0, 0, 0.333),
    (0, 0, 0.649),
    (0.0825, 0, 0.649),
    (0, 0, 1.033),
    (0, 0, 1.033),
    (0.088, 0, 1.033),
    (0.088, 0, 0.926),
)
TWISTS = (0.0, np.pi / 2, -np.pi / 2, np.pi, np.pi / 4, 0.3)


def physical_link(rng):
    """Return the inertia of a handful of point masses, which is physical by construction."""
    link = LinkInertia.zero()
    for point in rng.uniform(-0.3, 0.3, (6, 3)):
        link = link + LinkInertia.from_center_of_mass(rng.uniform(0.2, 1.0), point, np.zeros(6))
    return link


def make_random_arm(
    seed,
    *,
    n=None,
    kinds=None,
    convention=Convention.MODIFIED,
    special=0.6,
    rotors=False,
    base=True,
):
    """
    Return a serial arm drawn from a seed.

    `special` is the probability of a zero length and of a twist in quarter turns: the geometries
    of real arms, where parameters vanish.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7)) if n is None else n
    letters = kinds or ''.join(rng.choice(['R', 'P'], n, p=(0.65, 0.35)))

    def length():
        return 0.0 if rng.random() < special else rng.uniform(-0.5, 0.5)

    def angle(choices):
        return rng.choice(choices) if rng.random() < special else rng.uniform(-3.0, 3.0)

    joints = tuple(
        Joint(
            f'j{i + 1}',
            JointKind.REVOLUTE if letter == 'R' else JointKind.PRISMATIC,
            DHRow(a=length(), alpha=angle(TWISTS), d=length(), theta=angle(TWISTS)),
            rotor_inertia=rng.uniform(0.01, 0.1) if rotors else 0.0,
        )
        for i, letter in enumerate(letters)
    )
    pose = np.eye(4)
    if base:
        rotation, _ = np.linalg.qr(rng.standard_normal((3, 3)))
        pose[:3, :3] = rotation * np.sign(np.linalg.det(rotation))
        pose[:3, 3] = rng.uniform(-0.5, 0.5, 3)
    return ArmDescription(
        name=f'random {letters} #{seed}',
        convention=convention,
        joints=joints,
        base=pose,
        links=tuple(physical_link(rng) for _ in range(n)),
        flange=DHRow(a=length(), alpha=angle(TWISTS), d=length(), theta=angle(TWISTS)),
    )


def with_row(arm, joint, **values):
    """Return an arm with other values in the DH row of one joint, counted from 0."""
    joints = list(arm.joints)
    joints[joint] = replace(joints[joint], row=replace(joints[joint].row, **values))
    return replace(arm, joints=tuple(joints))


def with_row_shifted(arm, joint, **changes):
    """Return an arm with something added to values in the DH row of one joint, from 0."""
    row = arm.joints[joint].row
    return with_row(
        arm, joint, **{name: getattr(row, name) + change for name, change in changes.items()}
    )


def with_link(arm, joint, link):
    """Return an arm with another inertia behind one joint, counted from 0."""
    return replace(arm, links=(*arm.links[:joint], link, *arm.links[joint + 1 :]))


@pytest.fixture
def random_arm():
    """Return a function that draws a serial arm from a seed."""
    return make_random_arm


def drawn_around(arm, seed, *, size=0.1):
    """
    Return an arm whose links are drawn around an arm's: what a published set is to a real one.

    Each pseudo-inertia P becomes A P A^T with A near one, which is the same body squeezed, sheared
    and shifted by some `size` of its extent, and has a mass of its own; it stays physical.
    """
    rng = np.random.default_rng(seed)

    def drawn(link):
        spread = np.eye(4) + np.diag([size, size, size, 0.0]) @ rng.uniform(-1.0, 1.0, (4, 4))
        spread[:3, 3] *= 0.2  # of a metre
        spread[3, 3] = np.sqrt(1.0 + size * rng.uniform(-1.0, 1.0))
        pseudo = spread @ link.pseudo_inertia() @ spread.T
        second = 0.5 * (pseudo[:3, :3] + pseudo[:3, :3].T)
        return LinkInertia(pseudo[3, 3], pseudo[:3, 3], np.trace(second) * np.eye(3) - second)

    return arm.map_links(drawn)


def outside(room, point):
    """Return how far [m] a point is outside a hull of balls: the largest over directions."""
    directions = np.random.default_rng(0).standard_normal((4000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    centers, radii = room
    return (directions @ point - (directions @ centers.T + radii).max(axis=1)).max()
