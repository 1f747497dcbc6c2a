# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Run `franka-dynamics demo` several times on a quiet or a busy machine; print a line for each run.

python benchmarks/demo_runs.py --runs 10
python benchmarks/demo_runs.py --runs 10 --busy 4 --no-realtime
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import time

from franka_dynamics.ros.node_process import OFF, REALTIME_VARIABLE

HEADS = (
    'run  exit  pacing    rate Hz       missed  p50 us  p99 us  tracking/bound mrad  '
    'drift rad  load before, after  s'
)


def one_run(number: int, options: list[str], environment: dict[str, str]) -> str:
    """Run `franka-dynamics demo` once; return its figures as a line of the table."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, '-m', 'franka_dynamics', 'demo', '--output', scratch, *options]
        load = os.getloadavg()[0]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        written = list(Path(scratch).glob('*/demo.json'))
        took = time.monotonic() - began
        if not written:
            last = (done.stderr.strip() or 'it said nothing').splitlines()[-1]
            return f'{number:3}  {done.returncode:4}  {last}  {took:.0f} s'
        content = json.loads(written[0].read_text())
    machine, figures = content['machine'], content['figures']
    tracking = figures['tracking error, M ddq + C dq + g + PD']
    p50, p99 = (1e6 * value for value in machine['round_trip'])
    missed = f'{machine["missed"]}/{machine["steps"]}'
    return (
        f'{number:3}  {done.returncode:4}  {"lockstep" if machine["lockstep"] else "clock   "}  '
        f'{figures["update rate"]["value"]:7.1f}  {missed:>11}  {p50:6.0f}  {p99:6.0f}  '
        f'{1e3 * tracking["value"]:8.2f} / {tracking["bound"]:>10}  '
        f'{figures["drift while holding without feedback"]["value"]:.1e}  '
        f'{load:.1f}, {os.getloadavg()[0]:.1f}  {took:.0f} s  {machine["too_busy"]}'
    )


def main() -> None:
    """Run the demonstration `--runs` times beside `--busy` busy processes; print a line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--runs', type=int, default=10)
    parser.add_argument(
        '--busy', type=int, default=0, help='number of busy processes beside the demonstration'
    )
    parser.add_argument(
        '--no-realtime', action='store_true', help='run without real-time scheduling'
    )
    arguments, options = parser.parse_known_args()
    environment = {**os.environ, **({REALTIME_VARIABLE: OFF} if arguments.no_realtime else {})}
    busy = [
        subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(arguments.busy)
    ]
    try:
        print(HEADS, flush=True)
        for number in range(1, arguments.runs + 1):
            print(one_run(number, options, environment), flush=True)
    finally:
        for process in busy:
            process.kill()


if __name__ == '__main__':
    main()
