# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Where a joint state's round trip goes in a node that is woken up for it, and what could be saved.

    python benchmarks/latency_profile.py [--rounds 10] [--seconds 3] [--json FILE]

Four processes are measured in interleaved rounds at 1 kHz, as `latency.py` does: the node as it
is, which answers by the compiled cycle; the same node without that (`compiled_cycle: false`); the
same node with no computation at all before the command, its floor; and the bare relay of
`latency.py`. In the first two the time is noted between the parts of a cycle.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
import json
from pathlib import Path
import subprocess
import sys
import time
from typing import Any

from latency import HOME, Probe
import numpy as np
from timing import machine

VARIANTS = ('node', 'python', 'floor', 'relay')
FIRST = 'sent, until the callback runs: DDS, wake-up, executor'
LAST = 'written and published, until the reply is noticed: DDS, wake-up'
PARTS = {
    'node': (FIRST, 'the clocks, the lock and the compiled call', LAST),
    'python': (
        FIRST,
        'read the bytes',
        'supervise the state',
        'g(q) and C dq',
        'limits, and the rest of the cycle in Python',
        LAST,
    ),
}


def now() -> int:
    """Return the wall clock [ns] without the digits that a double would not hold."""
    return time.time_ns() % 10**14


def stamp_of(data: bytes) -> int:
    """Return a serialized joint state's stamp, as `now`."""
    seconds, rest = (int.from_bytes(data[k : k + 4], 'little') for k in (4, 8))
    return (seconds * 10**9 + rest) % 10**14


def run_node(variant: str, notes: Path) -> int:
    """Run the node with its cycle changed or noted; write what was noted when it ends."""
    from franka_dynamics.ros import feedforward_cycle, feedforward_node

    rows: list[tuple[float, ...]] = []
    served = feedforward_cycle.FeedforwardCycle
    marks = [0.0] * (len(PARTS.get(variant, ())) - 1)

    def after(method: Callable[..., Any], place: int) -> Callable[..., Any]:
        def noted(*arguments: Any, **options: Any) -> Any:
            found = method(*arguments, **options)
            marks[place] = now()
            return found

        return noted

    def instrument(self: Any) -> None:
        controller, publish = self.controller, self.publish_command
        if variant == 'python':
            self._reader.read = after(self._reader.read, 1)
            controller.supervisor.observe = after(controller.supervisor.observe, 2)
            terms = controller.law.terms
            terms.coriolis = after(terms.coriolis, 3)

        def published(torque: Any) -> None:
            marks[-1] = now()
            publish(torque)

        self.publish_command = published
        self.noted = True

    def instrumented(self: Any, data: bytes) -> None:
        if not hasattr(self, 'noted'):
            instrument(self)
        marks[0] = now()
        usual(self, data)
        rows.append((stamp_of(data), *marks))

    def command_first(self: Any, data: bytes) -> None:
        """Publish seven numbers that tell which state is answered; compute after that."""
        if not hasattr(self, 'stays'):
            self.stays = type('Stays', (), {'publish': lambda *_: None})()
            self.header = bytes(self._command_bytes.serialize(np.zeros(7))[:-56])
        layout = self._reader._layout
        if layout is not None and self.controller.mode is feedforward_cycle.Mode.RUNNING:
            command = self.header + data[layout.begin : layout.begin + 56]
            self.command_watch.sent(command)
            self._command_publisher.publish(command)
            publisher, self._command_publisher = self._command_publisher, self.stays
            usual(self, data)
            self._command_publisher = publisher
        else:
            usual(self, data)

    usual = served.on_joint_state
    served.on_joint_state = command_first if variant == 'floor' else instrumented
    try:
        return feedforward_node.main(sys.argv[sys.argv.index('--') + 1 :])
    finally:
        np.save(notes, np.array(rows))


class NotingProbe(Probe):
    """Notes as well when each state was sent and when its reply came, by the wall clock."""

    def __init__(self) -> None:
        super().__init__()
        self.came_at: dict[str, dict[int, int]] = {name: {} for name in VARIANTS}
        self._device = ''
        self._stamps: dict[int, int] = {}

    def _send(self, device: str, number: int) -> None:
        super()._send(device, number)
        self._device = device
        self._stamps[number] = stamp_of(self._states[number])

    def _note(self, data: bytes) -> None:
        super()._note(data)
        self.arrived = now()

    def _collect(self, until: float, line: Any, newest: int, sent: Any, trips: Any) -> None:
        known = np.isnan(trips[: newest + 1])
        super()._collect(until, line, newest, sent, trips)
        for k in np.flatnonzero(known & ~np.isnan(trips[: newest + 1]))[-1:]:
            self.came_at[self._device][self._stamps[int(k) % len(self._states)]] = self.arrived


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--rounds', type=int, default=10)
    parser.add_argument('--seconds', type=float, default=3.0)
    parser.add_argument('--json', type=Path)
    parser.add_argument('--node', choices=VARIANTS[:-1], help=argparse.SUPPRESS)
    parser.add_argument('--notes', type=Path, help=argparse.SUPPRESS)
    arguments, _ = parser.parse_known_args()
    if arguments.node:
        return run_node(arguments.node, arguments.notes)
    import tempfile

    import latency

    from franka_dynamics.ros.node_group import use_isolated_network
    from franka_dynamics.ros.node_parts import request_realtime

    use_isolated_network()
    no_realtime = request_realtime()
    latency.DEVICES = VARIANTS
    trips: dict[str, list[Any]] = {name: [] for name in VARIANTS}
    with tempfile.TemporaryDirectory() as folder:
        processes = {name: _start(name, Path(folder)) for name in VARIANTS}
        try:
            probe = NotingProbe()
            for name in VARIANTS:
                probe.learn(name)
            for _ in range(arguments.rounds):
                for name in VARIANTS:
                    trips[name].append(probe.measure(name, arguments.seconds, 1000.0).trips)
        finally:
            for process in processes.values():
                process.terminate()
            for process in processes.values():
                process.wait()
        rows = {name: np.load(Path(folder) / f'{name}.npy') for name in PARTS}
    report = {
        'machine': machine(),
        'scheduling': no_realtime or 'SCHED_FIFO',
        'round trips [us]': {
            name: {
                f'p{percent}': 1e6 * float(np.percentile(np.concatenate(found), percent))
                for percent in (50, 99)
            }
            for name, found in trips.items()
        },
        'over the relay, median of rounds': {
            name: {
                f'p{percent}': float(
                    np.median(
                        [
                            np.percentile(one, percent) / np.percentile(other, percent)
                            for one, other in zip(found, trips['relay'])
                        ]
                    )
                )
                for percent in (50, 99)
            }
            for name, found in trips.items()
        },
        'parts [us]': {
            name: parts(PARTS[name], rows[name], probe.came_at[name]) for name in PARTS
        },
    }
    print(json.dumps(report, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + '\n')
    return 0


def _start(name: str, folder: Path) -> subprocess.Popen[bytes]:
    remapped = ['--ros-args', '-r', f'joint_states:=/{name}/joint_states']
    if name == 'relay':
        words = [str(HOME / 'latency_relay.py'), *remapped, '-r', 'command:=/relay/command']
    else:
        kept = str(folder / f'{name}.npy')
        words = [__file__, '--node', name, '--notes', kept, '--', *remapped]
        words += ['-r', f'feedforward/command:=/{name}/command', '-r', f'__ns:=/n_{name}']
        words += ['-p', 'target:=mujoco', '--log-level', 'error']
        words += ['-p', f'compiled_cycle:={name == "node"}'.lower()]
    return subprocess.Popen([sys.executable, *words])


def parts(names: Sequence[str], rows: Any, came_at: dict[int, int]) -> dict[str, dict[str, float]]:
    """Return p50 and p99 of each part, of the states whose reply was noticed [us]."""
    found = [row for row in rows if int(row[0]) in came_at]
    ends = np.array([[*row, came_at[int(row[0])]] for row in found])
    # A state that was not answered has the notes of the one before it, or another's reply.
    ends = ends[(np.diff(ends, axis=1) >= 0).all(axis=1) & (ends[:, -1] - ends[:, 0] < 5e6)]
    spent, whole = 1e-3 * np.diff(ends, axis=1), 1e-3 * (ends[:, -1] - ends[:, 0])
    # What the slowest ones are slow by: those within half a percent of the 99th percentile.
    slow = (whole >= np.percentile(whole, 98.5)) & (whole <= np.percentile(whole, 99.5))
    return {
        name: {
            'p50': float(np.median(column)),
            'p99': float(np.percentile(column, 99)),
            'mean where the whole is at its p99': float(column[slow].mean()),
        }
        for name, column in zip((*names, 'in all'), (*spent.T, whole))
    }


if __name__ == '__main__':
    sys.exit(main())
