# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm export`: an arm as URDF or MJCF, generated from its description."""

from __future__ import annotations

import argparse

from ._arm_options import add_arm_options, ARM_OPTIONS
from ._options import (
    add_new_file_option,
    add_shipped_files_option,
    print_or_write,
    refuse,
    refuse_existing,
    write_files,
)
from ..arm.arm_file import AS_LISTED
from ..arm.payload import read_payload
from ..urdf.xacro_writer import FORMATS, generated_files, robot_text

SUMMARY = 'Write an arm as URDF or MJCF.'
DEFAULT_ARM = 'fer'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_arm_options(parser, default=None, hand=None)
    parser.add_argument(
        '--arm-prefix',
        default='',
        metavar='PREFIX',
        help='put in front of every joint and link, verbatim',
    )
    parser.add_argument('--format', choices=FORMATS, help=f'of the output (default: {FORMATS[0]})')
    parser.add_argument(
        '--friction',
        action='store_true',
        help="joints of MJCF rub by the arm file's friction (viscous and Coulomb)",
    )
    add_new_file_option(parser, 'write there, not to the screen')
    add_shipped_files_option(parser, 'the files that the package ships under urdf/ into a folder')


def run(arguments: argparse.Namespace) -> int:
    """Write what was asked for."""
    if arguments.all is not None:
        refuse(
            arguments,
            '--all, which writes the shipped files as they are',
            **ARM_OPTIONS,
            arm_prefix='--arm-prefix',
            format='--format',
            friction='--friction',
            output='--output',
            force='--force',
        )
        write_files(generated_files(), arguments.all)
        return 0
    refuse_existing(arguments)
    kind = arguments.format or FORMATS[0]
    if kind != 'mjcf':
        refuse(arguments, 'URDF, which simulators read without it', friction='--friction')
    text = robot_text(
        arguments.arm or DEFAULT_ARM,
        kind,
        arguments.inertial_set,
        hand=arguments.hand or AS_LISTED,
        prefix=arguments.arm_prefix,
        repair=arguments.repair,
        payload=None if arguments.payload is None else read_payload(arguments.payload),
        friction=arguments.friction,
    )
    print_or_write(text, arguments.output)
    return 0
