# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the episodes of a data set: bags in folders, LeRobot's, DROID's and robomimic's form."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
import json
from pathlib import Path
from types import MappingProxyType

from .episodes import Bag, Episode, LogEpisode
from .lerobot import INFO_PATH, LeRobotDataset
from .log_file import import_library, LOG_SUFFIXES
from .log_import import episode_numbers
from .options import (
    ColumnMap,
    DERIVED_VELOCITY,
    HEADER_STAMP,
    layout_columns,
    LOG_LAYOUTS,
)
from .rosbag import BAG_SUFFIXES
from ..errors import RecordingError
from ..files import expanded_path
from ..spatial import JointKind

Layout = Mapping[str, str]
_NO_LAYOUT: Layout = MappingProxyType({})
_BAG_DESCRIPTION = 'metadata.yaml'
_DROID_FILE = 'trajectory.h5'
_HDF5_SUFFIXES = ('.h5', '.hdf5')
_ROBOMIMIC_COLUMNS = {
    'position': 'obs/robot0_joint_pos',
    'velocity': 'obs/robot0_joint_vel',
}


def is_data_set(path: str | Path) -> bool:
    """Return whether a path is that of a data set: no bag, but a folder, or a log file."""
    file = expanded_path(path)
    if file.is_dir():
        return not _is_bag(file)
    return file.is_file() and file.suffix.lower() in LOG_SUFFIXES


def find_episodes(
    path: str | Path,
    joint_names: Sequence[str],
    layout: str | Layout = _NO_LAYOUT,
    *,
    topic: str | None = None,
    stamps: str = HEADER_STAMP,
    joint_kinds: Sequence[JointKind] | None = None,
) -> list[Episode]:
    """
    Return the episodes of a data set without their samples; of a bag, the bag.

    Parameters
    ----------
    path : str or Path
        A bag; a folder with bags in it or in its folders; a data set of LeRobot (version 2 or 3);
        a folder of DROID's, with a trajectory.h5 in each of its folders; an HDF5 file of robomimic
        (`data/demo_N`); or another log file with episodes.
    joint_names : sequence of str
        The arm's joints from base to tip, by which they are found in bags.
    layout : str or mapping
        The columns of logs: a name of `LOG_LAYOUTS`, or columns by the fields of `ColumnMap`.
        Of LeRobot's and DROID's data sets they are known by their names, if these are usual ones.
    topic, stamps : str, optional
        As for `read_recording`, for bags.
    joint_kinds : sequence of JointKind, optional
        As for `import_log`, for logs.

    Raises
    ------
    RecordingError
        If there is no episode, or the columns are not clear.

    """
    root = expanded_path(path)
    names = tuple(joint_names)
    if not is_data_set(root):
        return [Bag(f'{path}', names, topic=topic, stamps=stamps)]
    if (root / INFO_PATH).is_file():
        data_set = LeRobotDataset.open(root)
        columns = column_map(data_set.columns(len(names), _columns_of(layout)))
        found: list[Episode] = [
            LogEpisode(f'{file}', names, replace(columns, episode=number), joint_kinds)
            for number, file in data_set.episode_files()
        ]
    elif root.is_file():
        columns = _file_columns(root, layout)
        found = [
            LogEpisode(f'{root}', names, replace(columns, episode=number), joint_kinds)
            for number in episode_numbers(root, columns) or (None,)
        ]
    else:
        found = []
        for file in _recordings_in(root, has_layout=bool(layout)):
            if _is_bag(file):
                found.append(Bag(f'{file}', names, topic=topic, stamps=stamps))
            else:
                columns = _file_columns(file, layout or 'droid')
                found.append(LogEpisode(f'{file}', names, columns, joint_kinds))
    if not found:
        raise RecordingError(
            f"{root} holds no bag, no {_DROID_FILE} and no data set of LeRobot's ({INFO_PATH}); "
            'for a folder of logs say where their columns are: --layout position=...,effort=....'
        )
    return found


def robot_type_of(path: str | Path) -> str:
    """Return the robot that a data set names, or that all of its form have; '' if unknown."""
    root = expanded_path(path)
    if (root / INFO_PATH).is_file():
        return str(LeRobotDataset.open(root).info.get('robot_type') or '')
    is_of_droid = root.is_dir() and next(root.rglob(_DROID_FILE), None) is not None
    return 'panda' if is_of_droid else ''


def _is_bag(file: Path) -> bool:
    """Return whether a path is that of a bag: a file, or a folder with one bag's files in it."""
    if not file.is_dir():
        return file.suffix in BAG_SUFFIXES
    if (file / _BAG_DESCRIPTION).is_file():
        return True
    inside = [*file.iterdir()]
    files = [one for one in inside if one.suffix in BAG_SUFFIXES and one.is_file()]
    has_bags = any(one.is_dir() and _is_bag(one) for one in inside)
    return len(files) == 1 and files[0].suffix == '.mcap' and not has_bags


def _recordings_in(folder: Path, has_layout: bool) -> Iterator[Path]:
    """Yield the bags and logs in a folder and in the folders in it, in the order of names."""
    for one in sorted(folder.iterdir()):
        if one.name.startswith('.'):
            continue
        if _is_bag(one):
            yield one
        elif one.is_dir():
            yield from _recordings_in(one, has_layout)
        elif one.name == _DROID_FILE or (has_layout and one.suffix.lower() in LOG_SUFFIXES):
            yield one


def _columns_of(layout: str | Layout) -> Layout:
    """Return a layout's columns by the fields of ColumnMap; RecordingError if it is not known."""
    if not isinstance(layout, str):
        return layout
    if layout not in LOG_LAYOUTS:
        raise RecordingError(f'There is no layout {layout!r}; known: {", ".join(LOG_LAYOUTS)}.')
    return layout_columns(layout)


def _file_columns(file: Path, layout: str | Layout) -> ColumnMap:
    """Return the columns of a log file: those of `layout`, and what robomimic's files have."""
    columns = dict(_columns_of(layout))
    if file.suffix.lower() in _HDF5_SUFFIXES:
        rate = _robomimic_rate(file)
        if rate is not None:
            columns = {**_ROBOMIMIC_COLUMNS, **columns}
            if 'stamp' not in columns:
                columns.setdefault('rate', f'{rate:g}')
    for quantity in ('position', 'effort'):
        if quantity not in columns:
            raise RecordingError(
                f'{file}: {quantity} is missing; name its columns, such as by --layout '
                f'{quantity}=NAME. `bag import` converts a single log; its --list prints names.'
            )
    columns.setdefault('velocity', DERIVED_VELOCITY)
    return column_map(columns)


def column_map(columns: Layout) -> ColumnMap:
    """Return the ColumnMap of a layout's texts; RecordingError if a value has another form."""
    try:
        numbers = {'rate': float(columns['rate'])} if 'rate' in columns else {}
        return ColumnMap(**{**columns, **numbers})  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise RecordingError(
            f'The layout {dict(columns)} is wrong ({error}); its fields are '
            f'{", ".join(vars(ColumnMap()))}.'
        ) from error


def _robomimic_rate(file: Path) -> float | None:
    """Return the rows per second that a file of robomimic's tells, None of another file."""
    h5py = import_library('h5py', file)
    try:
        with h5py.File(file, 'r') as opened:
            text = opened['data'].attrs['env_args']
            return float(json.loads(text)['env_kwargs']['control_freq'])
    except (OSError, KeyError, TypeError, ValueError):
        return None
