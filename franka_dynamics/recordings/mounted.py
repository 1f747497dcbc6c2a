# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Estimates from recorded torques whether a hand or a load is mounted on the flange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from .preprocessing import Motion
from .replay import Fit, hand_in_words, predicted_torque
from ..arm import ArmDescription, LinkInertia
from ..arm.hand_file import NO_HAND
from ..dynamics.model import GRAVITY
from ..typing import Array

# No hand is mounted if the torque error of the set without a hand is below TELLING_RATIO times the
# torque error with the best hand.
TELLING_RATIO = 0.9
# An estimated mass counts as a load if it is below the lightest or above the heaviest hand's mass
# by more than the fraction _HAND_SHARE, and otherwise as a hand.
_HAND_SHARE = 0.3
# Smallest added or missing mass [kg] that is reported. Recordings of two real FER without a hand,
# and fifths of these recordings, give estimates of 0.02 to 0.15 kg; with the torques of 0.5 kg
# added, 0.52 to 0.65 kg.
_LEAST_MASS = 0.3
# A mass is reported only if the torque error with the mass is at most _HELD_RATIO times the torque
# error without the mass. The ratio of the errors with and without a mass is 0.6 to 0.9 on an empty
# flange, 0.13 to 0.24 with 0.5 kg.
_HELD_RATIO = 0.5


@dataclass(frozen=True, eq=False)
class Weighing:
    """
    The estimated mass on the flange that an arm's description does not contain.

    `arm` has a published inertial set, without or with a hand. The mass [kg] is negative if the
    flange carries less than `arm` describes. `without` and `explained` are the root mean square
    torque errors E [N m] without the mass and with it, viscous and Coulomb friction fitted in both
    cases.
    """

    arm: ArmDescription
    mass: float
    without: float
    explained: float

    @property
    def is_clear(self) -> bool:
        """Whether |`mass`| is at least 0.3 kg and fitting it at least halves the torque error."""
        return abs(self.mass) >= _LEAST_MASS and self.explained <= _HELD_RATIO * self.without


@dataclass(frozen=True)
class MountedVerdict:
    """
    Whether a hand or load seems to be mounted, and why.

    `mounted` is None if the motion does not show it, or if inertial sets without and with a hand
    were not both tried. `sentence` gives the reason with figures, and is empty if they were not
    both tried. `load` is True if `mounted` is True and `mass` is more than 30 % below the mass of
    the lightest hand that was tried, or above that of the heaviest. `mass` is the estimated mass
    of everything mounted on the flange, hand included, and `lightest` the mass of the lightest
    hand that was tried [kg]; both are NaN if the sets were not both tried.
    """

    mounted: bool | None
    sentence: str
    load: bool = False
    mass: float = np.nan
    lightest: float = np.nan

    def allows(self, hand: str) -> bool:
        """Whether the verdict leaves an inertial set with this hand (or 'none') possible."""
        if self.mounted is None:
            too_light = self.mass < 0.5 * self.lightest
            return hand == NO_HAND or not too_light
        return self.load or (hand != NO_HAND) == self.mounted


def mounted_verdict(weighings: Sequence[Weighing]) -> MountedVerdict:
    """
    Return the verdict on hand and load, from the estimates with several inertial sets.

    Of the inertial sets without a hand, the set with the estimated mass nearest zero is used: with
    a set that is too light, part of the arm would appear as load.
    """
    without = [one for one in weighings if one.arm.hand == NO_HAND]
    if not 0 < len(without) < len(weighings):
        return MountedVerdict(None, '')
    bare = min(without, key=lambda one: abs(one.mass))
    hands = [one for one in weighings if one not in without]
    hands = [one for one in hands if one.arm.inertial_set == bare.arm.inertial_set] or hands
    held = min(hands, key=lambda one: one.without)
    figures = (
        f'with its friction fitted {bare.arm.inertial_set} gives E = {bare.without:.3f} N m bare, '
        f'{held.without:.3f} N m {hand_in_words(held.arm.hand)} and {bare.explained:.3f} N m with '
        f'{bare.mass:.2f} kg on its flange'
    )
    known = [one.arm.links[-1].mass - bare.arm.links[-1].mass for one in hands]
    verdict = partial(MountedVerdict, mass=bare.mass, lightest=min(known))
    if bare.without < TELLING_RATIO * held.without:
        return verdict(False, f'No hand seems to be on: {figures}.')
    if not bare.is_clear or bare.mass < 0.0:
        return verdict(None, f'Whether a hand is on cannot be told from this motion: {figures}.')
    if min(known) * (1.0 - _HAND_SHARE) <= bare.mass <= max(known) * (1.0 + _HAND_SHARE):
        return verdict(True, f'A hand seems to be on: {figures}.')
    return verdict(
        True,
        f'About {bare.mass:.1f} kg more than the arm alone hangs on the flange, which is none of '
        f'the known hands (at most {max(known):.1f} kg; the best set only has the nearest one): '
        'weigh it, and name its mass and where its centre is in the flange frame with --payload '
        'KG,X,Y,Z, or take it off.',
        load=True,
    )


def held_sentence(weighings: Sequence[Weighing], hand: str) -> str:
    """
    Return a sentence if the flange seems to carry more or less than the declared hand, else ''.

    Of the inertial sets with the declared hand, the set with the estimated mass nearest zero is
    used.
    """
    with_it = [one for one in weighings if one.arm.hand == hand != NO_HAND]
    seen = min(with_it, key=lambda one: abs(one.mass), default=None)
    if seen is None or not seen.is_clear:
        return ''
    return (
        f'About {abs(seen.mass):.1f} kg {"more" if seen.mass > 0.0 else "less"} than the arm '
        f'{hand_in_words(hand)} seems to hang on the flange (E of {seen.arm.inertial_set} with '
        f'friction is {seen.explained:.3f} N m with that, {seen.without:.3f} without): the '
        'identified last link includes this difference; name the mass and centre of a load with '
        '--payload KG,X,Y,Z, or record with nothing in the fingers.'
    )


def unit_loads(arm: ArmDescription) -> list[ArmDescription]:
    """Return four arms: with 1 kg at the flange, or a first moment of 1 kg m along its x, y, z."""
    return [
        arm.with_payload(LinkInertia(mass, np.array(moment), np.zeros((3, 3))))
        for mass, moment in ((1.0, np.zeros(3)), *((0.0, axis) for axis in np.eye(3)))
    ]


def weighed(
    arm: ArmDescription, loads: Array, friction_columns: Array, residual: Array, samples: int
) -> Weighing:
    """
    Return the estimate of the mass on the flange, fitted together with friction.

    `loads` (n, rows, 4) are the torques that each of the `unit_loads` adds, `friction_columns` (n,
    rows, k) are each joint's friction terms, and `residual` (n, rows) is the measured torque minus
    the arm's rigid-body torque [N m]. The rows are `samples` samples, or the R factors of these.

    The load's centre of mass is fitted but not returned, because few motions determine it: for one
    beam on one real arm, runs gave estimates of 0.31 to 0.39 kg, but centres in all directions.
    """
    # Each joint's load columns and torques are projected orthogonally to the joint's friction
    # columns, which eliminates friction.
    along = np.linalg.qr(friction_columns)[0]
    both = np.concatenate([loads, residual[..., None]], axis=-1)
    both = (both - along @ (np.swapaxes(along, 1, 2) @ both)).reshape(-1, both.shape[-1])
    columns, torque = both[:, :-1], both[:, -1]
    values = np.linalg.lstsq(columns, torque, rcond=None)[0]
    rests = torque, torque - columns @ values
    without, explained = (float(np.linalg.norm(one) / np.sqrt(samples)) for one in rests)
    return Weighing(arm, float(values[0]), without, explained)


def judge_mounted(
    fits: Sequence[Fit], motion: Motion, *, gravity: ArrayLike = GRAVITY
) -> MountedVerdict:
    """
    Return the verdict on hand and load, from the fits of inertial sets without and with hands.

    `motion` must come from `prepare` with `columns` from `replay_columns`.
    """
    assert motion.columns is not None
    friction_columns = np.swapaxes(motion.columns[..., 1:], 0, 1)
    arm = fits[0].arm
    alone, *loaded = (
        predicted_torque(one, motion, gravity=gravity) for one in (arm, *unit_loads(arm))
    )
    loads = np.stack([(one - alone).T for one in loaded], axis=-1)
    # The arm file's friction, which is part of the predicted torque, is added to the measured
    # torque, so that friction cancels in measured minus predicted torque.
    own = motion.effort + motion.columns[..., 0]
    return mounted_verdict(
        [
            weighed(one.arm, loads, friction_columns, (own - one.predicted).T, len(motion))
            for one in fits
        ]
    )
