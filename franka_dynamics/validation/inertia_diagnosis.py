# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Links compared with every published set: what differs, why, and what that does to torque."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np

from .published_inertials import (
    EXACT,
    Identification,
    identify,
    known_sets,
    KnownSet,
    Match,
    match,
)
from .torque_effect import effect_of_links, TorqueEffect
from ..arm import ArmDescription, available_hands, LinkInertia, load_hand
from ..arm.hand_file import NO_HAND
from ..arm.inertia import six_from_tensor, TENSOR_ORDER
from ..spatial import pose_from_xyz_rpy
from ..urdf.finding import Finding

_AXES = 'xyz'
# Other orders in which libraries keep the six elements, as places in xx xy xz yy yz zz.
_ELEMENT_ORDERS = {
    "Pinocchio's order xx xy yy xz yz zz": (0, 1, 3, 2, 4, 5),
    'the order xx yy zz xy xz yz': (0, 3, 5, 1, 2, 4),
    'the order xx yy zz xy yz xz': (0, 3, 5, 1, 4, 2),
}


@dataclass(frozen=True, eq=False)
class ErrorPattern:
    """A way to write a link wrongly: in words, what came of it, and whether it can be meant."""

    cause: str
    link: LinkInertia
    certain: bool = True


def likeliest_error_pattern(
    found: LinkInertia, known: LinkInertia, neighbours: dict[str, LinkInertia]
) -> ErrorPattern | None:
    """
    Return the mistake that turns a known link into the one found, if one does.

    Parameters
    ----------
    found, known : LinkInertia
        Both in the same frame.
    neighbours : dict of str to LinkInertia
        The other links of the known set, by name: rows of a table slip.

    """
    made = list(_error_patterns(known, neighbours))
    for nearness in (Match.EXACT, Match.ROUNDED):
        for mistake in made:
            if match(found, mistake.link) <= nearness and match(mistake.link, known) > nearness:
                return mistake
    return _single_quantity(found, known)


def tool_on(found: LinkInertia, bare: LinkInertia, flange: np.ndarray) -> LinkInertia:
    """Return what is on a bare last link, in the flange frame of pose `flange` in its frame."""
    inverse = np.eye(4)
    inverse[:3, :3] = flange[:3, :3].T
    inverse[:3, 3] = -flange[:3, :3].T @ flange[:3, 3]
    return (found - bare).expressed_in(inverse)


def mounting_angle(tool: LinkInertia, hand: LinkInertia) -> float | None:
    """Return the angle [deg] by which a known hand is turned about the flange's z, if it is."""
    for degrees in range(-180, 180, 15):
        turn = pose_from_xyz_rpy(np.zeros(3), (0.0, 0.0, np.radians(degrees)))
        if match(tool, hand.expressed_in(turn)) is Match.EXACT:
            return float(degrees)
    return None


def _error_patterns(
    known: LinkInertia, neighbours: dict[str, LinkInertia]
) -> Iterator[ErrorPattern]:
    m, c, h = known.mass, known.center_of_mass, known.first_moment
    at_center, at_origin = known.inertia_at_center_of_mass, known.inertia
    about_center = LinkInertia.from_center_of_mass
    yield ErrorPattern(
        'the inertia given is the one about the frame origin, but URDF means the one '
        'about the centre of mass',
        about_center(m, c, at_origin),
    )
    yield ErrorPattern(
        'a centre-of-mass inertia is passed off as one about the frame origin (the '
        'term m (|c|^2 1 - c c^T) is missing)',
        LinkInertia(m, h, at_center),
    )
    yield ErrorPattern(
        'the centre of mass is left out (no <origin> in <inertial>)',
        LinkInertia(m, np.zeros(3), at_center),
    )
    yield ErrorPattern(
        'the centre of mass is left out, the inertia is about the frame origin',
        LinkInertia(m, np.zeros(3), at_origin),
    )
    yield ErrorPattern(
        'the first moment m c is given as the centre of mass', about_center(m, h, at_center)
    )
    yield ErrorPattern(
        'the first moment m c is given as the centre of mass, and the inertia about '
        'the frame origin as the one about it',
        about_center(m, h, at_origin),
    )
    yield from _turned(known)
    yield from _reordered(known)
    yield from _units(known)
    for name, other in neighbours.items():
        yield ErrorPattern(f'these are the figures of {name}: the rows have slipped', other)


def _turned(known: LinkInertia) -> Iterator[ErrorPattern]:
    """Yield axes swapped or turned around: in the tensor, in the centre of mass, in both."""
    m, c, tensor = known.mass, known.center_of_mass, known.inertia_at_center_of_mass
    about_center = LinkInertia.from_center_of_mass
    orders = sorted(permutations(range(3)), key=lambda p: sum(a != b for a, b in zip(p, range(3))))
    for order, signs in product(orders, product((1.0, -1.0), repeat=3)):
        turn = np.diag(signs) @ np.eye(3)[list(order)]
        if np.array_equal(turn, np.eye(3)):
            continue
        words = ' '.join(
            f'{"-" if sign < 0 else ""}{_AXES[axis]}' for axis, sign in zip(order, signs)
        )
        new_tensor = turn @ tensor @ turn.T
        yield ErrorPattern(
            f'the axes of the inertia are swapped or turned (x y z taken as {words})',
            about_center(m, c, new_tensor),
        )
        yield ErrorPattern(
            f'the axes of the centre of mass are swapped or turned (x y z taken as {words})',
            about_center(m, turn @ c, tensor),
        )
        yield ErrorPattern(
            f'the axes of the link are swapped or turned (x y z taken as {words}): another frame',
            about_center(m, turn @ c, new_tensor),
        )


def _reordered(known: LinkInertia) -> Iterator[ErrorPattern]:
    """Yield tensors whose six elements were read in another order, or with other signs."""
    m, c, six = (
        known.mass,
        known.center_of_mass,
        six_from_tensor(known.inertia_at_center_of_mass),
    )
    about_center = LinkInertia.from_center_of_mass
    for words, order in _ELEMENT_ORDERS.items():
        yield ErrorPattern(
            f'the elements of the inertia are in {words}', about_center(m, c, six[list(order)])
        )
        yield ErrorPattern(
            f'the elements of the inertia were read as if in {words}',
            about_center(m, c, six[np.argsort(order)]),
        )
    yield ErrorPattern(
        'the products of inertia have the opposite sign',
        about_center(m, c, six * [1.0, -1.0, -1.0, 1.0, -1.0, 1.0]),
    )
    for i, j in ((a, b) for a in range(6) for b in range(a)):
        swapped = six.copy()
        swapped[[i, j]] = swapped[[j, i]]
        names = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        yield ErrorPattern(f'{names[j]} and {names[i]} are swapped', about_center(m, c, swapped))


def _units(known: LinkInertia) -> Iterator[ErrorPattern]:
    m, c, tensor = known.mass, known.center_of_mass, known.inertia_at_center_of_mass
    about_center = LinkInertia.from_center_of_mass
    yield ErrorPattern('the mass is in grams', about_center(1e3 * m, c, tensor))
    yield ErrorPattern('the centre of mass is in millimetres', about_center(m, 1e3 * c, tensor))
    yield ErrorPattern('the inertia is in kg mm^2', about_center(m, c, 1e6 * tensor))
    yield ErrorPattern('the inertia is in g mm^2', about_center(m, c, 1e9 * tensor))


def _single_quantity(found: LinkInertia, known: LinkInertia) -> ErrorPattern | None:
    """Return which one of mass, centre of mass and inertia differs, if it is only one."""
    about_center = LinkInertia.from_center_of_mass
    tensor = known.inertia_at_center_of_mass
    candidates = {
        'only the mass differs: a wrong mass': about_center(
            found.mass, known.center_of_mass, tensor
        ),
        'only the mass differs, first moment and inertia about the frame origin do not: a wrong '
        'mass': LinkInertia(found.mass, known.first_moment, known.inertia),
        'only the centre of mass differs': about_center(known.mass, found.center_of_mass, tensor),
        'only the inertia differs': about_center(
            known.mass, known.center_of_mass, found.inertia_at_center_of_mass
        ),
    }
    for cause, link in candidates.items():
        if match(found, link) is Match.EXACT:
            return ErrorPattern(cause, link, certain=False)
    ratio = found.mass / known.mass if known.mass else 0.0
    if ratio > 0.0 and abs(ratio - 1.0) > EXACT:
        scaled = LinkInertia.from_parameters(ratio * known.parameters())
        if match(found, scaled) is Match.EXACT:
            return ErrorPattern(f'all parameters are scaled by {ratio:.6g}', scaled, certain=False)
    return None


_UNEXPLAINED = 'edited, identified anew, or from a source that is not known here'
_MOUNTED_AT = -45.0  # [deg] about the flange's z, as Franka mounts its hand


@dataclass(frozen=True, eq=False)
class InertialComparison:
    """The nearest known set, what speaks against the links, and what is only to be said."""

    identification: Identification
    total: TorqueEffect
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def known(self) -> bool:
        """Whether the links are a published set, in numbers or in every torque."""
        return self.identification.worst is not Match.DIFFERENT or self.total.none


def compare_inertials(
    links: Sequence[LinkInertia],
    link_names: Sequence[str],
    reference: ArmDescription,
    *,
    expected_hand: str | None = None,
    massless_hand: Sequence[str] = (),
    accept_unknown: bool = False,
) -> InertialComparison:
    """
    Compare links, in the DH frames of an arm, with every known set and hand.

    Parameters
    ----------
    links : sequence of LinkInertia
        The links found, in DH frames, the last with all that it carries.
    link_names : sequence of str
        What findings call them.
    reference : ArmDescription
        The described arm, whose rows and limits count for the effect on torque.
    expected_hand : str, optional
        The hand that must be there, or 'none'; any if not given.
    massless_hand : sequence of str
        Links or joints of a hand that the source has without mass.
    accept_unknown : bool
        Whether differences that may be meant are notes, not findings.

    """
    candidates = known_sets(reference)
    identification = identify(links, candidates, reference.name)
    inspector = _Inspector(links, link_names, reference, identification.known, candidates)
    total = effect_of_links(reference, links, identification.known.links)
    judgement = InertialComparison(identification, total, (), ())
    different = [
        inspector.finding(i)
        for i, near in enumerate(identification.matches)
        if near is Match.DIFFERENT
    ]
    # What only rounding seems to separate from a known link may still be a certain mistake.
    rounded = [
        inspector.finding(i)
        for i, near in enumerate(identification.matches)
        if near is Match.ROUNDED
    ]
    found = [finding for finding in different if finding.certain or not total.none]
    found += [finding for finding in rounded if finding.certain]
    found += inspector.unphysical(identification)
    if judgement.known:
        found += [*inspector.hand(expected_hand, massless_hand), *inspector.other_arm()]
    refused = [finding for finding in found if finding.certain or not accept_unknown]
    notes = [f'{finding} Accepted.' for finding in found if finding not in refused]
    notes += [f'{finding} Passed.' for finding in different if finding not in found]
    if not refused and identification.worst is not Match.EXACT:
        notes.append(f'The difference to {identification.known} acts on torques: {total}.')
    return replace(judgement, findings=tuple(refused), notes=tuple(notes))


class _Inspector:
    """Explains, one link at a time, what differs from one known set."""

    def __init__(
        self,
        links: Sequence[LinkInertia],
        names: Sequence[str],
        reference: ArmDescription,
        known: KnownSet,
        candidates: Sequence[KnownSet],
    ) -> None:
        self._links, self._names, self._reference = links, names, reference
        self._known = known
        self._bare = next(
            other
            for other in candidates
            if other.hand == NO_HAND
            and (other.arm, other.inertial_set) == (known.arm, known.inertial_set)
        )

    def finding(self, i: int) -> Finding:
        """Return what is different about a link, and the likeliest cause."""
        mistake = self._last_link() if i == len(self._links) - 1 else None
        mistake = mistake or likeliest_error_pattern(
            self._links[i], self._known.links[i], self._neighbours(i)
        )
        quantity, found, expected = _worst_quantity(self._links[i], self._known.links[i])
        cause, certain = (mistake.cause, mistake.certain) if mistake else (_UNEXPLAINED, False)
        return Finding(
            f'link {self._names[i]}',
            quantity,
            found,
            f'{expected} ({self._known})',
            cause,
            str(self._effect(i)),
            certain,
        )

    def _neighbours(self, i: int) -> dict[str, LinkInertia]:
        return {self._names[j]: link for j, link in enumerate(self._known.links) if j != i}

    def _effect(self, i: int) -> TorqueEffect:
        changed = list(self._known.links)
        changed[i] = self._links[i]
        return effect_of_links(self._reference, changed, self._known.links)

    def _last_link(self) -> ErrorPattern | None:
        """Explain the last link by what it carries, or by a mistake under a known hand."""
        found, bare = self._links[-1], self._bare.links[-1]
        flange = self._reference.flange_transform()
        neighbours = self._neighbours(len(self._links) - 1)
        tool = tool_on(found, bare, flange)
        for name in available_hands():
            hand = load_hand(name)
            degrees = mounting_angle(tool, hand)
            if degrees:
                return ErrorPattern(
                    f'{name} is mounted at {_MOUNTED_AT + degrees:g} deg about the '
                    f"flange's z, not at {_MOUNTED_AT:g} deg",
                    found,
                    certain=False,
                )
            mistake = likeliest_error_pattern(found - hand.expressed_in(flange), bare, neighbours)
            if mistake is not None:
                return replace(mistake, cause=f'{mistake.cause} (beneath {name})')
        mistake = likeliest_error_pattern(found, bare, neighbours)
        if mistake is None and tool.mass > 0.0 and tool.is_physical():
            center = ', '.join(f'{value:.3g}' for value in tool.center_of_mass)
            return ErrorPattern(
                f'a tool of {tool.mass:.4g} kg at ({center}) m from the flange that is '
                'no known hand',
                found,
                certain=False,
            )
        return mistake

    def unphysical(self, identification: Identification) -> list[Finding]:
        """Return links that no real body could be, but for those published so."""
        return [
            Finding(
                f'link {name}',
                'the smallest eigenvalue of its pseudo-inertia',
                f'{link.consistency_margin():.3g}',
                'zero or more',
                'no real body has these parameters',
            )
            for name, link, near in zip(self._names, self._links, identification.matches)
            if near is Match.DIFFERENT and not link.is_physical()
        ]

    def hand(self, expected: str | None, massless: Sequence[str]) -> list[Finding]:
        """Return what speaks against the hand that was recognised."""
        present = self._known.hand
        if expected is None and present == NO_HAND and massless:
            expected, certain = 'franka_hand', False
            cause = f'the URDF has a hand ({", ".join(massless)}), but its mass is missing'
        elif expected is None or expected == present:
            return []
        else:
            certain = True
            cause = (
                f'the hand {expected} is missing'
                if present == NO_HAND
                else f'the hand {present} is mounted, but {expected} was expected'
            )
        expected_link = self._bare.links[-1]
        if expected != NO_HAND:
            expected_link = expected_link + load_hand(expected).expressed_in(
                self._reference.flange_transform()
            )
        with_hand = (*self._known.links[:-1], expected_link)
        effect = effect_of_links(self._reference, self._links, with_hand)
        return [
            Finding(
                f'link {self._names[-1]}',
                'mass',
                f'{self._links[-1].mass:.6g} kg',
                f'{expected_link.mass:.6g} kg',
                cause,
                str(effect),
                certain,
            )
        ]

    def other_arm(self) -> list[Finding]:
        """Return the finding that these are the inertials of another arm, if they are."""
        if self._known.arm == self._reference.name:
            return []
        effect = effect_of_links(self._reference, self._links, self._reference.links)
        return [
            Finding(
                'the arm',
                'inertial set',
                str(self._known),
                f'a set of {self._reference.name}',
                f'the URDF is that of a {self._known.arm}',
                str(effect),
                certain=False,
            )
        ]


def _worst_quantity(found: LinkInertia, known: LinkInertia) -> tuple[str, str, str]:
    """Return the quantity that is relatively farthest off, and both its values as text."""
    center, wanted_center = found.center_of_mass, known.center_of_mass
    six = six_from_tensor(found.inertia_at_center_of_mass)
    wanted_six = six_from_tensor(known.inertia_at_center_of_mass)
    # A centre of mass is compared with the size of a link, so that one at 0 does not win always.
    size = max(float(np.linalg.norm(wanted_center)), 0.05)
    mass_gap = abs(found.mass - known.mass) / max(known.mass, 1e-9)
    center_gap = np.abs(center - wanted_center) / size
    six_gap = np.abs(six - wanted_six) / max(float(np.abs(wanted_six).max()), 1e-12)
    if mass_gap >= max(center_gap.max(), six_gap.max()):
        return 'mass', f'{found.mass:.6g} kg', f'{known.mass:.6g} kg'
    if center_gap.max() >= six_gap.max():
        k = int(center_gap.argmax())
        return (f'centre of mass {"xyz"[k]}', f'{center[k]:.6g} m', f'{wanted_center[k]:.6g} m')
    k = int(six_gap.argmax())
    return (
        f'i{TENSOR_ORDER[k]} about the centre of mass',
        f'{six[k]:.6g} kg m^2',
        f'{wanted_six[k]:.6g} kg m^2',
    )
