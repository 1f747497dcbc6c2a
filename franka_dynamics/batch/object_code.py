# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels, kept in the user's cache folder from one process to the next."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
import hashlib
import os
from pathlib import Path

from ..files import atomic_write

_MAX_FILES = 1000  # the oldest are deleted; a kernel has 20 to 300 kB


def compiled_once(key: str, compiled: Callable[[], bytes]) -> bytes:
    """
    Return the object code that `compiled` makes, from the cache folder if it was made before.

    `key` is all that determines the code, compiler and processor included. The folder is
    franka_dynamics in XDG_CACHE_HOME or else ~/.cache; where it cannot be written nothing is kept.
    A file begins with the hash of the rest, and a damaged one counts as absent.
    """
    folder = Path(os.environ.get('XDG_CACHE_HOME') or '~/.cache').expanduser() / 'franka_dynamics'
    path = folder / f'{hashlib.sha256(key.encode()).hexdigest()}.o'
    with suppress(OSError):
        digest, code = (text := path.read_bytes())[:32], text[32:]
        if hashlib.sha256(code).digest() == digest:
            return code
    code = compiled()
    with suppress(OSError):
        with atomic_write(path) as scratch:
            scratch.write_bytes(hashlib.sha256(code).digest() + code)
        for old in sorted(folder.glob('*.o'), key=os.path.getmtime)[:-_MAX_FILES]:
            old.unlink()
    return code
