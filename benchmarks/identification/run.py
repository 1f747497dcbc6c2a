# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A benchmark of identification: how well arms identified from public logs predict left-out parts.

    python benchmarks/identification/run.py [FOLDER] [--methods NAME ...] [--logs NAME ...]

FOLDER holds clones of the repositories in logs.yaml, by their names, at the commits named there;
what it lacks is looked for in the folder FRANKA_DYNAMICS_RECORDINGS, or said and left out. A file
whose checksum differs ends the run. README.md beside this file says what is compared, and what
the columns of the table are.

Exit status 1: a method failed, or one that --methods names is not installed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
import hashlib
import os
from pathlib import Path
import sys
import time
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from methods import is_installed, Method, METHODS, PACKAGES
import numpy as np
from timing import new_parser
import yaml

import franka_dynamics as fd
from franka_dynamics.constants import AS_LISTED
from franka_dynamics.errors import FrankaDynamicsError
from franka_dynamics.recordings.options import ColumnMap
from franka_dynamics.recordings.plausibility import fatal_faults
from franka_dynamics.recordings.preprocessing import Motion, moving_mask, to_motion
from franka_dynamics.recordings.recording import Recording

PART_COUNT = 5
KP_TO_LIMIT = 7.0  # 1/rad
HEADS = '| log | method | E [N m] | without friction | tracking error left [mrad] |'


@dataclass(frozen=True)
class Log:
    """A public log, as logs.yaml has it."""

    name: str
    repository: str
    commit: str
    license: str
    arm: str
    files: dict[str, str]
    clone_name: str = ''
    recording: str = ''
    bags: tuple[str, ...] = ()
    values: dict[str, str] | None = None
    tables: tuple[tuple[str, ...], ...] = ()
    columns: dict[str, Any] | None = None
    effort_scale: tuple[float, ...] = (1.0,)
    rotor_inertia: bool = False
    period: float | None = None
    rate: float | None = None
    hand: str = AS_LISTED
    arm_repository: str = ''
    arm_commit: str = ''
    arm_files: dict[str, str] | None = None
    xacro: dict[str, str] | None = None

    def clone(self, folder: Path) -> Path:
        """Return where the clone of the repository is expected."""
        return folder / (self.clone_name or self.repository.rpartition('/')[2])

    def arm_clone(self, folder: Path) -> Path:
        """Return where the clone of the repository with the arm is expected."""
        return folder / (self.arm_repository or self.repository).rpartition('/')[2]

    def require_files(self, folder: Path) -> None:
        """Raise SystemExit for a file that is missing, or not the one that was used here."""
        _require(self.clone(folder), self.files, self.repository, self.commit)
        if self.arm_files:
            _require(self.arm_clone(folder), self.arm_files, self.arm_repository, self.arm_commit)

    def read(self, folder: Path | None) -> tuple[fd.ArmDescription, list[Recording]] | None:
        """
        Return the arm and its recordings, or None if they are not here.

        Raises SystemExit for a recording whose values no arm has: its table is read wrongly.
        """
        found = self._found(folder)
        if found is not None:
            arm, recordings = found
            for recording in recordings:
                for fault in fatal_faults(recording, arm):
                    raise SystemExit(f'{self.name}: {fault}')
        return found

    def _found(self, folder: Path | None) -> tuple[fd.ArmDescription, list[Recording]] | None:
        if folder is not None and self.clone(folder).is_dir():
            self.require_files(folder)
            return self._from_clones(folder)
        here = os.environ.get('FRANKA_DYNAMICS_RECORDINGS')
        if here and self.recording and (Path(here) / self.recording).exists():
            arm = fd.load(self.arm, hand=self.hand)
            return arm, [fd.read_recording(Path(here) / self.recording, arm)]
        return None

    def _from_clones(self, folder: Path) -> tuple[fd.ArmDescription, list[Recording]]:
        clone = self.clone(folder)
        own = self.arm_clone(folder) / self.arm
        name = str(own) if own.is_file() else self.arm
        arm = fd.load(name, hand=self.hand, xacro=self.xacro)
        recordings = [fd.read_recording(clone / name, arm) for name in self.bags]
        if self.values is not None:
            arrays = {name: np.loadtxt(clone / file) for name, file in self.values.items()}
            rows = {name: arrays[name].reshape(-1, arm.n) for name in arrays if name != 'stamp'}
            if self.rate is not None:
                arrays['stamp'] = np.arange(len(rows['position'])) / self.rate
            recordings.append(
                fd.recording_from_arrays(
                    rows['position'],
                    rows['velocity'],
                    rows['effort'],
                    joint_names=arm.joint_names,
                    stamp=arrays['stamp'],
                    source=self.name,
                )
            )
        for files in self.tables:
            columns = ColumnMap(**(self.columns or {}), effort_scale=self.effort_scale)
            paths = [clone / file for file in files]
            recordings.append(fd.import_log(paths, columns, arm.joint_names))
        return arm, recordings


def _require(clone: Path, files: dict[str, str], repository: str, commit: str) -> None:
    """Raise SystemExit for a file of a clone that is missing, or not the one that was used."""
    for name, expected in files.items():
        path = clone / name
        if not path.is_file():
            raise SystemExit(f'{path} is missing; clone {repository} at {commit}.')
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != expected:
            raise SystemExit(f'{path} is not that of commit {commit}: {found}.')


def logs() -> list[Log]:
    """Return the table of logs."""
    rows = yaml.safe_load(Path(__file__).with_name('logs.yaml').read_text('utf-8'))
    return [Log(**{name: _as_tuple(value) for name, value in row.items()}) for row in rows]


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(one) for one in value) if isinstance(value, list) else value


def parts(log: Log, recordings: list[Recording]) -> Iterator[tuple[Motion, list[Motion]]]:
    """Yield each left-out part with the motions of all others."""
    motions = [to_motion(one) for one in recordings]
    if len(motions) == 1:
        (whole,) = motions
        moving = np.flatnonzero(moving_mask(whole))  # rests before and after it are no test
        whole = whole.select(slice(moving[0], moving[-1] + 1))
        share = np.arange(len(whole)) / len(whole)
        if log.period is not None:
            share = whole.time % log.period / log.period
        number = (PART_COUNT * share).astype(int)
        for left_out in range(PART_COUNT):
            yield whole.select(number == left_out), [whole.select(number != left_out)]
    else:
        for left_out, motion in enumerate(motions):
            yield motion, motions[:left_out] + motions[left_out + 1 :]


@dataclass(frozen=True)
class Score:
    """The figures of a row."""

    error: float
    rigid_error: float
    tracking: float

    def row(self, log: str, method: str) -> str:
        """Return the row of the table."""
        numbers = f'{self.error:.3f} | {self.rigid_error:.3f} | {1e3 * self.tracking:.2f}'
        return f'| {log} | {method} | {numbers} |'


def score(log: Log, arm: fd.ArmDescription, recordings: list[Recording], method: Method) -> Score:
    """Return the figures of a method on a log; of several predictors those of the best."""
    kp = KP_TO_LIMIT * arm.limit('effort')
    residuals: list[list[np.ndarray]] = []
    rigid: list[list[np.ndarray]] = []
    for left_out, others in parts(log, recordings):
        found = method(arm, others, log.rotor_inertia)
        predictors = found if isinstance(found, list) else [found]
        residuals.append([left_out.effort - one.torque(left_out) for one in predictors])
        rigid.append([left_out.effort - one.rigid(left_out) for one in predictors])
    scores = []
    for of_parts, bodies in zip(zip(*residuals), zip(*rigid)):
        whole = np.concatenate(of_parts)
        scores.append(Score(norm(whole), norm(np.concatenate(bodies)), norm(whole / kp)))
    return min(scores, key=lambda found: found.error)


def norm(residuals: np.ndarray) -> float:
    """Return the root of the mean of the squared norms of rows."""
    return float(np.sqrt(np.mean(np.sum(residuals**2, axis=1))))


def main() -> int:
    """Print a row for each log and method."""
    parser = new_parser(__doc__)
    parser.add_argument('folder', nargs='?', type=Path, help='clones of the repositories')
    parser.add_argument(
        '--methods', nargs='+', choices=METHODS, help='default: all that are installed'
    )
    parser.add_argument('--logs', nargs='+', metavar='NAME', help='only logs with one of these')
    given = parser.parse_args()
    methods = [name for name in given.methods or METHODS if is_installed(name)]
    for name in given.methods or METHODS:
        if name not in methods:
            print(f"{name}: left out; pip install '{PACKAGES[name]}'", file=sys.stderr)
    failed = bool(given.methods) and len(methods) < len(given.methods)
    print(f'{HEADS}\n|---|---|---|---|---|')
    for log in logs():
        if given.logs and not any(one in log.name for one in given.logs):
            continue
        read = log.read(given.folder)
        if read is None:
            print(
                f'{log.name}: left out; clone {log.repository} at {log.commit}',
                file=sys.stderr,
            )
            continue
        for name in methods:
            begun = time.monotonic()
            try:
                print(score(log, *read, METHODS[name]).row(log.name, name), flush=True)
            except (FrankaDynamicsError, ImportError) as error:
                failed = True
                print(f'{log.name}, {name}: {error}', file=sys.stderr, flush=True)
            print(f'{name}: {time.monotonic() - begun:.0f} s', file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
