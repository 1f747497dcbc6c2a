# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings in files, without their samples: bags, and episodes of logs."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from .log_import import import_log
from .options import ColumnMap, HEADER_STAMP, SignalOptions
from .preprocessing import Motion, to_motion
from .recording import read_recording, Recording
from ..arrays import Array
from ..spatial import JointKind


@dataclass(frozen=True, eq=False)
class Episode(ABC):
    """
    A recording in a file, and the options for reading and filtering it, without its samples.

    `path` is that of the file or folder, `joint_names` are the arm's joints from base to tip.
    """

    path: str
    joint_names: tuple[str, ...]

    signal: SignalOptions = field(default_factory=SignalOptions, kw_only=True)

    @property
    def number(self) -> int | None:
        """The number of the episode in its file, None if the file holds nothing else."""
        return None

    @abstractmethod
    def recording(self) -> Recording:
        """Read the file, and return the recording; RecordingError if it cannot be used."""

    def motion(self, effort_scale: Array | float = 1.0) -> Motion:
        """Read the file, and return its resampled, filtered motion, effort times a scale."""
        return to_motion(self.recording().with_scaled_effort(effort_scale), self.signal)


@dataclass(frozen=True, eq=False)
class Bag(Episode):
    """
    A bag's path and the options for reading and filtering the bag, without its samples.

    `topic` is that of the joint states (None: /joint_states or the bag's only topic of that type).
    `stamps` selects the messages' time stamps ('header') or the recorder's ('received').
    """

    topic: str | None = None
    stamps: str = HEADER_STAMP

    def recording(self) -> Recording:
        """Read the bag, and return its recording; RecordingError if it cannot be used."""
        return read_recording(self.path, self.joint_names, topic=self.topic, stamps=self.stamps)


@dataclass(frozen=True, eq=False)
class LogEpisode(Episode):
    """
    An episode of a log file: `columns` says where its quantities are, and which episode it is.

    `joint_kinds` are as for `import_log`.
    """

    columns: ColumnMap = field(default_factory=ColumnMap)
    joint_kinds: Sequence[JointKind] | None = None

    @property
    def number(self) -> int | None:
        """The number of the episode in its file, None if the file holds nothing else."""
        return self.columns.episode

    def recording(self) -> Recording:
        """Read the episode, and return its recording; RecordingError if it cannot be used."""
        return import_log(self.path, self.columns, self.joint_names, joint_kinds=self.joint_kinds)
