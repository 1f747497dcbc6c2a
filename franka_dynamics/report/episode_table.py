# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A table with a row for each episode of a data set: kept while it grows, written, summarised."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
import json
from pathlib import Path
from typing import Any

from .elements import headers, Table
from .json_types import to_json_types
from ..errors import OutputError, plural, require_extra
from ..files import atomic_write, read_text

READ = 'read'
REFUSED = 'refused'
SOUND = 'sound'
ASKED = 'sound, with a question'
UNSOUND = 'NOT sound'
UNJUDGED = 'not judged'
_JOURNAL_NAME = 'episodes.jsonl'
_MAX_LISTED = 5


class EpisodeTable:
    """
    A table in a folder, to which rows are added as episodes are done, in any order.

    Each row is written at once as a line of episodes.jsonl, whose first line says how the rows
    were made: a run that was interrupted goes on from there. `write` writes episodes.csv and
    episodes.parquet, in the order of the data set.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any], *, resume: bool) -> None:
        """
        Begin a table, or go on with one; `settings` are all that rows depend on.

        Raises OutputError if the folder has a table and `resume` is false, or was made with other
        settings; MissingDependencyError if pandas or pyarrow is not installed.
        """
        with require_extra('A table of episodes needs pandas and pyarrow', 'logs'):
            for library in ('pandas', 'pyarrow'):
                import_module(library)
        self.folder = folder
        self._journal = folder / _JOURNAL_NAME
        self.rows: dict[str, dict[str, Any]] = {}
        wanted = json.loads(json.dumps(to_json_types(settings)))
        if self._journal.exists():
            if not resume:
                raise OutputError(
                    f'{folder} has the table of an earlier run: go on with it by --resume, or '
                    'name another folder by --output.'
                )
            self._read_rows(wanted)
        folder.mkdir(parents=True, exist_ok=True)
        lines = [{'settings': wanted}, *self.rows.values()]
        # A last line that breaks off is left out by this.
        with atomic_write(self._journal) as scratch:
            scratch.write_text(''.join(map(_json_line, lines)), encoding='utf-8')

    def _read_rows(self, settings: Mapping[str, Any]) -> None:
        """Read the rows that are there; OutputError if they were made with other settings."""
        first, *others = read_text(self._journal).splitlines() or ['']
        try:
            earlier = json.loads(first)['settings']
        except (ValueError, KeyError, TypeError) as error:
            raise OutputError(
                f'{self._journal} is not the table of a data set; remove it.'
            ) from error
        for name in sorted({*earlier, *settings}):
            if earlier.get(name) != settings.get(name):
                raise OutputError(
                    f'{self.folder} was begun with another {name} '
                    f'({str(earlier.get(name))[:80]}); repeat that command, or name another '
                    'folder by --output.'
                )
        for line in others:
            try:
                row = json.loads(line)
            except ValueError:  # the line that was being written
                continue
            self.rows[row['episode']] = row

    def add(self, row: Mapping[str, Any]) -> None:
        """Add the row of an episode, and write it."""
        plain = to_json_types(row)
        self.rows[plain['episode']] = plain
        with self._journal.open('a', encoding='utf-8') as file:
            file.write(_json_line(plain))

    def write(self, order: Sequence[str]) -> list[dict[str, Any]]:
        """Write episodes.csv and episodes.parquet, and return the rows in an order of names."""
        pandas = import_module('pandas')
        rows = [self.rows[name] for name in order if name in self.rows]
        frame = pandas.DataFrame(rows)
        with atomic_write(self.folder / 'episodes.csv') as scratch:
            frame.to_csv(scratch, index=False)
        with atomic_write(self.folder / 'episodes.parquet') as scratch:
            frame.to_parquet(scratch, index=False)
        return rows


def _json_line(value: Any) -> str:
    """Return a value as a line of JSON."""
    return json.dumps(value, allow_nan=False) + '\n'


def summary_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield sentences on how many episodes were read, are sound, and why others are not."""
    refused = [row for row in rows if row['status'] == REFUSED]
    yield (
        f'{len(rows)} {plural(len(rows), "episode")}: {len(rows) - len(refused)} read, '
        f'{len(refused)} refused.'
    )
    judged = Counter(row['verdict'] for row in rows if row.get('verdict'))
    if judged:
        yield (
            f'{judged[SOUND]} sound, {judged[ASKED]} sound with a question, {judged[UNSOUND]} NOT '
            f'sound, {judged[UNJUDGED]} with too little motion to be judged.'
        )
    causes = Counter((row['verdict'], row['cause']) for row in rows if row.get('cause'))
    for cause, count in causes.most_common(_MAX_LISTED):
        where = _names_text(
            [row['episode'] for row in rows if (row.get('verdict'), row.get('cause')) == cause]
        )
        yield f'{count} {": ".join(cause)} ({where})'
    if len(causes) > _MAX_LISTED:
        yield f'{len(causes) - _MAX_LISTED} other causes are in the table.'
    for row in refused[:_MAX_LISTED]:
        yield f'refused {row["episode"]}: {row["reason"]}'
    if len(refused) > _MAX_LISTED:
        yield f'{len(refused) - _MAX_LISTED} others that were refused are in the table.'


def error_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table of the torque errors of episodes, by the set and hand that fit best."""
    pandas = import_module('pandas')
    read = pandas.DataFrame([row for row in rows if row['status'] == READ])
    unit = read['E_unit'].iloc[0]
    cells: list[list[Any]] = []
    for (name, hand), group in read.groupby(['set', 'hand']):
        errors = group['E'].quantile([0.0, 0.5, 1.0])
        largest = group['external_torque'].max()
        cells.append([f'{name}, hand {hand}', len(group), *errors, largest])
    cells.sort(key=lambda row: -row[1])
    columns = ['episodes', 'least E', 'median', 'largest', 'largest external torque']
    return Table(
        f'set and hand that fit best, and their error E [{unit}]',
        ['', *headers(columns, '.4g')],
        cells,
    )


def _names_text(names: Sequence[str]) -> str:
    """Return the first names as text, and how many there are."""
    shown = ', '.join(names[:_MAX_LISTED])
    more = len(names) - _MAX_LISTED
    return shown if more <= 0 else f'{shown} and {more} more'
