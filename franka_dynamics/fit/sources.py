# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sources of an identification: bags, recordings and motions, and paths that stand for bags."""

from collections.abc import Sequence
from dataclasses import dataclass, field
import os
from pathlib import Path

import numpy as np

from ..arm import ArmDescription
from ..arrays import Array
from ..errors import IdentificationError, RecordingError
from ..recordings.options import HEADER_STAMP, SignalOptions
from ..recordings.preprocessing import Motion, to_motion
from ..recordings.recording import read_recording, Recording, require_finite


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
    """
    Return a list of recordings, paths as Bags.

    Raises IdentificationError for other types, RecordingError if one in memory has another number
    of joints than the arm.
    """
    if isinstance(recordings, (str, Path, Bag, Recording, Motion)):
        recordings = [recordings]
    sources: list[AnyRecording] = []
    for k, source in enumerate(recordings, 1):
        if isinstance(source, (str, Path)):
            source = Bag(str(source), arm.joint_names)
        if not isinstance(source, (Bag, Recording, Motion)):
            raise IdentificationError(
                'A recording must be the path of a bag, a Bag, Recording or Motion; got '
                f'{type(source).__name__}.'
            )
        if not isinstance(source, Bag) and source.q.shape[1] != arm.n:
            raise RecordingError(
                f'Recording {k} is of {source.q.shape[1]} joints, and {arm.name} has {arm.n}: '
                'give the arm that was recorded, or the columns of its joints alone.'
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
