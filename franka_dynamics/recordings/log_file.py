# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A log in whatever form it was kept -> named columns of numbers: CSV, npy, npz, MAT, parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingDependencyError, RecordingError
from ..typing import Array

_DELIMITERS = ('\t', ';', ',', None)  # None: any run of blanks
_SHOWN = 24  # so many names a sentence lists


class LogColumns:
    """
    What a log file holds: arrays of shape (rows,) or (rows, columns), by name.

    A file without names, such as a bare matrix, has one array, whose name is ''. Columns are then
    chosen by their numbers, counted from 1.

    Parameters
    ----------
    source : str
        Path of the file.
    arrays : mapping of str to ndarray
        One- and two-dimensional arrays of numbers.
    remarks : tuple of str
        What was left out of it.

    """

    def __init__(
        self, source: str, arrays: Mapping[str, Array], remarks: tuple[str, ...] = ()
    ) -> None:
        self.source, self.remarks = source, remarks
        self.arrays = dict(arrays)
        if not self.arrays:
            raise RecordingError(f'{source} holds no columns of numbers.')

    def choose(self, columns: str, count: int, what: str) -> Array:
        """
        Return the columns that a description names, shape (rows, count).

        Parameters
        ----------
        columns : str
            `q` (an array of `count` columns), `q{}` (q1, q2, ...; `q{0}` counts from 0),
            `q1,q2,...` or, by number from 1, `2-8`.
        count : int
            How many columns are needed.
        what : str
            What for, in the words of error messages.

        Raises
        ------
        RecordingError
            If there are no such columns, or not `count` of them.

        """
        if count > 1 and columns in self.arrays:
            return self._whole(columns, count, what)
        names = list(_expanded(columns, count))
        if len(names) != count:
            raise RecordingError(
                f'{self.source}: {what} {columns!r} names {len(names)} '
                f'column{"s" * (len(names) != 1)}, but {count} '
                f'{"is" if count == 1 else "are"} needed.'
            )
        return np.column_stack([self._column(name, what) for name in names])

    def _whole(self, name: str, count: int, what: str) -> Array:
        array = self.arrays[name]
        if array.ndim == 2 and array.shape[1] != count and array.shape[0] == count:
            return array.T  # a row per joint, as MATLAB users often have it
        if array.ndim != 2 or array.shape[1] != count:
            raise RecordingError(
                f'{self.source}: {what} {name!r} has shape {array.shape}, but (rows, {count}) is '
                'needed: one column per joint.'
            )
        return array

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
        """Return all columns side by side, as they are counted."""
        arrays = [array if array.ndim == 2 else array[:, None] for array in self.arrays.values()]
        if len({len(array) for array in arrays}) > 1:
            raise RecordingError(
                f'{self.source} holds arrays of several lengths, so its columns '
                f'have no numbers; name them: {self.in_words()}.'
            )
        return np.hstack(arrays)

    def in_words(self) -> str:
        """Return the names and shapes of what there is, in bounded length."""
        if list(self.arrays) == ['']:
            return f'{self.arrays[""].shape[1]} columns without names'
        shown = [
            f'{name}{"" if array.ndim == 1 else f" {array.shape}"}'
            for name, array in islice(self.arrays.items(), _SHOWN)
        ]
        more = len(self.arrays) - len(shown)
        return ', '.join(shown) + (f' and {more} more' if more else '')


def read_log(path: str | Path) -> LogColumns:
    """
    Read a log's columns; the kind of file is told by its ending.

    Parameters
    ----------
    path : str or Path
        A .csv, .tsv, .txt, .dat, .npy, .npz, .mat or .parquet file. CSV may be separated by
        commas, semicolons, tabs or blanks, with a line of names or without.

    Raises
    ------
    RecordingError
        If it is missing, damaged, of another kind, or holds what is not a number; the message
        names row and column.
    MissingDependencyError
        If it takes a library that is not installed.

    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise RecordingError(
            f'{file} does not exist, or is a folder; give the path of a log file.'
        )
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise RecordingError(
            f'{file}: files that end in {file.suffix or "nothing"!r} cannot be '
            f'imported; export {", ".join(_READERS)}.'
        )
    remarks: list[str] = []
    return LogColumns(str(file), dict(reader(file, remarks)), tuple(remarks))


def _expanded(columns: str, count: int) -> Iterator[str]:
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


def _read_text(file: Path, remarks: list[str]) -> Iterator[tuple[str, Array]]:
    try:
        with file.open(encoding='utf-8-sig') as lines:
            head = [line for line in islice(lines, 200) if line.strip()]
    except UnicodeDecodeError as error:
        raise RecordingError(
            f'{file} is not text in UTF-8 (byte {error.start}); export it as such.'
        ) from error
    if not head:
        raise RecordingError(f'{file} is empty.')
    first = head[0].lstrip('#% ').rstrip('\r\n')
    delimiter = next((one for one in _DELIMITERS if one is None or one in first), None)
    names = [name.strip().strip('"') for name in first.split(delimiter)]
    named = not all(_is_number(name) for name in names)
    # A line of names counts as one row; comments and empty lines are passed over.
    rows = _number_rows(file, delimiter, len(names), remarks, skip=int(named))
    if not named:
        yield '', rows
        return
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise RecordingError(
            f'{file} names the column {min(repeated)!r} more than once; give '
            'every column a name of its own.'
        )
    yield from ((name, rows[:, place]) for place, name in enumerate(names))


def _number_rows(
    file: Path, delimiter: str | None, width: int, remarks: list[str], *, skip: int
) -> Array:
    def rows() -> Iterator[str]:
        seen = 0
        with file.open(encoding='utf-8-sig') as lines:
            for line in lines:
                if not line.strip():
                    continue
                seen += 1
                if seen > skip and not line.lstrip().startswith(('#', '%')):
                    yield line

    if next(rows(), None) is None:
        raise RecordingError(f'{file} holds no rows of numbers.')
    try:
        # Quotes are left to float(), which refuses them by name below.
        found = np.loadtxt(rows(), delimiter=delimiter, ndmin=2, comments=None)
    except ValueError as error:
        count = sum(1 for _ in rows())
        whole = islice(rows(), count - 1)
        if count < 2 or not _cut_off(next(islice(rows(), count - 1, None)), delimiter, width):
            raise RecordingError(
                _first_bad_row(file, rows(), delimiter, width) or f'{file}: {str(error)[:200]}'
            ) from error
        if bad := _first_bad_row(file, islice(rows(), count - 1), delimiter, width):
            raise RecordingError(bad) from error
        found = np.loadtxt(whole, delimiter=delimiter, ndmin=2, comments=None)
        remarks.append(f'the last row, number {count}, breaks off and was left out')
    if found.shape[1] != width:
        raise RecordingError(f'{file} has {width} names but {found.shape[1]} columns.')
    return found


def _cut_off(line: str, delimiter: str | None, width: int) -> bool:
    """Return whether a file's last line breaks off, as where a recorder was stopped."""
    return not line.endswith('\n') and len(line.split(delimiter)) < width


def _first_bad_row(file: Path, rows: Iterator[str], delimiter: str | None, width: int) -> str:
    for number, line in enumerate(rows, start=1):
        cells = line.strip('\r\n').split(delimiter)
        if len(cells) != width:
            return (
                f'{file}, row {number}: it has {len(cells)} columns where the first line has '
                f'{width}; every row must have as many.'
            )
        for place, cell in enumerate(cells, start=1):
            if not _is_number(cell):
                comma = ' (a decimal comma must be a point)' if ',' in cell else ''
                return (
                    f'{file}, row {number}, column {place}: {cell.strip()[:40]!r} is not a '
                    f'number{comma}.'
                )
    return ''


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_numpy(file: Path, remarks: list[str]) -> Iterator[tuple[str, Array]]:
    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            yield from _array_columns(file, loaded)
            return
        with loaded:
            for name in loaded.files:
                yield from _kept(name, loaded[name])
    except (ValueError, EOFError, OSError) as error:
        raise RecordingError(
            f'{file} cannot be read as numpy arrays of numbers '
            f'({str(error)[:120]}); save it with numpy.save or numpy.savez, '
            'without Python objects.'
        ) from error


def _array_columns(file: Path, array: np.ndarray[Any, Any]) -> Iterator[tuple[str, Array]]:
    if array.dtype.names:
        for name in array.dtype.names:
            yield from _kept(name, array[name])
    elif array.ndim == 2:
        yield from _kept('', array)
    else:
        raise RecordingError(
            f'{file} has shape {array.shape}; a matrix with a row per sample is needed.'
        )


def _kept(name: str, array: Any) -> Iterator[tuple[str, Array]]:
    """Yield an array of numbers as such; text, images and empty ones are no columns."""
    values = np.asarray(array)
    if values.dtype.kind in 'fiub' and values.ndim in (1, 2) and values.size:
        yield name, values.astype(float)


def _read_mat(file: Path, remarks: list[str]) -> Iterator[tuple[str, Array]]:
    try:
        from scipy.io import loadmat
    except ImportError as error:
        raise MissingDependencyError(
            "Reading .mat files needs scipy: pip install 'franka_dynamics[replay]'."
        ) from error
    try:
        content = loadmat(file, squeeze_me=False, struct_as_record=False)
    except NotImplementedError as error:  # as scipy says of v7.3 files
        raise RecordingError(
            f'{file} is a MATLAB v7.3 file, which is HDF5; save it again in '
            "MATLAB with save(..., '-v7')."
        ) from error
    except Exception as error:  # loadmat raises whatever its parser meets
        raise RecordingError(
            f'{file} cannot be read as a MATLAB file ({type(error).__name__}: {str(error)[:120]}).'
        ) from error
    for name, value in content.items():
        if not name.startswith('__'):
            yield from _mat_columns(name, value)


def _mat_columns(name: str, value: Any) -> Iterator[tuple[str, Array]]:
    """Yield a variable, and the fields of a struct as name.field."""
    if isinstance(value, np.ndarray) and value.dtype == object and value.size == 1:
        value = value.item()
    if hasattr(value, '_fieldnames'):
        for part in value._fieldnames:
            yield from _mat_columns(f'{name}.{part}', getattr(value, part))
    else:
        yield from _kept(name, value)


def _read_parquet(file: Path, remarks: list[str]) -> Iterator[tuple[str, Array]]:
    try:
        from pyarrow.parquet import read_table as read
    except ImportError:
        try:
            from pandas import read_parquet as read
        except ImportError as error:
            raise MissingDependencyError(
                f'{file}: reading parquet needs pyarrow (or pandas with an engine of its own): '
                'pip install pyarrow.'
            ) from error
    try:
        table = read(file)
    except ImportError as error:
        raise MissingDependencyError(
            f'{file}: pandas has no engine for parquet: pip install pyarrow.'
        ) from error
    except Exception as error:  # the libraries have exception types of their own
        raise RecordingError(
            f'{file} cannot be read as parquet ({type(error).__name__}: {str(error)[:120]}).'
        ) from error
    frame: Mapping[str, Any] = (
        dict(zip(table.column_names, table.columns)) if hasattr(table, 'column_names') else table
    )
    for name in frame:
        column = np.asarray(frame[name])
        if column.dtype == object and len(column) and np.ndim(column[0]) == 1:
            lengths = {len(cell) for cell in column}
            if len(lengths) > 1:
                raise RecordingError(
                    f'{file}: the lists in column {name!r} have {len(lengths)} different lengths.'
                )
            column = np.stack([np.asarray(cell) for cell in column])
        yield from _kept(str(name), column)


_READERS: dict[str, Callable[[Path, list[str]], Iterator[tuple[str, Array]]]] = {
    '.csv': _read_text,
    '.tsv': _read_text,
    '.txt': _read_text,
    '.dat': _read_text,
    '.npy': _read_numpy,
    '.npz': _read_numpy,
    '.mat': _read_mat,
    '.parquet': _read_parquet,
}
