# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads, checks and summarises recordings, in this process or in worker processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from hashlib import sha256
from operator import add
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
from ..recordings.recording import HEADER_STAMP, read_pieces, Recording, require_finite
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
    ('header') or the recorder's ('received'). A bag of more than about `at_once` messages is read,
    prepared and trimmed in pieces.
    """

    path: str
    joint_names: tuple[str, ...]
    topic: str | None = None
    stamps: str = HEADER_STAMP
    signal: SignalOptions = field(default_factory=SignalOptions)
    at_once: int = 100_000

    def pieces(self) -> Iterator[tuple[Recording, float]]:
        """Yield the pieces of the bag, each with the fraction of the bag read so far."""
        return read_pieces(
            self.path, self.joint_names, self.at_once, topic=self.topic, stamps=self.stamps
        )

    def motion(self, model: TorqueModel, effort_scale: Array | float = 1.0) -> Motion:
        """
        Return the bag's prepared motion, or that of the first piece of a long bag.

        The motion's `columns` are the friction columns of `model`; recorded efforts are multiplied
        by `effort_scale`.
        """
        recording, _ = next(self.pieces())
        scaled = recording.scaled(effort_scale)
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

    `seconds` are each second's begin [s] and residual (`verdict.seconds`), by a fit to this
    recording, or to its piece, alone. `moving` is for how long the arm moves [s]. `failure` is the
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
    scale, period = options.effort_scales(arm.n), np.inf
    parts: list[GramSums] = []
    each: list[tuple[Array, Array]] = []
    remarks: dict[str, None] = {}
    warnings: list[str] = []
    digest, messages, samples, end, first_ns, rested = sha256(), 0, 0, 0.0, 0, 0.0
    for recording, read in _pieces(source, name, arm):
        extent, end = (end, read), read
        first_ns = first_ns if extent[0] > 0.0 else int(recording.stamp_ns[0])
        messages += len(recording) - (extent[0] > 0.0)  # consecutive pieces share one message
        digest.update(recording.q.tobytes() + recording.effort.tobytes())
        start = (int(recording.stamp_ns[0]) - first_ns) * 1e-9
        where = f'from {start:.0f} s on: ' if extent[0] > 0.0 else ''
        scaled = recording.scaled(scale)
        try:
            if isinstance(source, Motion):
                motion = replace(source, effort=source.effort * scale)
            else:
                scaled = without_idle_effort(scaled)
                motion = prepare(scaled, signal, columns=model.friction.columns)
            moving = without_rest(motion)
            rested += seconds_at_rest(motion)
            if not len(moving):
                raise RecordingError(
                    f'{name}: the arm stands still, and its torques show neither inertias nor '
                    'friction. Record a motion that turns every joint to and fro, such as '
                    'franka-dynamics identify plan makes.'
                )
        except RecordingError as error:
            if extent == (0.0, 1.0) or (read == 1.0 and not parts):
                raise
            remarks[f'{where}{error} This piece was left out'] = None
            continue
        require_units(scaled, arm)
        wrong = faults(scaled, arm)
        if wrong and not options.anyway:
            raise RecordingError(
                f'{Path(name).name}: {wrong[0]}. Correct the recording, or accept it with '
                '--anyway.'
            )
        period = period if parts else period_of(motion)
        sums = GramSums.of(model, arm, moving, period=period, extent=extent, start=start)
        time, size = residual_per_second(
            moving, sums, Prior.centered_at(arm, model, sums.max_torque)
        )
        parts.append(sums)
        each.append((time + start, size))
        remarks |= dict.fromkeys(motion.remarks)
        warnings += [where + said for said in plausibility_warnings(scaled, arm)]
        samples += len(moving)
    duration = (int(recording.stamp_ns[-1]) - first_ns) * 1e-9
    duration += 2.0 * signal.trim * isinstance(source, Motion)
    note = SourceNote(
        name,
        recording.topic,
        messages,
        duration,
        samples,
        tuple(remarks),
        tuple(warnings[:_MAX_WARNING_COUNT]),
        digest.hexdigest()[:16],
    )
    begins, sizes = map(np.concatenate, zip(*each))
    return Summary(note, signal, reduce(add, parts), (begins, sizes), duration - rested)


def _pieces(source: Source, name: str, arm: ArmDescription) -> Iterator[tuple[Recording, float]]:
    """Yield a source's recordings with the fraction read so far; RecordingError for NaN."""
    if isinstance(source, Bag):
        yield from source.pieces()
        return
    recording = source
    if isinstance(source, Motion):
        stamps = np.round(source.time * 1e9).astype(np.int64)
        states = source.q, source.dq, source.effort
        recording = Recording(name, '', arm.joint_names, stamps, *states)
    assert isinstance(recording, Recording)
    require_finite(recording, name)
    yield recording, 1.0


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
