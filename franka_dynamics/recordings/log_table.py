# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Selects columns and episodes from the named arrays of a log file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
import re

import numpy as np

from ..arrays import Array
from ..errors import RecordingError

_MAX_LISTED_NAMES = 24  # largest number of names listed in a message
# Groups of HDF5 files with one episode each, such as robomimic's data/demo_0, and columns that
# number the episodes, such as LeRobot's.
EPISODE_PATH = re.compile(r'(?:.*/)?(?:demo|episode|ep|rollout|traj|trajectory|trial)[_-]?(\d+)/')
EPISODE_COLUMNS = ('episode_index', 'episode_id', 'episode')


@dataclass(frozen=True, eq=False)
class LogTable:
    """
    The content of a log file as arrays of shape (rows,) or (rows, columns) by their names.

    A file without column names, such as a bare matrix, is one array with the name ''; its columns
    are chosen by number, counted from 1. `source` is the file's path; `remarks` has a sentence if
    a last row that breaks off was left out.
    """

    source: str
    columns: Mapping[str, Array]
    remarks: tuple[str, ...] = ()

    def select(self, column_text: str, count: int, quantity: str) -> Array:
        """
        Return the columns that `column_text` selects, (rows, count); RecordingError if others.

        Parameters
        ----------
        column_text : str
            `q` (an array of `count` columns or rows), `q[1-7]` (columns of a wider array), `q{}`
            (q1, q2, ...; `q{0}` counts from 0), `q1,q2,...`, or `2-8` (numbers from 1).
        count : int
            Number of columns needed.
        quantity : str
            Name of the quantity, for error messages.

        Raises
        ------
        RecordingError
            If a column does not exist, or the text does not select `count` equally long columns.

        """
        zeroth = column_text.replace('{}', '0')
        if zeroth != column_text and zeroth in self.columns:
            raise RecordingError(
                f'{self.source}: {quantity} {column_text!r} begins at 1, and there is a column '
                f'{zeroth}; begin there by {column_text.replace("{}", "{0}")!r}, or name each.'
            )
        found = []
        for name in _column_names(column_text, count, f'{self.source}: {quantity}'):
            array = self._column_named(name)
            if array is None:
                raise self._missing_column_error(name, quantity)
            if array.ndim == 2 and array.shape[0] == count and array.shape[1] != count:
                found.append(array.T)  # some files have one row per joint
            else:
                found.append(array.reshape(len(array), -1))
        lengths = sorted({len(array) for array in found})
        total = sum(array.shape[1] for array in found)
        if len(lengths) > 1 or total != count:
            rows = ' and '.join(map(str, lengths))
            raise RecordingError(
                f'{self.source}: {quantity} {column_text!r} names {total} columns of {rows} rows, '
                f'but {count} of equal length are needed.'
            )
        return np.column_stack(found)

    def _missing_column_error(self, name: str, quantity: str) -> RecordingError:
        """Return the RecordingError to raise for a column that the log does not have."""
        problem = f'no column {name!r} for {quantity}; it has {self.names_text()}.'
        episodes = self._group_numbers()
        hint = f' {episode_hint(episodes)}' if episodes else ''
        return RecordingError(f'{self.source}: {problem}{self._part_hint(name)}{hint}')

    def _part_hint(self, column_name: str) -> str:
        """Return how columns of an array are named if `column_name` was meant as some, or ''."""
        array_name, _, part = column_name.rpartition('/')
        known = array_name in self.columns
        return f' Columns of an array are named {array_name}[{part}].' if known else ''

    def _group_numbers(self) -> list[int]:
        """Return the sorted numbers of the episodes that have a group of columns each."""
        groups = map(EPISODE_PATH.match, self.columns)
        return sorted({int(group[1]) for group in groups if group is not None})

    def numbered_episodes(self) -> list[int]:
        """Return the numbers of the episodes that groups or a column number; none if it is one."""
        column = next(
            (self.columns[name] for name in EPISODE_COLUMNS if name in self.columns), None
        )
        numbers = [] if column is None else [int(number) for number in np.unique(column)]
        return self._group_numbers() or (numbers if len(numbers) > 1 else [])

    def episode_log(self, episode: int | None) -> 'LogTable':
        """
        Return one episode's log (None: the whole); its group's columns also have names without it.

        Without a number the file must not have a column that numbers several episodes. Raises
        RecordingError that lists the episodes if there is no such episode.
        """
        known = (self.columns[name] for name in EPISODE_COLUMNS if name in self.columns)
        column = next(known, None)
        if episode is None:
            if column is not None and len(np.unique(column)) > 1:
                raise RecordingError(f'{self.source}: {episode_hint(np.unique(column))}')
            return self
        groups = self._group_numbers()
        if episode in groups:
            chosen = {}
            for name, array in self.columns.items():
                group = EPISODE_PATH.match(name)
                if group is None or int(group[1]) == episode:
                    chosen[name] = array
                    chosen[name[group.end() :] if group else name] = array
            return replace(self, source=f'{self.source}, episode {episode}', columns=chosen)
        if column is None or episode not in column:
            there = groups if column is None else np.unique(column)
            if len(there):
                raise RecordingError(f'{self.source}: no episode {episode}; {episode_hint(there)}')
            # Nothing numbers the episodes: whoever imports the log finds them by their stamps.
            return self
        rows = column.reshape(len(column), -1)[:, 0] == episode
        kept = {k: v[rows] if len(v) == len(rows) else v for k, v in self.columns.items()}
        return replace(self, source=f'{self.source}, episode {episode}', columns=kept)

    def _column_named(self, name: str) -> Array | None:
        """Return the array that a name, a number or `name[first-last]` selects, or None."""
        if name in self.columns:
            return self.columns[name]
        if name.isdecimal() and len({len(array) for array in self.columns.values()}) == 1:
            every = np.column_stack(list(self.columns.values()))
            return every[:, int(name) - 1] if 1 <= int(name) <= every.shape[1] else None
        part = re.fullmatch(r'(.+)\[([1-9]\d*)(?:-(\d+))?\]', name)
        whole = self.columns.get(part[1]) if part else None
        if part is None or whole is None or whole.ndim != 2:
            return None
        return whole[:, int(part[2]) - 1 : int(part[3] or part[2])]

    def names_text(self) -> str:
        """Return the first 24 columns' names and shapes as text, or how many have no name."""
        if list(self.columns) == ['']:
            count = self.columns[''].shape[1]
            return f'{count} columns without names: give their numbers, such as --position 2-8'
        shown = [
            f'{name}{"" if array.ndim == 1 else f" {array.shape}"}'
            for name, array in islice(self.columns.items(), _MAX_LISTED_NAMES)
        ]
        more = len(self.columns) - len(shown)
        return ', '.join(shown) + (f' and {more} more' if more else '')


def episode_hint(episode_numbers: Sequence[float] | Array) -> str:
    """Return text that lists the episodes of a log and names the option that chooses one."""
    first = int(min(episode_numbers))
    last = int(max(episode_numbers))
    several = f' to {last} ({len(episode_numbers)} in all)' if last > first else ''
    return f'the episodes are {first}{several}; they are not joined: choose one by --episode N.'


def _column_names(column_text: str, column_count: int, owner: str) -> Iterator[str]:
    """
    Yield the column names or numbers that text such as `2-8`, `q{}` or `a,b` selects.

    Raises RecordingError, which begins with `owner`, for a range that runs downwards.
    """
    for entry in map(str.strip, column_text.split(',')):
        first, _, last = entry.partition('-')
        if first.isdecimal() and last.isdecimal():
            if int(first) > int(last):
                raise RecordingError(
                    f'{owner} {column_text!r} has the range {entry}, which runs downwards; write '
                    f'{last}-{first}, or name each column.'
                )
            yield from map(str, range(int(first), int(last) + 1))
        elif '{}' in entry or '{0}' in entry:
            begin = 0 if '{0}' in entry else 1
            pattern = entry.replace('{0}', '{}')
            yield from (pattern.replace('{}', str(begin + joint)) for joint in range(column_count))
        else:
            yield entry


def names_pattern(column_texts: Iterable[str]) -> re.Pattern[str] | None:
    """
    Return a pattern that fits the names of the columns that texts select, None for numbers.

    It fits whole names and, after a slash, the ends of paths.
    """
    patterns = []
    for entry in (part.strip() for text in column_texts for part in text.split(',')):
        if re.fullmatch(r'\d+(-\d+)?', entry):
            return None
        name = re.escape(re.sub(r'\[[^]]*\]$', '', entry))
        patterns.append(re.sub(r'\\{0?\\}', r'\\d+', name))
    return re.compile(f'(?:.*/)?(?:{"|".join(patterns)})')
