# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Start of a node's process: what the command line and its files get wrong is one sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import re
import sys
from typing import Any

import rclpy
from rclpy.signals import SignalHandlerOptions

from .parameter_files import given_files, read_sections, require_section
from ..errors import SettingsError

# What rcl appends to its sentences: places in its own sources.
_SOURCES = re.compile(r', at \S+:\d+')


def start_node(make: Callable[[], Any], args: Sequence[str] | None,
               signals: SignalHandlerOptions = SignalHandlerOptions.ALL) -> Any:
    """
    Initialise rclpy and return the node, its parameter files checked.

    Parameters
    ----------
    make : callable
        Makes the node.
    args : sequence of str or None
        The command line; None for the process's own.
    signals : SignalHandlerOptions
        Which signals rclpy handles.

    Raises
    ------
    SettingsError
        If a parameter file or a ROS argument cannot be used, or a file is not for this node.

    """
    arguments = list(sys.argv if args is None else args)
    files = given_files(arguments)
    for path in files:
        read_sections(path)
    try:
        rclpy.init(args=arguments, signal_handler_options=signals)
    except RuntimeError as error:
        raise SettingsError(f'the command line was not understood: {_plain(error)}.') from error
    node = make()
    try:
        for path in files:
            require_section(path, node.get_fully_qualified_name())
    except SettingsError:
        node.destroy_node()
        raise
    return node


def _plain(error: RuntimeError) -> str:
    text = _SOURCES.sub('', str(error)).removeprefix('failed to initialize rcl: ')
    return text.replace('Error: error not set', '').rstrip('. ')
