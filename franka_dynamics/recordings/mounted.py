# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What hangs on the flange, as a recording's torques tell: no hand, a known hand, or a load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .preprocessing import Columns, Motion
from .replay import Fit, friction_column, friction_terms, hand_in_words, predicted_torque
from ..arm import ArmDescription, FrictionModel, LinkInertia
from ..arm.hand_file import NO_HAND
from ..arm.shapes import FRANKA_ARMS
from ..dynamics.model import GRAVITY
from ..typing import Array

# Two fits whose errors differ by less say nothing about which of them is the arm.
TELLING_RATIO = 0.9
# What weighs more than this part less or more than the known hands is called a load, not a hand.
_HAND_PART = 0.3
# A hand that was named holds something if at least this mass [kg] beyond it brings what friction
# leaves down to this part. Two real bare FER and their fifth parts show 0.02 to 0.15 kg and parts
# of 0.6 to 0.9; with 0.5 kg added by calculation, 0.52 to 0.65 kg and 0.12 to 0.23.
_LEAST_HELD, _HELD_RATIO = 0.3, 0.5


@dataclass(frozen=True)
class Weighing:
    """
    What hangs on an arm beyond what its description has, and what saying so explains.

    Attributes
    ----------
    mass : float
        [kg], negative where less hangs there.
    without, explained : float
        E [N m] with viscous and Coulomb friction, without the mass and with it.

    """

    mass: float
    without: float
    explained: float


@dataclass(frozen=True)
class MountedVerdict:
    """
    What seems to be mounted, with why in a sentence.

    Attributes
    ----------
    mounted : bool or None
        Whether anything is; None if it cannot be told.
    sentence : str
        With the figures it rests on; empty for an arm that no hand is known of.
    load : bool
        Whether it weighs what none of the hands does.

    """

    mounted: bool | None
    sentence: str
    load: bool = False


def mounted_verdict(
    errors: Sequence[tuple[ArmDescription, float]],
    weigh: Callable[[ArmDescription], Weighing] | None = None,
) -> MountedVerdict:
    """
    Return what seems to be mounted.

    The set that fits best is looked at with and without a hand; only an error that is lower by
    a tenth or more counts as telling. That a hand is on must not rest on a set that is too light:
    the best bare arm of any set is told from it by as much. What is on is a hand if it weighs
    what one does, the least of what the sets weigh: one that is too light takes a part of the arm
    for load.

    Parameters
    ----------
    errors : sequence of (ArmDescription, float)
        Sets with and without hands, each with its error [N m] without friction.
    weigh : callable, optional
        Returns what hangs on the flange of a bare arm, such as `weighed` finds.

    """
    if all(arm.hand == NO_HAND and arm.name not in FRANKA_ARMS for arm, _ in errors):
        return MountedVerdict(None, '')
    ranked = sorted(errors, key=lambda one: one[1])
    best_set = ranked[0][0].inertial_set
    same_set = [one for one in ranked if one[0].inertial_set == best_set]
    bare = next((one for one in same_set if one[0].hand == NO_HAND), None)
    held = next((one for one in same_set if one[0].hand != NO_HAND), None)
    if bare is None or held is None:
        missing = 'bare' if bare is None else 'with a hand'
        return MountedVerdict(
            None, f'Whether a hand is on cannot be told: {best_set} was not tried {missing}.'
        )
    figures = (
        f'{best_set} without friction gives E = {bare[1]:.3f} N m bare and {held[1]:.3f} N m '
        f'{hand_in_words(held[0].hand)}'
    )
    if bare[1] < TELLING_RATIO * held[1]:
        return MountedVerdict(False, f'No hand seems to be on: {figures}.')
    if not held[1] < TELLING_RATIO * bare[1]:
        return MountedVerdict(
            None, f'Whether a hand is on cannot be told from this motion: {figures}.'
        )
    lightest = next(one for one in ranked if one[0].hand == NO_HAND)
    if not held[1] < TELLING_RATIO * lightest[1]:
        return MountedVerdict(
            None,
            f'Whether a hand is on cannot be told: {figures}, but {lightest[0].inertial_set} bare '
            f'{lightest[1]:.3f} N m.',
        )
    hands = [arm.links[-1].mass - bare[0].links[-1].mass for arm, _ in same_set]
    known = [mass for mass in hands if mass > 0.0]
    if weigh is not None and known:
        mass = min(weigh(arm).mass for arm, _ in ranked if arm.hand == NO_HAND)
        if not min(known) * (1.0 - _HAND_PART) <= mass <= max(known) * (1.0 + _HAND_PART):
            return MountedVerdict(True, _load_sentence(mass, max(known)), load=True)
    return MountedVerdict(True, f'A hand seems to be on: {figures}.')


def _load_sentence(mass: float, heaviest: float) -> str:
    return (
        f'About {mass:.1f} kg more than the arm alone hangs on the flange, which is none of the '
        f'known hands (about {heaviest:.1f} kg): weigh it, and name its mass and where its centre '
        'is in the flange frame with --payload KG,X,Y,Z, or take it off.'
    )


def unit_loads(arm: ArmDescription) -> list[ArmDescription]:
    """Return an arm with 1 kg at the flange's origin, then with 1 kg m along each of its axes."""
    return [
        arm.with_payload(LinkInertia(mass, np.array(moment), np.zeros((3, 3))))
        for mass, moment in ((1.0, np.zeros(3)), *((0.0, axis) for axis in np.eye(3)))
    ]


def weighed(loads: Array, rubbing: Array, left: Array, samples: int) -> Weighing:
    """
    Return the mass on the flange that explains torques best beside friction.

    Its centre is left free. Few motions show that: runs of one real arm with one beam gave masses
    of 0.31 to 0.39 kg, but centres on all sides.

    Parameters
    ----------
    loads : ndarray, shape (n, rows, 4)
        Torque that each of `unit_loads` adds, joint by joint.
    rubbing : ndarray, shape (n, rows, k)
        Terms of each joint's own friction.
    left : ndarray, shape (n, rows)
        Torque that the arm leaves unexplained [N m].
    samples : int
        How many samples the rows stand for.

    """
    n, rows, k = rubbing.shape
    own = np.zeros((n, rows, n, k))
    own[np.arange(n), :, np.arange(n)] = rubbing
    friction, torque = own.reshape(n * rows, n * k), left.ravel()
    matrix = np.concatenate([loads.reshape(n * rows, -1), friction], axis=1)

    def fitted(columns: Array) -> tuple[Array, float]:
        values = np.asarray(np.linalg.lstsq(columns, torque, rcond=None)[0], dtype=float)
        return values, float(np.linalg.norm(torque - columns @ values) / np.sqrt(samples))

    (mass, *_), explained = fitted(matrix)
    return Weighing(float(mass), fitted(friction)[1], explained)


def held_sentence(weighings: Sequence[tuple[ArmDescription, Weighing]]) -> str:
    """
    Return a sentence if the hand of some sets seems to hold something, else none.

    Parameters
    ----------
    weighings : sequence of (ArmDescription, Weighing)
        Sets with the hand and payload that were named, and what hangs on each beyond; the least
        counts, because a set that is too light takes a part of the arm for load.

    """
    if not weighings:
        return ''
    arm, seen = min(weighings, key=lambda one: abs(one[1].mass))
    if abs(seen.mass) < _LEAST_HELD or seen.explained > _HELD_RATIO * seen.without:
        return ''
    return (
        f'About {abs(seen.mass):.1f} kg {"more" if seen.mass > 0.0 else "less"} than the arm '
        f'{hand_in_words(arm.hand)} seems to hang on the flange (E of {arm.inertial_set} with '
        f'friction is {seen.explained:.3f} N m with that, {seen.without:.3f} without): what it '
        'carried counts as a part of the last link; name its mass and centre with --payload '
        'KG,X,Y,Z, or record with nothing in the fingers.'
    )


def replay_columns(friction: FrictionModel | None) -> Columns:
    """
    Return what `prepare` is to compute of the recorded states for `replay`.

    The torque of an arm's friction (zero without any), then the terms of friction that
    `judge_mounted` fits beside a load.
    """
    own = friction_column(friction)

    def columns(q: Array, dq: Array) -> Array:
        torque = np.zeros((*dq.shape, 1)) if own is None else own(q, dq)
        return np.concatenate([torque, friction_terms(dq)], axis=-1)

    return columns


def judge_mounted(
    fits: Sequence[Fit], motion: Motion, *, gravity: ArrayLike = GRAVITY
) -> MountedVerdict:
    """
    Return what seems to be mounted, by the fits of sets bare and with hands.

    Parameters
    ----------
    fits : sequence of Fit
        To the motion.
    motion : Motion
        Prepared with `replay_columns`; without them friction is taken at the filtered velocities.
    gravity : array_like, shape (3,)
        In the space frame [m/s^2].

    """
    columns = motion.columns
    rubbing = friction_terms(motion.dq) if columns is None else columns[..., 1:]

    def weigh(bare: ArmDescription) -> Weighing:
        alone = predicted_torque(bare, motion, gravity=gravity)
        loads = [
            predicted_torque(one, motion, gravity=gravity) - alone for one in unit_loads(bare)
        ]
        return weighed(
            np.swapaxes(np.stack(loads, axis=-1), 0, 1),
            np.swapaxes(rubbing, 0, 1),
            (motion.effort - alone).T,
            len(motion),
        )

    return mounted_verdict([(one.arm, one.rigid.whole) for one in fits], weigh)
