# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics parameters`: the nodes' parameters as files to start from."""

from __future__ import annotations

import argparse

from ._options import add_option, output_file, output_folder

SUMMARY = "Print a node's parameters as a commented YAML file."
GROUP = 'generate'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument('node', nargs='?', default='feedforward',
                        help='feedforward, fci, simulator, reference_player or keeper '
                        '(default: %(default)s)')
    add_option(parser, '--output', '--out', type=output_file, metavar='FILE',
               help='write there, not to the screen')
    add_option(parser, '--all', type=output_folder, metavar='FOLDER',
               help='write the parameter files and the page that the package ships '
               'below a folder')


def run(arguments: argparse.Namespace) -> int:
    """Write what was asked for."""
    from ..errors import SettingsError
    from ..files import write_text
    from ..ros.parameter_pages import generated_files, parameter_file, TABLES

    if arguments.all is not None:
        for name, text in generated_files().items():
            write_text(arguments.all / name, text)
            print(arguments.all / name)
        return 0
    if arguments.node not in TABLES:
        raise SettingsError(f'There is no node {arguments.node!r}; there are '
                            f'{", ".join(TABLES)}.')
    text = parameter_file(arguments.node)
    if arguments.output is None:
        print(text, end='')
    else:
        write_text(arguments.output, text)
        print(arguments.output)
    return 0
