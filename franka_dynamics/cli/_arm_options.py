# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The options by which every verb is told its arm."""

from __future__ import annotations

import argparse
import sys

from ..arm import ArmDescription, load
from ..arm.arm_file import alias_note, AS_LISTED
from ..arm.consistency import REPAIRS
from ..arm.payload import read_payload

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
        'mass), or a .yaml file of payload-from-mesh or identify-payload',
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
