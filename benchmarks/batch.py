# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse dynamics of many states of a Franka arm: this package and others, in interleaved rounds.

    python benchmarks/batch.py [--largest 1e7] [--threads N] [--least] [--quick] [--frax]
    python benchmarks/batch.py --device cuda

The others are Pinocchio, MuJoCo and, with `--frax`, frax (JAX).

Each round calls every candidate in turn, so that other work on the machine disturbs all candidates
alike. The table gives the median time over the rounds, and the median over the rounds of the
ratios of two candidates' times. A candidate's first call in a round wakes threads and fills caches
and is not counted. The load by other processes is printed, and marked above 0.1 cores. `--least`,
for shared machines, takes the shortest call instead of the median: on one thread, other work
usually leaves some call undisturbed, on all threads hardly ever. On a GPU (`--device cuda`) other
tables are printed, of PyTorch and JAX.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
import resource
import tempfile
import time

import mujoco
from mujoco.rollout import Rollout
import numpy as np
import pinocchio as pin
from timing import busy_seconds, machine, new_parser

from franka_dynamics.arm import load
from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.batch.kernel import available_thread_count
from franka_dynamics.constants import Quantity
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.sampling import JointStates, sample_states
from franka_dynamics.simulation.mujoco_model import build_mujoco_model
from franka_dynamics.urdf.writer import urdf_text

LOOPED = 10_000  # states in a Python loop; its cost per state does not depend on their number
TURN_SECONDS = 0.03  # [s] for a candidate in a round; at least one call
ROUNDS_SECONDS = 10.0  # [s] for all rounds at one size
FEW = 1000  # states whose inputs and results fit into a cache
QUIET = 0.1  # cores kept busy by other processes above which the table says so
LOOP = 'loop of pin.rnea'
PARALLEL = 'pin.rneaInParallel'
GENERATED = 'BatchModel'
SINGLE = 'BatchModel, float32'
RATIO = f'{PARALLEL} / {GENERATED}'
FRAX = 'frax (JAX, jit and vmap)'
MANY = 100_000  # states whose results do not fit into a cache
# Quantities of BatchModel, and how many of the arrays q, dq and ddq each is given.
QUANTITIES = {
    Quantity.MASS_MATRIX: 1,
    Quantity.DERIVATIVES: 3,
    Quantity.REGRESSOR: 3,
    Quantity.FORWARD_DYNAMICS: 3,
    Quantity.FLANGE_POSE: 1,
    Quantity.JACOBIAN: 1,
    Quantity.GRAVITY: 1,
    Quantity.CORIOLIS_MATRIX: 2,
}
MUJOCO = 'loop of mj_inverse'
ROLLOUT = 'MuJoCo rollout (forward)'


@dataclass(frozen=True)
class Candidate:
    """A function to time, and the number of states that one call computes."""

    call: Callable[[], object]
    states: int


def candidates(states: JointStates, threads: int, frax: bool) -> dict[str, Candidate]:
    """Return the functions to time, by name, with these states as their input."""
    description = load('fer')
    count = len(states.q)
    reference = PinocchioModel(description)
    model = reference.model
    data = reference.model.createData()
    pool = pin.ModelPool(model, threads)
    columns = [array.T for array in states]  # (n, N) in Fortran order: the same memory
    rows = [array[:LOOPED] for array in states]
    generated = BatchModel(description, threads=threads)
    simulated = build_mujoco_model(description)
    simulation = mujoco.MjData(simulated)
    rollout = Rollout(nthread=threads)
    initial = np.zeros(
        (
            min(count, LOOPED),
            mujoco.mj_stateSize(simulated, mujoco.mjtState.mjSTATE_FULLPHYSICS),
        )
    )
    initial[:, 1:8] = rows[0]
    initial[:, 8:15] = rows[1]
    copies = [mujoco.MjData(simulated) for _ in range(threads)]

    def loop() -> None:
        for q, dq, ddq in zip(*rows):
            pin.rnea(model, data, q, dq, ddq)

    singles = [array.astype(np.float32) for array in states]
    kept: list[object] = [None]

    def run_batch() -> None:
        # Keep the result until the next call, as a user does, so that its memory is not reused.
        kept[0] = generated.inverse_dynamics(*states)

    def loop_mujoco() -> None:
        for q, dq, ddq in zip(*rows):
            simulation.qpos[:] = q
            simulation.qvel[:] = dq
            simulation.qacc[:] = ddq
            mujoco.mj_inverse(simulated, simulation)

    looped = min(count, LOOPED)
    return {
        LOOP: Candidate(loop, looped),
        PARALLEL: Candidate(lambda: pin.rneaInParallel(threads, pool, *columns), count),
        MUJOCO: Candidate(loop_mujoco, looped),
        ROLLOUT: Candidate(lambda: rollout.rollout(simulated, copies, initial, nstep=1), looped),
        **({FRAX: Candidate(with_frax(rows), looped)} if frax else {}),
        SINGLE: Candidate(lambda: generated.inverse_dynamics(*singles), count),
        GENERATED: Candidate(run_batch, count),
    }


def with_frax(rows: list[np.ndarray]) -> Callable[[], object]:
    """Return a function without arguments: frax's torques of `rows` (q, dq, ddq), in float64."""
    import frax
    import jax

    jax.config.update('jax_enable_x64', True)
    arm = load('fer')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'fer.urdf'
        path.write_text(urdf_text(arm), encoding='utf-8')
        robot = frax.Robot(str(path))
    # frax takes gravity as an upward acceleration of the base.
    upwards = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])
    torques = jax.jit(jax.vmap(lambda q, dq, ddq: robot.rnea(q, dq, ddq, upwards, None)))
    given = [jax.numpy.asarray(array) for array in rows]
    expected = BatchModel(arm).inverse_dynamics(*rows)
    error = np.abs(np.asarray(torques(*given)) - expected).max()
    if error > 1e-6:
        raise SystemExit(f'frax computes another torque than BatchModel, by {error:.3g} N m.')
    return lambda: torques(*given).block_until_ready()


def nanoseconds(candidate: Candidate, least: bool = False) -> float:
    """Return nanoseconds per state: the mean of successive calls or, with `least`, the minimum."""
    candidate.call()
    begun = [time.perf_counter()]
    while len(begun) < 2 or begun[-1] - begun[0] < TURN_SECONDS:
        candidate.call()
        begun.append(time.perf_counter())
    calls = np.diff(begun)
    return 1e9 * float(calls.min() if least else calls.mean()) / candidate.states


def measure(
    listed: dict[str, Candidate], least: bool, duration: float
) -> tuple[dict[str, np.ndarray], float]:
    """
    Return each candidate's ns per state in every round, and the cores that others load.

    `duration` [s] is for all rounds together, of which there are three at least. With `least`, a
    candidate has one value, the smallest of all rounds.
    """
    start = time.perf_counter()
    for candidate in listed.values():
        nanoseconds(candidate)
    rounds = int(np.clip(duration / (time.perf_counter() - start), 3, 50))
    found = {name: np.empty(rounds) for name in listed}
    busy = busy_seconds()
    wall = time.perf_counter()
    own = time.process_time()
    for k in range(rounds):
        for name, candidate in listed.items():
            found[name][k] = nanoseconds(candidate, least)
    if least:
        found = {name: values.min(keepdims=True) for name, values in found.items()}
    elapsed = time.perf_counter() - wall
    foreign = (busy_seconds() - busy - (time.process_time() - own)) / elapsed
    return found, max(0.0, foreign)


def print_sizes(
    sizes: Sequence[int], threads: int, least: bool, duration: float, frax: bool
) -> None:
    """Print a row of times for each number of states, and the load by other processes."""
    foreign = 0.0
    for count in sizes:
        states = sample_states(load('fer'), count, seed=0)
        listed = candidates(states, threads, frax)
        found, load_now = measure(listed, least, duration)
        foreign = max(foreign, load_now)
        if count == sizes[0]:
            names = ' | '.join(f'{name} [ns]' for name in listed)
            print(f'| states | {names} | {RATIO} |')
            print('|---' * (len(listed) + 2) + '|')
        times = ' | '.join(f'{np.median(found[name]):,.0f}' for name in listed)
        ratio = np.median(found[PARALLEL] / found[GENERATED])
        print(f'| {count:,} | {times} | {ratio:.1f} |', flush=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    busy = f'{foreign:.2f} cores{" (not quiet)" if foreign > QUIET else ""}'
    print(f'\nOther processes kept {busy} busy; peak memory {memory:,.0f} MiB.')


def print_quantities(least: bool, duration: float) -> None:
    """Print the time of each quantity on one thread, also of many states, with and without out."""
    model = BatchModel(load('fer'), threads=1)
    few, many = (sample_states(load('fer'), count) for count in (FEW, MANY))
    heads = f'{FEW:,} states | {MANY:,} states | {MANY:,} states, `out=`'
    print(f'\n| `BatchModel`, one thread [ns a state] | {heads} |\n|---|---|---|---|')
    for quantity, takes in QUANTITIES.items():
        out = model.evaluate(quantity, *many[:takes])
        calls = {
            'few': Candidate(partial(model.evaluate, quantity, *few[:takes]), FEW),
            'many': Candidate(partial(model.evaluate, quantity, *many[:takes]), MANY),
            'out': Candidate(partial(model.evaluate, quantity, *many[:takes], out=out), MANY),
        }
        found, _ = measure(calls, least, duration / len(QUANTITIES))
        times = ' | '.join(f'{np.median(values):,.0f}' for values in found.values())
        print(f'| `{quantity.value}` | {times} |', flush=True)


def main() -> None:
    """Print the tables."""
    parser = new_parser(__doc__)
    parser.add_argument('--largest', type=float, default=1e7, help='largest number of states')
    parser.add_argument(
        '--threads',
        type=int,
        default=available_thread_count(),
        help='threads of every candidate',
    )
    parser.add_argument('--least', action='store_true', help='the shortest call, not the median')
    parser.add_argument('--frax', action='store_true', help='frax, too, which must be installed')
    parser.add_argument('--quick', action='store_true', help='1,000 states, a second a table')
    parser.add_argument('--device', choices=('cpu', 'cuda'), default='cpu')
    arguments = parser.parse_args()
    if arguments.device == 'cuda':
        from batch_gpu import measure as measure_gpu

        measure_gpu(arguments.largest)
        return
    threads = arguments.threads
    largest = arguments.largest
    duration = ROUNDS_SECONDS
    if arguments.quick:
        threads = 1
        largest = FEW
        duration = 1.0
    print(f'{machine()}, mujoco {mujoco.__version__}; {threads} threads.\n')
    first = 3 if arguments.quick else 2
    sizes = [10**k for k in range(first, int(np.log10(largest)) + 1)]
    print_sizes(sizes, threads, arguments.least, duration, arguments.frax)
    print_quantities(arguments.least, duration)


if __name__ == '__main__':
    main()
