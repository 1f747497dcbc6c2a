# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads and filters recordings, and reduces each to Gram matrices for the fits."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
import os
from pathlib import Path

import numpy as np

from .changes import find_change, FoundChange
from .corrected_states import corrected_state_grams
from .faults import Diagnosis, MIN_HARMFUL_ERROR_RATIO
from .faults.checks import Contact, contact_mask
from .least_squares import (
    fit_theta,
    GramStack,
    joint_noise,
    min_noise,
    repetition_period,
)
from .options import IdentificationOptions
from .prior import Prior
from .torque_model import TorqueModel
from .. import former_names
from ..arm import ArmDescription
from ..arrays import Array
from ..errors import FrankaDynamicsError, IdentificationError, RecordingError
from ..recordings import preprocessing
from ..recordings.options import HEADER_STAMP, SignalOptions
from ..recordings.plausibility import (
    fatal_faults,
    minor_faults,
    require_plausible_units,
)
from ..recordings.preprocessing import Motion, to_motion
from ..recordings.recording import read_recording, Recording, require_finite
from ..recordings.replay import TorqueErrorUnit

_MAX_BAG_WARNING_COUNT = 10  # of one bag
_MAX_CONTACT_SEARCHES = 3  # in which touched seconds are looked for
# Less motion, in all recordings, shows too little: halves of 12 s of a real FER's motion predict
# each other. A log of ten seconds has a little less, with a rest or a late begin.
MIN_MOTION_DURATION_S = 9.5


@dataclass(frozen=True, eq=False)
class Bag:
    """
    A bag's path and the options for reading and filtering the bag, without its samples.

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
        """Read the bag, and return its recording; RecordingError if it cannot be used."""
        return read_recording(self.path, self.joint_names, topic=self.topic, stamps=self.stamps)

    def motion(self, effort_scale: Array | float = 1.0) -> Motion:
        """Read the bag, and return its resampled, filtered motion, effort times `effort_scale`."""
        return to_motion(self.recording().with_scaled_effort(effort_scale), self.signal)


AnyRecording = Bag | Recording | Motion
RecordingLike = AnyRecording | str | Path  # as users give one


def as_recordings(
    recordings: Sequence[RecordingLike] | RecordingLike, arm: ArmDescription
) -> list[AnyRecording]:
    """Return a list of recordings, paths as Bags; raise IdentificationError for other types."""
    if isinstance(recordings, (str, Path, Bag, Recording, Motion)):
        recordings = [recordings]
    sources: list[AnyRecording] = []
    for source in recordings:
        if isinstance(source, (str, Path)):
            source = Bag(str(source), arm.joint_names)
        if not isinstance(source, (Bag, Recording, Motion)):
            raise IdentificationError(
                'A recording must be the path of a bag, a Bag, Recording or Motion; got '
                f'{type(source).__name__}.'
            )
        sources.append(source)
    return sources


def motion_of(source: AnyRecording) -> Motion:
    """Return the resampled and filtered motion of a bag or recording; a motion unchanged."""
    if isinstance(source, Motion):
        return source
    return source.motion() if isinstance(source, Bag) else to_motion(source)


def labels_of(sources: Sequence[AnyRecording]) -> list[str]:
    """
    Return the names of bags, recordings and motions for tables and messages.

    A bag's name is its path from the last folder that holds all bags. If source number k, counted
    from 1, is a recording or motion in memory, its name is 'recording k'.
    """
    paths = [os.path.abspath(source.path) if isinstance(source, Bag) else '' for source in sources]
    folders = [os.path.dirname(path) for path in paths if path]
    shared_folder = os.path.commonpath(folders or [''])
    return [
        os.path.relpath(path, shared_folder) if path else f'recording {k}'
        for k, path in enumerate(paths, 1)
    ]


def as_recording(source: AnyRecording, name: str, arm: ArmDescription) -> Recording:
    """Return any source as a recording; raise RecordingError if a value is not finite."""
    if isinstance(source, Bag):
        return source.recording()
    recording = source
    if isinstance(source, Motion):
        stamps_ns = np.round(source.time * 1e9).astype(np.int64)
        recording = Recording(
            name, '', arm.joint_names, stamps_ns, source.q, source.dq, source.effort
        )
    assert isinstance(recording, Recording)
    require_finite(recording, name)
    return recording


def require_enough_motion(moving_time: float) -> None:
    """Raise RecordingError if `moving_time`, for which an arm moved [s], is less than 9.5."""
    if moving_time < MIN_MOTION_DURATION_S:
        raise RecordingError(
            # Rounded down, or 9.996 s would read as 10.00 s.
            f'The recordings have {int(100.0 * moving_time) / 100.0:.2f} s of motion in all; '
            f'identification needs at least {MIN_MOTION_DURATION_S:g} s. Record longer, or '
            'add recordings of the same arm and load.'
        )


@former_names.of_attributes('0.3', messages='message_count', samples='sample_count')
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
    message_count: int = field(default=0, metadata={'former_key': 'messages'})
    duration: float = 0.0
    sample_count: int = field(default=0, metadata={'former_key': 'samples'})
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    digest: str = ''


@dataclass(frozen=True, eq=False)
class RecordingSummary:
    """
    A recording reduced to Gram matrices of a constant size, or the error of an unusable bag.

    `corrected_state_grams` are those and their number of samples. `contact` is one that would make
    the identified arm wrong, `change` says after what time it is another arm, if it is.
    `moving_time` is for how long the arm moves [s]. `value_faults` are sentences on values that no
    arm has, in a recording accepted nevertheless. `load_grams` are of a model whose friction grows
    with the starting set's load, None if `grams` are, or if nobody asks. `failure` is the error of
    an unusable bag, which has no matrices.
    """

    note: RecordingNote
    signal: SignalOptions
    grams: GramStack | None = None
    corrected_state_grams: tuple[Array, int] = (np.zeros(0), 0)
    contact: Diagnosis | None = None
    change: FoundChange | None = None
    moving_time: float = 0.0
    failure: FrankaDynamicsError | None = None
    value_faults: tuple[str, ...] = ()
    load_grams: GramStack | None = None


def summarise_recording(
    model: TorqueModel, options: IdentificationOptions, source: AnyRecording, name: str
) -> RecordingSummary:
    """
    Return the summary of a recording called `name`; of an unusable bag, one with its error.

    Signs of a faulty recording are found by the starting set's limits and gravity torques.
    """
    arm = model.arm
    try:
        recording = as_recording(source, name, arm)
        recording = options.with_whole_effort(recording, arm)
        if isinstance(source, Motion):
            motion = replace(source, effort=recording.effort)
        else:
            signal = source.signal if isinstance(source, Bag) else None
            motion = preprocessing.to_motion(recording, signal)
        value_faults, doubts = _recording_faults(
            recording, motion, name, arm, options.accept_unsound
        )
        duration = recording.duration
        if isinstance(source, Motion):
            duration += 2.0 * motion.options.trim  # cut off when the motion was prepared
        contents = recording.q.tobytes() + recording.effort.tobytes()
        note = RecordingNote(
            name,
            topic=recording.topic,
            message_count=len(recording),
            duration=duration,
            sample_count=len(preprocessing.without_rest(motion)),
            remarks=motion.remarks,
            warnings=(*value_faults, *doubts)[:_MAX_BAG_WARNING_COUNT],
            digest=sha256(contents).hexdigest()[:16],
        )
        return replace(
            summarise_motion(motion, model, note),
            value_faults=value_faults,
            load_grams=_load_grams(motion, model),
        )
    except FrankaDynamicsError as error:
        if not isinstance(source, Bag):
            raise
        return RecordingSummary(RecordingNote(name), source.signal, failure=error)


def _recording_faults(
    recording: Recording,
    motion: Motion,
    name: str,
    arm: ArmDescription,
    accept_unsound: bool,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """
    Return sentences on values that no arm has, and on doubts; RecordingError if a fit is barred.

    Raises RecordingError if the arm stands still, or if the recording has a fault that makes all
    results meaningless, unless `accept_unsound`.
    """
    if not len(preprocessing.without_rest(motion)):
        raise RecordingError(
            f'{name}: the arm stands still, and its torques show neither inertias nor friction. '
            'Record a motion that turns every joint to and fro, such as franka-dynamics identify '
            'plan makes.'
        )
    measured = preprocessing.without_idle_effort(recording)
    require_plausible_units(measured, arm)
    value_faults = fatal_faults(measured, arm)
    if value_faults and not accept_unsound:
        raise RecordingError(
            f'{Path(name).name}: {value_faults[0]}. Correct the recording, or accept it with '
            '--anyway.'
        )
    return value_faults, tuple(minor_faults(measured, arm))


def summarise_motion(motion: Motion, model: TorqueModel, note: RecordingNote) -> RecordingSummary:
    """Return the summary of a filtered motion, without samples at which every joint rests."""
    moving = preprocessing.without_rest(motion)
    grams = GramStack.from_motion(model, moving, period=repetition_period(motion))
    prior = Prior.centered_at(model.arm, model, grams.max_torque)
    theta = fit_theta(grams, prior)
    unit_factors = np.array(TorqueErrorUnit.for_arm(model.arm).factors)
    contact, untouched = _harmful_contact(moving, prior, grams, theta, note.name)
    change = None
    if len(untouched) >= MIN_MOTION_DURATION_S * motion.options.rate:
        change = find_change(untouched, prior, note.name)
    return RecordingSummary(
        note,
        motion.options,
        grams,
        corrected_state_grams=corrected_state_grams(
            model, moving, joint_noise(grams, theta), unit_factors
        ),
        contact=contact,
        change=change,
        moving_time=note.duration - preprocessing.seconds_at_rest(motion),
    )


def _load_grams(motion: Motion, model: TorqueModel) -> GramStack | None:
    """Return the Gram matrices of `RecordingSummary.load_grams`."""
    if model.load_parameters is not None:
        return None
    load_model = model.with_load_friction(model.base.values())
    period = repetition_period(motion)
    moving = preprocessing.without_rest(motion)
    return GramStack.from_motion(load_model, moving, period=period, faults=())


def _harmful_contact(
    motion: Motion,
    prior: Prior,
    grams: GramStack,
    total_theta: Array,
    recording_name: str,
) -> tuple[Diagnosis | None, Motion]:
    """
    Return a contact that would make the identified arm wrong, or None, and the motion without it.

    `total_theta` (p,) are parameters fitted to all of the motion, called `recording_name`.
    """
    model = prior.model
    untouched_theta = total_theta
    for _ in range(_MAX_CONTACT_SEARCHES):  # each by the arm fitted to what the last one left
        residual = motion.effort - model.torque(motion, untouched_theta)  # (N, n), N m
        is_touched, worst_second = contact_mask(motion, residual, min_noise(grams))
        if not is_touched.any():
            return None, motion
        untouched = motion.select(~is_touched)
        untouched_grams = GramStack.from_motion(model, untouched, period=np.inf, faults=())
        untouched_theta = fit_theta(untouched_grams, prior)
    unit = TorqueErrorUnit.for_arm(model.arm)
    error_before = untouched_grams.torque_errors(total_theta, unit).E
    error_after = untouched_grams.torque_errors(untouched_theta, unit).E
    effect = error_before / error_after
    if not effect > MIN_HARMFUL_ERROR_RATIO:
        return None, motion
    contact = Diagnosis(
        Contact.kind,
        joints=(),
        values=(worst_second,),
        error_before=error_before,
        error_after=error_after,
        recording=recording_name,
        effect=effect,
    )
    return contact, untouched


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
