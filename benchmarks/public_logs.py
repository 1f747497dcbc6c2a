# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Print how well arms identified from public logs predict left-out parts of them.

    python benchmarks/public_logs.py FOLDER

FOLDER holds clones of the repositories in LOGS, by their names; what is not there is said and left
out, and nothing is downloaded. Every log is imported and identified by the commands that a user
would type; they are printed. The error E of torques [N m] is that of docs/howto/recordings.md, on
the parts that were left out of the fit, of the identified arm and of the best published set.
"""

from collections.abc import Callable
import json
from pathlib import Path
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
from timing import new_parser

COMMAND = Path(sys.executable).with_name('franka-dynamics')
UR10E_RUNS = (
    'ur-20_02_10-30sec_12harm',
    'ur-20_02_12-40sec_12harm',
    'ur-20_02_05-20sec_8harm',
    'ur-20_02_12-50sec_12harm',
    'ur-20_02_06-20sec_10harm',
)


def run(words: str) -> None:
    """Print a command of franka-dynamics, whose words are separated by spaces, and run it."""
    print('  $ franka-dynamics', words, flush=True)
    subprocess.run([COMMAND, *words.split()], stdout=subprocess.DEVNULL, check=False)


def fer_at_30_hz(folder: Path, work: Path) -> str:
    """Return what identifies the arm of inverse-dynamics-solver: a bag as it is."""
    bag = folder / 'franka_inria_inverse_dynamics_solver/bagfiles/panda_exciting_trajectory.db3'
    return f'{bag} --arm fer --hand none'


def fer_at_1_khz(folder: Path, work: Path) -> str:
    """Return what identifies FrankaEmikaPandaDynModel's arm; its texts have a value a line."""
    log = folder / 'matlab/data/Exciting_Traj/Trajectory_1/rbt_log'
    files = {'q': 'positions', 'dq': 'velocity', 'tau': 'torques'}
    arrays: dict[str, Any] = {
        name: np.loadtxt(log / f'exciting_traj_{file}.txt').reshape(-1, 7)
        for name, file in files.items()
    }
    np.savez(work / 'log.npz', t=np.loadtxt(log / 'exciting_traj_time.txt'), **arrays)
    joints = ','.join(f'fer_joint{k}' for k in range(1, 8))
    columns = '--stamp t --position q --velocity dq --effort tau --arm fer --joint-names'
    run(f'bag import {work}/log.npz --output {work}/bag {columns} {joints}')
    return f'{work}/bag --arm fer --hand none'


def ur10e(folder: Path, work: Path) -> str:
    """Return what identifies dynamic_calibration's UR10e, whose efforts are currents [A]."""
    arm, logs = f'{work}/ur10e.yaml', folder / 'dataset_ur10e/identification_data'
    run(f'arm import {folder}/URe/urdf/ur10e.urdf --output {arm}')
    columns = f'--stamp 1 --position 2-7 --velocity 8-13 --effort 14-19 --arm {arm}'
    for name in UR10E_RUNS:
        run(f'bag import {logs}/{name}.csv --output {work}/{name} {columns}')
    bags = ' '.join(f'{work}/{name}' for name in UR10E_RUNS)
    constants = '9.3,10.1,8.2,8.9,9.0,9.0'
    return f'{bags} --arm {arm} --torque-constant {constants} --rotor-inertia'


LOGS: dict[str, tuple[str, Callable[[Path, Path], str]]] = {
    'FER, 30 Hz': ('inverse-dynamics-solver', fer_at_30_hz),
    'FER, 1 kHz': ('FrankaEmikaPandaDynModel', fer_at_1_khz),
    'UR10e, 95 Hz, currents': ('dynamic_calibration', ur10e),
}


def figures(arguments: str, work: Path) -> str:
    """Identify an arm and return E of it and of the best published set, and the verdict."""
    result = work / 'result.json'
    run(f'identify arm {arguments} --json {result}')
    if not result.exists():
        return 'cannot be identified'
    said = json.loads(result.read_text('utf-8'))
    errors = {score['name']: score['test']['E'] for score in said['torque_errors']}
    best = said['improvement']['best']
    verdict = 'accepted' if said['verdict']['accepted'] else 'not accepted'
    return f'{errors["consistent"]:.3f} N m, {best} {errors[best]:.3f} N m, {verdict}'


def main() -> None:
    """Print a line for each public log."""
    parser = new_parser(__doc__)
    parser.add_argument(
        'folder', type=Path, help='clones of: ' + ', '.join(r for r, _ in LOGS.values())
    )
    folder = parser.parse_args().folder
    for name, (repository, prepare) in LOGS.items():
        if not (folder / repository).is_dir():
            print(f'{name}: left out, because {folder} has no folder {repository}')
            continue
        with tempfile.TemporaryDirectory() as work:
            print(name)
            print(' ', figures(prepare(folder / repository, Path(work)), Path(work)), flush=True)


if __name__ == '__main__':
    main()
