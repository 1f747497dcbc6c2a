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
a scheduler and N workers on this machine). Printed are seconds an episode and the memory of the
largest process, whether all runs agree in every row, and what was said of episodes, by the true
effect of their fault: E of the arm identified from the episode, over E of that identified from it
without the fault, both without the fault. A wrong gain of a wrist that other masses take up, or
that the starting set outweighs, has an effect of about 1, and need not be found.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import repeat
import json
import os
from pathlib import Path
import socket
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from broken_logs import error_of, identified, LEAST_HARM, MOST_HARM, sums_of
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
from franka_dynamics.fit.options import IdentificationOptions
from franka_dynamics.recordings.preprocessing import to_motion
from franka_dynamics.recordings.recording import Recording
from franka_dynamics.report.episode_table import summary_lines
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


class DrawnEpisode(NamedTuple):
    """An episode, the name of its fault ('' without one), and the same episode without it."""

    fault: str
    recording: Recording
    sound: Recording


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
) -> Iterator[DrawnEpisode]:
    """Yield episodes, in a drawn tenth of which is a fault."""
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
        if fault is None:
            yield DrawnEpisode('', episode, episode)
        else:
            yield DrawnEpisode(fault.name, fault.change(episode), episode)


def true_effect(arm: ArmDescription, episode: DrawnEpisode) -> float:
    """Return how many times worse the arm identified from an episode is by the fault in it."""
    model = IdentificationOptions(np.array((0.0, 0.0, -9.81))).torque_model(arm)
    sound, recorded = (
        sums_of(model, to_motion(one)) for one in (episode.sound, episode.recording)
    )
    without, with_fault = (
        error_of(sound, identified(model, arm, sums)) for sums in (sound, recorded)
    )
    return with_fault / without


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
    # LeRobot's recorder writes each episode as a row group.
    path = folder / 'data/chunk-000/file-000.parquet'
    with parquet.ParquetWriter(path, tables[0].schema) as file:
        for table in tables:
            file.write_table(table)
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


def judged(folder: Path, arm_name: str, workers: str) -> tuple[pd.DataFrame, float, float]:
    """Return the table of a data set's episodes, how long that took [s], and memory [MB]."""
    output = folder.with_name(f'by_{workers.replace("/", "_").replace(":", "_")}')
    words = [sys.executable, '-m', 'franka_dynamics', 'bag', 'replay', str(folder)]
    words += ['--arm', arm_name, '--workers', workers, '--output', str(output)]
    begin = time.perf_counter()
    # The exit status is 1: some episodes are not sound.
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # Of the command or a process that it started, the largest; workers of a cluster are neither.
    _, _, usage = os.wait4(process.pid, 0)
    duration = time.perf_counter() - begin
    return pd.read_parquet(output / 'episodes.parquet'), duration, usage.ru_maxrss / 1024.0


def print_found(
    table: pd.DataFrame, episodes: Sequence[DrawnEpisode], arm: ArmDescription
) -> None:
    """Print what was said of episodes, by the effect of their fault; name those not found."""
    counts = Counter[tuple[str, str]]()
    missed = list[str]()
    for verdict, episode in zip(table['verdict'].fillna('refused'), episodes):
        kind = 'without a fault'
        if episode.fault:
            effect = true_effect(arm, episode)
            kind = f'effect below {LEAST_HARM}'
            if effect > LEAST_HARM:
                kind = f'effect above {MOST_HARM}' if effect > MOST_HARM else 'effect between'
            if effect > LEAST_HARM and verdict != 'NOT sound':
                missed.append(f'  {verdict}: {episode.fault}, effect {effect:.1f}')
        counts[kind, verdict] += 1
    for (kind, verdict), number in sorted(counts.items()):
        print(f'{kind:18} {verdict:22} {number}')
    print('\n'.join(missed))


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
    with ProcessPoolExecutor() as pool:
        motions = list(pool.map(simulated_motion, repeat(arm), range(args.motions)))
    episodes = list(drawn_episodes(arm, motions, args.episodes, args.seed))
    tables = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / 'data_set'
        write_lerobot(folder, [one.recording for one in episodes])
        for workers in args.workers:
            if workers.startswith('dask:'):
                with scheduler(int(workers.removeprefix('dask:'))) as address:
                    table, duration, memory = judged(folder, args.arm, address)
            else:
                table, duration, memory = judged(folder, args.arm, workers)
            tables.append(table)
            each = duration / len(episodes)
            print(f'{workers}: {duration:.0f} s, {each:.3f} s an episode, {memory:.0f} MB')
            sys.stdout.flush()
    print('\n'.join(summary_lines(tables[0].fillna('').to_dict('records'))))
    print_found(tables[0], episodes, arm)
    if len(tables) > 1:
        print('all runs agree:', all(one.equals(tables[0]) for one in tables))


if __name__ == '__main__':
    main()
