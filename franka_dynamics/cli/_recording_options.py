# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The options for reading and filtering a recording of an arm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self, TYPE_CHECKING

from ._arm_options import NamedArm
from ._options import arm_prefix_option
from ..errors import RecordingError
from ..options import option
from ..recordings.options import HEADER, SignalOptions, STAMPS

if TYPE_CHECKING:
    from ._say import ProgressBar
    from ..arm import ArmDescription
    from ..recordings.recording import Recording


@dataclass(frozen=True, kw_only=True)
class BagNames(NamedArm):
    """The options that name the joints and the topic in a bag."""

    heading: ClassVar[str] = 'the recording'
    arm_prefix: str = arm_prefix_option()
    joint_names: tuple[str, ...] = option(
        'names of the joints in the bag, from base to tip', 'NAME', default=()
    )
    topic: str | None = option('topic of joint states (default: /joint_states, or the only one)')
    stamps: str = HEADER

    def resolved(self) -> Self:
        """
        Return the action for the arm whose joints its first bag has.

        The options --arm and --joint-names are kept. Raises RecordingError if the joints are those
        of another shipped arm than --arm, or, without --arm, of several arms.
        """
        bags = getattr(self, 'bag', None), *getattr(self, 'bags', ()), *getattr(self, 'loaded', ())
        bag = next((one for one in bags if one), None)
        if bag is None or self.joint_names:
            return self
        from ..arm import available_arms
        from ..recordings.rosbag import names_in_bag
        from ..urdf.importer import arms_with_joints

        if bag in available_arms() and not Path(bag).exists():
            raise RecordingError(f'{bag} is an arm, not a bag; write --arm {bag}.')
        present = names_in_bag(Path(bag), self.topic)
        found = arms_with_joints(present, prefix=self.arm_prefix or None)
        names = ' and '.join(joints[0] for _, _, joints in found)
        if 'arm' in self.options_given:
            if found and not arms_with_joints(present, self.load_arm(), ''):
                raise RecordingError(
                    f'{bag} has the joints of {found[0][0]} ({names}, ...), not of {self.arm}; '
                    f'give --arm {found[0][0]}, or leave --arm out.'
                )
            return self
        if len(found) > 1:
            raise RecordingError(
                f'{bag} has the joints of {len(found)} arms ({names}); choose by --arm or '
                '--arm-prefix.'
            )
        if not found:
            return self
        name, arm, joints = found[0]
        return replace(self, arm=name, arm_prefix=joints[0].removesuffix(arm.joint_names[0]))

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
        from ..recordings.recording import read_recording

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

    stamps: str = option("the messages' own, or the recorder's", choices=STAMPS, default=HEADER)

    @property
    def signal(self) -> SignalOptions:
        """The options for resampling and filtering: --rate, --cutoff, --trim."""
        return self.part(SignalOptions)
