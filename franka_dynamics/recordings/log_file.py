# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads log files (CSV, parquet, HDF5, NumPy, MATLAB) as named arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from io import StringIO
from itertools import islice
from pathlib import Path
import re
from typing import Any

import numpy as np

from ..errors import MissingDependencyError, RecordingError, require_extra
from ..files import read_text
from ..typing import Array

_MAX_LISTED_NAMES = 24  # largest number of names listed in a message
# Groups of HDF5 files with one episode each, such as robomimic's data/demo_0, and columns that
# number the episodes, such as LeRobot's.
_EPISODE_GROUP = re.compile(
    r'(?:.*/)?(?:demo|episode|ep|rollout|traj|trajectory|trial)[_-]?(\d+)/'
)
_EPISODE_COLUMNS = ('episode_index', 'episode_id', 'episode')


@dataclass(frozen=True, eq=False)
class LogTable:
    """
    The content of a log file: arrays of shape (rows,) or (rows, columns), by name.

    A file without column names, such as a bare matrix, is one array with the name ''; its columns
    are chosen by number, counted from 1. `source` is the file's path; `remarks` has a sentence if
    a last row that breaks off was left out.
    """

    source: str
    arrays: Mapping[str, Array]
    remarks: tuple[str, ...] = ()

    def select(self, columns: str, count: int, what: str) -> Array:
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
        zeroth = columns.replace('{}', '0')
        if zeroth != columns and zeroth in self.arrays:
            raise RecordingError(
                f'{self.source}: {what} {columns!r} begins at 1, and there is a column {zeroth}; '
                f'begin there by {columns.replace("{}", "{0}")!r}, or name each column.'
            )
        found = []
        for name in _expanded(columns, count):
            array = self._named(name)
            if array is None:
                raise RecordingError(
                    f'{self.source} has no column {name!r} for {what}; it has {self.in_words()}.'
                    + (f' {episode_hint(self._groups())}' if self._groups() else '')
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

    def _groups(self) -> list[int]:
        """Return the numbers of the episodes that have groups of their own."""
        return sorted({int(one[1]) for one in map(_EPISODE_GROUP.match, self.arrays) if one})

    def episode_columns(self, number: int | None) -> LogTable:
        """
        Return the columns of one episode; those in its group also under names without the group.

        Without a number the file must not have a column that numbers several episodes. Raises
        RecordingError that lists the episodes if there is no such episode.
        """
        column = next((self.arrays[one] for one in _EPISODE_COLUMNS if one in self.arrays), None)
        if number is None:
            if column is not None and len(np.unique(column)) > 1:
                raise RecordingError(f'{self.source}: {episode_hint(np.unique(column))}')
            return self
        groups = self._groups()
        if number in groups:
            chosen = {}
            for name, array in self.arrays.items():
                group = _EPISODE_GROUP.match(name)
                if group is None or int(group[1]) == number:
                    chosen[name] = array
                    chosen[name[group.end() :] if group else name] = array
            return replace(self, arrays=chosen)
        if column is None or number not in column:
            there = groups if column is None else np.unique(column)
            if len(there):
                raise RecordingError(
                    f'{self.source} has no episode {number}; {episode_hint(there)}'
                )
            return self
        rows = column.reshape(len(column), -1)[:, 0] == number
        return replace(
            self,
            arrays={k: v[rows] if len(v) == len(rows) else v for k, v in self.arrays.items()},
        )

    def _named(self, name: str) -> Array | None:
        """Return the array or column that a name, a number or `name[first-last]` selects."""
        if name in self.arrays:
            return self.arrays[name]
        if name.isdigit() and len({len(array) for array in self.arrays.values()}) == 1:
            every = np.column_stack(list(self.arrays.values()))
            return every[:, int(name) - 1] if 1 <= int(name) <= every.shape[1] else None
        part = re.fullmatch(r'(.+)\[(\d+)(?:-(\d+))?\]', name)
        whole = self.arrays.get(part[1]) if part else None
        if part is None or whole is None or whole.ndim != 2:
            return None
        return whole[:, int(part[2]) - 1 : int(part[3] or part[2])]

    def in_words(self) -> str:
        """Return up to 24 arrays' names and matrices' shapes, or how many columns there are."""
        if list(self.arrays) == ['']:
            return (
                f'{self.arrays[""].shape[1]} columns without names: give their numbers, such as '
                '--position 2-8'
            )
        shown = [
            f'{name}{"" if array.ndim == 1 else f" {array.shape}"}'
            for name, array in islice(self.arrays.items(), _MAX_LISTED_NAMES)
        ]
        more = len(self.arrays) - len(shown)
        return ', '.join(shown) + (f' and {more} more' if more else '')


def episode_hint(numbers: Sequence[float] | Array) -> str:
    """Return a sentence that lists episodes and names the option that chooses one."""
    first, last = int(min(numbers)), int(max(numbers))
    several = f' to {last} ({len(numbers)} in all)' if last > first else ''
    return f'the episodes are {first}{several}; they are not joined: choose one by --episode N.'


def read_log(*paths: str | Path) -> LogTable:
    """
    Return the columns of a log file, or of several that hold the same rows.

    The names of several files' columns begin with the file's, such as velocity/dq1 or, of a file
    without column names, velocity. Raises RecordingError if two files have the same name, and the
    errors of each file.
    """
    if len(paths) == 1:
        return _read_file(paths[0])
    logs = {Path(path).stem: _read_file(path) for path in paths}
    source = ', '.join(map(str, paths))
    if len(logs) < len(paths):
        raise RecordingError(f'{source}: name the files differently; their columns are named so.')
    return LogTable(
        source,
        {
            f'{stem}/{name}' if name else stem: array
            for stem, log in logs.items()
            for name, array in log.arrays.items()
        },
        tuple(f'{stem}: {remark}' for stem, log in logs.items() for remark in log.remarks),
    )


def _read_file(path: str | Path) -> LogTable:
    """
    Return the columns of a log file, whose format follows from the file's suffix.

    The suffix is .csv, .tsv, .txt, .dat, .parquet, .h5, .hdf5, .mat, .npy or .npz. Columns of a
    text file may be separated by commas, semicolons, tabs or blanks, with or without a header
    line. Empty cells become NaN, dates (ISO 8601) seconds since 1970, and lists in cells matrices.

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
    return LogTable(str(file), columns, tuple(remarks))


def import_library(name: str, file: Path) -> Any:
    """Import and return an optional library; MissingDependencyError names the pip extra."""
    with require_extra(f'{file}: reading or writing {file.suffix} takes {name}', 'logs'):
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
    pandas = import_library('pandas', file)
    text = read_text(file)
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
    columns = [_parsed(column) for _, column in table.items()]
    absent = np.column_stack([np.isnan(one[:, 0]) for one in columns])
    absent &= (table.apply(lambda column: column.str.lower()) != 'nan').to_numpy()
    wrong = absent & (table != '').to_numpy()
    first, last = int(wrong[0].any()), len(table)
    if first == last:
        raise RecordingError(f'{file} holds no rows of numbers.')
    if last - first > 1 and absent[-1].any() and not text.endswith('\n'):
        # The recorder was probably stopped.
        remarks.append(f'the last row, number {last - first}, breaks off and was left out')
        last -= 1
    bad = np.argwhere(wrong[first:last])
    for row, number in bad[:1].tolist():
        cell = table.iloc[first + row, number]
        comma = ' (a decimal comma must be a point)' if ',' in cell else ''
        raise RecordingError(
            f'{file}, row {row + 1}, column {number + 1}: {cell[:40]!r} is not a number{comma}'
            f'{f", as in {len(bad)} cells" if len(bad) > 1 else ""}.'
        )
    names, above = table.iloc[0].tolist()[: len(columns) * first], lines[: lines.index(content[0])]
    if not names and above:
        # A comment line directly above the numbers may hold the column names.
        names = cells([above[-1].lstrip('#% ')]).iloc[0].tolist()
    _require_distinct(names, file)
    if len(names) != len(columns):
        yield '', np.column_stack([one[first:last, 0] for one in columns])
        return
    for name, one in zip(names, columns):
        yield name, one[first:last, 0] if one.shape[1] == 1 else one[first:last]


def _require_distinct(names: list[str], file: Path) -> None:
    """Raise RecordingError for a column name that is there twice."""
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise RecordingError(
            f'{file} names the column {repeated[0]!r} more than once; give every column a name of '
            'its own.'
        )


def _parsed(column: Any) -> Array:
    """Return texts as numbers, or if all below the first are none as dates or lists, (rows, k)."""
    numbers = import_module('pandas').to_numeric(column, errors='coerce').to_numpy(dtype=float)
    none = np.isnan(numbers) & (column.str.lower() != 'nan')
    found = _dates_or_lists(column) if none[1:].all() else None
    return numbers[:, None] if found is None else found


def _dates_or_lists(column: Any) -> Array | None:
    """Return ISO dates as seconds since 1970, or lists of numbers as rows; None for other text."""
    pandas = import_module('pandas')
    dates = pandas.to_datetime(column, errors='coerce', utc=True, format='ISO8601')
    if dates.iloc[1:].notna().any():
        seconds = (dates - pandas.Timestamp(0, tz='UTC')).dt.total_seconds()
        return np.asarray(seconds, dtype=float)[:, None]
    lists = [re.fullmatch(r'[\[(](.*)[\])]', cell) for cell in column]
    rows = [re.split(r'[\s,;]+', one[1].strip(' ,')) if one else [] for one in lists]
    width = max(map(len, rows))
    if not width:
        return None
    try:
        return np.array([[float(one) for one in row] or [np.nan] * width for row in rows])
    except ValueError:  # not numbers, or of different lengths
        return None


def _read_numpy(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    try:
        loaded = np.load(file, allow_pickle=False)
    except ValueError as error:
        if 'Object arrays' not in str(error):
            raise
        raise RecordingError(
            f'{file} holds a pickled Python object, such as a dict, which is not read because '
            'unpickling can run code. Where you trust it, save its arrays instead: '
            'np.savez("log.npz", **np.load(FILE, allow_pickle=True).item()).'
        ) from error
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
    h5py, found = import_library('h5py', file), []

    def keep(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset) and node.ndim in (1, 2):
            found.append((name, node[()]))

    with h5py.File(file, 'r') as opened:
        opened.visititems(keep)
    yield from found


def _read_matlab(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield a .mat file's variables and, as struct.field, fields of structs."""
    try:
        yield from _flat('', import_library('scipy.io', file).loadmat(file, simplify_cells=True))
    except NotImplementedError:  # version 7.3 is HDF5, whose axes MATLAB writes in reverse order
        for name, array in _read_hdf5(file, remarks):
            if not name.startswith('#refs#'):
                yield name.replace('/', '.'), array.T


def _flat(prefix: str, variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in variables.items():
        if isinstance(value, Mapping):
            yield from _flat(f'{prefix}{name}.', value)
        elif not name.startswith('__'):
            yield prefix + name, value


def _read_parquet(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    import_library('pyarrow', file)
    pandas = import_library('pandas', file)
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
    '.mat': _read_matlab,
}
