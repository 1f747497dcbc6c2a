# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A URDF against the arm that it should be, parameter by parameter in DH frames."""

from __future__ import annotations

from numpy.typing import ArrayLike

from .description_comparison import compare_descriptions, Difference
from .model import GRAVITY
from ..arm import ArmDescription
from ..arm.urdf_description import description_from_urdf

# A URDF's text is rounded; pi/2 written as 1.570796 is 3e-7 off.
TEXT = 1e-6


def compare_urdf(xml: str, source: str, *, arm: str | None = None, prefix: str | None = None,
                 tolerance: float = TEXT, gravity: ArrayLike = GRAVITY,
                 second_gravity: ArrayLike | None = None,
                 ) -> tuple[ArmDescription, tuple[Difference, ...]]:
    """
    Return the arm that a URDF should be, and every parameter in which it departs.

    Two readings of the last frame are possible (`description_from_urdf`); the one that needs
    fewer differences is taken, the URDF's own frame where both need equally many.

    Parameters
    ----------
    xml, source, arm, prefix
        As for `description_from_urdf`.
    tolerance, gravity, second_gravity
        As for `compare_descriptions`.

    """
    readings = []
    for trust_last_frame in (True, False):
        reference, read = description_from_urdf(xml, source, arm=arm, prefix=prefix,
                                                trust_last_frame=trust_last_frame)
        readings.append(compare_descriptions(
            reference, read, tolerance=tolerance, gravity=gravity, second_gravity=second_gravity))
    return reference, min(readings, key=len)
