# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads log files (CSV, parquet, HDF5, NumPy) as named arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from itertools import islice
from pathlib import Path
import re
from typing import Any

import numpy as np

from ..errors import MissingDependencyError, needing, RecordingError
from ..typing import Array

_SHOWN = 24  # largest number of names listed in a message


@dataclass(frozen=True, eq=False)
class LogColumns:
    """
    The content of a log file: arrays of shape (rows,) or (rows, columns), by name.

    A file without column names, such as a bare matrix, is one array with the name ''; its columns
    are chosen by number, counted from 1. `source` is the file's path; `remarks` has a sentence if
    a last row that breaks off was left out.
    """

    source: str
    arrays: Mapping[str, Array]
    remarks: tuple[str, ...] = ()

    def choose(self, columns: str, count: int, what: str) -> Array:
        """
        Return the columns that the text `columns` selects, shape (rows, count).

        Parameters
        ----------
        columns : str
            `q` (an array of `count` columns or rows), `q[1-7]` (columns of a wider array), `q{}`
            (q1, q2, ...; `q{0}` counts from 0), `q1,q2,...`, or `2-8` (numbers from 1).
        count : int
            Number of columns needed.
        what : str
            Name of the quantity, for error messages.

        Raises
        ------
        RecordingError
            If a column does not exist, or the text does not select `count` equally long columns.

        """
        found = []
        for name in _expanded(columns, count):
            array = self._named(name)
            if array is None:
                raise RecordingError(
                    f'{self.source} has no column {name!r} for {what}; it has {self.in_words()}.'
                )
            # Some files have one row per joint.
            turned = array.ndim == 2 and array.shape[1] != count == array.shape[0]
            found.append(array.T if turned else array.reshape(len(array), -1))
        lengths = sorted({len(array) for array in found})
        total = sum(array.shape[1] for array in found)
        if len(lengths) > 1 or total != count:
            rows = ' and '.join(map(str, lengths))
            raise RecordingError(
                f'{self.source}: {what} {columns!r} names {total} columns of {rows} rows, but '
                f'{count} of equal length are needed.'
            )
        return np.column_stack(found)

    def _named(self, name: str) -> Array | None:
        """Return the array or column that a name, a number or `name[first-last]` selects."""
        if name in self.arrays:
            return self.arrays[name]
        if name.isdigit() and len({len(array) for array in self.arrays.values()}) == 1:
            every = np.column_stack(list(self.arrays.values()))
            return every[:, int(name) - 1] if 1 <= int(name) <= every.shape[1] else None
        part = re.fullmatch(r'(.+)\[(\d+)-(\d+)\]', name)
        whole = self.arrays.get(part[1]) if part else None
        if part is None or whole is None or whole.ndim != 2:
            return None
        return whole[:, int(part[2]) - 1 : int(part[3])]

    def in_words(self) -> str:
        """Return up to 24 arrays' names (and matrices' shapes) or the count of unnamed columns."""
        if list(self.arrays) == ['']:
            return (
                f'{self.arrays[""].shape[1]} columns without names: give their numbers, such as '
                '--position 2-8'
            )
        shown = [
            f'{name}{"" if array.ndim == 1 else f" {array.shape}"}'
            for name, array in islice(self.arrays.items(), _SHOWN)
        ]
        more = len(self.arrays) - len(shown)
        return ', '.join(shown) + (f' and {more} more' if more else '')


def read_log(path: str | Path) -> LogColumns:
    """
    Return the columns of a log file, whose format follows from the file's suffix.

    The suffix is .csv, .tsv, .txt, .dat, .parquet, .h5, .hdf5, .npy or .npz. Columns of a
    text file may be separated by commas, semicolons, tabs or blanks, with or without a header
    line.

    Raises RecordingError if the file is missing, damaged, of another format or without numbers,
    and, with row and column, if a cell of a text file is not a number. Raises
    MissingDependencyError if a library for the format is not installed.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise RecordingError(
            f'{file} does not exist, or is a folder; give the path of a log file.'
        )
    suffix = file.suffix.lower()
    if suffix not in _READERS:
        raise RecordingError(
            f'{file}: files that end in {file.suffix or "nothing"!r} cannot be '
            f'imported; export {", ".join(_READERS)}.'
        )
    remarks: list[str] = []
    try:
        arrays = {name: np.asarray(one) for name, one in _READERS[suffix](file, remarks)}
    except (RecordingError, MissingDependencyError):
        raise
    except Exception as error:  # every library has exception types of its own
        raise RecordingError(
            f'{file} cannot be read as {suffix[1:]} '
            f'({type(error).__name__}: {str(error).split(". ")[0][:120]}).'
        ) from error
    # Only non-empty arrays of real numbers or Booleans in one or two dimensions are kept.
    columns = {
        name: array.astype(float)
        for name, array in arrays.items()
        if array.dtype.kind in 'fiub' and array.ndim in (1, 2) and array.size
    }
    if not columns:
        raise RecordingError(f'{file} holds no columns of numbers.')
    return LogColumns(str(file), columns, tuple(remarks))


def library(name: str, file: Path) -> Any:
    """Import and return a library; raise MissingDependencyError that names the pip extra."""
    with needing(f'{file}: reading or writing {file.suffix} takes {name}', 'logs'):
        return import_module(name)


def _expanded(columns: str, count: int) -> Iterator[str]:
    """Yield the column names or numbers that text such as `2-8`, `q{}` or `a,b` selects."""
    for entry in (one.strip() for one in columns.split(',')):
        first, _, last = entry.partition('-')
        if first.isdigit() and last.isdigit():
            yield from map(str, range(int(first), int(last) + 1))
        elif '{}' in entry or '{0}' in entry:
            begin = 0 if '{0}' in entry else 1
            pattern = entry.replace('{0}', '{}')
            yield from (pattern.replace('{}', str(begin + joint)) for joint in range(count))
        else:
            yield entry


def _read_text(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the columns of a text file; add a remark if its last row breaks off."""
    pandas = library('pandas', file)
    text = file.read_text(encoding='utf-8-sig')
    lines = [line.strip(' ') for line in text.splitlines() if line.strip()]
    content = [line for line in lines if not line.lstrip().startswith(('#', '%'))]
    unquoted = re.sub('"[^"]*"', '', content[0] if content else '')
    delimiter = next((one for one in '\t;,' if one in unquoted), r'\s+')

    def cells(some: list[str]) -> Any:
        """Return lines as a table of texts, empty where a row is too short."""
        table = pandas.read_csv(
            StringIO('\n'.join(some)), sep=delimiter, header=None, dtype=str, na_filter=False
        ).fillna('')
        return table.apply(lambda column: column.str.strip())

    table = cells(content or ['x'])
    numbers = table.apply(pandas.to_numeric, errors='coerce')
    wrong = numbers.isna() & (table.apply(lambda column: column.str.lower()) != 'nan')
    names = table.iloc[0].tolist() if wrong.iloc[0].any() else []
    if names:
        table, numbers, wrong = (one.iloc[1:] for one in (table, numbers, wrong))
    if not len(table):
        raise RecordingError(f'{file} holds no rows of numbers.')
    if len(table) > 1 and wrong.iloc[-1].any() and not text.endswith('\n'):
        # The recorder was probably stopped.
        remarks.append(f'the last row, number {len(table)}, breaks off and was left out')
        numbers, wrong = numbers.iloc[:-1], wrong.iloc[:-1]
    for row, column in np.argwhere(wrong.to_numpy())[:1].tolist():
        cell = table.iloc[row, column]
        comma = ' (a decimal comma must be a point)' if ',' in cell else ''
        raise RecordingError(
            f'{file}, row {row + 1}, column {column + 1}: {cell[:40]!r} is not a number{comma}.'
        )
    above = lines[: lines.index(content[0])]
    if not names and above:
        # A comment line directly above the numbers may hold the column names.
        names = cells([above[-1].lstrip('#% ')]).iloc[0].tolist()
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise RecordingError(
            f'{file} names the column {repeated!r} more than once; give every column a name of '
            'its own.'
        )
    values = numbers.to_numpy(dtype=float)
    yield from zip(names, values.T) if len(names) == values.shape[1] else [('', values)]


def _read_numpy(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    loaded = np.load(file, allow_pickle=False)
    if isinstance(loaded, np.ndarray):
        names = loaded.dtype.names or ()
        yield from [(name, loaded[name]) for name in names] or [('', np.atleast_2d(loaded))]
        return
    with loaded:
        for name in loaded:
            try:
                yield name, loaded[name]
            except ValueError as error:
                if 'Object arrays' not in str(error):
                    raise  # pickled objects, such as a dict of notes, are left out


def _read_hdf5(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield an HDF5 file's one- and two-dimensional datasets, named by their paths in the file."""
    h5py, found = library('h5py', file), []

    def keep(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset) and node.ndim in (1, 2):
            found.append((name, node[()]))

    with h5py.File(file, 'r') as opened:
        opened.visititems(keep)
    yield from found


def _read_parquet(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    library('pyarrow', file)
    pandas = library('pandas', file)
    for name, column in pandas.read_parquet(file).items():
        if column.dtype.kind == 'M':  # dates become seconds since 1970
            column = column - pandas.Timestamp(0, tz=column.dt.tz)
        if column.dtype.kind == 'm':
            column = column.dt.total_seconds()
        values = column.to_numpy()
        # A column of lists that are equally long becomes a matrix.
        yield name, np.stack(list(values)) if values.dtype == object else values


_READERS: dict[str, Callable[[Path, list[str]], Iterator[tuple[str, Any]]]] = {
    **dict.fromkeys(('.csv', '.tsv', '.txt', '.dat'), _read_text),
    **dict.fromkeys(('.npy', '.npz'), _read_numpy),
    '.parquet': _read_parquet,
    **dict.fromkeys(('.h5', '.hdf5'), _read_hdf5),
}
