# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics node defaults`: the nodes' parameters as files to start from."""

from __future__ import annotations

import argparse

from ._options import (
    add_output_option,
    add_shipped_files_option,
    print_or_write,
    refuse,
    write_files,
)

SUMMARY = "Print a node's parameters as a commented YAML file."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        'node',
        nargs='?',
        help='feedforward, fci, simulator, reference_player or keeper (default: feedforward)',
    )
    add_output_option(parser, 'write there, not to the screen')
    add_shipped_files_option(
        parser, 'the parameter files and the page that the package ships below a folder'
    )


def run(arguments: argparse.Namespace) -> int:
    """Write what was asked for."""
    from ..errors import SettingsError
    from ..ros.parameter_tables import generated_files, NODES, parameter_file

    if arguments.all is not None:
        refuse(
            arguments,
            '--all, which writes the files of every node',
            node='A node',
            output='--output',
        )
        write_files(generated_files(), arguments.all)
        return 0
    node = arguments.node or 'feedforward'
    if node not in NODES:
        raise SettingsError(f'There is no node {node!r}; there are {", ".join(NODES)}.')
    print_or_write(parameter_file(node), arguments.output)
    return 0
