# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which published inertial set, and which hand, a set of links is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from ..arm import (
    ArmDescription,
    available_arms,
    available_hands,
    available_sets,
    LinkInertia,
    load,
)
from ..arm.hand_file import NO_HAND

# Equal but for the decimals of a text: relative to the mass and the tensor, absolute [m].
EXACT = 1e-6
# Four decimals, as the coarsest published table has them, if that is a rounding at all: no
# tensor may move by more than this share of its largest element.
ROUNDING, ROUNDING_SHARE = 5.0001e-5, 0.02


class Match(IntEnum):
    """How near a link is to a published one; the larger, the farther."""

    EXACT = 0
    ROUNDED = 1
    DIFFERENT = 2


@dataclass(frozen=True, eq=False)
class KnownSet:
    """A published inertial set with a hand or without, in the DH frames of the arm compared."""

    arm: str
    inertial_set: str
    hand: str
    links: tuple[LinkInertia, ...]

    def __str__(self) -> str:
        """Return arm, set and hand in words."""
        hand = 'no hand' if self.hand == NO_HAND else self.hand
        return f'{self.arm} {self.inertial_set}, {hand}'


@dataclass(frozen=True, eq=False)
class Identification:
    """The known set nearest to some links, with one Match and one distance for each link."""

    known: KnownSet
    matches: tuple[Match, ...]
    distances: tuple[float, ...]

    @property
    def worst(self) -> Match:
        """The match of the link that fits least."""
        return max(self.matches)

    @property
    def distance(self) -> float:
        """The largest difference in any of the parameters (kg, kg m, kg m^2)."""
        return max(self.distances)


def match(found: LinkInertia, known: LinkInertia) -> Match:
    """Return how near a link is to a known one, in either form that tables are printed in."""
    tensor = float(np.abs(known.inertia_at_center_of_mass).max())
    scale = max(known.mass, found.mass, EXACT)
    by_center = (
        abs(found.mass - known.mass),
        _gap(found.center_of_mass, known.center_of_mass),
        _gap(found.inertia_at_center_of_mass, known.inertia_at_center_of_mass),
    )
    by_origin = (
        by_center[0],
        _gap(found.first_moment, known.first_moment),
        _gap(found.inertia, known.inertia),
    )
    if (
        by_center[0] <= EXACT * scale
        and by_center[1] <= EXACT
        and by_center[2] <= EXACT * max(tensor, EXACT)
    ):
        return Match.EXACT
    for form, size in ((by_center, tensor), (by_origin, float(np.abs(known.inertia).max()))):
        if max(form) <= ROUNDING and form[2] <= ROUNDING_SHARE * size:
            return Match.ROUNDED
    return Match.DIFFERENT


def distance(found: LinkInertia, known: LinkInertia) -> float:
    """Return the largest difference of the ten parameters about the frame origin."""
    return _gap(found.parameters(), known.parameters())


def known_sets(reference: ArmDescription) -> list[KnownSet]:
    """
    Return every set of every shipped arm with the reference's geometry, with each hand.

    The reference's own file comes first, so that ties go to it.
    """
    files = dict.fromkeys([reference.file or reference.name, *available_arms()])
    found: list[KnownSet] = []
    names = set()
    for file in files:
        for inertial_set in available_sets(file):
            for hand in (NO_HAND, *available_hands()):
                arm = load(file, inertial_set, hand=hand)
                key = (arm.name, inertial_set, hand)
                if key not in names and _same_geometry(arm, reference):
                    names.add(key)
                    found.append(KnownSet(*key, arm.links))
    return found


def identify(
    found: Sequence[LinkInertia],
    known: Sequence[KnownSet],
    arm: str,
) -> Identification:
    """Return the known set with the fewest links that differ, then of `arm`, then the nearest."""

    def judged(candidate: KnownSet) -> Identification:
        pairs = list(zip(found, candidate.links))
        return Identification(
            candidate,
            tuple(match(a, b) for a, b in pairs),
            tuple(distance(a, b) for a, b in pairs),
        )

    def rank(judgement: Identification) -> tuple[int, int, bool, float]:
        return (
            judgement.matches.count(Match.DIFFERENT),
            judgement.matches.count(Match.ROUNDED),
            judgement.known.arm != arm,
            sum(judgement.distances),
        )

    return min((judged(candidate) for candidate in known), key=rank)


def _same_geometry(arm: ArmDescription, reference: ArmDescription) -> bool:
    return (
        arm.n == reference.n
        and arm.convention is reference.convention
        and arm.flange == reference.flange
        and all(a.row == b.row and a.kind is b.kind for a, b in zip(arm.joints, reference.joints))
    )


def _gap(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max())
