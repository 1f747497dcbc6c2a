# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the judge of recordings needs of a recording's samples, beside the sums of the fit."""

from dataclasses import dataclass

import numpy as np

from .changes import find_change, FoundChange
from .contacts import find_contact
from .corrected_states import corrected_state_grams, CorrectedStateGrams
from .faults import Diagnosis
from ..fit.least_squares import fit_theta, GramStack, joint_noise
from ..fit.prior import Prior
from ..fit.summary import MIN_MOTION_DURATION_S, RecordingNote
from ..fit.torque_model import TorqueModel
from ..recordings.preprocessing import Motion
from ..recordings.replay import TorqueErrorUnit


@dataclass(frozen=True, eq=False)
class Findings:
    """
    What is found in a recording's samples.

    `corrected_state_grams` are Gram matrices with each fault of states corrected. `contact` is one
    that would make the identified arm wrong, `change` says after what time it is another arm, if
    it is.
    """

    corrected_state_grams: CorrectedStateGrams
    contact: Diagnosis | None
    change: FoundChange | None


def examine_motion(
    moving: Motion, grams: GramStack, model: TorqueModel, note: RecordingNote
) -> Findings:
    """Return what is found in a motion without rests, of which `grams` are the sums."""
    prior = Prior.centered_at(model.arm, model, grams.max_torque)
    theta = fit_theta(grams, prior)
    contact = find_contact(moving, prior, grams, theta, note.name)
    untouched = moving if contact is None else contact.untouched
    change = None
    if len(untouched) >= MIN_MOTION_DURATION_S * moving.options.rate:
        change = find_change(untouched, prior, note.name)
    unit_factors = np.array(TorqueErrorUnit.for_arm(model.arm).factors)
    return Findings(
        corrected_state_grams(model, moving, joint_noise(grams, theta), unit_factors),
        contact=None if contact is None else contact.diagnosis,
        change=change,
    )
