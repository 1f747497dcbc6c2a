# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The options by which every verb is told its arm, or a tree in place of one.

Verbs that start nodes tell these the arm, and name this command, by functions of this module.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
import shlex
import sys
from typing import TYPE_CHECKING

from ._action import Action
from ..arm import ArmDescription, load
from ..arm.arm_file import alias_note, AS_LISTED
from ..arm.consistency import REPAIRS
from ..arm.payload import payload_array, read_payload
from ..errors import SettingsError
from ..options import option

if TYPE_CHECKING:
    from ..dynamics.body_tree import BodyTree


@dataclass(frozen=True, kw_only=True)
class NamedArm(Action):
    """An arm by its name or file, and what its flange carries."""

    arm: str = option('a shipped arm or the path of an arm file', 'ARM', default='fer')
    payload: str | None = option(
        'what else the flange carries, in the flange frame: mass,x,y,z or ten numbers separated '
        'by commas (with the inertia about the centre of mass), or a .yaml file of '
        '`payload-from-mesh` or `identify payload`',
        'NUMBERS|FILE',
        default=None,
    )

    def load_arm(self, inertial_set: str | None = None, hand: str = AS_LISTED) -> ArmDescription:
        """Return the arm with its payload, of a set and with a hand."""
        arm = load(
            self.arm,
            inertial_set,
            hand=hand,
            prefix=getattr(self, 'arm_prefix', ''),
            repair=getattr(self, 'repair', None),
        )
        return arm if self.payload is None else arm.with_payload(read_payload(self.payload))

    def payload_parameter(self) -> dict[str, list[float]]:
        """Return the ROS parameter for --payload, for nodes that have it; none if not given."""
        if self.payload is None:
            return {}
        return {'payload': list(payload_array(read_payload(self.payload)))}


@dataclass(frozen=True, kw_only=True)
class ArmOptions(NamedArm):
    """One arm: of one set, with one hand."""

    hand: str = option(
        'a shipped hand (franka_hand, ...), the path of a hand file, none, or as_listed: the '
        'hand the inertial set was published with',
        'HAND',
        default=AS_LISTED,
    )
    inertial_set: str | None = option(
        "one of the arm file's inertial sets (default: the file's own)",
        'SET',
        flags=('--set',),
        default=None,
    )

    def load_arm(self, inertial_set: str | None = None, hand: str = '') -> ArmDescription:
        """Return the arm with its payload, of the set and hand that were given if not these."""
        return super().load_arm(inertial_set or self.inertial_set, hand or self.hand)

    def node_parameters(self) -> dict[str, str]:
        """Return the ROS parameters that tell every node of this package the arm."""
        given = {
            'robot_type': self.arm,
            'hand': self.hand,
            'inertial_set': self.inertial_set,
            'repair': getattr(self, 'repair', None),
            'arm_prefix': getattr(self, 'arm_prefix', None),
        }
        return {name: f'{value}' for name, value in given.items() if value}

    def arm_as_given(self, *without: str) -> str:
        """Return the options of the arm as a shell takes them, but those without."""
        words = ['--arm', self.arm]
        for name, spelling in MASS_OPTIONS.items():
            if name in self.given and name not in without:
                words += [spelling, f'{getattr(self, name)}']
        return shlex.join(words)


@dataclass(frozen=True, kw_only=True)
class RepairableArm(ArmOptions):
    """An arm whose links can be replaced by physical ones."""

    repair: str | None = option(
        'replace links that no real body could be by the nearest physical ones within the '
        "set's rounding",
        choices=REPAIRS,
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class ArmOrTree(RepairableArm):
    """An arm, or a tree of a URDF in place of one."""

    tree: Path | None = option(
        'instead of an arm: a URDF whose joints may branch, such as a torso with two arms; its '
        'joints as the URDF lists them, one branch after the other',
        'URDF',
        default=None,
    )

    def load_tree(self, *without: str) -> BodyTree:
        """Return the tree, once options for arms alone, those `without` as well, are refused."""
        from ..dynamics.assembly import tree_from_urdf
        from ..urdf.document import read_urdf

        assert self.tree is not None
        self.refuse('--tree: it is for arms', *ARM_OPTIONS, *without)
        return tree_from_urdf(read_urdf(self.tree), str(self.tree))


# Spellings of what `add_arm_options` adds, by the names of the values: for `refuse`.
ARM_OPTIONS = {
    'arm': '--arm',
    'hand': '--hand',
    'inertial_set': '--set',
    'repair': '--repair',
    'payload': '--payload',
}
# Of these, what changes masses alone.
MASS_OPTIONS = {name: ARM_OPTIONS[name] for name in ('hand', 'inertial_set', 'repair', 'payload')}


def add_arm_options(
    parser: argparse.ArgumentParser,
    *,
    default: str | None = 'fer',
    hand: str | None = AS_LISTED,
    inertial_set: bool = True,
) -> None:
    """
    Add --arm, --set, --hand, --repair and --payload.

    Leave --set out where a verb takes several. A default of None lets a verb tell what was given.
    """
    absent = f'default: {default or "fer"}'
    parser.add_argument(
        '--arm',
        default=default,
        metavar='ARM',
        help=f'a shipped arm or the path of an arm file ({absent})',
    )
    add_hand_option(parser, hand)
    add_payload_option(parser)
    if inertial_set:
        parser.add_argument(
            '--set',
            dest='inertial_set',
            metavar='SET',
            help="one of the arm file's inertial sets (default: the file's own)",
        )
        parser.add_argument(
            '--repair',
            choices=REPAIRS,
            help='replace links that no real body '
            "could be by the nearest physical ones within the set's rounding",
        )


def add_hand_option(parser: argparse.ArgumentParser, default: str | None = AS_LISTED) -> None:
    """Add --hand."""
    parser.add_argument(
        '--hand',
        default=default,
        metavar='HAND',
        help='a shipped hand (franka_hand, ...), the path of a hand file, none, '
        'or as_listed: the hand the inertial set was published with (default: '
        'as_listed)',
    )


def add_payload_option(parser: argparse.ArgumentParser) -> None:
    """Add --payload."""
    parser.add_argument(
        '--payload',
        metavar='NUMBERS|FILE',
        help='what else the flange carries, in the flange frame: mass,x,y,z or '
        'ten numbers separated by commas (with the inertia about the centre of '
        'mass), or a .yaml file of `payload-from-mesh` or `identify payload`',
    )


def load_arm(
    arguments: argparse.Namespace, inertial_set: str | None = None, hand: str | None = None
) -> ArmDescription:
    """
    Return the arm that the options name, with its payload.

    Parameters
    ----------
    arguments : Namespace
        With `arm` and, where the verb has them, `inertial_set`, `hand`, `arm_prefix`, `repair`
        and `payload`.
    inertial_set, hand : str, optional
        In place of those of the options, for a verb that tries several.

    """
    note = alias_note(arguments.arm)
    if note and not getattr(arguments, 'alias_was_noted', False):
        print(f'note: {note}', file=sys.stderr)
        arguments.alias_was_noted = True
    arm = load(
        arguments.arm,
        getattr(arguments, 'inertial_set', None) if inertial_set is None else inertial_set,
        hand=hand or getattr(arguments, 'hand', None) or AS_LISTED,
        prefix=getattr(arguments, 'arm_prefix', ''),
        repair=getattr(arguments, 'repair', None),
    )
    if getattr(arguments, 'payload', None) is None:
        return arm
    return arm.with_payload(read_payload(arguments.payload))


def node_parameters(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the ROS parameters that tell every node of this package a verb's arm."""
    given = {
        'robot_type': arguments.arm,
        'hand': arguments.hand,
        'inertial_set': getattr(arguments, 'inertial_set', None),
        'repair': getattr(arguments, 'repair', None),
        'arm_prefix': getattr(arguments, 'arm_prefix', None),
    }
    return {name: f'{value}' for name, value in given.items() if value}


def payload_parameter(arguments: argparse.Namespace) -> dict[str, list[float]]:
    """Return the ROS parameter for --payload, for nodes that have it; none if not given."""
    if arguments.payload is None:
        return {}
    return {'payload': list(payload_array(read_payload(arguments.payload)))}


def this_command() -> str:
    """Return how this command can be started again from the same folder, as a shell takes it."""
    started = Path(sys.argv[0])
    if started.name == '__main__.py' or not started.exists():
        return f'{shlex.quote(sys.executable)} -m franka_dynamics'
    return shlex.quote(str(started))


def arm_as_given(arguments: argparse.Namespace, *without: str) -> str:
    """
    Return the options of a verb's arm as a shell takes them, for a command that is shown.

    Parameters
    ----------
    arguments : Namespace
        With `arm` and `options_given`.
    without : str
        Names of options that the shown command does not have.

    """
    given = [name for name in MASS_OPTIONS if name in arguments.options_given]
    pairs = [
        (MASS_OPTIONS[name], getattr(arguments, name)) for name in given if name not in without
    ]
    return shlex.join(['--arm', arguments.arm, *(f'{word}' for pair in pairs for word in pair)])


def add_tree_option(parser: argparse.ArgumentParser) -> None:
    """Add --tree."""
    parser.add_argument(
        '--tree',
        type=Path,
        metavar='URDF',
        help='instead of an arm: a URDF whose joints may branch, such as a torso with two arms; '
        'its joints as the URDF lists them, one branch after the other',
    )


def load_tree(arguments: argparse.Namespace, *without: str) -> BodyTree:
    """
    Return the tree that --tree names.

    Parameters
    ----------
    arguments : Namespace
        With `tree` and `options_given`.
    without : str
        Names of options that are for arms alone and are refused beside it.

    Raises
    ------
    SettingsError
        If one of those was given.
    UrdfError
        If the file is no URDF of a tree.

    """
    from ..dynamics.assembly import tree_from_urdf
    from ..urdf.document import read_urdf

    options = {**ARM_OPTIONS, **{name: f'--{name.replace("_", "-")}' for name in without}}
    for name, spelled in options.items():
        if name in arguments.options_given:
            raise SettingsError(f'{spelled} is for arms; leave it out beside --tree.')
    return tree_from_urdf(read_urdf(arguments.tree), str(arguments.tree))
