# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A parameter file loaded into a running node: all of it at once, or none.

`ros2 param load` sets one parameter after the other, so that a file which is refused half-way is
half in use, and prints a failure for each read-only parameter of a dump.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from .node_client import NodeClient, NodeClientError, typed
from .parameter_files import matches, read_sections
from ..errors import SettingsError


class Loaded(NamedTuple):
    """The parameters of a file: those that were set, and those that were so already."""

    changed: tuple[str, ...]
    unchanged: tuple[str, ...]


def load_parameters(node_name: str, path: Path, timeout: float = 10.0) -> Loaded:
    """
    Set the parameters that a file gives a running node, in one atomic call.

    Those that have the file's value already are left out, so that a whole dump can be loaded.

    Parameters
    ----------
    node_name : str
        Fully qualified, such as /feedforward.
    path : Path
        As `ros2 param dump` and `franka-dynamics node defaults` write it.
    timeout : float
        How long to wait for the node [s].

    Raises
    ------
    SettingsError
        If the file cannot be used for this node: it names a parameter that does not exist, has a
        value of another type, or another value for one that is read-only.
    NodeClientError
        If the node does not answer in time, or refuses the values.

    """
    given: dict[str, Any] = {}
    for pattern, parameters in read_sections(path).items():
        if matches(pattern, node_name):
            given.update(parameters)
    if not given:
        raise SettingsError(f'{path} has no parameters for {node_name}.')
    with NodeClient(node_name, timeout) as client:
        unknown = sorted(set(given).difference(client.names()))
        if unknown:
            raise SettingsError(
                f'{path}: {node_name} has no parameter {", ".join(unknown)}. Nothing was set.'
            )
        changes = {}
        for descriptor, present in zip(client.describe(list(given)), client.values(list(given))):
            name = descriptor.name
            try:
                value = typed(descriptor, given[name])
            except NodeClientError as error:
                raise SettingsError(f'{path}: {error} Nothing was set.') from error
            if value == present:
                continue
            if descriptor.read_only:
                raise SettingsError(
                    f'{path}: {name} is {present!r} and read-only, the file says '
                    f'{given[name]!r}; start the node with it. Nothing was set.'
                )
            changes[name] = value
        if changes:
            client.set_all(changes)
    return Loaded(tuple(changes), tuple(name for name in given if name not in changes))
