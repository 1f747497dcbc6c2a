# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One spelling for one option, and output paths that are checked before the work."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import OutputError, SettingsError
from ..files import writable_file, writable_folder, write_text

PICTURES = ('.png', '.svg', '.pdf')


def add_option(container: Any, name: str, *former: str, **settings: Any) -> argparse.Action:
    """
    Add an option to a parser or group of options; its former spellings work and are not shown.

    Parameters
    ----------
    container : ArgumentParser or argument group
        What the option is added to.
    name : str
        Its spelling in help and messages.
    former : str
        Spellings of earlier versions.
    settings
        As for `add_argument`.

    """
    settings.setdefault('dest', name.lstrip('-').replace('-', '_'))
    action: argparse.Action = container.add_argument(name, *former, **settings)
    action.option_strings = [name]  # the parser has its own list of all spellings
    return action


def output_file(text: str) -> Path:
    """Return the path of a file to be written; OutputError if that cannot be."""
    return writable_file(text)


def output_folder(text: str) -> Path:
    """Return the path of a folder to be written into; OutputError if that cannot be."""
    return writable_folder(text)


def picture_file(text: str) -> Path:
    """Return the path of a picture to be drawn; OutputError if that cannot be."""
    path = writable_file(text)
    if path.suffix.lower() not in PICTURES:
        raise OutputError(
            f'{path}: {path.suffix[1:]!r} is no picture format; the name must end '
            f'in {", ".join(PICTURES)}.'
        )
    return path


def print_or_write(text: str, path: Path | None) -> None:
    """Print a text, or write it to a file and say so."""
    if path is None:
        print(text, end='')
    else:
        write_text(path, text)
        print(path)


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Write texts to the files of these names below a folder; print where they are."""
    for name, text in files.items():
        print_or_write(text, folder / name)


def refuse(arguments: argparse.Namespace, why: str, **options: str) -> None:
    """
    Refuse options that cannot be honoured; each is None, False or '' where it is not given.

    Parameters
    ----------
    arguments : Namespace
        What was given.
    why : str
        What they have no meaning with, and the reason.
    options : str
        Spellings by the names of the values.

    Raises
    ------
    SettingsError
        Naming the first of them that was given.

    """
    for name, spelling in options.items():
        if getattr(arguments, name) not in (None, False, ''):
            raise SettingsError(f'{spelling} has no meaning with {why}. Leave one of them out.')
