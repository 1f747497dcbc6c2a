# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse dynamics of many states of the Franka: ours and others', in interleaved rounds.

    python benchmarks/batch.py [--largest 1e7] [--threads N] [--least]

The others are Pinocchio, MuJoCo and, where it is installed, frax (JAX).

Each round calls every candidate for a while, one after the other, so that what disturbs the
machine disturbs all; the table gives medians over the rounds, and ratios are medians of the
rounds' ratios. The first call of a while wakes threads and fills caches and does not count. What
other processes did meanwhile is measured, and said where it was more than a little. On a machine
that others use, `--least` takes the shortest call of all instead: one in which nothing came
between, which on one thread happens, and on all of them at once hardly ever does.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
import importlib.util
from pathlib import Path
import resource
import tempfile
import time

import mujoco
from mujoco.rollout import Rollout
import numpy as np
import pinocchio as pin
from timing import busy_seconds, machine

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import JointStates, sample_states
from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.batch.compiled import available_threads
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.simulation.mujoco_model import build_mujoco
from franka_dynamics.urdf.writer import write_urdf

LOOPED = 10_000  # a Python loop costs the same per state however many there are
TURN_SECONDS = 0.03  # of one candidate in a round; at least one call
ROUNDS_SECONDS = 10.0  # of all rounds at one size; at least three rounds
QUIET = 0.1  # cores that others may keep busy before the table says so
LOOP, PARALLEL = 'loop of pin.rnea', 'pin.rneaInParallel'
OURS, FILLED, SINGLE = 'ours', 'ours, out=', 'ours, float32'
FRAX = 'frax (JAX, jit and vmap)'
# How many of q, dq and ddq the others of our methods take.
METHODS = {
    'mass_matrix': 1,
    'inverse_dynamics_derivatives': 3,
    'regressor': 3,
    'forward_dynamics': 3,
    'flange_pose': 1,
    'jacobian': 1,
    'gravity': 1,
    'coriolis_matrix': 2,
}
MUJOCO, ROLLOUT = 'loop of mj_inverse', 'MuJoCo rollout (forward)'


@dataclass(frozen=True)
class Candidate:
    """Something to time: a call, and how many of the N states it does."""

    call: Callable[[], object]
    states: int


def candidates(states: JointStates, out: np.ndarray, threads: int) -> dict[str, Candidate]:
    """Return what is compared, ready to be called on N states."""
    description = load('fer')
    count = len(out)
    reference = PinocchioModel(description)
    model, data = reference.model, reference.data
    pool = pin.ModelPool(model, threads)
    columns = [array.T for array in states]  # (n, N) in Fortran order: the same memory
    rows = [array[:LOOPED] for array in states]
    generated = BatchModel(description, threads=threads)
    simulated = build_mujoco(description)
    simulation = mujoco.MjData(simulated)
    rollout = Rollout(nthread=threads)
    initial = np.zeros(
        (min(count, LOOPED), mujoco.mj_stateSize(simulated, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    )
    initial[:, 1:8], initial[:, 8:15] = rows[0], rows[1]
    copies = [mujoco.MjData(simulated) for _ in range(threads)]

    def loop() -> None:
        for q, dq, ddq in zip(*rows):
            pin.rnea(model, data, q, dq, ddq)

    singles = [array.astype(np.float32) for array in states]
    kept: list[object] = [None]

    def ours() -> None:
        # A user has a result until the next one is there.
        kept[0] = generated.inverse_dynamics(*states)

    def loop_mujoco() -> None:
        for q, dq, ddq in zip(*rows):
            simulation.qpos[:], simulation.qvel[:], simulation.qacc[:] = q, dq, ddq
            mujoco.mj_inverse(simulated, simulation)

    looped = min(count, LOOPED)
    return {
        LOOP: Candidate(loop, looped),
        PARALLEL: Candidate(lambda: pin.rneaInParallel(threads, pool, *columns), count),
        MUJOCO: Candidate(loop_mujoco, looped),
        ROLLOUT: Candidate(lambda: rollout.rollout(simulated, copies, initial, nstep=1), looped),
        **({FRAX: Candidate(with_frax(rows), looped)} if has_frax() else {}),
        SINGLE: Candidate(lambda: generated.inverse_dynamics(*singles), count),
        FILLED: Candidate(lambda: generated.inverse_dynamics(*states, out), count),
        OURS: Candidate(ours, count),
    }


def has_frax() -> bool:
    """Return whether frax is installed."""
    return importlib.util.find_spec('frax') is not None


def with_frax(rows: list[np.ndarray]) -> Callable[[], object]:
    """Return frax's torques of these states, in float64, once they are ours."""
    import frax
    import jax

    jax.config.update('jax_enable_x64', True)
    arm = load('fer')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'fer.urdf'
        path.write_text(write_urdf(arm), encoding='utf-8')
        robot = frax.Robot(str(path))
    # An arm that rests feels gravity as if its base accelerated the other way.
    upwards = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])
    torques = jax.jit(jax.vmap(lambda q, dq, ddq: robot.rnea(q, dq, ddq, upwards, None)))
    given = [jax.numpy.asarray(array) for array in rows]
    expected = BatchModel(arm).inverse_dynamics(*rows)
    error = np.abs(np.asarray(torques(*given)) - expected).max()
    if error > 1e-6:
        raise SystemExit(f'frax computes another torque than ours, by {error:.3g} N m.')
    return lambda: torques(*given).block_until_ready()


def nanoseconds(candidate: Candidate, least: bool = False) -> float:
    """Return what one state takes, over calls in a row, or in the shortest of them."""
    candidate.call()
    begun = [time.perf_counter()]
    while len(begun) < 2 or begun[-1] - begun[0] < TURN_SECONDS:
        candidate.call()
        begun.append(time.perf_counter())
    calls = np.diff(begun)
    return 1e9 * float(calls.min() if least else calls.mean()) / candidate.states


def measure(listed: dict[str, Candidate], least: bool) -> tuple[dict[str, np.ndarray], float]:
    """Return nanoseconds per state of every round, and the cores that others kept busy."""
    start = time.perf_counter()
    for candidate in listed.values():
        nanoseconds(candidate)
    rounds = int(np.clip(ROUNDS_SECONDS / (time.perf_counter() - start), 3, 50))
    found = {name: np.empty(rounds) for name in listed}
    busy, wall, own = busy_seconds(), time.perf_counter(), time.process_time()
    for k in range(rounds):
        for name, candidate in listed.items():
            found[name][k] = nanoseconds(candidate, least)
    if least:
        found = {name: values.min(keepdims=True) for name, values in found.items()}
    elapsed = time.perf_counter() - wall
    foreign = (busy_seconds() - busy - (time.process_time() - own)) / elapsed
    return found, max(0.0, foreign)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--largest', type=float, default=1e7, help='number of states to end at')
    parser.add_argument('--threads', type=int, default=available_threads(), help='of all')
    parser.add_argument('--least', action='store_true', help='the shortest call, not the median')
    arguments = parser.parse_args()
    print(f'{machine()}, mujoco {mujoco.__version__}; {arguments.threads} threads.')
    print(f'frax {"is" if has_frax() else "is not"} installed.\n')
    sizes = [10**k for k in range(2, int(np.log10(arguments.largest)) + 1)]
    for count in sizes:
        out = np.empty((count, 7))
        states = sample_states(load('fer'), count, seed=0)
        listed = candidates(states, out, arguments.threads)
        found, foreign = measure(listed, arguments.least)
        if count == sizes[0]:
            print(
                '| states | '
                + ' | '.join(f'{name} [ns]' for name in listed)
                + f' | {PARALLEL} / {OURS} | {OURS} / {FILLED} '
                '| peak memory [MiB] | others busy [cores] |'
            )
            print('|---' * (len(listed) + 5) + '|')
        print(
            f'| {count:,} | '
            + ' | '.join(f'{np.median(found[name]):,.0f}' for name in listed)
            + f' | {np.median(found[PARALLEL] / found[OURS]):.1f}'
            + f' | {np.median(found[OURS] / found[FILLED]):.2f}'
            + f' | {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f}'
            f' | {foreign:.2f}{" (not quiet)" if foreign > QUIET else ""} |',
            flush=True,
        )
    states, model = sample_states(load('fer'), 1000), BatchModel(load('fer'), threads=1)
    others = {
        name: Candidate(partial(getattr(model, name), *states[:takes]), 1000)
        for name, takes in METHODS.items()
    }
    found, _ = measure(others, arguments.least)
    times = ', '.join(f'{name} {np.median(values):,.0f}' for name, values in found.items())
    print(f'\nAt 1,000 states, one thread [ns]: {times}')


if __name__ == '__main__':
    main()
