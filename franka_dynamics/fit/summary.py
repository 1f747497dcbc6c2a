# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads and filters recordings, and reduces each to Gram matrices for the fits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from .least_squares import GramStack, repetition_period
from .options import IdentificationOptions
from .sources import AnyRecording, as_recording
from .torque_model import TorqueModel
from ..errors import FrankaDynamicsError, IdentificationError, RecordingError
from ..recordings import preprocessing
from ..recordings.episodes import Episode
from ..recordings.options import SignalOptions
from ..recordings.plausibility import fatal_faults, minor_faults, require_plausible_units
from ..recordings.preprocessing import Motion
from ..recordings.recording import Recording

_MAX_BAG_WARNING_COUNT = 10  # of one bag
# Less motion, in all recordings, shows too little: halves of 12 s of a real FER's motion predict
# each other. A log of ten seconds has a little less, with a rest or a late begin.
MIN_MOTION_DURATION_S = 9.5
# What else is found in a recording's samples before they are forgotten: given a motion without
# rests, the sums of it, the torque model and the note on the recording.
Examine = Callable[[Motion, GramStack, TorqueModel, 'RecordingNote'], Any]


@dataclass(frozen=True)
class RecordingNote:
    """
    A report's entry about one recording, with name, topic, size, remarks and warnings.

    `message_count` is that of joint states read, `duration` the time between the first and the
    last [s], `sample_count` that of samples after resampling and trimming, without those at which
    every joint rests. `digest` is a hash of positions and efforts as read, to find a
    recording given twice.
    """

    name: str
    topic: str = ''
    message_count: int = 0
    duration: float = 0.0
    sample_count: int = 0
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    digest: str = ''


@dataclass(frozen=True, eq=False)
class RecordingSummary:
    """
    A recording reduced to Gram matrices of a constant size, or the error of an unusable bag.

    `findings` is what `Examine` found in its samples, None if nobody asks. `moving_time` is for
    how long the arm moves [s]. `value_faults` are sentences on values that no arm has, in a
    recording accepted nevertheless. `failure` is the error of an unusable bag, which has no
    matrices.
    """

    note: RecordingNote
    signal: SignalOptions
    grams: GramStack | None = None
    findings: Any = None
    moving_time: float = 0.0
    failure: FrankaDynamicsError | None = None
    value_faults: tuple[str, ...] = ()


def summarise_recording(
    model: TorqueModel,
    options: IdentificationOptions,
    source: AnyRecording,
    name: str,
    *,
    summed: TorqueModel | None = None,
    examine: Examine | None = None,
) -> RecordingSummary:
    """
    Return the summary of a recording called `name`; of an unusable bag, one with its error.

    The last arguments are those of `summarise_motion`. Signs of a faulty recording are
    found by the starting set's limits and gravity torques. Raises RecordingError if a recording or
    motion in memory cannot be used.
    """
    try:
        motion, note, value_faults = _usable_motion(model, options, source, name)
        return replace(
            summarise_motion(
                motion,
                model,
                note,
                summed=summed,
                examine=examine,
            ),
            value_faults=value_faults,
        )
    except FrankaDynamicsError as error:
        if not isinstance(source, Episode):
            raise
        return RecordingSummary(RecordingNote(name), source.signal, failure=error)


def _usable_motion(
    model: TorqueModel, options: IdentificationOptions, source: AnyRecording, name: str
) -> tuple[Motion, RecordingNote, tuple[str, ...]]:
    """
    Return the filtered motion of a recording called `name`, the note on it, and value faults.

    Raises RecordingError if it cannot be used.
    """
    arm = model.arm
    recording = options.with_whole_effort(as_recording(source, name, arm), arm)
    motion = _prepared_motion(source, recording)
    _require_any_motion(motion, name)
    measured = preprocessing.without_idle_effort(recording)
    require_plausible_units(measured, arm)
    value_faults = fatal_faults(measured, arm)
    if value_faults and not options.accept_unsound:
        raise RecordingError(
            f'{Path(name).name}: {value_faults[0]}. Correct the recording, or accept it with '
            '--anyway.'
        )
    warnings = (*value_faults, *minor_faults(measured, arm))
    note = _note_on(source, recording, motion, name, warnings)
    return motion, note, tuple(value_faults)


def _prepared_motion(source: AnyRecording, recording: Recording) -> Motion:
    """Return the filtered motion of a source, with the efforts of `recording`, made of it."""
    if isinstance(source, Motion):
        return replace(source, effort=recording.effort)
    signal = source.signal if isinstance(source, Episode) else None
    return preprocessing.to_motion(recording, signal)


def _require_any_motion(motion: Motion, name: str) -> None:
    """Raise RecordingError if every joint rests all the time."""
    if not len(preprocessing.without_rest(motion)):
        raise RecordingError(
            f'{name}: the arm stands still, and its torques show neither inertias nor friction. '
            'Record a motion that turns every joint to and fro, such as franka-dynamics identify '
            'plan makes.'
        )


def _note_on(
    source: AnyRecording,
    recording: Recording,
    motion: Motion,
    name: str,
    warnings: Sequence[str],
) -> RecordingNote:
    """Return the note on a recording called `name`, prepared as `motion`."""
    duration = recording.duration
    if isinstance(source, Motion):
        duration += 2.0 * motion.options.trim  # cut off when the motion was prepared
    contents = recording.q.tobytes() + recording.effort.tobytes()
    return RecordingNote(
        name,
        topic=recording.topic,
        message_count=len(recording),
        duration=duration,
        sample_count=len(preprocessing.without_rest(motion)),
        remarks=motion.remarks,
        warnings=tuple(warnings[:_MAX_BAG_WARNING_COUNT]),
        digest=sha256(contents).hexdigest()[:16],
    )


def summarise_motion(
    motion: Motion,
    model: TorqueModel,
    note: RecordingNote,
    *,
    summed: TorqueModel | None = None,
    examine: Examine | None = None,
) -> RecordingSummary:
    """
    Return the summary of a filtered motion, without samples at which every joint rests.

    The sums have the columns of the model `summed`, which is `model` with further terms of
    friction, or `model` if it is not given. `findings` is what `examine` finds in the samples,
    by the model alone.
    """
    moving = preprocessing.without_rest(motion)
    period = repetition_period(motion)
    grams = GramStack.from_motion(summed or model, moving, period=period)
    return RecordingSummary(
        note,
        motion.options,
        grams,
        findings=None if examine is None else examine(moving, grams.for_model(model), model, note),
        moving_time=note.duration - preprocessing.seconds_at_rest(motion),
    )


def require_enough_motion(moving_time: float) -> None:
    """Raise RecordingError if `moving_time`, for which an arm moved [s], is less than 9.5."""
    if moving_time < MIN_MOTION_DURATION_S:
        raise RecordingError(
            # Rounded down, or 9.996 s would read as 10.00 s.
            f'The recordings have {int(100.0 * moving_time) / 100.0:.2f} s of motion in all; '
            f'identification needs at least {MIN_MOTION_DURATION_S:g} s. Record longer, add '
            'recordings of the same arm and load, or accept them with --anyway.'
        )


def require_distinct_recordings(notes: Sequence[RecordingNote]) -> None:
    """Raise IdentificationError if two recordings hold the same samples."""
    name_by_digest: dict[str, str] = {}
    for note in notes:
        if note.digest in name_by_digest:
            raise IdentificationError(
                f'{note.name} holds the same recording as {name_by_digest[note.digest]}: it would '
                'be fitted twice, or tested on data that it was fitted to. Name it once.'
            )
        name_by_digest[note.digest] = note.name
