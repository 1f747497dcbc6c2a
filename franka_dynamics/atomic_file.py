# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Files that are either the old one or the whole new one, never half of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import tempfile


@contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """
    Give a temporary path in the same folder, and put it in the place of `path` at the end.

    The folder is created if need be. If the block raises, the temporary file is removed and
    what was at `path` stays.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f'.{target.stem}_',
                                    suffix=target.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp's files are for their owner alone
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
