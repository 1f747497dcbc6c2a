# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Judge a data set of many episodes with one process, with several, and with Dask, in one run.

    python benchmarks/data_sets.py --episodes 1000 --motions 40 --workers 1 2 dask:2

The data set is one of LeRobot's form at 30 Hz, with positions, velocities and efforts, of a
simulated arm that differs from its model: other inertias, friction, elastic gears, noise. Each
episode is 20 s of one of `--motions` simulated motions, from a drawn time on, with a noise of its
own; a fault, drawn from those of broken_logs.py with the joint that it is of, is calculated into
a tenth of them. `franka-dynamics bag replay` then judges it, once for each of `--workers` (dask:N:
a scheduler and N workers on this machine). Printed are seconds an episode, how many episodes of
each kind were called sound, and whether all runs agree in every row.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
import json
import os
from pathlib import Path
import socket
import subprocess
import sys
import tempfile
import time

from log_faults import cases
import numpy as np
import pandas as pd
import pyarrow
from pyarrow import parquet
from timing import machine, new_parser

import franka_dynamics as fd
from franka_dynamics.arm import ArmDescription
from franka_dynamics.arrays import Array
from franka_dynamics.control.default_gains import low_gains
from franka_dynamics.demo.random_plant import random_plant
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.excitation.excitation import random_trajectory
from franka_dynamics.excitation.excitation_problem import ExcitationProblem
from franka_dynamics.excitation.limits import ExcitationLimits
from franka_dynamics.recordings.recording import Recording
from franka_dynamics.simulation.arm_simulation import ArmSimulation
from franka_dynamics.simulation.mujoco_model import TIMESTEP_S

RATE_HZ = 30.0
EPISODE_S = 20.0
PERIOD_S = 12.0  # of a motion, which is simulated for two periods
FAULTY_SHARE = 0.1
# Faults that change what an arm identified from the episode would do, whatever the motion.
FAULT_NAMES = (
    'gain 0.5 of',
    'gain 1.3 of',
    'gain 2 of',
    'gain -1 of',
    'all x 0.8',
    'all x 1.2',
    'efforts exchanged',
    '100 ms late',
    'without gravity',
    'effort of 2 frozen',
    'clipped at 60%',
    'times x 0.5',
    'times x 2',
)
NOISE_NM = 0.05  # of each episode, beside that of the simulation


def simulated_motion(arm: ArmDescription, seed: int) -> Recording:
    """Return a recording at 1 kHz of a drawn periodic motion, which the model and a PD follow."""
    rng = np.random.default_rng(seed)
    limits = ExcitationLimits(fraction=0.3, position_margin=0.3)
    motion = random_trajectory(ExcitationProblem(arm, limits), arm.home_position, PERIOD_S, rng)
    model = NewtonEulerModel(arm)
    kp, kd = low_gains(arm, 300.0)
    plant = random_plant(arm)
    simulation = ArmSimulation(plant.arm, plant.settings)
    count = round(2 * PERIOD_S / TIMESTEP_S)
    stamps = TIMESTEP_S * np.arange(count)
    desired = motion.states_at(stamps % PERIOD_S)
    feedforward = model.inverse_dynamics(*desired)
    rows = np.empty((count, 3, arm.n))
    for row, (q, dq, torque) in enumerate(zip(*desired[:2], feedforward)):
        reading = simulation.read()
        simulation.step(torque + kp * (q - reading.position) + kd * (dq - reading.velocity))
        rows[row] = reading.position, reading.velocity, reading.effort
    stamp_ns = np.round(1e9 * stamps).astype(np.int64)
    return Recording('simulated', '/joint_states', arm.joint_names, stamp_ns, *rows.swapaxes(0, 1))


def drawn_episodes(
    arm: ArmDescription, motions: Sequence[Recording], count: int, seed: int
) -> Iterator[tuple[str, Recording]]:
    """Yield episodes, each with the name of its fault, '' without one."""
    rng = np.random.default_rng(seed)
    down = np.array((0.0, 0.0, -9.81))
    faults = [case for case in cases(arm, down) if case.name.startswith(FAULT_NAMES)]
    faulty = set(rng.permutation(count)[: round(FAULTY_SHARE * count)].tolist())
    rows_per_second = round(1.0 / TIMESTEP_S)
    steps = np.round(np.arange(0.0, EPISODE_S, 1.0 / RATE_HZ) * rows_per_second).astype(int)
    for number in range(count):
        motion = motions[int(rng.integers(len(motions)))]
        begin = rng.integers(rows_per_second, len(motion) - steps[-1])
        episode = motion.select(begin + steps)
        noise = NOISE_NM * rng.standard_normal(episode.effort.shape)
        episode = replace(episode, effort=episode.effort + noise)
        fault = faults[rng.integers(len(faults))] if number in faulty else None
        yield ('', episode) if fault is None else (fault.name, fault.change(episode))


def write_lerobot(folder: Path, episodes: Sequence[Recording]) -> None:
    """Write a data set of LeRobot's third version, all episodes in one file."""
    joints = list(episodes[0].joint_names)
    width = len(joints)
    named = {'dtype': 'float32', 'shape': [width], 'names': joints}
    features = {f'observation.{name}': named for name in ('state', 'velocity', 'effort')}
    file = 'data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet'
    info = {'codebase_version': 'v3.0', 'fps': int(RATE_HZ), 'chunks_size': 1000}
    described = {**info, 'robot_type': 'franka', 'data_path': file, 'features': features}
    for one in ('meta/episodes/chunk-000', 'data/chunk-000'):
        (folder / one).mkdir(parents=True)
    (folder / 'meta' / 'info.json').write_text(json.dumps(described))

    def fixed(values: Array) -> pyarrow.Array:
        flat = np.asarray(values, dtype=np.float32).ravel()
        return pyarrow.FixedSizeListArray.from_arrays(flat, width)

    tables = [
        pyarrow.table(
            {
                'observation.state': fixed(one.q),
                'observation.velocity': fixed(one.dq),
                'observation.effort': fixed(one.effort),
                'timestamp': one.time.astype(np.float32),
                'frame_index': np.arange(len(one)),
                'episode_index': np.full(len(one), number),
            }
        )
        for number, one in enumerate(episodes)
    ]
    parquet.write_table(pyarrow.concat_tables(tables), folder / 'data/chunk-000/file-000.parquet')
    zeros = np.zeros(len(episodes), dtype=int)
    index = {'episode_index': np.arange(len(episodes)), 'length': [len(one) for one in episodes]}
    places = {'data/chunk_index': zeros, 'data/file_index': zeros}
    path = folder / 'meta/episodes/chunk-000/file-000.parquet'
    parquet.write_table(pyarrow.table({**index, **places}), path)


@contextmanager
def scheduler(worker_count: int) -> Iterator[str]:
    """Yield the address of a Dask scheduler on this machine, with so many workers."""
    with socket.create_server(('127.0.0.1', 0)) as free:
        address = f'tcp://127.0.0.1:{free.getsockname()[1]}'
    dask = [sys.executable, '-m', 'dask']
    port = address.rsplit(':', 1)[1]
    workers = ['--nworkers', str(worker_count), '--nthreads', '1', '--no-dashboard']
    started = [
        subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for words in (
            [*dask, 'scheduler', '--host', '127.0.0.1', '--port', port],
            [*dask, 'worker', address, *workers],
        )
    ]
    try:
        time.sleep(10.0)
        yield address
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def judged(folder: Path, arm_name: str, workers: str) -> tuple[pd.DataFrame, float]:
    """Return the table of a data set's episodes, and how long the command took [s]."""
    output = folder.with_name(f'by_{workers.replace("/", "_").replace(":", "_")}')
    words = [sys.executable, '-m', 'franka_dynamics', 'bag', 'replay', str(folder)]
    words += ['--arm', arm_name, '--workers', workers, '--output', str(output)]
    begin = time.perf_counter()
    # The exit status is 1: some episodes are not sound.
    subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
    duration = time.perf_counter() - begin
    return pd.read_parquet(output / 'episodes.parquet'), duration


def print_found(table: pd.DataFrame, names: Sequence[str]) -> None:
    """Print how many episodes without and with a fault have which verdict."""
    verdicts = Counter(zip(('faulty' if name else 'sound' for name in names), table['verdict']))
    for (kind, verdict), number in sorted(verdicts.items()):
        print(f'{kind:7} {verdict:12} {number}')
    for name, verdict in zip(names, table['verdict']):
        if name and verdict != 'NOT sound':
            print(f'  {verdict}: {name}')


def main() -> None:
    """Make a data set and judge it."""
    parser = new_parser(__doc__)
    parser.add_argument('--arm', default='fr3', help='shipped arm (default: %(default)s)')
    parser.add_argument('--episodes', type=int, default=1000, help='(default: %(default)s)')
    parser.add_argument('--motions', type=int, default=40, help='(default: %(default)s)')
    parser.add_argument('--seed', type=int, default=0, help='(default: %(default)s)')
    parser.add_argument('--workers', nargs='+', default=['1', '2', 'dask:2'], metavar='N')
    args = parser.parse_args()
    arm = fd.load(args.arm)
    print(f'{machine()}; load before {os.getloadavg()[0]:.1f}')
    motions = [simulated_motion(arm, seed) for seed in range(args.motions)]
    names, episodes = zip(*drawn_episodes(arm, motions, args.episodes, args.seed))
    tables = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / 'data_set'
        write_lerobot(folder, episodes)
        for workers in args.workers:
            if workers.startswith('dask:'):
                with scheduler(int(workers.removeprefix('dask:'))) as address:
                    table, duration = judged(folder, args.arm, address)
            else:
                table, duration = judged(folder, args.arm, workers)
            tables.append(table)
            per_episode = duration / len(names)
            print(f'{workers}: {duration:.0f} s, {per_episode:.3f} s an episode', flush=True)
    print_found(tables[0], names)
    if len(tables) > 1:
        print('all runs agree:', all(one.equals(tables[0]) for one in tables))


if __name__ == '__main__':
    main()
