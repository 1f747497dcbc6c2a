# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the published set of inertias, and the hand, nearest to those of an arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product

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
from ..typing import Array

# Two links are the same within EXACT: relative for mass and tensor, in metres for the centre of
# mass.
EXACT = 1e-6
# Half a unit of the fourth decimal, to which the coarsest published table is rounded. A tensor
# counts as rounded only if it changes by at most ROUNDING_SHARE of its largest element.
ROUNDING, ROUNDING_SHARE = 5.0001e-5, 0.02


class Match(IntEnum):
    """How well a link's inertia agrees with a published one."""

    EXACT = 0
    ROUNDED = 1
    DIFFERENT = 2


@dataclass(frozen=True, eq=False)
class NearestSet:
    """
    The published set nearest to the links of an arm.

    `known` is an arm with the published set and a hand or none; str() names arm, set and hand. For
    each link, `matches` has the link's Match, `distances` the largest difference of the ten
    parameters (kg, kg m, kg m^2).
    """

    known: ArmDescription
    matches: tuple[Match, ...]
    distances: tuple[float, ...]

    def __str__(self) -> str:
        """Return arm, set and hand in words."""
        hand = 'no hand' if self.known.hand == NO_HAND else self.known.hand
        return f'{self.known.name} {self.known.inertial_set}, {hand}'

    @property
    def worst(self) -> Match:
        """The worst match of all links."""
        return max(self.matches)

    @property
    def distance(self) -> float:
        """The largest difference of a parameter of any link (kg, kg m, kg m^2)."""
        return max(self.distances)


def match(found: LinkInertia, known: LinkInertia) -> Match:
    """
    Return how well a link agrees with a known link.

    The link is ROUNDED if its numbers about the centre of mass, or those about the frame's origin,
    are the known link's within rounding.
    """
    mass, scale = abs(found.mass - known.mass), max(known.mass, found.mass, EXACT)
    if mass > max(ROUNDING, EXACT * scale):
        return Match.DIFFERENT
    center = _largest(found.center_of_mass - known.center_of_mass)
    expected = known.inertia_at_center_of_mass
    tensor, size = _largest(found.inertia_at_center_of_mass - expected), _largest(expected)
    if mass <= EXACT * scale and center <= EXACT and tensor <= EXACT * max(size, EXACT):
        return Match.EXACT
    moment = _largest(found.first_moment - known.first_moment)
    about_origin, size_at_origin = _largest(found.inertia - known.inertia), _largest(known.inertia)
    for vector, change, largest in (
        (center, tensor, size),
        (moment, about_origin, size_at_origin),
    ):
        if max(mass, vector, change) <= ROUNDING and change <= ROUNDING_SHARE * largest:
            return Match.ROUNDED
    return Match.DIFFERENT


def known_sets(reference: ArmDescription, hand: str | None = None) -> list[ArmDescription]:
    """
    Return the published sets for the reference's geometry, as arms with a hand or without.

    The sets of the reference's file come first, then those of shipped arms with the same DH rows.
    Without `hand`, each set is returned with no hand and with every shipped hand.
    """
    hands = (NO_HAND, *available_hands()) if hand is None else (hand,)
    found: dict[tuple[str, str, str], ArmDescription] = {}
    for file in dict.fromkeys((reference.file or reference.name, *available_arms())):
        if not _same_geometry(load(file), reference):
            continue
        for name, one in product(available_sets(file), hands):
            arm = load(file, name, hand=one)
            found.setdefault((arm.name, arm.inertial_set, arm.hand), arm)
    return list(found.values())


def nearest_set(
    found: Sequence[LinkInertia], known: Sequence[ArmDescription], arm: str
) -> NearestSet:
    """
    Return the published set nearest to the inertias of some links.

    The nearest set has the fewest links that differ; ties are decided by the fewest rounded links,
    then in favour of the arm named `arm`, then by the smallest sum of distances.
    """

    def judged(candidate: ArmDescription) -> NearestSet:
        pairs = list(zip(found, candidate.links))
        return NearestSet(
            candidate,
            tuple(match(a, b) for a, b in pairs),
            tuple(_largest(a.parameters() - b.parameters()) for a, b in pairs),
        )

    def rank(judgement: NearestSet) -> tuple[int, int, bool, float]:
        return (
            judgement.matches.count(Match.DIFFERENT),
            judgement.matches.count(Match.ROUNDED),
            judgement.known.name != arm,
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


def _largest(values: Array) -> float:
    return float(np.abs(values).max())
