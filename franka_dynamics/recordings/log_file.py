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

from ..errors import MissingDependencyError, RecordingError
from ..typing import Array

_DELIMITERS = ('\t', ';', ',', r'\s+')  # the last is one or more blanks
_COMMENTS = ('#', '%')
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
    remarks: tuple[str, ...]

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
        if count > 1 and columns in self.arrays:
            return self._whole(self.arrays[columns], columns, count, what)
        if part := re.fullmatch(r'(.+)\[(\d+)-(\d+)\]', columns):
            name, first, last = part.group(1), int(part.group(2)), int(part.group(3))
            whole = self.arrays.get(name)
            if whole is not None and whole.ndim == 2:
                return self._whole(whole[:, first - 1 : last], columns, count, what)
        names = list(_expanded(columns, count))
        if len(names) != count:
            raise RecordingError(
                f'{self.source}: {what} {columns!r} names {len(names)} '
                f'column{"s" * (len(names) != 1)}, but {count} '
                f'{"is" if count == 1 else "are"} needed.'
            )
        found = [self._column(name, what) for name in names]
        lengths = sorted({len(column) for column in found})
        if len(lengths) > 1:
            raise RecordingError(
                f'{self.source}: {what} {columns!r} names columns of {lengths[0]} and '
                f'{lengths[-1]} rows; name equally long columns.'
            )
        return np.column_stack(found)

    def _whole(self, array: Array, name: str, count: int, what: str) -> Array:
        if array.ndim == 2 and count in array.shape:
            # Some files have one row per joint.
            return array if array.shape[1] == count else array.T
        raise RecordingError(
            f'{self.source}: {what} {name!r} has shape {array.shape}, but (rows, {count}) is '
            'needed: one column per joint.'
        )

    def _column(self, name: str, what: str) -> Array:
        found = self.arrays.get(name)
        if found is None and name.isdigit():
            matrix = self._matrix()
            if 1 <= int(name) <= matrix.shape[1]:
                return matrix[:, int(name) - 1]
            raise RecordingError(
                f'{self.source} has {matrix.shape[1]} columns, so there is no '
                f'column {name} for {what}; they are counted from 1.'
            )
        if found is None:
            raise RecordingError(
                f'{self.source} has no column {name!r} for {what}; it has {self.in_words()}.'
            )
        if min(found.shape) == 1 or found.ndim == 1:
            return found.reshape(-1)
        raise RecordingError(
            f'{self.source}: {what} {name!r} has shape {found.shape}, but a '
            'single column is needed.'
        )

    def _matrix(self) -> Array:
        """Return all columns as one matrix, numbered from left to right, (rows, columns)."""
        if len({len(array) for array in self.arrays.values()}) > 1:
            raise RecordingError(
                f'{self.source} holds arrays of several lengths, so its columns '
                f'have no numbers; name them: {self.in_words()}.'
            )
        return np.column_stack(list(self.arrays.values()))

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
    reader, kind = _READERS[suffix]
    remarks: list[str] = []
    try:
        arrays = {name: np.asarray(value) for name, value in reader(file, remarks)}
    except (RecordingError, MissingDependencyError):
        raise
    except UnicodeDecodeError as error:
        raise RecordingError(
            f'{file} is not text in UTF-8 (byte {error.start}); export it as such.'
        ) from error
    except Exception as error:  # every library has exception types of its own
        raise RecordingError(
            f'{file} cannot be read as {kind} '
            f'({type(error).__name__}: {" ".join(str(error).split())[:120]}).'
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
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f'{file}: reading or writing {file.suffix} takes {name.partition(".")[0]}: '
            "pip install 'franka_dynamics[logs]'."
        ) from error


def _expanded(columns: str, count: int) -> Iterator[str]:
    """Yield the column names or numbers that text such as `2-8`, `q{}` or `a,b` selects."""
    for entry in columns.split(','):
        first, dash, last = entry.strip().partition('-')
        if dash and first.isdigit() and last.isdigit():
            yield from (str(number) for number in range(int(first), int(last) + 1))
        elif '{}' in entry or '{0}' in entry:
            begin = 0 if '{0}' in entry else 1
            pattern = entry.strip().replace('{0}', '{}')
            yield from (pattern.replace('{}', str(begin + joint)) for joint in range(count))
        else:
            yield entry.strip()


def _read_text(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the columns of a text file; add a remark if its last row breaks off."""
    pandas = library('pandas', file)
    text = file.read_text(encoding='utf-8-sig')
    lines = text.splitlines()
    content = [line for line in lines if line.strip() and not line.lstrip().startswith(_COMMENTS)]
    if not content:
        raise RecordingError(f'{file} is empty.')
    unquoted = re.sub('"[^"]*"', '', content[0].strip())
    delimiter = next(one for one in _DELIMITERS if one in unquoted or one == _DELIMITERS[-1])

    def cells(some: list[str]) -> Any:
        """Return lines as a table of texts, empty where a row is too short."""
        return pandas.read_csv(
            StringIO('\n'.join(some)),
            sep=delimiter,
            header=None,
            dtype=str,
            keep_default_na=False,
            skipinitialspace=True,
        ).fillna('')

    table = cells([line.strip(' ') for line in content])
    numbers = table.apply(pandas.to_numeric, errors='coerce')
    wrong = numbers.isna() & (table.apply(lambda column: column.str.strip().str.lower()) != 'nan')
    names = table.iloc[0].str.strip().tolist() if wrong.iloc[0].any() else []
    first = 1 if names else 0
    if len(table) == first:
        raise RecordingError(f'{file} holds no rows of numbers.')
    if len(table) > first + 1 and wrong.iloc[-1].any() and not text.endswith('\n'):
        # The recorder was probably stopped.
        remarks.append(f'the last row, number {len(table) - first}, breaks off and was left out')
        numbers, wrong = numbers.iloc[:-1], wrong.iloc[:-1]
    faulty = wrong.iloc[first:].to_numpy()
    if faulty.any():
        row, column = (int(place) for place in np.argwhere(faulty)[0])
        cell = table.iloc[row + first, column]
        comma = ' (a decimal comma must be a point)' if ',' in cell else ''
        raise RecordingError(
            f'{file}, row {row + 1}, column {column + 1}: {cell[:40]!r} is not a number{comma}.'
        )
    values = numbers.iloc[first:].to_numpy(dtype=float)
    if not names:
        # A comment line directly above the numbers may hold the column names.
        above = [line.strip() for line in lines[: lines.index(content[0])] if line.strip()]
        names = cells([above[-1].lstrip('#% ')]).iloc[0].tolist() if above else []
        if len(names) != values.shape[1]:
            yield '', values
            return
    repeated = sorted(name for name in names if names.count(name) > 1)
    if repeated:
        raise RecordingError(
            f'{file} names the column {repeated[0]!r} more than once; give every column a name of '
            'its own.'
        )
    yield from zip(names, values.T)


_NUMPY_BEGINS = (b'\x93NUM', b'PK\x03\x04')  # first bytes of .npy and of .npz, a zip file


def _read_numpy(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    with file.open('rb') as stream:
        if stream.read(4) not in _NUMPY_BEGINS:
            raise ValueError('its first bytes are not those of numpy.save or numpy.savez')
    loaded = np.load(file, allow_pickle=False)
    if not isinstance(loaded, np.ndarray):
        with loaded:
            for name in loaded:
                try:
                    values = loaded[name]
                except ValueError as error:
                    if 'Object arrays' not in str(error):
                        raise
                    continue  # pickled Python objects, such as a dict of notes, are left out
                yield name, values
    elif loaded.dtype.names:
        yield from ((name, loaded[name]) for name in loaded.dtype.names)
    elif loaded.ndim == 2:
        yield '', loaded
    else:
        raise RecordingError(
            f'{file} has shape {loaded.shape}; a matrix with a row per sample is needed.'
        )


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
    for name, column in library('pandas', file).read_parquet(file).items():
        values = column.to_numpy()
        if values.dtype == object and len(values) and np.ndim(values[0]) == 1:
            lengths = {len(cell) for cell in values}
            if len(lengths) > 1:
                raise RecordingError(
                    f'{file}: the lists in column {name!r} have {len(lengths)} different lengths.'
                )
            values = np.stack(list(values))
        yield name, values


_Reader = Callable[[Path, list[str]], Iterator[tuple[str, Any]]]
_READERS: dict[str, tuple[_Reader, str]] = {
    **dict.fromkeys(('.csv', '.tsv', '.txt', '.dat'), (_read_text, 'CSV')),
    **dict.fromkeys(('.npy', '.npz'), (_read_numpy, 'numpy arrays of numbers')),
    '.parquet': (_read_parquet, 'parquet'),
    **dict.fromkeys(('.h5', '.hdf5'), (_read_hdf5, 'HDF5')),
}
