# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What an identification yields, and its arm as the text of an arm file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from .bags import BagNote
from .consistent_fit import ConsistentFit
from .effort_scale import EffortScale
from .explanations import Diagnosis
from .options import IdentificationOptions
from .prior import Prior, ShownPrecision
from .solve import Estimate, Noise
from .torque_model import TorqueModel
from .verdict import Score, Verdict
from ..arm import ArmDescription, LinkInertia
from ..arm.arm_file_writer import arm_file_text
from ..arm.payload import read_payload
from ..errors import IdentificationError
from ..files import write_text
from ..recordings.preprocessing import SignalOptions
from ..typing import Array

IDENTIFIED = 'identified'  # the name of its inertial set


@dataclass(frozen=True, eq=False)
class PublishedFit:
    """A published set with its friction; its rigid torques count `base_scale` times, (n,)."""

    name: str
    theta: Array
    base_scale: Array


@dataclass(frozen=True, eq=False)
class Fit:
    """
    Everything that one set of samples yields.

    Attributes
    ----------
    prior : Prior
        The prior.
    noise : Noise
        Of the joints.
    base : Estimate
        Base parameters and friction under the prior.
    consistent : ConsistentFit
        The arm that can be.
    published : tuple of PublishedFit
        The starting set, then the published ones, with friction fitted alike.
    scale : EffortScale
        By which recorded efforts become torques [N m per unit].
    precision : ShownPrecision
        How good the samples show the starting set to be, at least; deviations rest on it.

    """

    prior: Prior
    noise: Noise
    base: Estimate
    consistent: ConsistentFit
    published: tuple[PublishedFit, ...]
    scale: EffortScale
    precision: ShownPrecision


@dataclass(frozen=True, eq=False)
class Recorded:
    """
    The recordings behind an identification.

    Attributes
    ----------
    bags : tuple of (str, float)
        E of each bag under the result, the unseen ones last.
    unseen_bags : int
        How many of the bags were unseen; 0 if parts were left out in turn.
    signal : SignalOptions
        How they were prepared.
    notes : tuple of BagNote
        What was read, of bags.
    failures : tuple of str
        One sentence for each bag that could not be used.

    """

    bags: tuple[tuple[str, float], ...]
    unseen_bags: int
    signal: SignalOptions
    notes: tuple[BagNote, ...]
    failures: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Identification:
    """
    All results of an identification; whatever is not a score is fitted to all recordings.

    Attributes
    ----------
    model : TorqueModel
        What was identified.
    start : ArmDescription
        The starting set.
    options : IdentificationOptions
        As asked for.
    fit : Fit
        What all recordings together yield.
    unregularised : Estimate or None
        Without any prior; None where the motion does not determine every parameter.
    not_shown : tuple of str
        Base parameters of which the motion says little or nothing.
    scores : tuple of Score
        Of the base parameters, the consistent arm, the published sets with friction fitted alike.
    start_score : Score
        The starting set's.
    verdict : Verdict
        Whether the arm is better than the best published set.
    diagnosis : Diagnosis
        Whether the recordings are sound, as far as what is left of torque tells.
    recorded : Recorded
        What was read, and what the result leaves of it.
    contradictions : tuple of str
        Bags that cannot be of one arm in one state, one sentence each.
    remarks : tuple of str
        Sentences on what else a reader should know.

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
        """Whether the arm is better than what is published, of recordings that are sound."""
        return self.verdict.better and (self.diagnosis.sound or self.options.anyway)

    def save(self, path: str | Path, *, payload: str | None = None, anyway: bool = False) -> None:
        """
        Write the identified arm as an arm file, which appears complete or not at all.

        Parameters
        ----------
        path : str or Path
            The file (.yaml).
        payload : str, optional
            What was on the flange, as `--payload` takes it; it is taken off again.
        anyway : bool
            Write an arm that was not accepted as well.

        Raises
        ------
        IdentificationError
            If the arm was not accepted.
        OutputError
            If the file cannot be written.

        """
        if not (anyway or self.accepted):
            why = (
                'it is not better than what is published'
                if not self.verdict.better
                else 'its recordings are not sound, as its diagnosis says'
            )
            raise IdentificationError(
                f'{path} is not written: the identified arm was not accepted, because {why}. '
                'Use the published set, or write it all the same with anyway=True.'
            )
        write_text(path, identified_arm_text(self, payload))

    @property
    def base(self) -> Estimate:
        """Base parameters and friction under the prior."""
        return self.fit.base

    @property
    def consistent(self) -> ConsistentFit:
        """The arm that can be, and what it amounts to."""
        return self.fit.consistent

    @property
    def arm(self) -> ArmDescription:
        """The result."""
        return self.fit.consistent.arm

    @property
    def arm_score(self) -> Score:
        """What the arm predicts."""
        return self.scores[1]

    @property
    def unit(self) -> str:
        """What E is in: N m, or percent of the limits if some joint is prismatic."""
        return self.arm_score.parts[0].unit.name

    @property
    def published(self) -> tuple[Score, ...]:
        """Scores of the published sets with friction fitted alike."""
        return self.scores[2:]

    @property
    def effort_scale(self) -> Array:
        """What one unit of effort is, shape (n,) [N m per unit]."""
        return self.fit.scale.scale


def identified_arm_text(result: Identification, payload: str | None = None) -> str:
    """
    Return the identified arm as the text of an arm file, with where it comes from.

    A payload that was on the flange is taken off again: the file is of the arm without it.
    """
    names = [name for name, _ in result.recorded.bags]
    shown = ', '.join(names[:5]) + (f' and {len(names) - 5} more' if len(names) > 5 else '')
    source = f'identified by franka-dynamics from {shown}'
    notes = (
        f'E on what was left out {result.arm_score.test.whole:.4f} {result.unit}, without '
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
        f'{name}: {text}'
        for name, note in zip(names, result.recorded.notes)
        for text in note.suspicions
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
