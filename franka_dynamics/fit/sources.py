# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sources of an identification: recordings in files and in memory, motions, and paths."""

from collections.abc import Sequence
import os
from pathlib import Path

import numpy as np

from ..arm import ArmDescription
from ..errors import IdentificationError, RecordingError
from ..recordings.data_set import find_episodes
from ..recordings.episodes import Bag, Episode, LogEpisode
from ..recordings.preprocessing import Motion, to_motion
from ..recordings.recording import Recording, require_finite

AnyRecording = Episode | Bag | LogEpisode | Recording | Motion
RecordingLike = AnyRecording | str | Path  # as users give one


def as_recordings(
    recordings: Sequence[RecordingLike] | RecordingLike, arm: ArmDescription
) -> list[AnyRecording]:
    """
    Return a list of recordings, paths as Episodes: one of a bag, all of a data set.

    Raises IdentificationError for other types, RecordingError if one in memory has another number
    of joints than the arm, or a data set's columns are not clear.
    """
    if isinstance(recordings, (str, Path, Episode, Recording, Motion)):
        recordings = [recordings]
    sources: list[AnyRecording] = []
    for k, source in enumerate(recordings, 1):
        if isinstance(source, (str, Path)):
            kinds = [joint.kind for joint in arm.joints]
            sources += find_episodes(source, arm.joint_names, joint_kinds=kinds)
            continue
        if not isinstance(source, (Episode, Recording, Motion)):
            raise IdentificationError(
                'A recording must be the path of a bag or data set, an Episode, Recording or '
                f'Motion; got {type(source).__name__}.'
            )
        if not isinstance(source, Episode) and source.q.shape[1] != arm.n:
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
    return source.motion() if isinstance(source, Episode) else to_motion(source)


def labels_of(sources: Sequence[AnyRecording]) -> list[str]:
    """
    Return the names of recordings in files, recordings and motions for tables and messages.

    The name of one in a file is its path from the last folder that holds all files, and its number
    if the file holds several. If source number k, counted from 1, is a recording or motion in
    memory, its name is 'recording k'.
    """
    paths = [_absolute_path(source) for source in sources]
    folders = [os.path.dirname(path) for path in paths if path]
    shared_folder = os.path.commonpath(folders or [''])
    return [
        f'{os.path.relpath(path, shared_folder)}{_number_text(source)}'
        if path
        else f'recording {k}'
        for k, (source, path) in enumerate(zip(sources, paths), 1)
    ]


def _absolute_path(source: AnyRecording) -> str:
    """Return the absolute path of a recording in a file, or ''."""
    return os.path.abspath(source.path) if isinstance(source, Episode) else ''


def _number_text(source: AnyRecording) -> str:
    """Return text on the number of a recording in its file, or ''."""
    number = source.number if isinstance(source, Episode) else None
    return '' if number is None else f' episode {number}'


def as_recording(source: AnyRecording, name: str, arm: ArmDescription) -> Recording:
    """Return any source as a recording; raise RecordingError if a value is not finite."""
    if isinstance(source, Episode):
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
