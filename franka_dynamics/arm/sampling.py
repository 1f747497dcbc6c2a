# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Draws random joint states and random arms, for checks."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from . import ArmDescription, Convention, DHRow, Joint, JointKind, JointLimits, LinkInertia
from .arm_file import described
from ..errors import SettingsError
from ..spatial import exp3
from ..typing import Array

# Limits in place of unknown ones: [rad or m], [rad/s or m/s], [rad/s^2 or m/s^2].
_UNLIMITED_POSITION, _UNLIMITED_VELOCITY, _UNLIMITED_ACCELERATION = np.pi, 2.0, 10.0


class JointStates(NamedTuple):
    """Joint positions, velocities and accelerations, each of shape (n,) or (..., n)."""

    q: Array
    dq: Array
    ddq: Array


def sample_states(
    description: ArmDescription | str | Path, count: int, seed: int = 0
) -> JointStates:
    """
    Return states drawn uniformly within an arm's constant limits of q, dq and ddq.

    Parameters
    ----------
    description : ArmDescription, str or Path
        The arm, a shipped arm's name or the path of an arm file. Unknown limits are replaced by
        +-pi, +-2 and +-10 for positions, velocities and accelerations; an unknown position limit
        is at least pi from a known one.
    count, seed : int
        Number of states, and the seed of the random numbers.

    Returns
    -------
    JointStates
        q, dq and ddq of shape (count, n) [rad or m, per s, per s^2].

    Raises
    ------
    DescriptionError
        If `description` is no arm, or its file cannot be read.
    SettingsError
        If `count` is no whole number, or below zero.

    """
    if not isinstance(count, (int, np.integer)) or count < 0:
        raise SettingsError(f'The number of states is {count!r}; give a whole number, 0 or more.')
    description = described(description)
    rng = np.random.default_rng(seed)
    lower, upper = description.limit('lower'), description.limit('upper')
    least = np.minimum(-_UNLIMITED_POSITION, upper - _UNLIMITED_POSITION)
    most = np.maximum(_UNLIMITED_POSITION, lower + _UNLIMITED_POSITION)

    def bound(name: str, unlimited: float) -> Array:
        limit = description.limit(name)
        return np.where(np.isfinite(limit), limit, unlimited)

    def uniform(low: Array, high: Array) -> Array:
        return rng.uniform(low, high, (count, description.n))

    velocity = bound('velocity', _UNLIMITED_VELOCITY)
    acceleration = bound('acceleration', _UNLIMITED_ACCELERATION)
    return JointStates(
        uniform(
            np.where(np.isfinite(lower), lower, least), np.where(np.isfinite(upper), upper, most)
        ),
        uniform(-velocity, velocity),
        uniform(-acceleration, acceleration),
    )


_KINDS = (JointKind.REVOLUTE, JointKind.PRISMATIC)
_LIMITS = {
    JointKind.REVOLUTE: JointLimits(-np.pi, np.pi, 2.0, 10.0),
    JointKind.PRISMATIC: JointLimits(-0.5, 0.5, 1.0, 5.0),
}


def random_arm(
    rng: np.random.Generator,
    *,
    joints: int | None = None,
    convention: Convention | None = None,
    kinds: tuple[JointKind, ...] = _KINDS,
) -> ArmDescription:
    """
    Return an arm with random rows, joint kinds (from `kinds`), base, links and rotors.

    By default the number of joints, 1 to 8, and the convention are random, too. Lengths a and d
    lie within +-0.3 m. Every link consists of six random point masses of 0.1 to 0.8 kg, so that it
    is physical and has no symmetry.

    Returns
    -------
    ArmDescription
        An arm with joint limits, without a hand.

    """
    n = int(rng.integers(1, 9)) if joints is None else joints
    chosen = tuple(Convention)[int(rng.integers(2))] if convention is None else convention
    base = np.eye(4)
    base[:3, :3], base[:3, 3] = exp3(rng.normal(size=3)), rng.uniform(-0.5, 0.5, 3)
    moving = tuple(_joint(rng, i, kinds) for i in range(n))
    return ArmDescription(
        name='random',
        convention=chosen,
        joints=moving,
        links=tuple(_link(rng) for _ in range(n)),
        flange=_row(rng),
        base=base,
        inertial_set='random',
        source='random_arm',
    )


def _row(rng: np.random.Generator) -> DHRow:
    return DHRow(
        a=rng.uniform(-0.3, 0.3),
        alpha=rng.uniform(-np.pi, np.pi),
        d=rng.uniform(-0.3, 0.3),
        theta=rng.uniform(-np.pi, np.pi),
    )


def _joint(rng: np.random.Generator, i: int, kinds: tuple[JointKind, ...]) -> Joint:
    kind = kinds[int(rng.integers(len(kinds)))]
    return Joint(f'joint{i + 1}', kind, _row(rng), _LIMITS[kind], rng.uniform(0.0, 0.1))


def _link(rng: np.random.Generator) -> LinkInertia:
    masses, points = rng.uniform(0.1, 0.8, 6), rng.uniform(-0.2, 0.2, (6, 3))
    second = np.einsum('i,ij,ik->jk', masses, points, points)
    return LinkInertia(masses.sum(), masses @ points, np.trace(second) * np.eye(3) - second)
