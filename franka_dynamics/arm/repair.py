# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Repairs arms whose published links no real body can be, within the rounding of their tables."""

from dataclasses import replace

import numpy as np

from .description import ArmDescription
from .inertia import repaired_link
from ..errors import InertiaError


def repaired_arm(description: ArmDescription) -> ArmDescription:
    """
    Return the arm with links made physical within its `rounding`; InertiaError if that fails.

    The returned arm's `repairs` has one sentence for each changed link, with its largest change.

    Raises
    ------
    InertiaError
        If the rounding is unknown, or no physical body lies within it.

    """
    if description.rounding == 0.0:
        raise InertiaError(
            f'The inertial set {description.inertial_set!r} of {description.name} states no '
            f'rounding, so nothing says how far its numbers may be moved '
            f'({"; ".join(description.inconsistencies())}). Choose another set, or add '
            '`rounding` if its decimals are known.'
        )
    links = []
    sentences = []
    for joint, link in zip(description.joints, description.links):
        name = f'the link behind {joint.name}'
        repaired = repaired_link(link, description.rounding, name=name)
        if repaired is not link:
            moved = float(np.abs(repaired.parameters() - link.parameters()).max())
            sentences.append(
                f'{name} was not physical as printed (eigenvalue '
                f'{link.consistency_margin():.2g} of its pseudo-inertia); its numbers are moved '
                f'by at most {moved:.2g}, within the rounding of {description.rounding:.2g}'
            )
        links.append(repaired)
    return replace(description, links=tuple(links), repairs=(*description.repairs, *sentences))
