# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Read, prepare and summarise bags, in any process that can open the bags' files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from .options import IdentificationOptions
from .samples import Summary
from .torque_model import TorqueModel
from ..arm import ArmDescription
from ..errors import ClusterError, FrankaDynamicsError, IdentificationError, RecordingError
from ..recordings.plausibility import faults, require_radians, suspicions
from ..recordings.preprocessing import Motion, prepare, SignalOptions, without_idle_effort
from ..recordings.recording import HEADER, read_pieces, Recording

_MOST_SUSPICIONS = 10  # largest number of suspicions kept for one bag


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
    stamps: str = HEADER
    signal: SignalOptions = field(default_factory=SignalOptions)
    at_once: int = 100_000

    def pieces(self) -> Iterator[tuple[Recording, float]]:
        """Yield the pieces of the bag, each with the fraction of the bag read so far."""
        return read_pieces(
            self.path, self.joint_names, self.at_once, topic=self.topic, stamps=self.stamps
        )

    def motion(self, model: TorqueModel) -> Motion:
        """
        Return the bag's prepared motion, or that of the first piece of a long bag.

        The motion's `columns` are the friction columns of `model`.
        """
        recording, _ = next(self.pieces())
        return prepare(recording, self.signal, columns=model.friction.columns)


def labels_of(sources: Sequence[Bag | Recording | Motion]) -> list[str]:
    """
    Return a unique name for each source, for tables and messages.

    A bag is named by the last part of its path, preceded by as many parent folders as make the
    name unique. If source number k, counted from 1, is a recording or motion in memory, its name
    is 'recording k'.
    """
    parts = [Path(one.path).parts if isinstance(one, Bag) else () for one in sources]
    labels: list[str] = []
    for k, own in enumerate(parts):
        others = [one for i, one in enumerate(parts) if i != k]
        depth = next(
            (d for d in range(1, len(own)) if all(own[-d:] != one[-d:] for one in others)),
            len(own),
        )
        label = str(Path(*own[-depth:])) if own else f'recording {k + 1}'
        labels.append(label if label not in labels else f'{label} ({k + 1})')
    return labels


def motion_of(source: Bag | Recording | Motion, model: TorqueModel) -> Motion:
    """Return a source's prepared motion; of a long bag only the first piece is read."""
    if isinstance(source, Motion):
        return source
    if isinstance(source, Recording):
        return prepare(source, columns=model.friction.columns)
    return source.motion(model)


@dataclass(frozen=True)
class BagNote:
    """
    A report's entry about one bag.

    `messages` is the number of joint states read, `duration` the time between the first and the
    last [s], `samples` the number of samples after resampling and trimming, and `digest` a hash of
    positions and efforts as read from the bag, to find a recording given twice.
    """

    bag: str
    topic: str
    messages: int
    duration: float
    samples: int
    remarks: tuple[str, ...] = ()
    suspicions: tuple[str, ...] = ()
    digest: str = ''


@dataclass(frozen=True, eq=False)
class BagResult:
    """
    Result of summarising a source: its summary, its signal options and, for a bag, its note.

    `failure` is the error of an unusable bag, which has neither summary nor note.
    """

    summary: Summary | None
    signal: SignalOptions
    note: BagNote | None = None
    failure: FrankaDynamicsError | None = None


@dataclass(frozen=True, eq=False)
class Summarise:
    """
    Function object that summarises a bag, recording or motion; it can run in another process.

    A faulty bag is recognised by the joint limits and gravity torques of `arm`, which has the
    inertias of the starting set.
    """

    model: TorqueModel
    arm: ArmDescription
    options: IdentificationOptions

    def __call__(self, source: Bag | Recording | Motion, name: str) -> BagResult:
        """Return the source's result; a bag's error is not raised, but stored in the result."""
        if not isinstance(source, Bag):
            motion = motion_of(source, self.model)
            return BagResult(Summary.of(self.model, motion, name), motion.options)
        try:
            return self._read(source, name)
        except FrankaDynamicsError as error:
            return BagResult(None, source.signal, failure=error)

    def _read(self, bag: Bag, name: str) -> BagResult:
        summary: Summary | None = None
        remarks: dict[str, None] = {}
        suspicions: list[str] = []
        digest, messages, samples, begin, start_ns = sha256(), 0, 0, 0.0, 0
        for recording, end in bag.pieces():
            place, begin = (begin, end), end
            start_ns = start_ns if place[0] > 0.0 else int(recording.stamp_ns[0])
            messages += len(recording) - (place[0] > 0.0)  # consecutive pieces share one message
            digest.update(recording.q.tobytes() + recording.effort.tobytes())
            seconds = (int(recording.stamp_ns[0]) - start_ns) * 1e-9
            where = f'from {seconds:.0f} s on: ' if place[0] > 0.0 else ''
            try:
                at_work = without_idle_effort(recording)
                motion = prepare(at_work, bag.signal, columns=self.model.friction.columns)
            except RecordingError as error:
                if place == (0.0, 1.0) or (end == 1.0 and summary is None):
                    raise
                remarks[f'{where}{error} This piece was left out'] = None
                continue
            one = Summary.of(self.model, motion, name, place)
            summary = one if summary is None else summary + one
            remarks |= dict.fromkeys(motion.remarks)
            suspicions += [where + sentence for sentence in self._suspicions(bag, at_work)]
            samples += len(motion)
        note = BagNote(
            recording.source,
            recording.topic,
            messages,
            (int(recording.stamp_ns[-1]) - start_ns) * 1e-9,
            samples,
            tuple(remarks),
            tuple(suspicions[:_MOST_SUSPICIONS]),
            digest.hexdigest()[:16],
        )
        return BagResult(summary, bag.signal, note)

    def _suspicions(self, bag: Bag, recording: Recording) -> tuple[str, ...]:
        """
        Return warnings that a recording looks faulty.

        Raises RecordingError for positions in degrees and, unless `options.anyway`, for other
        `faults`.
        """
        require_radians(recording, self.arm)
        options = self.options
        scaled = options.effort_scale is not None
        looked_at = recording.scaled(options.known_scale(self.arm.n)) if scaled else recording
        wrong = faults(looked_at, self.arm, gravity=options.gravity, torque=options.torque)
        if wrong and not options.anyway:
            raise RecordingError(
                f'{Path(bag.path).name}: {wrong[0]}. Correct the recording, or accept it with '
                '--anyway.'
            )
        if not options.torque:
            return wrong
        return suspicions(looked_at, self.arm, gravity=options.gravity)


def gathered(
    results: Iterator[BagResult],
    sources: Sequence[Bag | Recording | Motion],
    tests: int,
    progress: Callable[[int, int], None] | None,
    *,
    skip_failures: bool,
) -> tuple[list[BagResult], int, list[str]]:
    """
    Return usable sources' results, the number of tests among them, and unusable bags' errors.

    The results of the test recordings come last; the errors are messages. Raises RecordingError if
    no bag to fit, or no test bag, can be used; the error of the first unusable bag unless
    `skip_failures`; IdentificationError if two bags hold the same recording; and ClusterError if
    workers die repeatedly on the same bag.
    """
    used, failures, unseen = [], [], 0
    learnt = len(sources) - tests
    try:
        for k, one in enumerate(results):
            if one.failure is not None:
                if not skip_failures:
                    raise one.failure
                failures.append(str(one.failure))
            else:
                used.append(one)
                unseen += k >= learnt
            if progress is not None:
                progress(k + 1, len(sources))
    except Exception as error:
        if type(error).__name__ != 'KilledWorker':  # dask's error; dask may not be installed
            raise
        raise ClusterError(
            f'Workers died repeatedly on one bag ({error}); the usual cause is too little memory, '
            'and their logs say more.'
        ) from error
    if len(used) == unseen:
        raise RecordingError(f'No bag can be used: {failures[0]}')
    if tests and not unseen:
        raise RecordingError(
            f'No bag of --test can be used, so the result cannot be tested: {failures[-1]}'
        )
    _require_different([one.note for one in used if one.note is not None])
    return used, unseen, failures


def _require_different(notes: Sequence[BagNote]) -> None:
    first: dict[str, str] = {}
    for other in notes:
        if other.digest in first:
            raise IdentificationError(
                f'{other.bag} holds the same recording as {first[other.digest]}: it would be '
                'fitted twice, or tested on data that it was fitted to. Name it once.'
            )
        first[other.digest] = other.bag
