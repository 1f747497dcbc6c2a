# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Links compared with every published set: what differs, why, and what that does to torque."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .published_inertials import (
    ErrorPattern,
    identify,
    known_sets,
    KnownSet,
    likeliest_error_pattern,
    Match,
    match,
    NearestSet,
)
from .torque_effect import Difference, effect_of_links, TorqueEffect
from ..arm import ArmDescription, available_hands, LinkInertia, load_hand
from ..arm.hand_file import NO_HAND
from ..arm.inertia import six_from_tensor, TENSOR_ORDER
from ..spatial import pose_from_xyz_rpy


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


_UNEXPLAINED = 'edited, identified anew, or from a source that is not known here'


_MOUNTED_AT = -45.0  # [deg] about the flange's z, as Franka mounts its hand


@dataclass(frozen=True, eq=False)
class InertialComparison:
    """The nearest known set, what speaks against the links, and what is only to be said."""

    identification: NearestSet
    total: TorqueEffect
    findings: tuple[Difference, ...]
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
    # What only rounding seems to separate from a known link may still be a certain error.
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

    def finding(self, i: int) -> Difference:
        """Return what is different about a link, and the likeliest cause."""
        pattern = self._last_link() if i == len(self._links) - 1 else None
        pattern = pattern or likeliest_error_pattern(
            self._links[i], self._known.links[i], self._neighbours(i)
        )
        quantity, found, expected = _worst_quantity(self._links[i], self._known.links[i])
        cause, certain = (pattern.cause, pattern.certain) if pattern else (_UNEXPLAINED, False)
        return _difference(
            f'link {self._names[i]}',
            quantity,
            f'{expected} ({self._known})',
            found,
            cause,
            self._effect(i),
            certain,
        )

    def _neighbours(self, i: int) -> dict[str, LinkInertia]:
        return {self._names[j]: link for j, link in enumerate(self._known.links) if j != i}

    def _effect(self, i: int) -> TorqueEffect:
        changed = list(self._known.links)
        changed[i] = self._links[i]
        return effect_of_links(self._reference, changed, self._known.links)

    def _last_link(self) -> ErrorPattern | None:
        """Explain the last link by what it carries, or by an error pattern under a known hand."""
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
            pattern = likeliest_error_pattern(found - hand.expressed_in(flange), bare, neighbours)
            if pattern is not None:
                return replace(pattern, cause=f'{pattern.cause} (beneath {name})')
        pattern = likeliest_error_pattern(found, bare, neighbours)
        if pattern is None and tool.mass > 0.0 and tool.is_physical():
            center = ', '.join(f'{value:.3g}' for value in tool.center_of_mass)
            return ErrorPattern(
                f'a tool of {tool.mass:.4g} kg at ({center}) m from the flange that is '
                'no known hand',
                found,
                certain=False,
            )
        return pattern

    def unphysical(self, identification: NearestSet) -> list[Difference]:
        """Return links that no real body could be, but for those published so."""
        return [
            _difference(
                f'link {name}',
                'the smallest eigenvalue of its pseudo-inertia',
                'zero or more',
                f'{link.consistency_margin():.3g}',
                'no real body has these parameters',
            )
            for name, link, near in zip(self._names, self._links, identification.matches)
            if near is Match.DIFFERENT and not link.is_physical()
        ]

    def hand(self, expected: str | None, massless: Sequence[str]) -> list[Difference]:
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
            _difference(
                f'link {self._names[-1]}',
                'mass',
                f'{expected_link.mass:.6g} kg',
                f'{self._links[-1].mass:.6g} kg',
                cause,
                effect,
                certain,
            )
        ]

    def other_arm(self) -> list[Difference]:
        """Return the finding that these are the inertials of another arm, if they are."""
        if self._known.arm == self._reference.name:
            return []
        effect = effect_of_links(self._reference, self._links, self._reference.links)
        return [
            _difference(
                'the arm',
                'inertial set',
                f'a set of {self._reference.name}',
                str(self._known),
                f'the URDF is that of a {self._known.arm}',
                effect,
                certain=False,
            )
        ]


def _difference(
    place: str,
    quantity: str,
    expected: str,
    found: str,
    cause: str,
    effect: TorqueEffect | None = None,
    certain: bool = True,
) -> Difference:
    size = 0.0 if effect is None else max(effect.upright, effect.tilted)
    words = '' if effect is None else str(effect)
    return Difference(
        place, quantity, expected, found, '', size, cause=cause, effect=words, certain=certain
    )


def _worst_quantity(found: LinkInertia, known: LinkInertia) -> tuple[str, str, str]:
    """Return the quantity that is relatively farthest off, and both its values as text."""
    center, expected_center = found.center_of_mass, known.center_of_mass
    six = six_from_tensor(found.inertia_at_center_of_mass)
    expected_six = six_from_tensor(known.inertia_at_center_of_mass)
    # A centre of mass is compared with the size of a link, so that one at 0 does not win always.
    size = max(float(np.linalg.norm(expected_center)), 0.05)
    mass_gap = abs(found.mass - known.mass) / max(known.mass, 1e-9)
    center_gap = np.abs(center - expected_center) / size
    six_gap = np.abs(six - expected_six) / max(float(np.abs(expected_six).max()), 1e-12)
    if mass_gap >= max(center_gap.max(), six_gap.max()):
        return 'mass', f'{found.mass:.6g} kg', f'{known.mass:.6g} kg'
    if center_gap.max() >= six_gap.max():
        k = int(center_gap.argmax())
        return (f'centre of mass {"xyz"[k]}', f'{center[k]:.6g} m', f'{expected_center[k]:.6g} m')
    k = int(six_gap.argmax())
    return (
        f'i{TENSOR_ORDER[k]} about the centre of mass',
        f'{six[k]:.6g} kg m^2',
        f'{expected_six[k]:.6g} kg m^2',
    )
