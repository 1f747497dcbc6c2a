# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Results of an identification, and its arm as the text of an arm file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from .bags import BagNote
from .consistent_fit import ConsistentFit
from .effort_scale import EffortScale
from .explanations import Diagnosis
from .options import IdentificationOptions
from .prior import Prior, ShownPrecision
from .scoring import ParameterSet, Score
from .solve import Estimate, Noise
from .torque_model import TorqueModel
from .verdict import Verdict
from ..arm import ArmDescription, LinkInertia
from ..arm.arm_file_writer import arm_file_text
from ..arm.payload import read_payload
from ..errors import IdentificationError
from ..files import write_text
from ..recordings.preprocessing import SignalOptions
from ..typing import Array

IDENTIFIED = 'identified'  # name of the identified arm's inertial set


@dataclass(frozen=True, eq=False)
class Fit:
    """
    All parameters fitted to one set of samples.

    `prior` has the chosen friction terms, `noise` is the noise of the joints' residuals. `base`
    are base parameters and friction under the prior, `consistent` is the physically consistent
    arm. `sets` are the parameters of `base` and `consistent`, then of the starting set and the
    published sets with friction fitted to the same samples. `scale` turns recorded efforts into
    torques. `precision` states the largest errors of the starting set that agree with the samples,
    as inverse relative variances; the standard deviations of `base` include these errors.
    """

    prior: Prior
    noise: Noise
    base: Estimate
    consistent: ConsistentFit
    sets: tuple[ParameterSet, ...]
    scale: EffortScale
    precision: ShownPrecision


@dataclass(frozen=True, eq=False)
class Recorded:
    """
    The recordings behind an identification.

    `bags` has each recording's name and the torque error E, on this recording, of the arm fitted
    to all recordings. The last `unseen_bags` recordings are test recordings. All recordings were
    prepared with the options `signal`. `notes` has an entry for each used bag, `failures` a
    sentence for each unusable bag.
    """

    bags: tuple[tuple[str, float], ...]
    unseen_bags: int
    signal: SignalOptions
    notes: tuple[BagNote, ...]
    failures: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Identification:
    """
    All results of an identification: the fit to all recordings, and errors on unseen parts.

    `model` is the identified model, with the chosen friction terms, `start` the starting set, and
    `fit` the fit to all recordings together. `unregularised` is the estimate without a prior, or
    None if the motion does not determine every parameter; `not_shown` names the base parameters
    that the motion hardly or not at all determines.

    `scores` are those of the base parameters, the consistent arm, and the published sets with
    friction fitted to the same samples; `start_score` is the starting set's score, with friction
    fitted too. `verdict` says whether the arm is better than the best published set, `diagnosis`
    whether the residuals show a fault of the recordings. `recorded` has the recordings and their
    errors under the final fit. `contradictions` are sentences on bags that seem to come from
    different arms or loads, `remarks` warnings about hands, loads and joints that hardly moved.
    """

    model: TorqueModel
    start: ArmDescription
    options: IdentificationOptions
    fit: Fit
    unregularised: Estimate | None
    not_shown: tuple[str, ...]
    scores: tuple[Score, ...]
    start_score: Score
    verdict: Verdict
    diagnosis: Diagnosis
    recorded: Recorded
    contradictions: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Whether `verdict.better`, and the recordings are sound or accepted by `anyway`."""
        return self.verdict.better and (self.diagnosis.sound or self.options.anyway)

    def save(self, path: str | Path, *, payload: str | None = None, anyway: bool = False) -> None:
        """
        Write the identified arm to an arm file (.yaml); an incomplete file is never left.

        `payload`, on the flange during the recordings and written as for the option `--payload`,
        is subtracted from the arm. Raises IdentificationError if the arm was not accepted, unless
        `anyway`, and OutputError if the file cannot be written.
        """
        if not (anyway or self.accepted):
            why = (
                'it does not predict torques better than the published sets'
                if self.diagnosis.sound or self.options.anyway
                else 'its recordings are faulty, as its diagnosis says'
            )
            raise IdentificationError(
                f'{path} is not written: the identified arm was not accepted, because {why}. '
                'Use the published set, or write the file with anyway=True.'
            )
        write_text(path, identified_arm_text(self, payload))

    @property
    def base(self) -> Estimate:
        """Base parameters and friction, fitted to all recordings under the prior."""
        return self.fit.base

    @property
    def consistent(self) -> ConsistentFit:
        """The physically consistent arm and its parameters, fitted to all recordings."""
        return self.fit.consistent

    @property
    def arm(self) -> ArmDescription:
        """The identified arm, physically consistent, with friction."""
        return self.fit.consistent.arm

    @property
    def arm_score(self) -> Score:
        """Score of the identified arm."""
        return self.scores[1]

    @property
    def unit(self) -> str:
        """Unit of the error E: N m, or percent of the effort limits if some joint is prismatic."""
        return self.arm_score.parts[0].unit.name

    @property
    def published(self) -> tuple[Score, ...]:
        """Scores of the published sets with friction fitted to the recordings."""
        return self.scores[2:]

    @property
    def effort_scale(self) -> Array:
        """Scale from recorded efforts to torques, shape (n,) [N m per unit]."""
        return self.fit.scale.scale


def identified_arm_text(result: Identification, payload: str | None = None) -> str:
    """
    Return the identified arm as the text of an arm file that names recordings and errors.

    `payload`, on the flange during the recordings, is subtracted from the arm.
    """
    names = [name for name, _ in result.recorded.bags]
    shown = ', '.join(names[:5]) + (f' and {len(names) - 5} more' if len(names) > 5 else '')
    source = f'identified by franka-dynamics from {shown}'
    notes = (
        f'E on unseen data {result.arm_score.test.whole:.4f} {result.unit}, without '
        f'friction and offset {result.arm_score.test_rigid.whole:.4f} {result.unit}; '
        f'{"" if result.verdict.better else "NOT "}better than the best published set; '
        f'{"" if result.diagnosis.sound else "recordings that are NOT sound; "}'
        'fitted to all of the data; physically consistent; prior '
        f'about {result.start.inertial_set} of precision {result.consistent.regularization:g}'
    )
    if result.options.scale_unknown:
        notes += '; N m per A of motor current: ' + ', '.join(
            f'{value:.4g}' for value in result.effort_scale
        )
    suspicions = [
        f'{note.bag}: {text}' for note in result.recorded.notes for text in note.suspicions
    ]
    warnings = [*result.contradictions, *result.remarks, *suspicions]
    if warnings:
        notes += f'; {len(warnings)} warnings when it was made: {" | ".join(warnings[:10])}'
    arm = replace(result.arm, inertial_set=IDENTIFIED)
    if payload is not None:
        arm = arm.with_payload(LinkInertia.zero() - read_payload(payload))
        notes += f'; recorded with the payload {payload}, which is not in these numbers'
    return arm_file_text(
        arm, title=f'{arm.name}, identified', source=source, notes=notes, friction_source=source
    )
