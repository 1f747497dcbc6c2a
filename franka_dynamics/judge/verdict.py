# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The verdict on recordings, with its causes and questions, which `decision` makes."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from .published_masses import MassAmbiguity
from .table import ROWS


@dataclass(frozen=True)
class Diagnosis:
    """
    A fault found in recordings, or a question about one, with joints, values and torque errors.

    `kind` is that of a row of the table, `joints` are counted from 0, `values` are in the user's
    terms, as the row's sentence says. `error_before` and `error_after` are E on left-out parts
    without and with the fault in the fit, `rival_error` is E with the next best fault, or else
    that without a fault. `recording` names that in which something touched the arm, or changed.
    `effect` is the factor by which the fault raises E of the identified arm, on the recordings
    with the fault undone.
    """

    kind: str
    joints: tuple[int, ...]
    values: tuple[float, ...]
    error_before: float = np.nan
    error_after: float = np.nan
    rival_error: float = np.nan
    recording: str = ''
    effect: float = np.nan


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

    def open_questions(self, answers: Collection[str] = ()) -> tuple[str, ...]:
        """
        Return the options that would answer what is asked, '' for a question that none answers.

        `answers` are the options that were given: of the table's `answered_by`. That nobody has
        measured the masses of the starting set was said when it was loaded, and is no open
        question.
        """
        rows = (
            ROWS.get((one.kind, len(one.joints))) for one in self.questions if one.kind != 'masses'
        )
        options = [() if row is None else row.answered_by for row in rows]
        ambiguity = self.mass_ambiguity
        if ambiguity is not None and ambiguity.rules_out_faultless:
            kind = 'load' if ambiguity.allows_recorded_scale else 'gain'
            options.append(ROWS[kind, 0].answered_by)
        unanswered = [names for names in options if not set(names) & set(answers)]
        return tuple(names[0] if names else '' for names in unanswered)
