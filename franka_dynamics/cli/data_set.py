# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `bag replay` and `bag import` on the episodes of a data set, by any workers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
import os
from pathlib import Path
import re
from typing import Any

import numpy as np

from .choices import (
    ArmChoice,
    BagReader,
    forbid_options,
    forbid_without,
    was_option_given,
)
from .console import echo, echo_each, print_rich, ProgressBar, write_json
from .requests import ReplayRequest
from ..errors import FrankaDynamicsError, OutputError, RecordingError
from ..files import created_folder, expanded_path, writable_folder
from ..fit.options import IdentificationOptions
from ..recordings.episodes import Episode
from ..recordings.lerobot import INFO_PATH, LeRobotDataset
from ..recordings.lerobot_columns import write_with_columns
from ..recordings.options import SignalOptions
from ..recordings.plausibility import plausibility_warnings, require_plausible_units
from ..recordings.recording import write_recording
from ..report.episode_replay import columns_at, EpisodeReplay, EXTERNAL_COLUMNS
from ..report.episode_table import (
    EpisodeTable,
    error_table,
    READ,
    REFUSED,
    summary_lines,
    UNSOUND,
)
from ..workers import workers_of

Row = Mapping[str, Any]


def replay_data_set(
    choice: ArmChoice,
    reader: BagReader,
    signal: SignalOptions,
    fit: IdentificationOptions,
    request: ReplayRequest,
) -> int:
    """Compare each episode with models, write the table, print a summary; return the status."""
    forbid_options(
        'a data set', 'everything', 'no_plots', 'gains', 'damping', 'laws', 'policy_rate',
        'latency', 'target_filter',
    )  # fmt: skip
    if not request.external:
        forbid_without('--external', 'write')
    arms = choice.load_sets_and_hands(request.sets, request.hands)
    episodes = named_episodes(request.bag, reader.episodes(request.bag, arms[0]))
    folder = _output_folder(request.bag, request.output, '_replay')
    external = None
    if request.external:
        external = _External(request.external, request, episodes, folder)
    settings = {
        'data set': os.path.abspath(request.bag),
        'arms': [f'{arm.file or arm.name}: {arm.contents_text}' for arm in arms],
        'signal': vars(signal),
        'fit': vars(fit),
        'layout': reader.layout,
        'external torque': bool(external),
    }
    replay = EpisodeReplay(arms, signal, fit, with_columns=external is not None)
    with _table_in(folder, settings, episodes, resume=request.resume) as table:
        for row in _rows(replay, episodes, table, request.workers):
            columns = row.pop('_columns', None)
            if external is not None and columns is not None:
                external.keep(row['episode'], columns)
            table.add(row)
        rows = table.write([*episodes])
    _print_table(rows, folder)
    if any(row['status'] == READ for row in rows):
        print_rich(error_table(rows))
    if external is not None:
        echo(external.write(rows))
    if request.json:
        write_json(request.json, rows)
    return _replay_status(rows, request)


def import_data_set(
    choice: ArmChoice,
    reader: BagReader,
    path: str,
    output: Path | None,
    workers: str,
    *,
    resume: bool,
) -> int:
    """Write each episode as a bag into a folder, and a table; return 1 if one was refused."""
    arm = choice.load()
    episodes = named_episodes(path, reader.episodes(path, arm))
    folder = _output_folder(path, output, '_bags')
    settings = {'data set': os.path.abspath(path), 'arm': arm.name, 'layout': reader.layout}
    task = _Import(folder, choice)
    with _table_in(folder, settings, episodes, resume=resume) as table:
        for row in _rows(task, episodes, table, workers):
            table.add(row)
        rows = table.write([*episodes])
    _print_table(rows, folder)
    return 1 if any(row['status'] == REFUSED for row in rows) else 0


def named_episodes(path: str, episodes: Sequence[Episode]) -> dict[str, Episode]:
    """Return episodes by their names in tables: the path in the data set, or the number."""
    root = expanded_path(path)
    is_numbered = root.is_file() or (root / INFO_PATH).is_file()
    found = {}
    for episode in episodes:
        name = os.path.relpath(episode.path, root)
        if is_numbered and episode.number is not None:
            name = f'episode {episode.number}'
        elif root.is_file():
            name = root.name
        found[name] = episode
    return found


@dataclass(frozen=True)
class _Import:
    """Writes episodes as bags; a call with name and episode returns a row of the table."""

    folder: Path
    choice: ArmChoice

    def __call__(self, named_episode: tuple[str, Episode]) -> dict[str, Any]:
        """Write the bag of an episode, and return its row."""
        name, episode = named_episode
        bag = self.folder / _file_name(name)
        row = {'episode': name, 'path': episode.path, 'number': episode.number, 'bag': bag.name}
        try:
            arm = self.choice.load()
            recording = episode.recording()
            require_plausible_units(recording, arm)
            warnings = plausibility_warnings(recording, arm)
            if not bag.exists():  # from a run that was interrupted before it told so
                write_recording(recording, bag)
        except FrankaDynamicsError as error:
            return {**row, 'bag': '', 'status': REFUSED, 'reason': ' '.join(str(error).split())}
        except Exception as error:  # a library's: the other episodes are to be done all the same
            return {
                **row,
                'bag': '',
                'status': REFUSED,
                'reason': f'{type(error).__name__}: {error}',
            }
        return {
            **row,
            'status': READ,
            'reason': '',
            'seconds': recording.duration,
            'messages': len(recording),
            'remarks': ' '.join((*recording.remarks, *warnings)),
        }


class _External:
    """External torques of a data set's episodes: a file for each, or columns of a new data set."""

    def __init__(
        self,
        target: Path,
        request: ReplayRequest,
        episodes: Mapping[str, Episode],
        folder: Path,
    ) -> None:
        """Check where they go; raise OutputError or RecordingError if they cannot go there."""
        self.target = expanded_path(target)
        self._source = expanded_path(request.bag)
        self._is_data_set = request.write
        if self.target.exists():
            raise OutputError(f'{self.target} exists already; name a new folder by --external.')
        if self._is_data_set and not (self._source / INFO_PATH).is_file():
            raise RecordingError(
                f"{request.bag} is no data set of LeRobot's ({INFO_PATH}); leave --write out: "
                '--external then writes a table for each episode.'
            )
        self._episodes = episodes
        self._parts = folder / 'external'

    def keep(self, name: str, columns: Mapping[str, Any]) -> None:
        """Keep the columns of an episode until all are done."""
        self._parts.mkdir(parents=True, exist_ok=True)
        np.savez(self._parts / f'{_file_name(name)}.npz', **columns)

    def write(self, rows: Sequence[Row]) -> str:
        """Write what was kept, and return a sentence on it."""
        if self._is_data_set:
            return self._write_data_set(rows)
        from ..report.replay import save_columns

        writable_folder(self.target)
        read = [row['episode'] for row in rows if row['status'] == READ]
        with created_folder(self.target):
            for name in read:
                with np.load(self._parts / f'{_file_name(name)}.npz') as part:
                    save_columns(self.target / f'{_file_name(name)}.csv', dict(part))
        return f'{self.target}: external torques and wrenches of {len(read)} episodes'

    def _write_data_set(self, rows: Sequence[Row]) -> str:
        """Write a copy of the data set with the columns beside its own."""
        read = {row['number']: row['episode'] for row in rows if row['status'] == READ}

        def columns_of(number: int, times: Any) -> dict[str, Any] | None:
            """Return an episode's columns at the times of its rows, None if it was refused."""
            if number not in read:
                return None
            with np.load(self._parts / f'{_file_name(read[number])}.npz') as part:
                found = columns_at(times - times[0], dict(part))
            return {f'observation.{name}': values for name, values in found.items()}

        data_set = LeRobotDataset.open(self._source)
        n = len(next(iter(self._episodes.values())).joint_names)
        joints = [f'joint_{k}' for k in range(1, n + 1)]
        axes = ['force_x', 'force_y', 'force_z', 'torque_x', 'torque_y', 'torque_z']
        names = {
            f'observation.{name}': joints if 'torque' in name else axes
            for name in EXTERNAL_COLUMNS
        }
        share = write_with_columns(data_set, self.target, names, columns_of)
        sets = sorted(
            {f'{row["set"]}, hand {row["hand"]}' for row in rows if row['status'] == READ}
        )
        several = ''
        if len(sets) > 1:
            several = (
                f' Episodes were compared with different numbers ({"; ".join(sets)}): name one by '
                '--set and --hand for columns that are alike.'
            )
        return (
            f'{self.target}: the data set with external torques and wrenches beside its columns; '
            f'{100.0 * share:.1f} % of its rows have none (NaN): ends of episodes, gaps, and '
            f'episodes that were refused.{several}'
        )


def _output_folder(path: str, output: Path | None, suffix: str) -> Path:
    """Return the folder for the table: --output, or one named by the data set."""
    if output is not None and was_option_given('output'):
        return expanded_path(output)
    return Path(f'{expanded_path(path).resolve().stem}{suffix}')


def _file_name(name: str) -> str:
    """Return the name of an episode as the name of a file or folder."""
    return re.sub(r'[^\w.-]+', '_', name)


@contextmanager
def _table_in(
    folder: Path, settings: Row, episodes: Mapping[str, Episode], *, resume: bool
) -> Iterator[EpisodeTable]:
    """Yield the table; at Ctrl-C say how much of it is done, and how to go on."""
    table = EpisodeTable(folder, settings, resume=resume)
    try:
        yield table
    except KeyboardInterrupt:
        done = len(table.rows)
        raise KeyboardInterrupt(
            f'interrupted: {done} of {len(episodes)} episodes are in {folder}; the same command '
            'with --resume goes on'
        ) from None


def _rows(
    task: Callable[[tuple[str, Episode]], dict[str, Any]],
    episodes: Mapping[str, Episode],
    table: EpisodeTable,
    worker_text: str,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of episodes that the table lacks, as workers make them."""
    left = [(name, episode) for name, episode in episodes.items() if name not in table.rows]
    done = len(episodes) - len(left)
    if done:
        echo(f'{done} of {len(episodes)} episodes are done already', 'note')
    if not left:
        return
    with ProgressBar() as bar, workers_of(worker_text) as workers:
        set_progress = bar.new_task('episodes', len(episodes))
        set_progress(done)
        results = map(task, left) if workers is None else workers.results(task, left)
        for row in results:
            yield row
            done += 1
            set_progress(done)
        loss = workers.loss_text() if workers else ''
    if loss:
        echo(loss, 'note')


def _print_table(rows: Sequence[Row], folder: Path) -> None:
    """Print the summary of rows, and where the table is."""
    first, *others = summary_lines(rows)
    echo(first, style='bold')
    echo_each(others)
    echo(f'table: {folder / "episodes.csv"}, {folder / "episodes.parquet"}')


def _replay_status(rows: Sequence[Row], request: ReplayRequest) -> int:
    """Return 1 if an episode is refused or fails the check that options ask for, else 0."""
    read = [row for row in rows if row['status'] == READ]
    if len(read) < len(rows):
        return 1
    if request.require is not None:
        return 1 if any(row['E'] > request.require for row in read) else 0
    if request.external:
        return 0
    return 0 if all(row['verdict'] != UNSOUND for row in read) else 1
