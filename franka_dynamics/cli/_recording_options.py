# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The options for reading and filtering a recording of an arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ._arm_options import NamedArm
from ._options import arm_prefix_option, gravity_option
from ._say import ProgressBar
from ..arm import ArmDescription
from ..errors import RecordingError
from ..options import option
from ..recordings.plausibility import require_radians, suspicions
from ..recordings.preprocessing import Motion, prepare, SignalOptions
from ..recordings.recording import HEADER, read_recording, Recording, STAMPS


@dataclass(frozen=True, kw_only=True)
class BagNames(NamedArm):
    """The options that name the joints and the topic in a bag."""

    heading: ClassVar[str] = 'the recording'
    arm_prefix: str = arm_prefix_option(rare=True)
    joint_names: tuple[str, ...] = option(
        'names of the joints in the bag, from base to tip', 'NAME', default=(), rare=True
    )
    topic: str | None = option(
        "topic of the joint states (default: /joint_states, or the bag's only such topic)",
        default=None,
        rare=True,
    )
    stamps: str = HEADER

    def names_in_bag(self, arm: ArmDescription) -> tuple[str, ...]:
        """Return the joints' names in the bag: --joint-names, or else the arm's own."""
        names = self.joint_names or arm.joint_names
        if len(names) != arm.n:
            raise RecordingError(
                f'--joint-names has {len(names)} names, but {arm.name} has {arm.n} joints; name '
                'each, from base to tip.'
            )
        return names

    def read(self, bag: str, arm: ArmDescription, bar: ProgressBar) -> Recording:
        """Read an arm's joint states from a bag."""
        return read_recording(
            bag,
            self.names_in_bag(arm),
            topic=self.topic,
            stamps=self.stamps,
            progress=bar.follow(f'reading {bag}'),
        )


@dataclass(frozen=True, kw_only=True)
class RecordingOptions(SignalOptions, BagNames):
    """Options for reading and filtering a recording of an arm."""

    stamps: str = option(
        "time stamps: the messages' own or the recorder's",
        choices=STAMPS,
        default=HEADER,
        rare=True,
    )

    @property
    def signal(self) -> SignalOptions:
        """The options for resampling and filtering: --rate, --cutoff, --trim."""
        return self.part(SignalOptions)


@dataclass(frozen=True, kw_only=True)
class MeasuredTorques(RecordingOptions):
    """Options for a bag whose measured efforts are compared with a model's torques."""

    bag: str = option('a rosbag2 folder, or one .mcap or .db3 file', 'BAG', positional=True)
    gravity: tuple[float, float, float] = gravity_option()
    effort_scale: tuple[float, ...] = option(
        'N m per unit of the recorded effort, one number or one per joint, such as the N m/A '
        'that `identify arm` finds; -1 flips the sign',
        'NM_PER_UNIT',
        default=(),
    )

    def prepared(
        self, arm: ArmDescription, bar: ProgressBar
    ) -> tuple[Recording, Motion, tuple[str, ...]]:
        """Return the recording, its filtered motion, and sentences about suspicious data."""
        from ..recordings.replay import replay_columns

        recording = self.read(self.bag, arm, bar)
        require_radians(recording, arm)
        if self.effort_scale:
            recording = recording.scaled(self.effort_scale)
        motion = prepare(recording, self.signal, columns=replay_columns(arm.friction))
        return recording, motion, suspicions(recording, arm, gravity=self.gravity)
