# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Makes an MCAP file readable whose recorder was killed before it closed the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import shutil
import struct
import tempfile
from typing import BinaryIO

# A record of MCAP (https://mcap.dev/spec): opcode (1 byte), length (8 bytes), content.
_MAGIC = b'\x89MCAP0\r\n'
_RECORD = struct.Struct('<BQ')
_DATA_END, _FOOTER = 0x0F, 0x02
_END = (
    _RECORD.pack(_DATA_END, 4)
    + bytes(4)  # no checksum
    + _RECORD.pack(_FOOTER, 20)
    + bytes(20)  # no summary: readers then read the whole file
    + _MAGIC
)
RECOVERED_REMARK = (
    'the recorder was killed before it closed the bag: read as far as it was written'
)


def mcap_in_folder(bag: Path) -> Path:
    """Return a folder's only .mcap file if the folder lacks metadata.yaml, else the bag itself."""
    if not bag.is_dir() or (bag / 'metadata.yaml').exists():
        return bag
    found = list(bag.glob('*.mcap'))
    return found[0] if len(found) == 1 else bag


def is_unclosed(path: Path) -> bool:
    """Return whether a file begins as MCAP, and lacks MCAP's last bytes."""
    if path.suffix != '.mcap' or not path.is_file():
        return False
    with path.open('rb') as file:
        begins = file.read(len(_MAGIC)) == _MAGIC
        size = file.seek(0, 2)
        file.seek(max(0, size - len(_MAGIC)))
        return begins and not (size > len(_MAGIC) and file.read() == _MAGIC)


@contextmanager
def closed_copy(path: Path) -> Iterator[Path]:
    """Yield the path of a closed temporary copy of an MCAP file, without a partial last record."""
    with tempfile.TemporaryDirectory(prefix='franka-dynamics-bag-') as folder:
        copy = Path(folder) / path.name
        with path.open('rb') as file:
            end = _end_of_records(file)
            file.seek(0)
            with copy.open('wb') as written:
                shutil.copyfileobj(file, written)
                written.truncate(end)
                written.seek(end)
                written.write(_END)
        yield copy


def _end_of_records(file: BinaryIO) -> int:
    """Return the position [bytes] in a file after its last complete data record."""
    size = file.seek(0, 2)
    end = file.seek(len(_MAGIC))
    while len(head := file.read(_RECORD.size)) == _RECORD.size:
        operation, length = _RECORD.unpack(head)
        after = end + _RECORD.size + length
        if operation in (_DATA_END, _FOOTER) or after > size:
            break
        end = file.seek(after)
    return end
