# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms that tests share: random ones, and given ones with one number changed."""

from dataclasses import replace

import numpy as np

import franka_dynamics as fd
from franka_dynamics.arm import Convention, DHRow, Joint, JointKind, JointLimits
from franka_dynamics.spatial import exp3

TWISTS = (0.0, np.pi / 2, -np.pi / 2, np.pi, np.pi / 4, 0.3)

_KINDS = (JointKind.REVOLUTE, JointKind.PRISMATIC)
_LIMITS = dict(zip(_KINDS, [JointLimits(-np.pi, np.pi, 2, 10), JointLimits(-0.5, 0.5, 1, 5)]))


def limited(arm, **limits):
    """Return an arm with other limits of every joint."""
    joints = (replace(one, limits=replace(one.limits, **limits)) for one in arm.joints)
    return replace(arm, joints=tuple(joints))


def random_arm(rng, *, joints=None, convention=None, kinds=_KINDS):
    """
    Return an arm with random rows, joint kinds (from `kinds`), base, links and rotors.

    By default the number of joints, 1 to 8, and the convention are random, too. Lengths a and d
    lie within +-0.3 m.
    """
    n = int(rng.integers(1, 9)) if joints is None else joints
    chosen = tuple(Convention)[int(rng.integers(2))] if convention is None else convention
    base = np.eye(4)
    base[:3, :3] = exp3(rng.normal(size=3))
    base[:3, 3] = rng.uniform(-0.5, 0.5, 3)
    moving = tuple(_joint(rng, i, kinds) for i in range(n))
    return fd.ArmDescription(
        name='random',
        convention=chosen,
        joints=moving,
        links=tuple(random_link(rng) for _ in range(n)),
        flange=_row(rng),
        base=base,
        inertial_set='random',
        source='random_arm',
    )


def _row(rng):
    end = np.array((0.3, np.pi, 0.3, np.pi))  # of a, alpha, d, theta
    return DHRow(*rng.uniform(-end, end))


def _joint(rng, i, kinds):
    kind = kinds[int(rng.integers(len(kinds)))]
    return Joint(f'joint{i + 1}', kind, _row(rng), _LIMITS[kind], rng.uniform(0.0, 0.1))


def of_points(masses, points):
    """Return the inertia of point masses: sums of m, m r and m (|r|^2 1 - r r^T)."""
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points))
    return fd.LinkInertia(masses.sum(), masses @ points, inertia)


def random_link(rng):
    """Return six random point masses of 0.1 to 0.8 kg: a body that is physical, not symmetric."""
    return of_points(rng.uniform(0.1, 0.8, 6), rng.uniform(-0.2, 0.2, (6, 3)))


def make_random_arm(seed, *, n=None, convention='modified', special=0.6, rotors=False, base=True):
    """
    Return a serial arm drawn from a seed.

    `special` is the probability of a zero length and of a twist in quarter turns: the geometries
    of real arms, where parameters vanish.
    """
    rng = np.random.default_rng(seed)
    arm = random_arm(rng, joints=n, convention=convention)

    def row(drawn):
        a, d = (0.0 if rng.random() < special else length for length in (drawn.a, drawn.d))
        angles = drawn.alpha, drawn.theta
        angles = [rng.choice(TWISTS) if rng.random() < special else angle for angle in angles]
        return DHRow(a, angles[0], d, angles[1])

    joints = [replace(one, rotor_inertia=one.rotor_inertia * rotors) for one in arm.joints]
    joints = tuple(replace(one, row=row(one.row)) for one in joints)
    place = arm.base if base else np.eye(4)
    return replace(arm, joints=joints, flange=row(arm.flange), base=place)


def with_joint(arm, joint, **values):
    """Return an arm with other values in the fields of one joint, counted from 0."""
    joints = list(arm.joints)
    joints[joint] = replace(joints[joint], **values)
    return replace(arm, joints=tuple(joints))


def with_row(arm, joint, **values):
    """Return an arm with other values in the DH row of one joint, counted from 0."""
    return with_joint(arm, joint, row=replace(arm.joints[joint].row, **values))


def with_row_shifted(arm, joint, **changes):
    """Return an arm with changes added to the DH row of one joint, counted from 0."""
    row = arm.joints[joint].row
    return with_row(arm, joint, **{k: getattr(row, k) + change for k, change in changes.items()})


def with_link(arm, joint, link):
    """Return an arm with another inertia behind one joint, counted from 0."""
    return replace(arm, links=(*arm.links[:joint], link, *arm.links[joint + 1 :]))


def random_covariance(seed, n, size, deviation=0.05):
    """Return n covariances (size, size) of correlated numbers of some standard deviation."""
    roots = np.random.default_rng(seed).normal(size=(n, size, size))
    return (deviation**2 / size) * roots @ np.swapaxes(roots, 1, 2)


def slip_states(q, reach, start):
    """Return the states of Maxwell-slip elements along positions (N, n) from a state (k, n)."""
    states = [np.array(start, dtype=float)]
    for step in np.diff(q, axis=0):
        states.append(np.clip(states[-1] + step / np.reshape(reach, (-1, 1)), -1.0, 1.0))
    return np.array(states)


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
        return fd.LinkInertia(pseudo[3, 3], pseudo[:3, 3], np.trace(second) * np.eye(3) - second)

    return arm.map_links(drawn)


def first_joints(arm, n):
    """Return the first n joints of an arm, without friction."""
    first = {name: getattr(arm, name)[:n] for name in ('joints', 'links', 'home')}
    without = dict.fromkeys(('friction', 'simulated_friction', 'simulated_armature'))
    return replace(arm, **first, **without)
