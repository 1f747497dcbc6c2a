# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads log files (CSV, parquet, HDF5, NumPy, MATLAB) as named arrays."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from io import StringIO
import os
from pathlib import Path
import re
from typing import Any

import numpy as np

from .log_table import LogTable
from ..arrays import Array
from ..errors import MissingDependencyError, RecordingError, require_extra
from ..files import expanded_path, read_text


def read_log(*paths: str | Path) -> LogTable:
    """
    Return the columns of a log file, or of several files with the same rows.

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
    columns = {
        f'{stem}/{name}' if name else stem: array
        for stem, log in logs.items()
        for name, array in log.columns.items()
    }
    remarks = (f'{stem}: {remark}' for stem, log in logs.items() for remark in log.remarks)
    return LogTable(source, columns, tuple(remarks))


def _read_file(path: str | Path) -> LogTable:
    """
    Return the columns of one log file, read in the format that its suffix names.

    The suffix is .csv, .tsv, .txt, .dat, .parquet, .h5, .hdf5, .mat, .npy or .npz. Columns of a
    text file may be separated by commas, semicolons, tabs or blanks, with or without a header
    line. Empty cells become NaN, dates (ISO 8601) seconds since 1970, and lists in cells matrices.

    Raises RecordingError if the file is missing, damaged, of another format or without numbers,
    and, with row and column, if a cell of a text file is not a number. Raises
    MissingDependencyError if a library for the format is not installed.
    """
    file = expanded_path(path)
    if not os.path.isfile(file):
        raise RecordingError(f'{file} does not exist or is a folder; give the path of a log file.')
    suffix = file.suffix.lower()
    if suffix not in _READERS:
        raise RecordingError(
            f'{file}: {(suffix or "no suffix")!r} cannot be read; export {", ".join(_READERS)}.'
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


def import_library(library_name: str, file: Path) -> Any:
    """Import and return an optional library; MissingDependencyError names the pip extra."""
    with require_extra(f'{file}: reading or writing {file.suffix} takes {library_name}', 'logs'):
        return import_module(library_name)


def _read_text_table(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield columns by name; remark on a torn last row, raise RecordingError for wrong cells."""
    pandas = import_library('pandas', file)
    text = read_text(file)
    lines = [line.strip(' ') for line in text.splitlines() if line.strip()]
    content = [line for line in lines if not line.lstrip().startswith(('#', '%'))]
    unquoted = re.sub('"[^"]*"', '', content[0] if content else '')
    delimiter = next((one for one in '\t;,' if one in unquoted), r'\s+')

    def parse_cells(lines: list[str]) -> Any:
        """Return `lines` as a table of texts, '' where a row is too short."""
        how = {
            'header': None,
            'dtype': str,
            'na_filter': False,
            'skipinitialspace': True,
        }
        table = pandas.read_csv(StringIO('\n'.join(lines)), sep=delimiter, **how).fillna('')
        return table.apply(lambda column: column.str.strip())

    table = parse_cells(content or ['x'])
    columns = [_as_numbers(column) for _, column in table.items()]
    absent = np.column_stack([np.isnan(one[:, 0]) for one in columns])
    absent &= ~table.apply(_states_nan).to_numpy()
    wrong = absent & (table != '').to_numpy()
    first = int(wrong[0].any())
    last = len(table)
    if first == last:
        raise RecordingError(f'{file} holds no rows of numbers.')
    if last - first > 1 and (absent[-1] & ~absent[-2]).any() and not text.endswith('\n'):
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
    names = table.iloc[0].tolist()[: len(columns) * first]
    above = lines[: lines.index(content[0])]
    if not names and above:
        # A comment line directly above the numbers may hold the column names.
        names = parse_cells([above[-1].lstrip('#% ')]).iloc[0].tolist()
    _require_distinct_names(names, file)
    if len(names) != len(columns):
        yield '', np.column_stack([one[first:last, 0] for one in columns])
        return
    for name, one in zip(names, columns):
        yield name, one[first:last, 0] if one.shape[1] == 1 else one[first:last]


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
                if 'Object arrays' not in str(error):
                    raise  # pickled objects, such as a dict of notes, are left out


def _read_hdf5(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield an HDF5 file's one- and two-dimensional datasets, named by their paths in the file."""
    h5py = import_library('h5py', file)
    found = []

    def collect_dataset(name: str, node: Any) -> None:
        """Append an HDF5 node to `found` if it is a dataset of one or two dimensions."""
        if isinstance(node, h5py.Dataset) and node.ndim in (1, 2):
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
        for name, array in _read_hdf5(file, remarks):
            if not name.startswith('#refs#'):
                yield name.replace('/', '.'), array.T


def _flatten(prefix: str, variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield variables of nested mappings as struct.field; leave out names that begin with __."""
    for name, value in variables.items():
        if isinstance(value, Mapping):
            yield from _flatten(f'{prefix}{name}.', value)
        elif not name.startswith('__'):
            yield prefix + name, value


def _read_parquet(file: Path, remarks: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield a parquet file's columns, dates as seconds since 1970, lists as matrices."""
    import_library('pyarrow', file)
    pandas = import_library('pandas', file)
    for name, column in pandas.read_parquet(file).items():
        if column.dtype.kind == 'M':
            column = column - pandas.Timestamp(0, tz=column.dt.tz)
        if column.dtype.kind == 'm':
            column = column.dt.total_seconds()
        values = column.to_numpy()
        yield name, np.stack(list(values)) if values.dtype == object else values


_READERS: dict[str, Callable[[Path, list[str]], Iterator[tuple[str, Any]]]] = {
    **dict.fromkeys(('.csv', '.tsv', '.txt', '.dat'), _read_text_table),
    **dict.fromkeys(('.npy', '.npz'), _read_numpy),
    '.parquet': _read_parquet,
    **dict.fromkeys(('.h5', '.hdf5'), _read_hdf5),
    '.mat': _read_matlab,
}
