# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics urdf`: an arm as URDF or MJCF, generated from its description."""

from __future__ import annotations

import argparse

from ._arm_options import add_arm_options
from ._options import add_option, output_file, output_folder
from ..arm.payload import read_payload
from ..urdf.xacro_writer import FORMATS, generated_files, robot_text

SUMMARY = 'Write an arm as URDF or MJCF.'
GROUP = 'generate'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_arm_options(parser)
    add_option(parser, '--arm-prefix', '--prefix', default='', metavar='PREFIX',
               help='put in front of every joint and link, verbatim')
    parser.add_argument('--format', choices=FORMATS, default=FORMATS[0],
                        help='of the output (default: %(default)s)')
    add_option(parser, '--output', '--out', type=output_file, metavar='FILE',
               help='write there, not to the screen')
    add_option(parser, '--all', type=output_folder, metavar='FOLDER',
               help='write the files that the package ships under urdf/ into a folder')


def run(arguments: argparse.Namespace) -> int:
    """Write what was asked for."""
    from ..files import write_text

    if arguments.all is not None:
        for name, text in generated_files().items():
            write_text(arguments.all / name, text)
            print(arguments.all / name)
        return 0
    text = robot_text(arguments.arm, arguments.format, arguments.inertial_set,
                      hand=arguments.hand, prefix=arguments.arm_prefix, repair=arguments.repair,
                      payload=None if arguments.payload is None
                      else read_payload(arguments.payload))
    if arguments.output is None:
        print(text, end='')
    else:
        write_text(arguments.output, text)
        print(arguments.output)
    return 0
