# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads, checks and summarises recordings, in this process or in worker processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
import os
from pathlib import Path

import numpy as np

from .contact import residual_per_second
from .gram_sums import GramSums, period_of
from .options import IdentificationOptions
from .prior import Prior
from .torque_model import TorqueModel
from ..arm import ArmDescription
from ..errors import FrankaDynamicsError, IdentificationError, RecordingError
from ..recordings.plausibility import faults, plausibility_warnings, require_units
from ..recordings.preprocessing import (
    Motion,
    prepare,
    seconds_at_rest,
    SignalOptions,
    without_idle_effort,
    without_rest,
)
from ..recordings.recording import HEADER_STAMP, read_recording, Recording, require_finite
from ..typing import Array

_MAX_WARNING_COUNT = 10  # of one bag
# Less motion, in all recordings, shows too little: halves of 12 s of a real FER's motion predict
# each other.
MIN_MOTION_S = 10.0


def require_motion(moving: float) -> None:
    """Raise RecordingError if all recordings together have too little motion, `moving` [s]."""
    if moving < MIN_MOTION_S:
        raise RecordingError(
            # Rounded down, or 9.996 s would read as 10.00 s.
            f'The recordings have {int(100.0 * moving) / 100.0:.2f} s of motion in all; '
            f'identification needs at least {MIN_MOTION_S:g} s. Record longer, or '
            'add recordings of the same arm and load.'
        )


@dataclass(frozen=True, eq=False)
class Bag:
    """
    A bag's path and the options for reading and preparing the bag, without its samples.

    `joint_names` are the arm's joints from base to tip, `topic` is that of the joint states (None:
    /joint_states or the bag's only topic of that type). `stamps` selects the messages' time stamps
    ('header') or the recorder's ('received').
    """

    path: str
    joint_names: tuple[str, ...]
    topic: str | None = None
    stamps: str = HEADER_STAMP
    signal: SignalOptions = field(default_factory=SignalOptions)

    def recording(self) -> Recording:
        """Return the bag's recording."""
        return read_recording(self.path, self.joint_names, topic=self.topic, stamps=self.stamps)

    def motion(self, model: TorqueModel, effort_scale: Array | float = 1.0) -> Motion:
        """
        Return the bag's prepared motion.

        The motion's `columns` are the friction columns of `model`; recorded efforts are multiplied
        by `effort_scale`.
        """
        scaled = self.recording().scaled(effort_scale)
        return prepare(scaled, self.signal, columns=model.friction.columns)


Source = Bag | Recording | Motion


def labels_of(sources: Sequence[Source]) -> list[str]:
    """
    Return a name for each source, for tables and messages.

    A bag's name is its path from the last folder that holds all bags. If source number k, counted
    from 1, is a recording or motion in memory, its name is 'recording k'.
    """
    paths = [os.path.abspath(one.path) if isinstance(one, Bag) else '' for one in sources]
    shared = os.path.commonpath([os.path.dirname(path) for path in paths if path] or [''])
    return [
        os.path.relpath(path, shared) if path else f'recording {k}'
        for k, path in enumerate(paths, 1)
    ]


@dataclass(frozen=True)
class SourceNote:
    """
    A report's entry about one recording.

    `messages` is the number of joint states read, `duration` the time between the first and the
    last [s], and `samples` the number of samples after resampling and trimming, without those at
    which every joint rests. `digest` is a hash of positions and efforts as read, to find a
    recording given twice.
    """

    name: str
    topic: str
    messages: int
    duration: float
    samples: int
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    digest: str = ''


@dataclass(frozen=True, eq=False)
class Summary:
    """
    A recording reduced to sums, whose size does not depend on the recording's length.

    `seconds` are each second's begin [s] and residual (`contact.seconds`), by a fit to this
    recording alone. `moving` is for how long the arm moves [s]. `failure` is the
    error of an unusable bag, which has no sums.
    """

    note: SourceNote
    signal: SignalOptions
    sums: GramSums | None = None
    seconds: tuple[Array, Array] = (np.zeros(0), np.zeros(0))
    moving: float = 0.0
    failure: FrankaDynamicsError | None = None


# The model, the arm with the starting set's inertias, and the options of an identification.
SummaryInputs = tuple[TorqueModel, ArmDescription, IdentificationOptions]


def summarise(inputs: SummaryInputs, source: Source, name: str) -> Summary:
    """
    Return the summary of a checked recording; it stores the error of an unusable bag.

    A faulty recording is recognised by the limits and gravity torques of the arm in `inputs`.
    """
    try:
        return _summary(inputs, source, name)
    except FrankaDynamicsError as error:
        if not isinstance(source, Bag):
            raise
        return Summary(SourceNote(name, '', 0, 0.0, 0), source.signal, failure=error)


def _summary(inputs: SummaryInputs, source: Source, name: str) -> Summary:
    model, arm, options = inputs
    signal = SignalOptions()
    if not isinstance(source, Recording):
        signal = source.signal if isinstance(source, Bag) else source.options
    recording = _recording(source, name, arm)
    scaled = recording.scaled(options.effort_scales(arm.n))
    if isinstance(source, Motion):
        motion = replace(source, effort=scaled.effort)
    else:
        scaled = without_idle_effort(scaled)
        motion = prepare(scaled, signal, columns=model.friction.columns)
    moving = without_rest(motion)
    if not len(moving):
        raise RecordingError(
            f'{name}: the arm stands still, and its torques show neither inertias nor friction. '
            'Record a motion that turns every joint to and fro, such as franka-dynamics identify '
            'plan makes.'
        )
    require_units(scaled, arm)
    wrong = faults(scaled, arm)
    if wrong and not options.anyway:
        raise RecordingError(
            f'{Path(name).name}: {wrong[0]}. Correct the recording, or accept it with --anyway.'
        )
    sums = GramSums.of(model, arm, moving, period=period_of(motion))
    duration = recording.duration + 2.0 * signal.trim * isinstance(source, Motion)
    note = SourceNote(
        name,
        recording.topic,
        len(recording),
        duration,
        len(moving),
        motion.remarks,
        plausibility_warnings(scaled, arm)[:_MAX_WARNING_COUNT],
        sha256(recording.q.tobytes() + recording.effort.tobytes()).hexdigest()[:16],
    )
    prior = Prior.centered_at(arm, model, sums.max_torque)
    each = residual_per_second(moving, sums, prior)
    return Summary(note, signal, sums, each, duration - seconds_at_rest(motion))


def _recording(source: Source, name: str, arm: ArmDescription) -> Recording:
    """Return a source as a recording; RecordingError for NaN."""
    if isinstance(source, Bag):
        return source.recording()
    recording = source
    if isinstance(source, Motion):
        stamps = np.round(source.time * 1e9).astype(np.int64)
        states = source.q, source.dq, source.effort
        recording = Recording(name, '', arm.joint_names, stamps, *states)
    assert isinstance(recording, Recording)
    require_finite(recording, name)
    return recording


def require_distinct_recordings(notes: Sequence[SourceNote]) -> None:
    """Raise IdentificationError if two recordings hold the same samples."""
    first: dict[str, str] = {}
    for other in notes:
        if other.digest in first:
            raise IdentificationError(
                f'{other.name} holds the same recording as {first[other.digest]}: it would be '
                'fitted twice, or tested on data that it was fitted to. Name it once.'
            )
        first[other.digest] = other.name
