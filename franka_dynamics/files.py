# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the package's data files, reads any common encoding, writes files whole or not at all."""

import codecs
from collections.abc import Iterator
from contextlib import contextmanager, suppress
import errno
import os
from pathlib import Path
import secrets
import tempfile

from .errors import DescriptionError, OutputError

# What the system says of a full disk or quota, too large a file, or a broken disk. The OSError
# does not say which file could not be written.
WRITE_ERROR_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


_UTF16_MARKS = (
    codecs.BOM_UTF16_LE,
    codecs.BOM_UTF16_BE,
)  # as Windows' PowerShell writes files


def expanded_path(path: str | Path) -> Path:
    """Return a path with ~ or ~USER expanded, unchanged if there is no such user."""
    return Path(os.path.expanduser(path))


def read_text(path: Path, errors: str = 'strict') -> str:
    """Return a file's text, which is UTF-8, or UTF-16 if a byte order mark says so."""
    data = path.read_bytes()
    return data.decode('utf-16' if data.startswith(_UTF16_MARKS) else 'utf-8-sig', errors)


def utf16_advice(path: Path) -> str:
    """Return advice on converting a UTF-16 file to UTF-8; '' for a file in any other encoding."""
    if not path.read_bytes().startswith(_UTF16_MARKS):
        return ''
    return f'it is UTF-16; write it as UTF-8, as by "iconv -f UTF-16 -t UTF-8 {path}"'


@contextmanager
def name_file_in_errors(target: Path, *error_numbers: int) -> Iterator[None]:
    """Turn OSErrors of `error_numbers` (default: of writing) into OutputErrors naming `target`."""
    try:
        yield
    except OSError as error:
        if error.errno not in (error_numbers or WRITE_ERROR_NUMBERS):
            raise
        # h5py's OSError has a paragraph in place of the system's words.
        raise OutputError(
            f'{target} cannot be written: {os.strerror(error.errno)}. Choose another place.'
        ) from error


@contextmanager
def created_folder(folder: Path) -> Iterator[None]:
    """
    Create a folder with its parents; if the block raises, remove those of them that are empty.

    Folders that existed before stay.
    """
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # one that holds something stays, and so do its parents
            for place in missing:
                place.rmdir()
        raise


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """
    Yield a temporary file's path, renamed to `path` unless an error is raised (a device: itself).

    If the block raises an error, the temporary file is deleted, and a file that existed at `path`
    stays unchanged. Missing folders are created. The temporary file lies beside `path` and has the
    same suffix, because writers choose the format by the suffix. What a link points to is
    replaced, not the link; a device or a pipe cannot be, and is yielded itself.

    Raises
    ------
    OutputError
        If `path` is a folder, its folder cannot be created or written to, or the disk is full.

    """
    target = writable_path(path)
    if target.exists() and not target.is_file():
        with name_file_in_errors(target):
            yield target
        return
    file = target.resolve()
    scratch = file.with_name(f'.{file.stem}-{secrets.token_hex(4)}{file.suffix}')
    with created_folder(file.parent):
        try:
            with name_file_in_errors(target):
                yield scratch
                scratch.replace(file)
        finally:
            scratch.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file so that it appears complete or not at all."""
    with atomic_write(path) as scratch:
        scratch.write_text(text, encoding='utf-8')


def writable_path(path: str | Path) -> Path:
    """
    Return a file's path with ~ expanded; raise OutputError if it cannot be written.

    Raises
    ------
    OutputError
        If the path is a folder, or its folder can neither be created nor written to.

    """
    target = expanded_path(path)
    if os.path.isdir(target):
        raise OutputError(f'{target} is a folder; give the name of a file to be written.')
    if os.path.isfile(target) or not os.path.exists(target):
        _require_writable(Path(os.path.realpath(target)).parent, target)
    return target


def writable_folder(path: str | Path) -> Path:
    """
    Return a folder's path with ~ expanded; raise OutputError if files cannot be written in it.

    Raises
    ------
    OutputError
        If the path is a file, or can neither be created nor written to.

    """
    target = expanded_path(path)
    if os.path.isfile(target):
        raise OutputError(f'{target} cannot be written: it is a file; give the name of a folder.')
    _require_writable(target, target)
    return target


def _require_writable(folder: Path, target: Path) -> None:
    """Raise OutputError if a folder can neither be written to nor created."""
    with name_file_in_errors(target, *errno.errorcode):
        nearest = next(place for place in (folder, *folder.parents) if place.exists())
        # A file is created on trial, because permissions alone do not reveal a file system that
        # refuses new files, such as /proc, or a name that is too long.
        prefix = f'.{target.stem}-'
        suffix = target.suffix
        tempfile.NamedTemporaryFile(dir=nearest, prefix=prefix, suffix=suffix).close()


PACKAGE_NAME = 'franka_dynamics'


def share_directory() -> Path:
    """
    Return the folder that holds `config/`, `launch/` and `urdf/`.

    A source tree is recognised by `package.xml` and `config/` beside the Python package. Without a
    source tree the folder is the nearest `share/franka_dynamics` above this file, where colcon,
    `pip install` and apt put data files. Neither search needs ROS.

    Raises
    ------
    DescriptionError
        If the data files were not installed with the Python package.

    """
    package = Path(__file__).resolve().parent
    if (package.parent / 'package.xml').is_file() and (package.parent / 'config').is_dir():
        return package.parent
    for above in package.parents:
        candidate = above / 'share' / PACKAGE_NAME
        if (candidate / 'config').is_dir():
            return candidate
    raise DescriptionError(
        f'The data files of {PACKAGE_NAME} (config/, urdf/, launch/) are neither beside {package} '
        f'nor in a share/{PACKAGE_NAME} above it. Install the package with colcon or pip; copying '
        'only the Python modules is not enough.'
    )
