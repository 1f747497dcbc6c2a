# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a URDF, an MJCF or a xacro file, by its path or as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .document import UrdfDocument
from .mjcf import is_mjcf_text, read_mjcf
from .urdf_parser import parse_urdf_text
from .xacro_reader import expand_xacro
from ..arm.arm_file import is_urdf_text
from ..errors import DescriptionError, listed, unreadable_file_message, UrdfError
from ..files import read_text


def read_urdf(path: Path, xacro: Mapping[str, object] | None = None) -> str:
    """
    Return the text of a URDF or MJCF file, or of a xacro file expanded with arguments `xacro`.

    Arguments that are not given have their defaults.

    Returns
    -------
    str
        The XML of the URDF or MJCF.

    Raises
    ------
    UrdfError
        If the file cannot be read or expanded, or has no such argument; the message names the file
        and the reason.

    """
    try:
        if path.suffix == '.xacro':
            return expand_xacro(path, xacro or {})
        if xacro:
            names = listed([*xacro])
            raise UrdfError(f'{path} is no xacro file and has no arguments; leave {names} out.')
        return read_text(path)
    except OSError as error:
        raise UrdfError(unreadable_file_message(path, error)) from error
    except UnicodeDecodeError as error:
        raise UrdfError(
            f'{path} cannot be read: byte {error.start} is not UTF-8; is it a URDF?'
        ) from error


def read_document(
    urdf: str | Path, source: str | None = None, xacro: Mapping[str, object] | None = None
) -> UrdfDocument:
    """
    Read links and joints of a URDF or MJCF (text or path) or of a xacro file (path).

    `source` is its name in error messages; default: the path, or 'the URDF'.

    Raises
    ------
    DescriptionError
        If a text is given with arguments.
    UrdfError
        As `read_urdf` and `parse_urdf`.

    """
    given = is_urdf_text(urdf)
    if given and xacro:
        raise DescriptionError('A text has no xacro arguments; leave xacro out, or give the file.')
    if given:
        return parse_urdf(str(urdf).strip(), source or '')
    path = Path(urdf)
    return parse_urdf(read_urdf(path, xacro), source or str(urdf), path)


def parse_urdf(text: str, source: str = '', path: Path | None = None) -> UrdfDocument:
    """
    Read links and joints from the text of a URDF, with xacro expanded, or of an MJCF.

    `source`, a path or a topic, is the text's name in error messages; default: 'the URDF' or 'the
    MJCF'. `path` is that of the file of an MJCF, beside which its other files are looked for.

    Raises
    ------
    UrdfError
        If the text is no URDF, a value cannot be used, or its links and joints form no tree; the
        message names the source, the element, the value and the fix.

    """
    if is_mjcf_text(text):
        return read_mjcf(text, source or 'the MJCF', path)
    return parse_urdf_text(text, source or 'the URDF')
