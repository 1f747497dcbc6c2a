# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The record of a judgement of recordings, which `verdict` makes."""

from dataclasses import dataclass

from .faults import Diagnosis
from .published_masses import MassAmbiguity


@dataclass(frozen=True, eq=False)
class RecordingVerdict:
    """
    The judgement of recordings, with diagnosed faults, questions to the user and mass ambiguities.

    `suspected_joints` (indices from 0) are those whose residuals some fault explains much better,
    though it is not clear which. `mass_ambiguity` is None without a published set. `value_faults`
    are sentences on values that no arm has (`recordings.plausibility.fatal_faults`).
    """

    causes: tuple[Diagnosis, ...] = ()
    questions: tuple[Diagnosis, ...] = ()
    suspected_joints: tuple[int, ...] = ()
    mass_ambiguity: MassAmbiguity | None = None
    value_faults: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether no fault was found that would make the identified arm wrong."""
        return not self.causes and not self.suspected_joints and not self.value_faults

    @property
    def has_questions(self) -> bool:
        """Whether the user must be asked about a fault, an offset, the effort scale or a load."""
        ambiguity = self.mass_ambiguity
        return bool(self.questions) or (ambiguity is not None and ambiguity.has_questions)
