# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Copies the C++ package `franka_dynamics_controllers`, which is installed beside this one."""

from __future__ import annotations

from pathlib import Path
import shutil
import tempfile

from ..errors import OutputError
from ..resources import share_directory

NAME = 'franka_dynamics_controllers'


def copy_package(output: Path) -> Path:
    """
    Copy the ament_cmake package into a folder, and return its own folder there.

    Raises
    ------
    OutputError
        If there is such a folder already, or it cannot be written; nothing is left then.

    """
    folder = output / NAME
    if folder.exists():
        raise OutputError(f'{folder} exists already; remove it first, or choose another --output.')
    try:
        output.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=output) as beside:
            # A build in the source tree is no part of the package.
            ignored = shutil.ignore_patterns('build', 'install', 'log')
            whole = shutil.copytree(share_directory() / 'cpp', Path(beside, NAME), ignore=ignored)
            whole.rename(folder)
    except OSError as error:
        why = error.strerror
        if isinstance(error, shutil.Error):  # of its first file: '[Errno 28] REASON: PATHS'
            why = error.args[0][0][2].partition('] ')[2].partition(':')[0]
        raise OutputError(f'{folder} cannot be written: {why}. Choose another place.') from error
    return folder
