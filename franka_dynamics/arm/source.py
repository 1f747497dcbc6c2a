# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm that a caller gives as its description, by its name, or as its file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from . import arm_file
from .description import ArmDescription
from ..errors import DescriptionError

# Reads names and arm files. The front door and the command line import `urdf.source`, which puts
# its `load_arm` here: it also reads URDFs, of which this room and the mathematics know nothing.
_load: Callable[[str | Path], ArmDescription] = arm_file.load


def load_by(load: Callable[[str | Path], ArmDescription]) -> None:
    """Let `described` load names and files by another function."""
    global _load
    _load = load


def described(arm: ArmDescription | str | Path) -> ArmDescription:
    """
    Return an arm's description, loaded if its name or file is given.

    Raises
    ------
    DescriptionError
        If `arm` is no description, string or path, or `load` refuses it.

    """
    if isinstance(arm, ArmDescription):
        return arm
    if isinstance(arm, (str, Path)):
        return _load(arm)
    raise DescriptionError(
        'An arm is an ArmDescription (franka_dynamics.load returns one), the name of a shipped '
        f'arm or the path of a file; got a {type(arm).__name__}.'
    )
