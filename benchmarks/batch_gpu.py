# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What `python benchmarks/batch.py --device cuda` measures: batches of an FR3 with hand on a GPU.

Every quantity is compared with `fd.Model` in both precisions, then timed from PyTorch and, where
it is installed, from inside jax.jit; frax's mass matrix stands beside it where frax is installed.
A percentage is the memory bandwidth that inputs and outputs alone need, of that which a copy
reaches in the same run. Needs PyTorch for CUDA and the extra gpu.
"""

from collections.abc import Callable
from functools import partial
import importlib.util
import math
import os
from pathlib import Path
import statistics
import tempfile
import time
from typing import Any

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.batch.generated_model import TracedModel
from franka_dynamics.codegen.quantities import INPUT_NAMES, output_shape
from franka_dynamics.constants import Quantity
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.urdf.writer import urdf_text

ARM = load('fr3', hand='franka_hand')
TIMED = (
    'inverse_dynamics',
    'gravity',
    'mass_matrix',
    'forward_dynamics',
    'derivatives',
)
CHECKED = 1000  # states
COPIED = 1 << 28  # numbers
SECONDS = 0.3  # for one row; at least three calls
# Rounding by the condition of M and of the mobility, in units of the last place.
BOUNDS = {Quantity.FORWARD_DYNAMICS: 1e5, Quantity.OPERATIONAL_SPACE_INERTIA: 1e7}


def seconds(call: Callable[[], object], synchronise: Callable[[], object]) -> float:
    """Return the time of one of many successive calls, the median of five turns [s]."""
    call()
    synchronise()
    start = time.perf_counter()
    call()
    synchronise()
    calls = max(3, min(500, int(SECONDS / 5 / (time.perf_counter() - start))))
    found = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        synchronise()
        found.append((time.perf_counter() - start) / calls)
    return statistics.median(found)


def reference(quantity: Quantity, states: list[Any]) -> tuple[Any, str]:
    """Return a quantity of states on the CPU, and which model computed it."""
    if importlib.util.find_spec('pinocchio') is None:  # a batch on the CPU has the same equations
        return BatchModel(ARM).evaluate(quantity, *states), 'BatchModel on the CPU'
    from franka_dynamics.dynamics.pinocchio_model import PinocchioModel

    model = PinocchioModel(ARM)
    if quantity is Quantity.DERIVATIVES:
        found: Any = np.stack(model.inverse_dynamics_derivatives(*states), axis=-3)
    elif quantity is Quantity.FIRST_MOMENT:
        found = sum(link.mass for link in ARM.links) * model.center_of_mass(*states)
    else:
        found = getattr(model, quantity.value)(*states)
    return found, 'fd.Model'


def compare(torch: Any, device: str) -> None:
    """Print the largest error of every quantity; exit if one is too large."""
    sampled = dict(zip(('q', 'dq', 'ddq'), sample_states(ARM, CHECKED, seed=0)))
    sampled['tau'] = sampled['ddq']
    wrong = []
    for quantity in Quantity:
        states = [sampled[name] for name in INPUT_NAMES[quantity]]
        for kind in (np.float64, np.float32):
            given = [one.astype(kind) for one in states]
            tensors = [torch.tensor(one, device=device) for one in given]
            start = time.perf_counter()
            found = BatchModel(ARM).evaluate(quantity, *tensors).cpu().numpy()
            took = time.perf_counter() - start
            expected, name = reference(quantity, given)
            error = np.abs(found - expected).max() / np.abs(expected).max()
            print(
                f'{quantity.value}, {kind.__name__}: {error:.1e} of the largest from {name}, '
                f'first call {took:.2f} s',
                flush=True,
            )
            if error > BOUNDS.get(quantity, 1e3) * np.finfo(kind).eps:
                wrong.append(quantity.value)
    if wrong:
        raise SystemExit(f'Wrong on the GPU: {wrong}.')


def with_torch(torch: Any, device: str, sizes: list[int], synchronise: Any) -> None:
    """Print the times from PyTorch, and their share of a copy's bandwidth."""
    numbers = torch.zeros(COPIED, device=device)
    copy = torch.empty_like(numbers)
    bandwidth = 2 * numbers.nbytes / seconds(partial(copy.copy_, numbers), synchronise)
    del numbers, copy
    print(
        f'\nA copy: {bandwidth / 1e12:.2f} TB/s.\n\n'
        '| from PyTorch | states | time [ms] | of a copy |\n|---|---|---|---|'
    )
    model = BatchModel(ARM)
    for kind in (torch.float64, torch.float32):
        for count in sizes:
            given = [torch.tensor(x, dtype=kind, device=device) for x in sample_states(ARM, count)]
            for name in TIMED:
                quantity = Quantity(name)
                arrays = INPUT_NAMES[quantity]
                shape = output_shape(quantity, ARM.n)
                call = partial(model.evaluate, quantity, *given[: len(arrays)])
                took = seconds(call, synchronise)
                moved = count * given[0].element_size() * (ARM.n * len(arrays) + math.prod(shape))
                share = moved / took / bandwidth
                print(
                    f'| {name}, {kind} | {count:,} | {1e3 * took:.3f} | {share:.0%} |',
                    flush=True,
                )


def with_jax(sizes: list[int]) -> None:
    """Print the times from inside jax.jit, of kernels, of traced operations, and of frax."""
    import jax

    jax.config.update('jax_enable_x64', True)
    model = BatchModel(ARM)
    traced = TracedModel(ARM, jax.numpy)
    functions: dict[str, Any] = {name: jax.jit(getattr(model, name)) for name in TIMED[:-1]}
    functions['traced mass_matrix'] = jax.jit(traced.mass_matrix)
    functions['traced inverse_dynamics'] = jax.jit(traced.inverse_dynamics)
    if importlib.util.find_spec('frax'):
        import frax

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / 'fr3.urdf'
            path.write_text(urdf_text(ARM), encoding='utf-8')
            robot = frax.Robot(str(path))
        functions['frax mass_matrix'] = jax.jit(jax.vmap(robot.mass_matrix))
    print('\n| from jax.jit, float64 | states | first call [s] | time [ms] |\n|---|---|---|---|')
    expected = None
    for count in sizes:
        q, dq, ddq = (jax.numpy.asarray(x) for x in sample_states(ARM, count))
        for name, function in functions.items():
            takes = 1 if name.split()[-1] in ('gravity', 'mass_matrix') else 3
            given = (q, dq, ddq)[:takes]
            start = time.perf_counter()
            found = jax.block_until_ready(function(*given))
            first = time.perf_counter() - start
            if name.endswith('mass_matrix'):
                expected = found if expected is None or len(expected) != count else expected
                np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-6)
            kept: list[Any] = []

            def call(function: Any = function, given: Any = given, kept: Any = kept) -> None:
                kept[:] = [function(*given)]

            took = seconds(call, partial(jax.block_until_ready, kept))
            print(f'| {name} | {count:,} | {first:.2f} | {1e3 * took:.3f} |', flush=True)


def measure(largest: float, device: str = 'cuda') -> None:
    """Print the comparison and the tables."""
    if importlib.util.find_spec('torch') is None:
        raise SystemExit(
            "PyTorch for CUDA and the extra gpu are needed: pip install '.[torch,gpu]'."
        )
    import torch

    if device == 'cuda' and not torch.cuda.is_available():
        raise SystemExit('PyTorch finds no GPU here; --device cpu measures this machine.')
    synchronise = torch.cuda.synchronize if device == 'cuda' else (lambda: None)
    name = torch.cuda.get_device_name() if device == 'cuda' else device
    print(f'{name}; PyTorch {torch.__version__}.\n')
    sizes = [10**k for k in (3, 5, 6, 7) if 10**k <= largest]
    with tempfile.TemporaryDirectory() as folder:
        os.environ['XDG_CACHE_HOME'] = folder  # so that first calls compile
        compare(torch, device)
        with_torch(torch, device, sizes, synchronise)
        if importlib.util.find_spec('jax'):
            with_jax(sizes)
