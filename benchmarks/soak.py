# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Feed the node joint states at 1 kHz for a long time: its memory must not grow.

    python benchmarks/soak.py [--seconds 600]

Exit status 0 if the resident memory after a warm-up of a sixth of the time (at most a minute)
grows by no more than 1 MiB until the end, 1 if it grows by more.
"""

import os
from pathlib import Path
import sys
import time

from latency import devices, Probe
from timing import new_parser

from franka_dynamics.ros.clients.node_group import use_isolated_network

MOST_GROWTH_MIB = 1.0
# On a busy machine the node must not stop where states are late: this is about its memory.
_PATIENT = ('period:=2.5', 'max_state_age:=0.0')
_PIECE_S = 2.0  # duration of one measurement [s]; the end is checked after each


def resident_mib(pid: int) -> float:
    """Return a process's resident memory [MiB] (Linux)."""
    pages = int(Path(f'/proc/{pid}/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / 2**20


def main() -> int:
    """Run the feedforward node; return 1 if its memory grew over 1 MiB after warm-up, else 0."""
    parser = new_parser(__doc__)
    parser.add_argument('--seconds', type=float, default=600.0)
    arguments = parser.parse_args()
    use_isolated_network()
    warm_up = min(60.0, arguments.seconds / 6.0)
    first = None
    with devices(('node',), _PATIENT) as processes:
        probe = Probe()
        probe.learn('node')
        began = time.monotonic()
        trips = 0
        lost = 0
        while (passed := time.monotonic() - began) < arguments.seconds or first is None:
            if first is None and passed > warm_up:
                first = resident_mib(processes['node'].pid)
            measured = probe.measure('node', _PIECE_S)
            trips = trips + len(measured.trips)
            lost = lost + measured.lost
        growth = resident_mib(processes['node'].pid) - first
    print(
        f'{trips} replies, {lost} joint states never answered; resident memory {first:.1f} MiB '
        f'after the warm-up, then {growth:+.2f} MiB (at most {MOST_GROWTH_MIB} allowed)'
    )
    return 0 if growth <= MOST_GROWTH_MIB else 1


if __name__ == '__main__':
    sys.exit(main())
