# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads log files (CSV, JSON, parquet, HDF5, NumPy, MATLAB) as named arrays."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
import json
import os
from pathlib import Path
import re
from typing import Any

import numpy as np

from .log_table import EPISODE_COLUMNS, EPISODE_PATH, LogTable
from ..arrays import Array, NDArray
from ..errors import MissingDependencyError, RecordingError, require_extra
from ..files import expanded_path, read_text


@dataclass(frozen=True)
class LogPart:
    """
    The part of a log file that is read, where its format allows to read less than all.

    `pattern` fits the names of columns or, in HDF5, the ends of their paths. `episode` is the
    number of the episode, of several.
    """

    pattern: re.Pattern[str]
    episode: int | None = None

    def takes(self, name: str) -> bool:
        """Return whether a column is in the part, one that numbers the episodes among them."""
        group = EPISODE_PATH.match(name)
        if group is not None and self.episode not in (None, int(group[1])):
            return False
        tail = name[group.end() :] if group else name
        return tail in EPISODE_COLUMNS or bool(self.pattern.fullmatch(tail))


# Nothing but what numbers the episodes.
_NUMBERS = LogPart(re.compile('(?!)'))
_WHOLE_LOG = LogPart(re.compile('.*', re.DOTALL))


def read_log(*paths: str | Path, part: LogPart = _WHOLE_LOG) -> LogTable:
    """
    Return the columns of a log file, or of several files with the same rows.

    The names of several files' columns begin with the file's, such as velocity/dq1 or, of a file
    without column names, velocity. Of parquet and HDF5 only `part` is read. Raises RecordingError
    if two files have the same name, and the errors of each file.
    """
    if len(paths) == 1:
        return _read_file(paths[0], part)
    logs = {Path(path).stem: _read_file(path, _WHOLE_LOG) for path in paths}
    source = ', '.join(map(str, paths))
    if len(logs) < len(paths):
        raise RecordingError(f'{source}: name the files differently; their columns are named so.')
    columns = {
        f'{stem}/{name}' if name else stem: array
        for stem, log in logs.items()
        for name, array in log.columns.items()
    }
    remarks = (f'{stem}: {remark}' for stem, log in logs.items() for remark in log.remarks)
    return LogTable(source, columns, tuple(remarks))


def numbered_episodes(path: str | Path) -> list[int]:
    """
    Return the numbers of the episodes that groups or a column of a log number; none if it is one.

    Of HDF5 and parquet nothing else is read. Raises RecordingError as `read_log` does.
    """
    file = expanded_path(path)
    suffix = file.suffix.lower()
    if suffix in _HDF5_SUFFIXES and (numbers := _hdf5_episodes(file)):
        return numbers
    try:
        return read_log(file, part=_NUMBERS).numbered_episodes()
    except RecordingError:
        # Nothing numbers the episodes; otherwise the error comes again when the file is read.
        return []


def _hdf5_episodes(file: Path) -> list[int]:
    """Return the sorted numbers of the groups of episodes in an HDF5 file; none if it has none."""
    h5py = import_library('h5py', file)
    numbers = set()

    def collect_number(name: str) -> None:
        """Add the number of the episode in whose group a name is."""
        if group := EPISODE_PATH.match(f'{name}/'):
            numbers.add(int(group[1]))

    try:
        with h5py.File(file, 'r') as opened:
            opened.visit(collect_number)
    except OSError:
        return []
    return sorted(numbers)


def _read_file(path: str | Path, part: LogPart) -> LogTable:
    """
    Return the columns of one log file, read in the format that its suffix names.

    The suffix is .csv, .tsv, .txt, .dat, .json, .jsonl, .parquet, .h5, .hdf5, .mat, .npy or .npz.
    Columns of a text file may be separated by commas, semicolons, tabs or blanks, with or without
    a header line. Empty cells become NaN, dates (ISO 8601) seconds since 1970, and lists in cells
    matrices. An array with hundreds of columns and fewer rows has a row for each joint, and is
    transposed.

    Raises RecordingError if the file is missing, damaged, of another format or without numbers,
    and, with row and column, if a cell of a text file is not a number. Raises
    MissingDependencyError if a library for the format is not installed.
    """
    file = expanded_path(path)
    if not os.path.isfile(file):
        raise RecordingError(f'{file} does not exist or is a folder; give the path of a log file.')
    suffix = file.suffix.lower()
    if suffix not in LOG_SUFFIXES:
        raise RecordingError(
            f'{file}: {(suffix or "no suffix")!r} cannot be read; export '
            f'{", ".join(LOG_SUFFIXES)}.'
        )
    remarks: list[str] = []
    try:
        if suffix in _PART_READERS:
            read = _PART_READERS[suffix](file, part)
        else:
            read = _READERS[suffix](file, remarks)
        arrays = {name: np.asarray(array) for name, array in read}
    except (RecordingError, MissingDependencyError):
        raise
    except Exception as error:  # every library has exception types of its own
        raise RecordingError(
            f'{file} cannot be read as {suffix[1:]} '
            f'({type(error).__name__}: {str(error).split(". ")[0][:120]}).'
        ) from error
    # Only non-empty arrays of real numbers or Booleans in one or two dimensions are kept.
    columns = {
        name: _with_rows_in_time(array.astype(float), suffix)
        for name, array in arrays.items()
        if array.dtype.kind in 'fiub' and array.ndim in (1, 2) and array.size
    }
    if not columns:
        raise RecordingError(f'{file} holds no columns of numbers.')
    return LogTable(str(file), columns, tuple(remarks))


def _with_rows_in_time(array: Array, suffix: str) -> Array:
    """Return an array, transposed if it is one of a container and has a row for each joint."""
    if array.ndim == 1 or suffix not in _ARRAY_SUFFIXES:
        return array
    row_count, column_count = array.shape
    is_transposed = column_count > max(row_count, _MAX_COLUMN_COUNT)
    return array.T if is_transposed else array


def import_library(library_name: str, file: Path) -> Any:
    """Import and return an optional library; MissingDependencyError names the pip extra."""
    with require_extra(f'{file}: reading or writing {file.suffix} takes {library_name}', 'logs'):
        return import_module(library_name)


def _read_text_table(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield columns by name; remark on a torn last row, raise RecordingError for wrong cells."""
    text = read_text(file)
    lines = [line.strip(' ') for line in text.splitlines() if line.strip()]
    content = [line for line in lines if not line.lstrip().startswith(('#', '%'))]
    if not content:
        raise RecordingError(f'{file} holds no rows of numbers.')
    delimiter = _delimiter_of(content[0])
    table = _parse_cells(file, content, delimiter)
    columns = [_as_numbers(column) for _, column in table.items()]
    # Cells that hold neither a number nor, in words, that a number is missing.
    without_number = np.column_stack([np.isnan(column[:, 0]) for column in columns])
    without_number &= ~table.apply(_states_nan).to_numpy()
    is_wrong = without_number & (table != '').to_numpy()
    has_header = bool(is_wrong[0].any())
    first = 1 if has_header else 0
    last = len(table)
    if first == last:
        raise RecordingError(f'{file} holds no rows of numbers.')
    if _is_last_row_torn(without_number[first:]) and not text.endswith('\n'):
        # The recorder was probably stopped.
        remarks.append(f'the last row, number {last - first}, breaks off and was left out')
        last -= 1
    _require_numbers(file, table.iloc[first:last], is_wrong[first:last])
    names: list[str] = []
    if has_header:
        names = table.iloc[0].tolist()
    else:
        above = lines[: lines.index(content[0])]
        if above:  # a comment line directly above the numbers may hold the column names
            comment = above[-1].lstrip('#% ')
            names = _parse_cells(file, [comment], delimiter).iloc[0].tolist()
    _require_distinct_names(names, file)
    if len(names) != len(columns):
        yield '', np.column_stack([column[first:last, 0] for column in columns])
        return
    for name, column in zip(names, columns):
        rows = column[first:last]
        yield name, rows[:, 0] if column.shape[1] == 1 else rows


def _delimiter_of(line: str) -> str:
    """Return what separates the cells: a tab, semicolon, comma or, as a pattern, blanks."""
    unquoted = re.sub('"[^"]*"', '', line)
    for delimiter in ('\t', ';', ','):
        if delimiter in unquoted:
            return delimiter
    return r'\s+'


def _parse_cells(file: Path, lines: list[str], delimiter: str) -> Any:
    """Return the cells of lines as a table of texts, '' where a row is too short."""
    pandas = import_library('pandas', file)
    table = pandas.read_csv(
        StringIO('\n'.join(lines)),
        sep=delimiter,
        header=None,
        dtype=str,
        na_filter=False,
        skipinitialspace=True,
    )
    return table.fillna('').apply(lambda column: column.str.strip())


def _is_last_row_torn(without_number: NDArray[np.bool_]) -> bool:
    """Return whether the last of several rows lacks a number that the row before it has."""
    if len(without_number) < 2:
        return False
    return bool((without_number[-1] & ~without_number[-2]).any())


def _require_numbers(file: Path, rows: Any, is_wrong: NDArray[np.bool_]) -> None:
    """Raise RecordingError, with row and column, if a cell of a table is not a number."""
    if not is_wrong.any():
        return
    row, column = np.argwhere(is_wrong)[0].tolist()
    count = np.count_nonzero(is_wrong)
    cell = rows.iloc[row, column]
    comma = ' (a decimal comma must be a point)' if ',' in cell else ''
    others = f', as in {count} cells' if count > 1 else ''
    raise RecordingError(
        f'{file}, row {row + 1}, column {column + 1}: {cell[:40]!r} is not a number'
        f'{comma}{others}.'
    )


def _require_distinct_names(column_names: list[str], file: Path) -> None:
    """Raise RecordingError if two columns have the same name."""
    repeated = [name for name in column_names if column_names.count(name) > 1]
    if repeated:
        raise RecordingError(f'{file} names the column {repeated[0]!r} twice; rename one.')


def _as_numbers(column: Any) -> Array:
    """Return a column of texts as numbers (dates as seconds) or as lists, shape (rows, k)."""
    numbers = import_module('pandas').to_numeric(column, errors='coerce').to_numpy(dtype=float)
    none = np.isnan(numbers) & ~_states_nan(column)
    found = _dates_or_lists(column) if none[1:].all() else None
    return numbers[:, None] if found is None else found


def _states_nan(column: Any) -> Any:
    """Return of each text of a column whether it is NaN, as Python, C or Visual C++ print it."""
    return column.str.fullmatch(r'[-+]?nan(?:\(\w*\))?', case=False)


def _dates_or_lists(column: Any) -> Array | None:
    """Return ISO dates as seconds since 1970, (rows, 1), equally long lists as rows, else None."""
    pandas = import_module('pandas')
    dates = pandas.to_datetime(column, errors='coerce', utc=True, format='ISO8601')
    if dates.iloc[1:].notna().any():
        seconds = (dates - pandas.Timestamp(0, tz='UTC')).dt.total_seconds()
        return np.asarray(seconds, dtype=float)[:, None]
    rows = [_list_entries(cell) for cell in column]
    width = max(map(len, rows))
    if not width:
        return None
    missing = ['nan'] * width  # in place of a header, or of an empty cell
    try:
        return np.array([[float(entry) for entry in row or missing] for row in rows])
    except ValueError:  # not numbers, or of different lengths
        return None


def _list_entries(cell: str) -> list[str]:
    """Return the entries of a list such as [1, 2] or (1 2) as texts; none if it is no list."""
    inside = re.fullmatch(r'[\[(](.*)[\])]', cell)
    return re.split(r'[\s,;]+', inside[1].strip(' ,')) if inside else []


def _read_numpy(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the array or fields of a .npy file (pickled: RecordingError), or a .npz's arrays."""
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
                # Pickled objects, such as a dict of notes, are left out.
                if 'Object arrays' not in str(error):
                    raise


def _read_hdf5(file: Path, part: LogPart) -> Iterator[tuple[str, Any]]:
    """Yield a part's one- and two-dimensional datasets of HDF5, named by their paths."""
    h5py = import_library('h5py', file)
    found = []

    def collect_dataset(name: str, node: Any) -> None:
        """Append an HDF5 node to `found` if it is a dataset of one or two dimensions."""
        if isinstance(node, h5py.Dataset) and node.ndim in (1, 2) and part.takes(name):
            found.append((name, node[()]))

    with h5py.File(file, 'r') as opened:
        opened.visititems(collect_dataset)
    yield from found


def _read_matlab(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield a .mat file's variables and, as struct.field, fields of structs."""
    try:
        content = import_library('scipy.io', file).loadmat(file, simplify_cells=True)
        yield from _flatten('', content)
    except NotImplementedError:  # scipy's, of version 7.3: HDF5, whose axes MATLAB reverses
        for name, array in _read_hdf5(file, _WHOLE_LOG):
            if not name.startswith('#refs#'):
                yield name.replace('/', '.'), array.T


def _flatten(
    prefix: str, variables: Mapping[str, Any], separator: str = '.'
) -> Iterator[tuple[str, Any]]:
    """Yield variables of nested mappings as struct.field; leave out names that begin with __."""
    for name, value in variables.items():
        if isinstance(value, Mapping):
            yield from _flatten(f'{prefix}{name}{separator}', value, separator)
        elif not name.startswith('__'):
            yield prefix + name, value


def _read_json(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    """
    Yield the columns of records in JSON: a list of objects, or a line for each (.jsonl).

    Fields of objects in a record are named outer/inner. An object of lists has a column each, and
    an object with nothing but one list of records is read as that list.
    """
    pandas = import_library('pandas', file)
    text = read_text(file)
    if file.suffix.lower() == '.jsonl':
        records = [json.loads(line) for line in text.splitlines() if line.strip()]
    else:
        records = json.loads(text)
    if isinstance(records, dict):
        lists = [value for value in records.values() if _is_list_of_objects(value)]
        if len(lists) != 1:
            yield from ((name, _as_array(value)) for name, value in _flatten('', records, '/'))
            return
        records = lists[0]
    if not _is_list_of_objects(records):
        raise RecordingError(
            f'{file} holds no records: a list of objects such as {{"time": 0.0, "position": '
            '[...], "velocity": [...], "effort": [...]} is read.'
        )
    for name, column in pandas.json_normalize(records, sep='/').items():
        yield name, _as_array(column.tolist())


def _is_list_of_objects(value: Any) -> bool:
    """Return whether a value of JSON is a list of objects."""
    return (
        isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)
    )


def _as_array(values: Any) -> NDArray[Any]:
    """Return values of JSON as numbers (None is NaN), or as objects if they are no numbers."""
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):  # texts, or lists of different lengths
        return np.array([None], dtype=object)


def _read_parquet(file: Path, part: LogPart) -> Iterator[tuple[str, Any]]:
    """Yield a part's columns of parquet, dates as seconds since 1970, lists as matrices."""
    types = import_library('pyarrow', file).types
    pandas = import_library('pandas', file)
    schema = import_library('pyarrow.parquet', file).read_schema(file)
    # Pictures are not read, and neither are texts.
    names = [
        field.name
        for field in schema
        if not (types.is_struct(field.type) or types.is_string(field.type))
        and part.takes(field.name)
    ]
    numbering = next((name for name in EPISODE_COLUMNS if name in schema.names), None)
    filters = None
    if numbering is not None and part.episode is not None:
        filters = [(numbering, '==', part.episode)]
    for name, column in pandas.read_parquet(file, columns=names, filters=filters).items():
        if column.dtype.kind == 'M':
            column = column - pandas.Timestamp(0, tz=column.dt.tz)
        if column.dtype.kind == 'm':
            column = column.dt.total_seconds()
        values = column.to_numpy()
        is_nested = values.dtype == object and len(values)
        yield name, np.stack(list(values)) if is_nested else values


# Files of arrays, of which some have a row for each joint in place of a row for each moment.
_MAX_COLUMN_COUNT = 100  # of an array with a row for each moment, more than arms have joints
_HDF5_SUFFIXES = ('.h5', '.hdf5')
_ARRAY_SUFFIXES = (*_HDF5_SUFFIXES, '.npy', '.npz', '.mat', '.json')
_READERS: dict[str, Callable[[Path, list[str]], Iterator[tuple[str, Any]]]] = {
    **dict.fromkeys(('.csv', '.tsv', '.txt', '.dat'), _read_text_table),
    **dict.fromkeys(('.npy', '.npz'), _read_numpy),
    **dict.fromkeys(('.json', '.jsonl'), _read_json),
    '.mat': _read_matlab,
}
_PART_READERS: dict[str, Callable[[Path, LogPart], Iterator[tuple[str, Any]]]] = {
    '.parquet': _read_parquet,
    **dict.fromkeys(_HDF5_SUFFIXES, _read_hdf5),
}
LOG_SUFFIXES = (*_READERS, *_PART_READERS)
