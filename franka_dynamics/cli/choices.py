# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The classes that load the arm and read the bags that command-line options select."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TYPE_CHECKING

import click
from click.core import ParameterSource

from ..constants import AS_LISTED, NO_HAND
from ..errors import RecordingError, require_extra
from ..recordings.options import HEADER_STAMP

if TYPE_CHECKING:
    from ..arm import ArmDescription, LinkInertia
    from ..recordings.episodes import Episode
    from ..recordings.recording import Recording


def was_option_given(name: str) -> bool:
    """Return whether a parameter was given on the command line of the running command."""
    context = click.get_current_context(silent=True)
    if context is None:
        return False
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def require_installed(purpose: str, extra: str, *modules: str) -> None:
    """Raise MissingDependencyError if a module needed for a `purpose` is not installed."""
    with require_extra(purpose, extra):
        for name in modules:
            import_module(name)


def forbid_options(conflict: str, *names: str) -> None:
    """
    Raise click.UsageError if one of the named parameters was given on the command line.

    `conflict` is the option or input with which they have no effect, and the reason.
    """
    for typed in _given_of(names):
        raise click.UsageError(f'{typed} has no meaning with {conflict}. Leave one of them out.')


def forbid_without(needed_option: str, *names: str) -> None:
    """Raise click.UsageError, asking for `needed_option`, if a named option was given."""
    for typed in _given_of(names):
        raise click.UsageError(f'{typed} needs {needed_option}; add it, or leave {typed} out.')


def _given_of(names: Iterable[str]) -> list[str]:
    """Return those of the named parameters that were given, as users type them."""
    context = click.get_current_context()
    typed = {'xacro': 'NAME:=VALUE'}  # which is no parameter of click
    for parameter in context.command.params:
        is_option = isinstance(parameter, click.Option)
        name = parameter.opts[0] if is_option else parameter.human_readable_name
        typed[f'{parameter.name}'] = name
    # A name that the command does not have is an error of the program, a KeyError.
    of_names = {name: typed[name] for name in names}
    return [words for name, words in of_names.items() if was_option_given(name)]


@dataclass(frozen=True)
class ArmChoice:
    """Values of --arm, --set, --hand, --payload and other options that select an arm."""

    arm: str = 'fr3'
    hand: str = AS_LISTED
    inertial_set: str | None = None
    payload: str | None = None
    prefix: str = ''
    joints: tuple[str, ...] = ()
    held: tuple[tuple[str, float], ...] = ()
    xacro: Mapping[str, str] = field(default_factory=dict)

    def load(self) -> 'ArmDescription':
        """Load the arm that the options select."""
        from ..arm_io import load_arm

        return load_arm(**{**vars(self), 'payload': self.read_payload(), 'held': dict(self.held)})

    def read_payload(self) -> 'LinkInertia | None':
        """Return --payload's LinkInertia about the flange's origin, or None without --payload."""
        from ..arm.payload import read_payload

        return None if self.payload is None else read_payload(self.payload)

    def load_sets_and_hands(
        self, sets: Sequence[str] = (), hands: Sequence[str] = ()
    ) -> 'list[ArmDescription]':
        """
        Load the arm with each of `sets` (default: all) and `hands` (default: the usual ones).

        The usual hands are the arm's own, none and, for a Franka arm, the Franka hand. A URDF or
        MJCF has one set, and keeps the hand that it has.
        """
        from ..arm import available_sets
        from ..arm.arm_file import is_franka_arm, is_urdf_or_mjcf

        if is_urdf_or_mjcf(self.arm):
            if sets:
                return [replace(self, inertial_set=sets[0]).load()]  # raises: it has one set
            return [replace(self, hand=hand).load() for hand in hands or (AS_LISTED,)]
        sets = sets or available_sets(self.arm)
        if not hands:
            # Not the older hands' descriptions: the heavier would take the place of a load.
            hands = [AS_LISTED, NO_HAND]
            # The arm is loaded for its name, because `arm` may be the path of a Franka arm's file.
            arm_name = replace(self, inertial_set=sets[0], hand=AS_LISTED).load().name
            if is_franka_arm(arm_name):
                hands.append('franka_hand')
        choices = (replace(self, inertial_set=name, hand=hand) for name in sets for hand in hands)
        arms = [choice.load() for choice in choices]
        return list({(arm.inertial_set, arm.hand): arm for arm in arms}.values())

    def title(self, arm: 'ArmDescription') -> str:
        """Return one line with the names of the arm, its inertial set, hand and payload."""
        file = f'{self.arm}: ' if Path(self.arm).is_file() else ''
        load = f', payload {self.payload}' if self.payload else ''
        return f'{file}{arm.name}, set {arm.inertial_set}, hand {arm.hand}{load}'

    def node_parameters(self, folder: Path) -> dict[str, Any]:
        """
        Return the ROS parameters with which a node loads the same arm.

        The arm of a URDF is written into `folder` as an arm file, because nodes take arm files.
        """
        from ..arm.arm_file import is_urdf_or_mjcf
        from ..arm.payload import payload_array
        from ..arm_io import save

        payload = self.read_payload()
        choice = self
        if is_urdf_or_mjcf(self.arm):
            choice = ArmChoice(str(folder / 'arm.yaml'))
            save(
                replace(self, payload=None).load(),
                choice.arm,
                source=f'written from {self.arm}',
            )
        given = {
            'robot_type': choice.arm,
            'hand': choice.hand,
            'inertial_set': choice.inertial_set,
            'payload': None if payload is None else payload_array(payload).tolist(),
        }
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True)
class BagReader:
    """
    Reads joint states from bags, with the options for joint names, topic and time stamps.

    `layout` are the columns of logs in a data set, by the fields of ColumnMap.
    """

    joint_names: tuple[str, ...] = ()
    topic: str | None = None
    stamp_kind: str = HEADER_STAMP
    layout: Mapping[str, str] = field(default_factory=dict)

    def arm_in_bag(self, bag: str, choice: ArmChoice) -> ArmChoice:
        """
        Return which arm a bag is of: the chosen one or, without --arm, the one with its joints.

        With --joint-names, or if the joints are of no shipped arm, it is the chosen one. Raises
        RecordingError if the joints are those of another shipped arm than --arm or, without --arm,
        of several arms.
        """
        from ..arm import available_arms
        from ..recordings.rosbag import joint_names_in_bag, ROS1_JOINT_NAMES
        from ..urdf.importer import arms_with_joints

        if self.joint_names:
            return choice
        if bag in available_arms() and not Path(bag).exists():
            raise RecordingError(f'{bag} is an arm, not a bag; write --arm {bag}.')
        # States of ROS 1 name no joints: they are those of --arm, or of the arm of franka_ros.
        is_arm_given = was_option_given('arm')
        unnamed = choice.load().joint_names if is_arm_given else ROS1_JOINT_NAMES
        joints = joint_names_in_bag(Path(bag), self.topic, unnamed)
        found_arms = arms_with_joints(joints, prefix=choice.prefix or None)
        if not found_arms:
            return choice
        first = found_arms[0]
        first_joints = ' and '.join(arm.joint_names[0] for arm in found_arms)
        if is_arm_given:
            if arms_with_joints(joints, choice.load(), ''):
                return choice
            raise RecordingError(
                f'{bag} has joints of {first.arm_name} ({first_joints}, ...), not of '
                f'{choice.arm}; give --arm {first.arm_name}, or leave --arm out.'
            )
        if len(found_arms) > 1:
            raise RecordingError(
                f'{bag} has the joints of {len(found_arms)} arms ({first_joints}); choose by '
                '--arm or --arm-prefix.'
            )
        prefix = first.joint_names[0].removesuffix(first.arm.joint_names[0])
        return replace(choice, arm=first.arm_name, prefix=prefix)

    def arm_in(self, path: str, choice: ArmChoice) -> ArmChoice:
        """
        Return which arm a bag or data set is of: the chosen one or, without --arm, as it says.

        A data set of bags is of the arm of its first bag that can be read; others may name their
        robot. Raises RecordingError as `arm_in_bag` does, or if no bag can be read.
        """
        from ..arm import available_arms
        from ..recordings.data_set import find_episodes, is_data_set, robot_type_of
        from ..recordings.episodes import Bag

        if not is_data_set(path):
            return self.arm_in_bag(path, choice)
        if not was_option_given('arm'):
            robot = robot_type_of(path)
            if robot in (*available_arms(), 'panda'):
                choice = replace(choice, arm=robot)
        names = self.joint_names_in_bag(choice.load())
        failure = None
        for episode in find_episodes(path, names, self.layout, topic=self.topic):
            if not isinstance(episode, Bag):
                return choice
            try:
                return self.arm_in_bag(episode.path, choice)
            except RecordingError as error:
                failure = error
        assert failure is not None
        raise failure

    def episodes(self, path: str, arm: 'ArmDescription') -> 'list[Episode]':
        """Return the episodes of a data set, or of a bag the bag, to be read when needed."""
        from ..recordings.data_set import find_episodes

        return find_episodes(
            path,
            self.joint_names_in_bag(arm),
            self.layout,
            topic=self.topic,
            stamps=self.stamp_kind,
            joint_kinds=[joint.kind for joint in arm.joints],
        )

    def joint_names_in_bag(self, arm: 'ArmDescription') -> tuple[str, ...]:
        """Return --joint-names, else the arm's names; raise RecordingError for a wrong number."""
        names = self.joint_names or arm.joint_names
        if len(names) != arm.n:
            raise RecordingError(
                f'--joint-names has {len(names)} names, but {arm.name} has {arm.n} joints; name '
                'each, from base to tip.'
            )
        return names

    def read_recording(self, bag: str, arm: 'ArmDescription', progress_bar: Any) -> 'Recording':
        """Read an arm's joint states from a bag as a Recording, with a progress bar."""
        from ..recordings.recording import read_recording

        names = self.joint_names_in_bag(arm)
        task = progress_bar.new_task(f'reading {bag}')
        return read_recording(bag, names, topic=self.topic, stamps=self.stamp_kind, progress=task)
