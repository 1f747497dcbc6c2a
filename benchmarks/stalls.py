# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
When a processor stood still for everybody, as a virtual one does while its host is busy.

A process on each processor, above everything measured (SCHED_FIFO 60), sleeps half a millisecond
again and again. Where it wakes late, nobody else could run there either.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np

_PRIORITY, _PERIOD_S, _LATE_S = 60, 5e-4, 5e-4


class StallMeter:
    """Notes stalls from its making to `read`."""

    def __init__(self) -> None:
        self._meters = [
            subprocess.Popen(
                [sys.executable, __file__, str(processor)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for processor in sorted(os.sched_getaffinity(0))
        ]

    def read(self) -> np.ndarray:
        """End the meters; return begin and end of each stall, shape (k, 2), by perf_counter."""
        stalls = []
        for meter in self._meters:
            out, _ = meter.communicate('')
            stalls += [[float(word) for word in line.split()] for line in out.splitlines()]
        return np.array(sorted(stalls)).reshape(-1, 2)


def net_of(stalls: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return how much of each interval no processor stood still [s]; arrays of shape (n,)."""
    net = end - begin
    covered = begin.copy()  # up to where an interval's stalls have been taken off already
    for first, last in stalls:
        overlap = np.minimum(end, last) - np.maximum(covered, first)
        net = net - np.maximum(overlap, 0.0)
        covered = np.where(overlap > 0.0, np.minimum(end, last), covered)
    return net


def watch(processor: int) -> None:
    """Watch one processor until standard input ends; then print begin and end of each stall."""
    import select

    os.sched_setaffinity(0, {processor})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    found = []
    before = time.perf_counter()
    while not select.select([sys.stdin], [], [], 0.0)[0]:
        time.sleep(_PERIOD_S)
        now = time.perf_counter()
        if now - before > _PERIOD_S + _LATE_S:
            found.append((before + _PERIOD_S, now))
        before = now
    print('\n'.join(f'{first:.6f} {last:.6f}' for first, last in found))


if __name__ == '__main__':
    watch(int(sys.argv[1]))
