# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Data sets in LeRobot's form, versions 2 and 3: where episodes and their columns lie."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
import json
from pathlib import Path
import re
from typing import Any

from .log_file import import_library
from .options import DERIVED_VELOCITY
from ..errors import list_text, RecordingError
from ..files import read_text

INFO_PATH = 'meta/info.json'
TIME_COLUMN = 'timestamp'
EPISODE_COLUMN = 'episode_index'
# Words of a feature's name, or of the names of its entries, by which joints are told.
_QUANTITY_WORDS = {
    'position': {'state', 'position', 'positions', 'pos', 'q', 'qpos'},
    'velocity': {'velocity', 'velocities', 'vel', 'dq', 'qvel'},
    'effort': {'effort', 'efforts', 'torque', 'torques', 'tau'},
}
# Words of features that are no measured state of joints.
_OTHER_WORDS = {
    *('action', 'cartesian', 'command', 'desired', 'ee', 'eef', 'ext', 'external', 'force'),
    *('gripper', 'target', 'tcp', 'wrench'),
}


@dataclass(frozen=True, eq=False)
class LeRobotDataset:
    """A data set's folder, and the content of its meta/info.json."""

    root: Path
    info: Mapping[str, Any]

    @classmethod
    def open(cls, root: Path) -> 'LeRobotDataset':
        """Return the data set in a folder; RecordingError if its description is not usable."""
        path = root / INFO_PATH
        try:
            info = json.loads(read_text(path))
            version = str(info['codebase_version'])
            valid = isinstance(info['features'], dict) and isinstance(info['data_path'], str)
        except (ValueError, KeyError, TypeError) as error:
            raise RecordingError(
                f"{path} is no description of LeRobot's ({type(error).__name__}: {error})."
            ) from error
        if not valid or not version.startswith(('v2', 'v3')):
            raise RecordingError(
                f'{path} is of version {version[:40]}; 2 and 3 are read: convert it by a script '
                "of LeRobot's."
            )
        return cls(root, info)

    @property
    def is_version_3(self) -> bool:
        """Whether a file has several episodes, as from version 3 on."""
        return str(self.info['codebase_version']).startswith('v3')

    def episode_files(self) -> Iterator[tuple[int, Path]]:
        """Yield the number of each episode, and the file that has its rows."""
        pattern = self.info['data_path']
        if not self.is_version_3:
            size = int(self.info.get('chunks_size', 1000))
            for line in read_text(self.root / 'meta' / 'episodes.jsonl').splitlines():
                if line.strip():
                    number = int(json.loads(line)[EPISODE_COLUMN])
                    name = pattern.format(episode_chunk=number // size, episode_index=number)
                    yield number, self.root / name
            return
        pandas = import_library('pandas', self.root / 'meta/episodes.parquet')
        names = [EPISODE_COLUMN, 'data/chunk_index', 'data/file_index']
        for file in sorted((self.root / 'meta' / 'episodes').rglob('*.parquet')):
            table = pandas.read_parquet(file, columns=names)
            for number, chunk, index in table.itertuples(index=False):
                name = pattern.format(chunk_index=int(chunk), file_index=int(index))
                yield int(number), self.root / name

    def columns(self, n: int, layout: Mapping[str, str]) -> dict[str, str]:
        """
        Return the columns of an arm of n joints by the fields of ColumnMap.

        They are those of `layout`, and others by the features' names.

        Raises RecordingError that lists the features if those of positions or efforts are not
        clear. Without a feature of velocities these are derived.
        """
        found = {'stamp': TIME_COLUMN, **layout}
        for quantity in _QUANTITY_WORDS:
            if quantity not in found:
                found[quantity] = self._column_text(quantity, n)
        if not found['velocity']:
            found['velocity'] = DERIVED_VELOCITY
        return found

    def _column_text(self, quantity: str, n: int) -> str:
        """Return the columns of a quantity of n joints; '' if there is no velocity."""
        candidates = [*dict.fromkeys(self._candidates(quantity, n))]
        # A name that says more, such as observation.state.joint_position, is more certain.
        joint_names = [text for text in candidates if 'joint' in text] or candidates
        if len(joint_names) == 1:
            return joint_names[0]
        if quantity == 'velocity' and not candidates:
            return ''
        there = [
            f'{name} {tuple(feature.get("shape", ()))}'
            for name, feature in self.info['features'].items()
            if 'image' not in name
        ]
        problem = f'no feature of {quantity} of {n} joints is found'
        if candidates:
            problem = f'{list_text(candidates)} may all be the {quantity}'
        raise RecordingError(
            f'{self.root}: {problem} among {list_text(there)}; name it, such as by --layout '
            f'{quantity}=observation.{_EXAMPLE_NAMES[quantity]}[1-{n}].'
        )

    def _candidates(self, quantity: str, n: int) -> Iterator[str]:
        """Yield the columns that may be those of a quantity of n joints."""
        wanted = _QUANTITY_WORDS[quantity]
        others = set().union(*_QUANTITY_WORDS.values()) - wanted - {'state'}
        for name, feature in self.info['features'].items():
            shape = tuple(feature.get('shape') or ())
            words = set(re.split('[^a-z]+', name.lower()))
            if len(shape) != 1 or shape[0] < n or words & _OTHER_WORDS:
                continue
            entries = _entry_names(feature)
            rows = [k for k, entry in enumerate(entries) if _is_of_joint(entry, wanted)]
            if rows and rows == [*range(rows[0], rows[0] + n)]:
                yield f'{name}[{rows[0] + 1}-{rows[0] + n}]'
            elif words & wanted and not words & others:
                if shape[0] == n:
                    yield name
                elif shape[0] == n + 1 and entries and 'gripper' in entries[-1].lower():
                    yield f'{name}[1-{n}]'


# The usual features' names, for advice.
_EXAMPLE_NAMES = {'position': 'state', 'velocity': 'velocity', 'effort': 'effort'}


def _entry_names(feature: Mapping[str, Any]) -> Sequence[str]:
    """Return the names of a feature's entries, none if it has none."""
    names = feature.get('names') or ()
    if isinstance(names, dict):
        names = next(iter(names.values()), ())
    size = feature['shape'][0]
    return [str(name) for name in names] if len(names) == size else ()


def _is_of_joint(entry: str, wanted: set[str]) -> bool:
    """Return whether an entry such as joint_1.pos is one of a joint's wanted quantity."""
    words = set(re.split('[^a-z]+', entry.lower()))
    return bool(words & wanted) and not words & _OTHER_WORDS
