# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a copy of a data set in LeRobot's form, versions 2 and 3, with more columns."""

from collections.abc import Callable, Mapping, Sequence
import json
import os
from pathlib import Path
import shutil
import tempfile
from typing import Any

import numpy as np

from .lerobot import EPISODE_COLUMN, INFO_PATH, LeRobotDataset, TIME_COLUMN
from .log_file import import_library
from ..arrays import Array
from ..errors import OutputError
from ..files import created_folder, name_file_in_errors

# Columns by their names, (rows, k) float32, of an episode's number and the times of its rows [s];
# None of an episode without.
ColumnFunction = Callable[[int, Array], Mapping[str, Array] | None]
_STATS_PATH = 'meta/stats.json'
_EPISODE_STATS_PATH = 'meta/episodes_stats.jsonl'  # version 2.1
# LeRobot's statistics of a column; quantiles came with version 3.
_QUANTILES = {'q01': 0.01, 'q10': 0.1, 'q50': 0.5, 'q90': 0.9, 'q99': 0.99}


def write_with_columns(
    data_set: LeRobotDataset,
    target: Path,
    entry_names: Mapping[str, Sequence[str]],
    columns_of: ColumnFunction,
) -> float:
    """
    Write a copy of a data set with more columns, and return which share of their values is NaN.

    Everything else is copied as it is, videos as hard links where the disk allows them. One file
    is in memory at a time. Statistics leave NaN out.

    Parameters
    ----------
    data_set : LeRobotDataset
        The data set, which is not changed.
    target : Path
        The new folder; it appears only when the copy is complete.
    entry_names : mapping
        Of each new column its name and those of its entries.
    columns_of : callable
        Returns the new columns of an episode, of its number and the times of its rows [s].

    Raises
    ------
    OutputError
        If the target exists, or the data set has such a column already.

    """
    if target.exists():
        raise OutputError(f'{target} exists already; name a new folder.')
    for name in entry_names:
        if name in data_set.info['features']:
            raise OutputError(f'{data_set.root} has a column {name} already; remove it first.')
    files = sorted({file for _, file in data_set.episode_files()})
    stats = _Statistics(entry_names)
    with (
        created_folder(target.parent),
        name_file_in_errors(target),
        tempfile.TemporaryDirectory(dir=target.parent, prefix='.writing-') as scratch,
    ):
        copy = Path(scratch) / target.name
        _copy_others(data_set.root, copy, {*files})
        for file in files:
            written = copy / file.relative_to(data_set.root)
            written.parent.mkdir(parents=True, exist_ok=True)
            _write_file(file, written, entry_names, columns_of, stats)
        _write_description(data_set, copy, entry_names, stats)
        shutil.move(copy, target)
    return stats.missing_share


class _Statistics:
    """LeRobot's statistics of columns, of each episode and, added up, of all."""

    def __init__(self, entry_names: Mapping[str, Sequence[str]]) -> None:
        """Begin statistics of columns."""
        self.entry_names = entry_names
        self.of_episodes: dict[int, dict[str, dict[str, Any]]] = {}
        self._missing_count = 0
        self._row_count = 0

    def add(self, episode: int, columns: Mapping[str, Array]) -> None:
        """Add an episode's columns."""
        found = {}
        for name, values in columns.items():
            missing = np.isnan(values).any(axis=1)
            self._missing_count += int(np.count_nonzero(missing))
            self._row_count += len(values)
            found[name] = _statistics_of(values[~missing].astype(float))
        self.of_episodes[episode] = found

    @property
    def missing_share(self) -> float:
        """The share of rows without a value."""
        return self._missing_count / self._row_count if self._row_count else 0.0

    def of_all(self, name: str) -> dict[str, Any]:
        """Return the statistics of a column over all episodes that have some."""
        parts = [each[name] for each in self.of_episodes.values() if each[name]['count'][0]]
        if not parts:
            return _statistics_of(np.zeros((0, len(self.entry_names[name]))))
        counts = np.array([part['count'][0] for part in parts], dtype=float)
        weights = counts / counts.sum()

        def weighted(values: Sequence[Any]) -> Any:
            """Return the mean of episodes' values, by their numbers of rows."""
            return np.tensordot(weights, np.array(values), axes=1)

        mean = weighted([part['mean'] for part in parts])
        squares = [np.square(part['std']) + np.square(part['mean'] - mean) for part in parts]
        return {
            'min': np.min([part['min'] for part in parts], axis=0),
            'max': np.max([part['max'] for part in parts], axis=0),
            'mean': mean,
            'std': np.sqrt(weighted(squares)),
            'count': np.array([int(counts.sum())]),
            # As LeRobot adds quantiles up.
            **{name: weighted([part[name] for part in parts]) for name in _QUANTILES},
        }


def _statistics_of(values: Array) -> dict[str, Any]:
    """Return LeRobot's statistics of rows (N, k) without NaN; zeros of no rows."""
    rows = values if len(values) else np.zeros((1, values.shape[1]))
    return {
        'min': rows.min(axis=0),
        'max': rows.max(axis=0),
        'mean': rows.mean(axis=0),
        'std': rows.std(axis=0),
        'count': np.array([len(values)]),
        **{name: np.quantile(rows, share, axis=0) for name, share in _QUANTILES.items()},
    }


def _copy_others(source: Path, target: Path, left_out: set[Path]) -> None:
    """Copy a folder but for some files; files of videos are linked where that is possible."""

    def copy(path: str, to: str) -> str:
        """Copy a file, or link it if it is one of the pictures, which are never changed."""
        if path.endswith('.mp4'):
            try:
                os.link(path, to)
                return to
            except OSError:  # on another disk
                pass
        return str(shutil.copy2(path, to))

    def ignored(folder: str, names: list[str]) -> list[str]:
        """Return the names in a folder that are not copied."""
        return [name for name in names if Path(folder) / name in left_out]

    shutil.copytree(source, target, copy_function=copy, ignore=ignored)


def _write_file(
    source: Path,
    target: Path,
    entry_names: Mapping[str, Sequence[str]],
    columns_of: ColumnFunction,
    stats: _Statistics,
) -> None:
    """Write a copy of a file of rows with the new columns, with its groups of rows as they are."""
    pyarrow = import_library('pyarrow', source)
    parquet = import_library('pyarrow.parquet', source)
    with parquet.ParquetFile(source) as opened:
        keys = opened.read(columns=[EPISODE_COLUMN, TIME_COLUMN])
        episodes = keys[EPISODE_COLUMN].to_numpy()
        times = keys[TIME_COLUMN].to_numpy().astype(float)
        wide = {
            name: np.full((len(episodes), len(entries)), np.nan, dtype=np.float32)
            for name, entries in entry_names.items()
        }
        for number in np.unique(episodes).tolist():
            rows = episodes == number
            found = columns_of(number, times[rows])
            for name, values in (found or {}).items():
                wide[name][rows] = values
            stats.add(number, {name: values[rows] for name, values in wide.items()})
        arrays = {
            name: pyarrow.FixedSizeListArray.from_arrays(values.ravel(), values.shape[1])
            for name, values in wide.items()
        }
        # Its description of columns would lack the new ones; LeRobot has them from info.json.
        schema = opened.schema_arrow.remove_metadata()
        for name, values in arrays.items():
            schema = schema.append(pyarrow.field(name, values.type))
        first = 0
        with parquet.ParquetWriter(target, schema) as writer:
            for group in range(opened.num_row_groups):
                table = opened.read_row_group(group).replace_schema_metadata(None)
                for name, values in arrays.items():
                    table = table.append_column(
                        pyarrow.field(name, values.type), values.slice(first, len(table))
                    )
                first += len(table)
                writer.write_table(table)


def _write_description(
    data_set: LeRobotDataset,
    copy: Path,
    entry_names: Mapping[str, Sequence[str]],
    stats: _Statistics,
) -> None:
    """Add the new columns to info.json, and to the statistics of all and of each episode."""
    features = {
        name: {'dtype': 'float32', 'shape': [len(entries)], 'names': [*entries]}
        for name, entries in entry_names.items()
    }
    info = {**data_set.info, 'features': {**data_set.info['features'], **features}}
    _write_json(copy / INFO_PATH, info)
    path = copy / _STATS_PATH
    if path.is_file():
        known = json.loads(path.read_text(encoding='utf-8'))
        _write_json(path, {**known, **{name: stats.of_all(name) for name in entry_names}})
    path = copy / _EPISODE_STATS_PATH
    if path.is_file():
        lines = []
        for line in path.read_text(encoding='utf-8').splitlines():
            entry = json.loads(line)
            entry['stats'].update(stats.of_episodes[entry[EPISODE_COLUMN]])
            lines.append(json.dumps(entry, default=_as_list) + '\n')
        path.write_text(''.join(lines), encoding='utf-8')
    if data_set.is_version_3:
        for path in sorted((copy / 'meta' / 'episodes').rglob('*.parquet')):
            _add_episode_statistics(path, stats)


def _add_episode_statistics(path: Path, stats: _Statistics) -> None:
    """Add the statistics of new columns to a file of version 3 that has a row an episode."""
    pyarrow = import_library('pyarrow', path)
    parquet = import_library('pyarrow.parquet', path)
    table = parquet.read_table(path)
    numbers = table[EPISODE_COLUMN].to_pylist()
    for name in stats.entry_names:
        for kind in ('min', 'max', 'mean', 'std', 'count', *_QUANTILES):
            if f'stats/{EPISODE_COLUMN}/{kind}' not in table.column_names:
                continue
            rows = [stats.of_episodes[number][name][kind].tolist() for number in numbers]
            table = table.append_column(f'stats/{name}/{kind}', pyarrow.array(rows))
    parquet.write_table(table.replace_schema_metadata(None), path)


def _write_json(path: Path, value: Any) -> None:
    """Write a value as LeRobot writes JSON, arrays as lists."""
    text = json.dumps(value, indent=4, default=_as_list, ensure_ascii=False)
    path.write_text(text, encoding='utf-8')


def _as_list(value: Any) -> Any:
    """Return an array as a list, for JSON."""
    return value.tolist()
