# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the published set nearest to given inertias, and the typical error in a link's inertia."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import permutations, product

import numpy as np

from ..arm import (
    ArmDescription,
    available_arms,
    available_hands,
    available_sets,
    LinkInertia,
    load,
    load_hand,
)
from ..arm.hand_file import hand_file, NO_HAND
from ..arm.inertia import six_from_tensor, TENSOR_ORDER
from ..spatial import inverse_transform, pose_from_xyz_rpy
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
    for file in (reference.file or reference.name, *available_arms()):
        for name, one in product(available_sets(file), hands):
            arm = load(file, name, hand=one)
            key = (arm.name, arm.inertial_set, arm.hand)
            if key not in found and _same_geometry(arm, reference):
                found[key] = arm
    return list(found.values())


def identify(
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


_AXES = 'xyz'
_MOUNTED_AT = -45.0  # [deg] about the flange's z, as Franka mounts its hand
# Other orders of an inertia tensor's elements in libraries, as indices into xx xy xz yy yz zz.
_ELEMENT_ORDERS = {
    "Pinocchio's order xx xy yy xz yz zz": (0, 1, 3, 2, 4, 5),
    'the order xx yy zz xy xz yz': (0, 3, 5, 1, 2, 4),
    'the order xx yy zz xy yz xz': (0, 3, 5, 1, 4, 2),
}


@dataclass(frozen=True)
class ErrorPattern:
    """
    A typical error in a link's inertia.

    `cause` names the error in words; `certain` is false if the link's inertia may be intended,
    as with an unknown tool.
    """

    cause: str
    certain: bool = True


def error_pattern(first: ArmDescription, second: ArmDescription, i: int) -> ErrorPattern | None:
    """
    Return the typical error that turns the first arm's link i into the second's, or None.

    A last link may also be explained by a hand or tool. For a link that no real body can have, and
    that no certain error explains, the pattern says this.
    """
    found, known = second.links[i], first.links[i]
    neighbours = {
        name: link for j, (name, link) in enumerate(zip(first.joint_names, first.links)) if j != i
    }
    pattern = _last_link_pattern(found, first, neighbours) if i == first.n - 1 else None
    pattern = pattern or likeliest_error_pattern(found, known, neighbours)
    impossible = match(found, known) is Match.DIFFERENT and not found.is_physical()
    if impossible and not (pattern and pattern.certain):
        return ErrorPattern('no real body has these parameters')
    return pattern


def _last_link_pattern(
    found: LinkInertia, first: ArmDescription, neighbours: dict[str, LinkInertia]
) -> ErrorPattern | None:
    """Return the hand, tool or error that explains a last link, or None."""
    flange = first.flange_transform()
    bare = first.links[-1]
    if first.hand != NO_HAND and hand_file(first.hand).is_file():
        bare = bare - load_hand(first.hand).expressed_in(flange)
        if match(found, bare) is Match.EXACT:
            return ErrorPattern(f'the hand {first.hand} is missing')
    tool = (found - bare).expressed_in(inverse_transform(flange))
    for name in available_hands():
        hand = load_hand(name)
        degrees = mounting_angle(tool, hand)
        if degrees == 0.0 and name != first.hand:
            return ErrorPattern(f'the hand {name} is mounted')
        if degrees:
            return ErrorPattern(
                f"{name} is mounted at {_MOUNTED_AT + degrees:g} deg about the flange's z, not "
                f'at {_MOUNTED_AT:g} deg',
                certain=False,
            )
        pattern = likeliest_error_pattern(found - hand.expressed_in(flange), bare, neighbours)
        if pattern is not None:
            return replace(pattern, cause=f'{pattern.cause} (beneath {name})')
    pattern = likeliest_error_pattern(found, bare, neighbours)
    if pattern is None and tool.mass > 0.0 and tool.is_physical():
        center = ', '.join(f'{value:.3g}' for value in tool.center_of_mass)
        return ErrorPattern(
            f'a tool of {tool.mass:.4g} kg at ({center}) m from the flange that is no known hand',
            certain=False,
        )
    return pattern


def mounting_angle(tool: LinkInertia, hand: LinkInertia) -> float | None:
    """
    Return the angle [deg] about the flange's z by which a tool is rotated from Franka's mounting.

    `hand` is the hand as Franka mounts it. Multiples of 15 degrees are tried; the result is None
    if the rotated hand equals the tool at none of them.
    """
    for degrees in range(-180, 180, 15):
        pose = pose_from_xyz_rpy(np.zeros(3), (0.0, 0.0, np.radians(degrees)))
        if match(tool, hand.expressed_in(pose)) is Match.EXACT:
            return float(degrees)
    return None


def likeliest_error_pattern(
    found: LinkInertia, known: LinkInertia, neighbours: dict[str, LinkInertia]
) -> ErrorPattern | None:
    """
    Return the error pattern that turns a known link into the found link, or None.

    The known and the found link are in the same frame. `neighbours` are the other links of the
    known set, by name, with which slipped rows of a table are found.
    """
    wrong = _written_wrongly(known, neighbours)
    matches = {cause: match(found, link) for cause, link in wrong.items()}
    for level in (Match.EXACT, Match.ROUNDED):
        for cause, link in wrong.items():
            # An error that leaves a link matching the known link explains nothing.
            if matches[cause] <= level and match(link, known) > level:
                return ErrorPattern(cause)
    return None


def _written_wrongly(
    known: LinkInertia, neighbours: dict[str, LinkInertia]
) -> dict[str, LinkInertia]:
    """Return the links that typical errors make of a known link, by descriptions of the errors."""
    m, c, h = known.mass, known.center_of_mass, known.first_moment
    at_center, at_origin = known.inertia_at_center_of_mass, known.inertia
    about_center = LinkInertia.from_center_of_mass
    return {
        'the inertia given is the one about the frame origin, but URDF means the one about the '
        'centre of mass': about_center(m, c, at_origin),
        'the inertia about the centre of mass is given as that about the frame origin (the term '
        'm (|c|^2 1 - c c^T) is missing)': LinkInertia(m, h, at_center),
        'the centre of mass is left out (no <origin> in <inertial>)': LinkInertia(
            m, np.zeros(3), at_center
        ),
        'the centre of mass is left out, the inertia is about the frame origin': LinkInertia(
            m, np.zeros(3), at_origin
        ),
        'the first moment m c is given as the centre of mass': about_center(m, h, at_center),
        'the first moment m c is given as the centre of mass, and the inertia about the frame '
        'origin as the one about it': about_center(m, h, at_origin),
        **_with_other_axes(m, c, at_center),
        **_reordered(m, c, six_from_tensor(at_center)),
        'the mass is in grams': about_center(1e3 * m, c, at_center),
        'the centre of mass is in millimetres': about_center(m, 1e3 * c, at_center),
        'the inertia is in kg mm^2': about_center(m, c, 1e6 * at_center),
        'the inertia is in g mm^2': about_center(m, c, 1e9 * at_center),
        **{
            f'these are the figures of {name}: the rows have slipped': other
            for name, other in neighbours.items()
        },
    }


def _with_other_axes(m: float, c: Array, tensor: Array) -> dict[str, LinkInertia]:
    """Return links with axes swapped or sign-flipped in the tensor, the centre of mass or both."""
    about_center, found = LinkInertia.from_center_of_mass, {}
    # Orders with few swapped axes come first, because the first order that fits is reported.
    orders = sorted(permutations(range(3)), key=lambda p: sum(a != b for a, b in zip(p, range(3))))
    for order, signs in product(orders, product((1.0, -1.0), repeat=3)):
        rotation = np.diag(signs) @ np.eye(3)[list(order)]
        if np.array_equal(rotation, np.eye(3)):
            continue
        axes = ' '.join(
            f'{"-" if sign < 0 else ""}{_AXES[axis]}' for axis, sign in zip(order, signs)
        )
        how = f'swapped or sign-flipped (x y z taken as {axes})'
        rotated = rotation @ tensor @ rotation.T
        found[f'the axes of the inertia are {how}'] = about_center(m, c, rotated)
        found[f'the axes of the centre of mass are {how}'] = about_center(m, rotation @ c, tensor)
        found[f'the axes of the link are {how}: another frame'] = about_center(
            m, rotation @ c, rotated
        )
    return found


def _reordered(m: float, c: Array, six: Array) -> dict[str, LinkInertia]:
    """Return links whose tensor's elements were read in another order, or with other signs."""
    orders = {
        f'the elements of the inertia are in {words}': six[list(order)]
        for words, order in _ELEMENT_ORDERS.items()
    } | {
        f'the elements of the inertia were read as if in {words}': six[np.argsort(order)]
        for words, order in _ELEMENT_ORDERS.items()
    }
    orders['the products of inertia have the opposite sign'] = six * [1, -1, -1, 1, -1, 1]
    for i, j in ((a, b) for a in range(6) for b in range(a)):
        swapped = six.copy()
        swapped[[i, j]] = swapped[[j, i]]
        orders[f'i{TENSOR_ORDER[j]} and i{TENSOR_ORDER[i]} are swapped'] = swapped
    return {cause: LinkInertia.from_center_of_mass(m, c, one) for cause, one in orders.items()}
