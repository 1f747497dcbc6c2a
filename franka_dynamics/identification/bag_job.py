# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One bag's share of an identification: read, prepared and summarised where the bag lies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from numpy.typing import ArrayLike

from .friction import TorqueModel
from .qr_factors import residual_lag_sums, Summary
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..errors import FrankaDynamicsError, IdentificationError
from ..recordings.plausibility import suspicions
from ..recordings.preprocessing import Motion, prepare, SignalOptions
from ..recordings.recording import HEADER, read_recording, Recording
from ..typing import Array


@dataclass(frozen=True, eq=False)
class BagJob:
    """
    How one bag is read and prepared.

    Attributes
    ----------
    path : str
        The bag.
    joint_names : tuple of str
        The arm's joints from base to tip.
    topic : str or None
        Of the joint states.
    stamps : str
        'header' or 'received'.
    signal : SignalOptions
        Rate, cut-off and trim.
    other_cutoffs : tuple of float
        Further cut-offs to report errors at [Hz].
    gravity : array_like, shape (3,)
        In the space frame [m/s^2].
    torque : bool
        Whether efforts are torques [N m], which limits and gravity can be compared with.

    """

    path: str
    joint_names: tuple[str, ...]
    topic: str | None = None
    stamps: str = HEADER
    signal: SignalOptions = field(default_factory=SignalOptions)
    other_cutoffs: tuple[float, ...] = ()
    gravity: ArrayLike = GRAVITY
    torque: bool = True

    @property
    def name(self) -> str:
        """The bag's name, as tables and sentences have it."""
        return Path(self.path).name

    def recording(self, progress: Callable[[int, int], None] | None = None) -> Recording:
        """Read the bag."""
        return read_recording(
            self.path, self.joint_names, topic=self.topic, stamps=self.stamps, progress=progress
        )

    def motions(
        self,
        recording: Recording,
        model: TorqueModel,
    ) -> tuple[Motion, dict[float, Motion]]:
        """Return the recording prepared for a model, and prepared at the other cut-offs."""
        columns = model.friction.columns
        return prepare(recording, self.signal, columns=columns), {
            cutoff: prepare(recording, replace(self.signal, cutoff=cutoff), columns=columns)
            for cutoff in self.other_cutoffs
            if cutoff != self.signal.cutoff
        }


@dataclass(frozen=True)
class BagNote:
    """What a report says of one bag."""

    bag: str
    topic: str
    first_joint: str
    messages: int
    duration: float
    samples: int
    remarks: tuple[str, ...] = ()
    suspicions: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class BagResult:
    """A bag's note and summary, or one sentence on why there are none."""

    note: BagNote | None
    summary: Summary | None
    failure: str = ''


def note(
    recording: Recording,
    motion: Motion,
    arm: ArmDescription,
    gravity: ArrayLike,
    *,
    torque: bool = True,
) -> BagNote:
    """Return what a report says of a recording."""
    return BagNote(
        recording.source,
        recording.topic,
        recording.joint_names[0],
        len(recording),
        recording.duration,
        len(motion),
        motion.remarks,
        suspicions(recording, arm, gravity=gravity) if torque else (),
    )


def run_job(job: BagJob, model: TorqueModel, arm: ArmDescription, folds: int) -> BagResult:
    """Return a bag's result; a fault of the bag is a part of it, not an error."""
    try:
        recording = job.recording()
        motion, others = job.motions(recording, model)
        return BagResult(
            note(recording, motion, arm, job.gravity, torque=job.torque),
            Summary.of(model, motion, folds, others, job.name),
        )
    except FrankaDynamicsError as error:
        return BagResult(None, None, str(error))


def job_lag_sums(job: BagJob, model: TorqueModel, theta: Array, scale: Array) -> Array:
    """Return a bag's residual lag sums for parameters of shape (p,) and an effort scale (n,)."""
    motion = prepare(job.recording(), job.signal, columns=model.friction.columns)
    return residual_lag_sums(model, motion, theta, scale)


def require_one_arm(notes: Sequence[BagNote]) -> None:
    """Raise IdentificationError unless all bags name the same joints."""
    for other in notes[1:]:
        if other.first_joint != notes[0].first_joint:
            raise IdentificationError(
                f'{notes[0].bag} was recorded from {notes[0].first_joint} ... but {other.bag} '
                f'from {other.first_joint} ...: these are different arms; identify each from '
                'its own recordings.'
            )
