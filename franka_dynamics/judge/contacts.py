# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds seconds of a recording in which something touched the arm.

In such seconds efforts differ much from the torques of an arm fitted to the rest of the recording.
They matter if the arm that is identified with them has a much larger error E on the rest.
"""

from typing import NamedTuple

import numpy as np

from .faults import Diagnosis, MIN_HARMFUL_ERROR_RATIO
from .faults.checks import Contact, contact_mask
from ..arrays import Array
from ..fit.least_squares import fit_theta, GramStack, min_noise
from ..fit.prior import Prior
from ..recordings.preprocessing import Motion
from ..recordings.replay import TorqueErrorUnit

_SEARCH_COUNT = 3  # each by the arm fitted to what the last one left untouched


class FoundContact(NamedTuple):
    """A contact that would make the identified arm wrong, and the motion without it."""

    diagnosis: Diagnosis
    untouched: Motion


class _UntouchedPart(NamedTuple):
    """
    A motion without the seconds in which the arm seems touched.

    `theta` (p,) are parameters fitted to it; `worst_second` [s] is the start of the second with
    the largest residuals of those left out.
    """

    motion: Motion
    grams: GramStack
    theta: Array
    worst_second: float


def find_contact(
    motion: Motion,
    prior: Prior,
    grams: GramStack,
    total_theta: Array,
    recording_name: str,
) -> FoundContact | None:
    """
    Return a contact that would make the identified arm wrong, or None.

    `grams` are those of the motion, `total_theta` (p,) are parameters fitted to all of it.
    """
    part = _untouched_part(motion, prior, min_noise(grams), total_theta)
    if part is None:
        return None
    unit = TorqueErrorUnit.for_arm(prior.model.arm)
    error_before = part.grams.torque_errors(total_theta, unit).E
    error_after = part.grams.torque_errors(part.theta, unit).E
    effect = error_before / error_after
    if not effect > MIN_HARMFUL_ERROR_RATIO:
        return None
    diagnosis = Diagnosis(
        Contact.kind,
        joints=(),
        values=(part.worst_second,),
        error_before=error_before,
        error_after=error_after,
        recording=recording_name,
        effect=effect,
    )
    return FoundContact(diagnosis, part.motion)


def _untouched_part(
    motion: Motion, prior: Prior, noise_std: Array, total_theta: Array
) -> _UntouchedPart | None:
    """
    Return the part of a motion in which nothing touches the arm, None if that is all of it.

    Residuals below `noise_std` (n,) [N m] show no contact.
    """
    part = None
    theta = total_theta
    for _ in range(_SEARCH_COUNT):
        residual = motion.effort - prior.model.torque(motion, theta)  # (N, n), N m
        is_touched, worst_second = contact_mask(motion, residual, noise_std)
        if not is_touched.any():
            return None
        untouched = motion.select(~is_touched)
        grams = GramStack.from_motion(prior.model, untouched, period=np.inf)
        theta = fit_theta(grams, prior)
        part = _UntouchedPart(untouched, grams, theta, worst_second)
    return part
