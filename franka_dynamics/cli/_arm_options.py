# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The options by which every verb is told its arm."""

from __future__ import annotations

import argparse

from ..arm import ArmDescription, load
from ..arm.arm_file import AS_LISTED
from ..arm.consistency import REPAIRS


def add_arm_options(parser: argparse.ArgumentParser, *, default: str | None = 'fer',
                    inertial_set: bool = True) -> None:
    """Add --arm, --set and --hand; leave --set out where a verb takes several."""
    absent = 'default: %(default)s' if default else 'default: fer, or what the URDF holds'
    parser.add_argument('--arm', default=default, metavar='ARM',
                        help=f'a shipped arm or the path of an arm file ({absent})')
    parser.add_argument('--hand', default=AS_LISTED, metavar='HAND',
                        help='a shipped hand (franka_hand, ...), none, or as_listed: the hand the '
                        'inertial set was published with (default: %(default)s)')
    if inertial_set:
        parser.add_argument('--set', dest='inertial_set', metavar='SET',
                            help="one of the arm file's inertial sets (default: the file's own)")
        parser.add_argument('--repair', choices=REPAIRS, help='replace links that no real body '
                            "could be by the nearest physical ones within the set's rounding")


def load_arm(arguments: argparse.Namespace) -> ArmDescription:
    """Return the arm that the options name."""
    return load(arguments.arm, arguments.inertial_set, hand=arguments.hand,
                repair=getattr(arguments, 'repair', None))
