# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the published set of inertias, and the hand, nearest to those of an arm."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ..arm import ArmDescription, available_hands, available_sets, LinkInertia, load
from ..arm.bodies import NO_HAND
from ..arrays import Array
from ..spatial import inverse_transform

# Two links are the same if mass, moments and tensors differ by at most half a unit of the fourth
# decimal, to which the coarsest published table is rounded, and a tensor by at most
# TENSOR_ROUNDING_RATIO of its largest element.
TABLE_ROUNDING = 5.0001e-5  # [kg, kg m, kg m^2]
TENSOR_ROUNDING_RATIO = 0.02
_MASS_RATIO_TOLERANCE = 1e-6  # a larger mass may differ by this share


@dataclass(frozen=True, eq=False)
class NearestSet:
    """
    The published inertial set nearest to an arm's links, with the distance of each link.

    `published_arm` is an arm with the published set and a hand or none; str() names arm, set and
    hand. For each link, `matches` says whether it is the same within rounding, `distances` has the
    largest difference of the ten parameters (kg, kg m, kg m^2).
    """

    published_arm: ArmDescription
    matches: tuple[bool, ...]
    distances: tuple[float, ...]

    def __str__(self) -> str:
        """Return arm, set and hand in words."""
        hand = 'no hand' if self.published_arm.hand == NO_HAND else self.published_arm.hand
        return f'{self.published_arm.name} {self.published_arm.inertial_set}, {hand}'

    @property
    def distance(self) -> float:
        """The largest difference of an inertial parameter of any link [kg, kg m, kg m^2]."""
        return max(self.distances)


def agree_within_rounding(found: LinkInertia, known: LinkInertia) -> bool:
    """Return whether two links' inertial parameters agree within published tables' rounding."""
    if abs(found.mass - known.mass) > max(TABLE_ROUNDING, _MASS_RATIO_TOLERANCE * known.mass):
        return False
    fields = {'center_of_mass': 'inertia_at_center_of_mass', 'first_moment': 'inertia'}
    for vector, tensor in fields.items():
        expected = getattr(known, tensor)
        change = _largest_entry(getattr(found, tensor) - expected)
        moved = _largest_entry(getattr(found, vector) - getattr(known, vector))
        bound = min(TABLE_ROUNDING, TENSOR_ROUNDING_RATIO * _largest_entry(expected))
        if moved <= TABLE_ROUNDING and change <= bound:
            return True
    return False


def published_sets(
    reference: ArmDescription, hand: str | None = None, inertial_set: str | None = None
) -> list[ArmDescription]:
    """
    Return an arm in each published inertial set of its file, with each hand and without.

    Without `hand`, each set is returned with no hand and with every shipped hand; with
    `inertial_set` that set alone.
    """
    file = reference.file or reference.name
    hands = (NO_HAND, *available_hands()) if hand is None else (hand,)
    sets = [name for name in available_sets(file) if inertial_set in (None, name)]
    return [load(file, name, hand=one) for name, one in product(sets, hands)]


def nearest_set(found: Sequence[LinkInertia], known: Sequence[ArmDescription]) -> NearestSet:
    """
    Return which of the arms `known` has links nearest to the links `found`, and how near.

    The nearest set has the fewest links that differ; ties are decided by the smallest sum of the
    other links' distances, then by all links' distances.
    """

    def compared(candidate: ArmDescription) -> NearestSet:
        """Return the distances between a candidate's links and the links `found`."""
        pairs = list(zip(found, candidate.links))
        matches = tuple(agree_within_rounding(a, b) for a, b in pairs)
        distances = (_largest_entry(a.parameters() - b.parameters()) for a, b in pairs)
        return NearestSet(candidate, matches, tuple(distances))

    def rank(one: NearestSet) -> tuple[int, float, float]:
        """Return the sort key of a candidate; the smallest key is that of the nearest one."""
        apart = sum(distance for distance, same in zip(one.distances, one.matches) if same)
        return one.matches.count(False), apart, sum(one.distances)

    return min(map(compared, known), key=rank)


def _largest_entry(values: Array) -> float:
    """Return the largest absolute value of an array."""
    return float(np.abs(values).max())


def links_in_frames_of(arm: ArmDescription, other: ArmDescription) -> tuple[LinkInertia, ...]:
    """Return inertial parameters of the links of `other` in the DH frames of `arm` (same axes)."""
    zero = np.zeros(arm.n)
    pairs = zip(other.links, arm.frames(zero), other.frames(zero))
    return tuple(link.expressed_in(inverse_transform(here) @ there) for link, here, there in pairs)
