# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Options that several actions share; output paths are checked before the work starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
import math
from pathlib import Path
import re
import shlex
import sys
from typing import Any, ClassVar, Self, TYPE_CHECKING

from ._action import Action, PRINTED
from ..errors import OutputError, RecordingError, SettingsError
from ..files import writable_file, writable_folder
from ..names import AS_LISTED, GRAVITY, REPAIRS
from ..options import option, switch
from ..recordings.options import HEADER, SignalOptions, STAMPS
from ..ros import COMMAND_TOPIC

if TYPE_CHECKING:
    from ._say import ProgressBar
    from ..arm import ArmDescription
    from ..recordings.recording import Recording

_EARTH = 9.75, 9.85  # least and largest gravity on the Earth, rounded outwards [m/s^2]
_PICTURES = ('.png', '.svg', '.pdf')


def gravity_option() -> Any:
    """Return the option --gravity: gravity in the axes of the space frame {S} [m/s^2]."""
    text = 'gravity in the space frame [m/s^2]'
    return option(text, ('X', 'Y', 'Z'), default=GRAVITY, callback=_with_remark)


def _with_remark(_context: Any, _parameter: Any, gravity: tuple[float, ...]) -> tuple[float, ...]:
    """Return gravity; print a note if it points up or has not the strength of the Earth's."""
    given, strength = ' '.join(f'{one:g}' for one in gravity), math.hypot(*gravity)
    said = ''
    if gravity[2] > 0.0:
        said = 'points up, as for an arm that hangs; for an upright arm it is 0 0 -9.81'
    elif strength and not _EARTH[0] <= strength <= _EARTH[1]:
        said = f"has the strength {strength:.3g} m/s^2; the Earth's is 9.81"
    if said:
        print(f'note: gravity {given} {said}.', file=sys.stderr)
    return gravity


def file_option(what: str, **more: Any) -> Any:
    """Return an option of a file to be written."""
    return option(what, 'FILE', **{'kind': writable_file, **more})


def folder_option(what: str, **more: Any) -> Any:
    """Return an option of a folder to be written into."""
    return option(what, 'FOLDER', **{'kind': writable_folder, **more})


def picture_option(what: str) -> Any:
    """Return the option --plot FILE, a .png, .svg or .pdf to be written."""
    return file_option(f'{what} ({", ".join(_PICTURES)})', kind=_picture_file)


def _picture_file(text: str) -> Path:
    path = writable_file(text)
    if path.suffix.lower() not in _PICTURES:
        raise OutputError(f'{path} is no picture; the name must end in {", ".join(_PICTURES)}.')
    return path


def json_option() -> Any:
    """Return the option --json [FILE]; without FILE the action prints JSON instead of text."""
    return file_option('all figures as JSON, in this file or in place of text', const=PRINTED)


def arm_prefix_option(**more: Any) -> Any:
    """Return the option --arm-prefix."""
    return option('prefix of every joint name, such as left_', 'PREFIX', default='', **more)


def new_prefix(text: str) -> str:
    """Return the prefix; raise ValueError if names of URDF and TF cannot begin with it."""
    if not re.fullmatch(r'[\w./-]*', text, re.ASCII):
        raise ValueError(f'{text!r} cannot begin a name: use letters, digits, _, -, . and /')
    return text


@dataclass(frozen=True, kw_only=True)
class NewFile(Action):
    """An output file that users may edit: an existing file is only overwritten with --force."""

    output: Path | None = file_option('file to write (default: print)')
    force: bool = switch('overwrite an existing file')

    def require_new(self) -> None:
        """Raise OutputError if the file --output exists already, unless --force is given."""
        if self.output is not None and self.output.exists() and not self.force:
            raise OutputError(f'{self.output} exists; choose another name, or add --force.')


@dataclass(frozen=True, kw_only=True)
class PayloadFiles(Action):
    """The options --output and --desk: files into which the computed payload is written."""

    output: Path | None = file_option('write a ROS parameter file for the feedforward node')
    desk: Path | None = file_option("write an endeffector-config.json for Desk's settings")


def ros_name(what: str, default: str | None, metavar: str | None = None) -> Any:
    """Return an option that names a topic or a node."""
    return option(what, metavar, default=default, kind=_ros_name)


def _ros_name(text: str) -> str:
    """Return the name; raise ValueError if ROS would refuse it."""
    if not re.fullmatch(r'[~/]?/?([A-Za-z_]\w*/)*[A-Za-z_]\w*', text, re.ASCII):
        raise ValueError(f'{text!r} is no ROS name: letters, digits, _, and / between them')
    return text


@dataclass(frozen=True, kw_only=True)
class Topics(Action):
    """The options --topic and --command: topics of joint states and commanded torques."""

    topic: str = ros_name(
        'topic of joint states; of franka_ros2: franka/joint_states', 'joint_states'
    )
    command: str = ros_name('topic of the torques', COMMAND_TOPIC, 'TOPIC')


def new_bag(text: str) -> Path:
    """Return the path of a new bag; raise OutputError if it exists or cannot be made."""
    path = writable_folder(text)
    if path.exists():
        raise OutputError(f'{path} exists already; a bag is never overwritten: choose another.')
    return path


# Arm options that change inertias, not kinematics; a hand only adds its inertia to the last link.
MASS_OPTIONS = ('hand', 'inertial_set', 'repair', 'payload')


@dataclass(frozen=True, kw_only=True)
class NamedArm(Action):
    """The options for an arm's name or file, and its payload."""

    heading: ClassVar[str] = 'the arm'
    arm: str = option(
        'a shipped arm, or the path of an arm file, a URDF or a xacro file', default='fr3'
    )
    payload: str | None = option(
        'load beside the hand in the flange frame: mass,x,y,z[,ixx,ixy,ixz,iyy,iyz,izz], a .yaml '
        "file of `payload-from-mesh` or `identify payload`, or Desk's .json file",
        'NUMBERS|FILE',
    )

    def load_arm(self, inertial_set: str | None = None, hand: str = '') -> ArmDescription:
        """
        Load --arm with the options --set, --hand, --repair and --payload.

        The arguments, if given, are used in place of --set and --hand; the inertias of
        `inertial_set` are then as published, without --repair.
        """
        from ..urdf.source import load_arm

        return load_arm(
            self.arm,
            inertial_set or getattr(self, 'inertial_set', None),
            hand=hand or getattr(self, 'hand', AS_LISTED),
            prefix=getattr(self, 'arm_prefix', ''),
            repair=None if inertial_set else getattr(self, 'repair', None),
            payload=self.payload,
        )

    def load_each(self, sets: Iterable[str], hands: Iterable[str]) -> list[ArmDescription]:
        """Return the arm once for each combination of an inertial set and a hand."""
        every = [self.load_arm(one, hand) for one in sets for hand in dict.fromkeys(hands)]
        return list({(arm.inertial_set, arm.hand): arm for arm in every}.values())

    def title(self, arm: ArmDescription) -> str:
        """Return one line with the names of the arm, its inertial set, hand and payload."""
        file = f'{self.arm}: ' if Path(self.arm).is_file() else ''
        what = f'{file}{arm.name}, set {arm.inertial_set}, hand {arm.hand}'
        return what if self.payload is None else f'{what}, payload {self.payload}'


@dataclass(frozen=True, kw_only=True)
class ArmOptions(NamedArm):
    """The options for an arm, its inertial set (repaired or as published), hand and payload."""

    heading: ClassVar[str] = 'the arm'
    hand: str = option(
        "a shipped hand, a hand file, Desk's .json file, none, or as_listed with the set",
        default=AS_LISTED,
    )
    inertial_set: str | None = option(
        "one of the arm's inertial sets (default: its own)", 'SET', flags=('--set',)
    )
    repair: str | None = option(
        "make inertias physical within the rounding of the set's digits", choices=REPAIRS
    )

    def node_parameters(self) -> dict[str, Any]:
        """
        Return the ROS parameters with which a node loads the arm.

        Raises SettingsError for a URDF, because nodes take arm files.
        """
        from ..arm.arm_file import is_urdf
        from ..arm.payload import payload_array, read_payload

        if is_urdf(self.arm):
            raise SettingsError(
                f'{self.arm} is a URDF, but nodes take arm files; write an arm file with '
                f'"franka-dynamics arm import {self.arm} --output arm.yaml".'
            )
        given = {
            'robot_type': self.arm,
            'hand': self.hand,
            'inertial_set': self.inertial_set,
            'repair': self.repair,
            'payload': self.payload and payload_array(read_payload(self.payload)).tolist(),
        }
        return {name: value for name, value in given.items() if value}

    def arm_as_given(self, *without: str) -> str:
        """Return --arm and the MASS_OPTIONS with an effect, but not `without`, as shell words."""
        words = ['--arm', self.arm]
        for name in MASS_OPTIONS:
            if getattr(self, name) not in (None, AS_LISTED) and name not in without:
                words += [self.spelled(name), f'{getattr(self, name)}']
        return shlex.join(words)


@dataclass(frozen=True, kw_only=True)
class BagNames(NamedArm):
    """The options that name the joints and the topic in a bag."""

    heading: ClassVar[str] = 'the recording'
    arm_prefix: str = arm_prefix_option()
    joint_names: tuple[str, ...] = option(
        'names of the joints in the bag, from base to tip', 'NAME', default=()
    )
    topic: str | None = ros_name(
        'topic of joint states (default: /joint_states, or the only one)', None
    )
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
