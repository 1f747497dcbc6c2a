# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Is this URDF that arm? The verdict of the node, and every number in which the URDF departs.

The verdict (`urdf_check`) decides; the numbers (`comparison`) say what to change, each with its
effect on torque and the verdict's likeliest cause.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike

from .comparison import compare_descriptions
from .published_inertials import identify, known_sets
from .torque_effect import Difference, effect_together, JointEffect
from .urdf_check import model_from_urdf, UrdfVerdict
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..errors import UrdfMismatchError
from ..urdf.document import parse_urdf
from ..urdf.geometry import description_from_urdf, Finding
from ..urdf.importer import detect_arm
from ..urdf.serial_chain import read_chain

# A URDF's text is rounded; pi/2 written as 1.570796 is 3e-7 off.
TEXT = 1e-6


@dataclass(frozen=True, eq=False)
class UrdfComparison:
    """
    A URDF compared with the arm that it should be.

    `verdict` says whether it is. `arm` is that arm with the published inertials nearest to the
    URDF's; `differences` are from it, by their effect on torque. `together` is what all of them
    do at once.
    """

    arm: ArmDescription
    verdict: UrdfVerdict
    differences: tuple[Difference, ...]
    together: JointEffect

    @property
    def passed(self) -> bool:
        """Whether a node would take the URDF, and is used with the same gravity."""
        return self.verdict.passed and not any(
            one.parameter.startswith('gravity') for one in self.differences
        )

    @property
    def nearest(self) -> str:
        """The arm with its inertials, in words."""
        return f'{self.arm.name} ({self.arm.inertial_set}, hand {self.arm.hand})'

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The verdict's findings that no single number shows, such as a hand that is missing."""
        causes = {one.cause for one in self.differences}
        return tuple(one for one in self.verdict.findings if one.cause not in causes)

    def as_data(self) -> dict[str, Any]:
        """Return what was found as plain data."""
        verdict = self.verdict
        return {
            'urdf': verdict.source,
            'arm': self.arm.name,
            'passed': self.passed,
            'inertial_set': verdict.inertial_set,
            'hand': verdict.hand,
            'nearest': self.nearest,
            'summary': verdict.summary(),
            'findings': [str(one) for one in verdict.findings],
            'notes': list(verdict.notes),
            'differences': [one.as_data() for one in self.differences],
        }


def compare_urdf(
    xml: str,
    source: str,
    *,
    arm: str | None = None,
    prefix: str | None = None,
    tolerance: float = TEXT,
    gravity: ArrayLike = GRAVITY,
    second_gravity: ArrayLike | None = None,
    expected_hand: str | None = None,
    accept_unknown_inertials: bool = False,
) -> UrdfComparison:
    """
    Return the verdict on a URDF, and every parameter in which it departs from the nearest arm.

    Two readings of the last frame are possible (`description_from_urdf`); the one that needs
    fewer differences is taken, the URDF's own frame where both need equally many.

    Parameters
    ----------
    xml, source, arm, prefix
        As for `description_from_urdf`.
    tolerance, gravity, second_gravity
        As for `compare_descriptions`.
    expected_hand, accept_unknown_inertials
        As for `model_from_urdf`.

    Raises
    ------
    UrdfError
        If the text cannot be read as this chain, or a link or joint lacks what is needed.

    """
    reference, names = detect_arm(parse_urdf(xml, source), arm=arm, prefix=prefix)
    try:
        verdict = model_from_urdf(
            xml,
            reference,
            source=source,
            joint_names=names,
            expected_hand=expected_hand,
            accept_unknown_inertials=accept_unknown_inertials,
        ).verdict
    except UrdfMismatchError as mismatch:
        verdict = mismatch.verdict
    readings = []
    for trust_last_frame in (True, False):
        first, read = description_from_urdf(
            xml, source, arm=arm, prefix=prefix, trust_last_frame=trust_last_frame
        )
        first = _with_nearest_inertials(first, read)
        readings.append(
            (
                first,
                compare_descriptions(
                    first,
                    read,
                    tolerance=tolerance,
                    gravity=gravity,
                    second_gravity=second_gravity,
                ),
            )
        )
    first, found = min(readings, key=lambda reading: len(reading[1]))
    links = {joint.link: joint.name for joint in read_chain(xml, names, source).joints}
    return UrdfComparison(
        first,
        verdict,
        _with_causes(found, verdict, links),
        effect_together(first, found, gravity=gravity),
    )


def _with_nearest_inertials(reference: ArmDescription, read: ArmDescription) -> ArmDescription:
    known = identify(read.links, known_sets(reference), reference.name).known
    if known.arm != reference.name:
        return reference
    return replace(reference, links=known.links, inertial_set=known.inertial_set, hand=known.hand)


def _with_causes(
    differences: tuple[Difference, ...], verdict: UrdfVerdict, links: dict[str, str]
) -> tuple[Difference, ...]:
    """Return the differences with the causes that the verdict found for their places."""
    causes = {}
    for finding in verdict.findings:
        kind, _, name = finding.place.partition(' ')
        place = links.get(name, name) if kind == 'link' else name
        causes[place, finding.quantity if kind == 'joint' else ''] = finding.cause
    return tuple(
        replace(
            one,
            cause=causes.get(
                (one.place, one.parameter),
                causes.get((one.place, ''), '') if _is_inertial(one.parameter) else '',
            ),
        )
        for one in differences
    )


def _is_inertial(parameter: str) -> bool:
    return parameter.startswith(('mass', 'centre of mass', 'first moment', 'inertia'))
