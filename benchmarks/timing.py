# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Times of function calls on a machine that others may use as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
import platform
import time


@dataclass(frozen=True)
class Timing:
    """
    Processor time of one call [s], the least of several batches, and who else was at work.

    `foreign` is how many cores other processes kept busy meanwhile, on average; times in a loaded
    machine are high by shared caches and clocks even though only own processor time is counted.
    """

    seconds: float
    foreign: float


def measure(function: Callable[[], object], budget: float = 0.5) -> Timing:
    """Call a function for about `budget` seconds, in seven batches, after one call to warm up."""
    function()
    start = time.process_time()
    function()
    once = max(time.process_time() - start, 1e-7)
    calls = max(1, int(budget / 7.0 / once))
    # Batches rather than one long run: the least of them had the processor most to itself.
    busy, wall, own = busy_seconds(), time.perf_counter(), time.process_time()
    batches = []
    for _ in range(7):
        start = time.process_time()
        for _ in range(calls):
            function()
        batches.append((time.process_time() - start) / calls)
    elapsed = time.perf_counter() - wall
    others = busy_seconds() - busy - (time.process_time() - own)
    return Timing(min(batches), max(0.0, others / elapsed))


def machine() -> str:
    """Return processor and library versions in one line."""
    import numpy
    import pinocchio

    model = next(
        (
            line.split(':')[1].strip()
            for line in _lines('/proc/cpuinfo')
            if line.startswith('model name')
        ),
        platform.processor(),
    )
    return (
        f'{model}; Python {platform.python_version()}, numpy {numpy.__version__}, '
        f'pinocchio {pinocchio.__version__}'
    )


def busy_seconds() -> float:
    """Return the seconds that all cores have been busy since start-up (Linux; 0 elsewhere)."""
    import os

    first = next(iter(_lines('/proc/stat')), 'cpu 0 0 0 0 0')
    user, nice, system, *_ = (float(field) for field in first.split()[1:])
    return (user + nice + system) / os.sysconf('SC_CLK_TCK')


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).is_file() else []
