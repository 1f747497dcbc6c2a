# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads recordings from bags, or takes recordings and motions in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
import os
from pathlib import Path

import numpy as np

from ..arm import ArmDescription
from ..arrays import Array
from ..errors import IdentificationError
from ..recordings.preprocessing import Motion, prepare, SignalOptions
from ..recordings.recording import HEADER_STAMP, read_recording, Recording, require_finite


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

    def motion(self, effort_scale: Array | float = 1.0) -> Motion:
        """Return the bag's prepared motion, with its efforts multiplied by `effort_scale`."""
        return prepare(self.recording().with_scaled_effort(effort_scale), self.signal)


Source = Bag | Recording | Motion
RecordingLike = Source | str | Path  # as users give one


def as_sources(
    given: Sequence[RecordingLike] | RecordingLike, arm: ArmDescription
) -> list[Source]:
    """Return sources; paths become bags of the arm's joints. IdentificationError for others."""
    if isinstance(given, (str, Path, Bag, Recording, Motion)):
        given = [given]
    sources: list[Source] = []
    for one in given:
        if isinstance(one, (str, Path)):
            one = Bag(str(one), arm.joint_names)
        if not isinstance(one, (Bag, Recording, Motion)):
            raise IdentificationError(
                'A recording must be the path of a bag, a Bag, Recording or Motion; got '
                f'{type(one).__name__}.'
            )
        sources.append(one)
    return sources


def motion_of(source: Source) -> Motion:
    """Return a source's prepared motion."""
    if isinstance(source, Motion):
        return source
    return source.motion() if isinstance(source, Bag) else prepare(source)


def labels_of(sources: Sequence[Source]) -> list[str]:
    """
    Return the sources' names for tables and messages.

    A bag's name is its path from the last folder that holds all bags. If source number k, counted
    from 1, is a recording or motion in memory, its name is 'recording k'.
    """
    paths = [os.path.abspath(one.path) if isinstance(one, Bag) else '' for one in sources]
    shared = os.path.commonpath([os.path.dirname(path) for path in paths if path] or [''])
    return [
        os.path.relpath(path, shared) if path else f'recording {k}'
        for k, path in enumerate(paths, 1)
    ]


def read_source(source: Source, name: str, arm: ArmDescription) -> Recording:
    """Return a source called `name` as a recording; raise RecordingError if it holds NaN."""
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
