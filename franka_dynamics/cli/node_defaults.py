# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics node defaults`, which prints default parameters without ROS 2."""

from .choices import Options
from .console import print_or_write
from ..ros.parameter_tables import parameter_file_text


def run(options: Options) -> None:
    """Print the parameter file of a node, or write it to a file."""
    print_or_write(parameter_file_text(options.node), options.output)
