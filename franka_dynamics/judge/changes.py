# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds after what time a recording is that of another arm.

A load or a contact that begins or ceases, and efforts whose gain or offset drifts, are one fault:
no arm fits the whole recording. It is cut into ten parts of equal length (`change_fits`), and one
thing may change from part to part: the gain or the offset of a joint, or for all joints the gain,
a load or a force at the flange. What predicts left-out parts better is a change. Its effect is the
factor by which E of the arm identified from the whole recording exceeds that of one identified
with the change undone. Constant offsets, which are only asked about, count for nothing there.
"""

from typing import NamedTuple

import numpy as np

from .change_fits import ChangeFit, PART_COUNT, PartFits
from .faults import Diagnosis, Fault, MIN_HARMFUL_ERROR_RATIO
from .faults.checks import Changed
from ..arrays import Array
from ..fit.prior import Prior
from ..recordings.preprocessing import Motion


class FoundChange(NamedTuple):
    """
    A change, what it is of, and whether it surely or likely makes the identified arm wrong.

    `is_likelier_alone` says whether it predicts left-out parts better than what it is of does if
    that is constant.
    """

    diagnosis: Diagnosis
    fault: Fault
    is_harmful: bool
    is_likely_harmful: bool
    is_likelier_alone: bool


def find_change(motion: Motion, prior: Prior, recording_name: str) -> FoundChange | None:
    """
    Return the change of a recording that predicts left-out parts best, or None if none does.

    The motion has no samples at which every joint rests.
    """
    fits = PartFits(motion, prior)
    better_changes = [change for change in fits.all_changes() if change.is_better]
    if not better_changes:
        return None
    change = max(better_changes, key=lambda found: found.improvement)
    sizes = fits.sizes(change)
    likely_effects = fits.effects(change, sizes.likely)
    near_end_effects = fits.effects(change, sizes.near_end)
    begin, end = _begin_and_end(change, motion)
    diagnosis = Diagnosis(
        Changed.kind,
        change.fault.joints,
        (begin, end),
        change.error_without,
        change.error_with,
        rival_error=change.error_without,
        recording=recording_name,
        effect=float(likely_effects.max()),
    )
    return FoundChange(
        diagnosis,
        change.fault,
        is_harmful=_are_harmful(near_end_effects),
        is_likely_harmful=_are_harmful(likely_effects),
        is_likelier_alone=fits.error_alone(change) < change.error_without,
    )


def _are_harmful(effects: Array) -> bool:
    """Return whether a change does harm whose begin or end is right, which is not known."""
    geometric_mean = np.sqrt(effects.prod())
    return bool(geometric_mean > MIN_HARMFUL_ERROR_RATIO)


def _begin_and_end(change: ChangeFit, motion: Motion) -> tuple[float, float]:
    """Return the times [s] from which and to which something changes, equal if it is sudden."""
    first_part = change.profile.first_part
    if not first_part:
        return float(motion.time[0]), float(motion.time[-1])
    time = float(motion.time[len(motion) * first_part // PART_COUNT])
    return time, time
