# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Round trip of a joint state through the node, beside a bare relay that only copies.

    python benchmarks/latency.py [--rounds 10] [--seconds 3]

Both run as processes of their own under the same scheduling; a probe publishes joint states and
times the replies, in interleaved rounds of one run. The relay is rclpy as a tutorial has it:
SingleThreadedExecutor, a JointState decoded, seven numbers copied, a Float64MultiArray published.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
import json
from pathlib import Path
import struct
import subprocess
import sys
import time
from typing import Any

import numpy as np
from timing import busy_seconds, machine

from franka_dynamics.ros.node_group import use_isolated_network

DEVICES = ('node', 'relay')
HOME = Path(__file__).resolve().parent
_WARM_UP_S = 0.5  # of each round, not counted
_START_S = 120.0  # only reached where something is broken
_SLOWLY_S = 2e-3
_STATES = 64  # different ones in a row
_SECOND, _FROM_END = struct.Struct('<d'), 6 * 8  # of the seven values at a command's end


@dataclass
class Round:
    """What one round of one device gave: round trips [s], and how many were never answered."""

    trips: np.ndarray
    lost: int
    foreign: float


class Probe:
    """
    Publishes serialized joint states and times the replies.

    Positions differ by a microradian from state to state, so that a reply tells by its second
    value which state it answers, however late it comes.
    """

    def __init__(self) -> None:
        import rclpy
        from rclpy.experimental import EventsExecutor
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from rclpy.serialization import serialize_message
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        from franka_dynamics.arm import load

        arm = load('fer')
        rclpy.init()
        self._node = rclpy.create_node('latency_probe')
        self._executor = EventsExecutor()
        self._executor.add_node(self._node)
        qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
        self._states = [
            bytearray(
                serialize_message(
                    JointState(
                        name=list(arm.joint_names),
                        position=[q + 1e-6 * k for q in arm.home],
                        velocity=[0.0] * 7,
                        effort=[0.0] * 7,
                    )
                )
            )
            for k in range(_STATES)
        ]
        self._publishers: dict[str, Any] = {}
        self._line: dict[str, tuple[float, float]] = {}  # of the replies over the state's number
        self._reply: float | None = None
        self._replied_at = 0.0
        for device in DEVICES:
            self._publishers[device] = self._node.create_publisher(
                JointState, f'/{device}/joint_states', qos
            )
            self._node.create_subscription(
                Float64MultiArray,
                f'/{device}/command',
                self._note,
                QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT),
                raw=True,
            )

    def _note(self, data: bytes) -> None:
        self._replied_at = time.perf_counter()
        self._reply = _SECOND.unpack_from(data, len(data) - _FROM_END)[0]

    def learn(self, device: str) -> None:
        """Publish slowly until replies are steady, then learn what they are."""
        ends = []
        for number in (0, _STATES - 1):
            until = time.monotonic() + _START_S
            recent: list[float] = []
            # The node's torque rises to its value first. On a busy machine not every state is
            # answered in time.
            while not (len(recent) > 100 and np.ptp(recent[-100:]) < 1e-9):
                reply = self._ask(device, number)
                recent += [] if reply is None else [reply]
                if time.monotonic() > until:
                    raise SystemExit(f'{device} does not answer steadily; see its output above')
            ends.append(recent[-1])
        self._line[device] = ends[0], (ends[1] - ends[0]) / (_STATES - 1)

    def _ask(self, device: str, number: int) -> float | None:
        self._reply = None
        self._send(device, number)
        end = time.perf_counter() + _SLOWLY_S
        while (left := end - time.perf_counter()) > 0.0:
            self._executor.spin_once(timeout_sec=left)
        return self._reply

    def measure(self, device: str, seconds: float, rate: float) -> Round:
        """Send at a rate for a while, from where it answers on; return the round trips."""
        until = time.monotonic() + _START_S
        # The node has stopped since its last round, and trusts no state at once.
        while self._ask(device, 0) is None and time.monotonic() < until:
            pass
        count = round((seconds + _WARM_UP_S) * rate)
        warm_up = round(_WARM_UP_S * rate)
        sent, trips = np.zeros(count), np.full(count, np.nan)
        line = self._line[device]
        busy, own, began = busy_seconds(), time.process_time(), time.perf_counter()
        deadline = began
        for k in range(count):
            # Never a burst: where the probe was held up, the next state is due a period later.
            deadline = max(deadline, time.perf_counter() - 0.5 / rate) + 1.0 / rate
            sent[k] = time.perf_counter()
            self._send(device, k % _STATES)
            self._collect(deadline, line, k, sent, trips)
        self._collect(time.perf_counter() + 0.01, line, count - 1, sent, trips)
        elapsed = time.perf_counter() - began
        load = (busy_seconds() - busy - (time.process_time() - own)) / elapsed
        trips = trips[warm_up:]
        lost = np.isnan(trips)
        if lost.all():
            raise SystemExit(f'{device} answered nothing in a round; see its output above')
        return Round(trips[~lost], int(lost.sum()), load)

    def _collect(
        self,
        until: float,
        line: tuple[float, float],
        newest: int,
        sent: np.ndarray,
        trips: np.ndarray,
    ) -> None:
        """Wait, and note the replies that come meanwhile."""
        while (left := until - time.perf_counter()) > 0.0:
            self._reply = None
            self._executor.spin_once(timeout_sec=left)
            if self._reply is not None:
                number = round((self._reply - line[0]) / line[1])
                asked = newest - (newest - number) % _STATES
                if asked >= 0 and np.isnan(trips[asked]):
                    trips[asked] = self._replied_at - sent[asked]

    def _send(self, device: str, number: int) -> None:
        data, now = self._states[number], time.time_ns()
        data[4:8] = (now // 10**9).to_bytes(4, 'little')
        data[8:12] = (now % 10**9).to_bytes(4, 'little')
        self._publishers[device].publish(bytes(data))


@contextmanager
def devices(names: Sequence[str] = DEVICES) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Run the node and the relay as processes."""
    commands = {
        'node': [
            sys.executable,
            '-m',
            'franka_dynamics.ros.feedforward_node',
            '--ros-args',
            '-r',
            'joint_states:=/node/joint_states',
            '-r',
            'feedforward/command:=/node/command',
            '-p',
            'target:=mujoco',
            # It stops after each of its rounds, while the relay is measured.
            '-p',
            'max_restarts:=1000',
            '--log-level',
            'error',
        ],
        'relay': [
            sys.executable,
            str(HOME / 'latency_relay.py'),
            '--ros-args',
            '-r',
            'joint_states:=/relay/joint_states',
            '-r',
            'command:=/relay/command',
        ],
    }
    processes = {name: subprocess.Popen(commands[name]) for name in names}
    try:
        yield processes
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            process.wait()


def stages() -> dict[str, float]:
    """Return the median cost of each part of a cycle, measured in this process [s]."""
    from rclpy.serialization import deserialize_message, serialize_message
    from sensor_msgs.msg import JointState

    from franka_dynamics.arm import load
    from franka_dynamics.control.feedforward import FeedforwardController
    from franka_dynamics.control.settings import Settings
    from franka_dynamics.control.supervision import StateSupervisor, SupervisionLimits
    from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
    from franka_dynamics.ros.serialized import command_bytes, JointStateReader

    arm = load('fer')
    q, zero = arm.home, np.zeros(7)
    message = JointState(
        name=list(arm.joint_names), position=list(q), velocity=[0.0] * 7, effort=[1.0] * 7
    )
    data = bytes(serialize_message(message))
    raw = JointStateReader(arm.joint_names)
    controller = FeedforwardController(arm, Settings(target='mujoco'))
    controller.enable()
    supervisor = StateSupervisor(arm, SupervisionLimits())
    independent = NewtonEulerModel(arm)
    raw.read(data)
    clock = iter(1e-3 * k for k in range(10**9))

    def cycle():
        now = next(clock)
        return controller.cycle(now, q, zero, now, effort=zero)

    for _ in range(300):  # until the start is faded in
        last = cycle()
    parts = {
        'read a joint state, decoded by rclpy': lambda: deserialize_message(data, JointState),
        'read a joint state, bytes': lambda: raw.read(data),
        'supervise the state': lambda: supervisor.observe(now := next(clock), q, zero, now),
        'g(q) and C dq': lambda: (controller.terms.gravity(q), controller.terms.coriolis(q, zero)),
        'whole cycle (state, terms, limits)': cycle,
        'after the command: counts, who compensates gravity': lambda: controller.update_monitors(
            last
        ),
        'on the other thread, once per second: cross-check': lambda: independent.nonlinear_effects(
            q, zero
        ),
        'write a command, bytes': lambda: command_bytes(q),
    }
    costs = {}
    for name, part in parts.items():
        times = []
        for _ in range(2000):
            began = time.perf_counter()
            part()
            times.append(time.perf_counter() - began)
        costs[name] = float(np.median(times))
    return costs


def main() -> int:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--rounds', type=int, default=10)
    parser.add_argument('--seconds', type=float, default=3.0, help='of each round of each device')
    arguments = parser.parse_args()
    use_isolated_network()
    from franka_dynamics.ros.realtime import request_realtime

    no_realtime = request_realtime()
    rounds: dict[tuple[str, float], list[Round]] = {}
    with devices():
        probe = Probe()
        for device in DEVICES:
            probe.learn(device)
        for rate, count in ((1000.0, arguments.rounds), (4000.0, max(1, arguments.rounds // 3))):
            for _ in range(count):
                for device in DEVICES:
                    rounds.setdefault((device, rate), []).append(
                        probe.measure(device, arguments.seconds, rate)
                    )
    figures = {}
    for (device, rate), measured in rounds.items():
        trips = np.concatenate([one.trips for one in measured])
        lost = sum(one.lost for one in measured)
        figures[f'{device} at {rate:.0f} Hz'] = {
            'p50_us': 1e6 * float(np.percentile(trips, 50)),
            'p99_us': 1e6 * float(np.percentile(trips, 99)),
            'lost_share': lost / (lost + len(trips)),
        }
    # Of each pair of neighbouring rounds, so that a stall of the machine spoils one pair only.
    figures['node / relay at 1000 Hz, median of rounds'] = {
        f'p{percent}': float(
            np.median(
                [
                    np.percentile(node.trips, percent) / np.percentile(relay.trips, percent)
                    for node, relay in zip(rounds['node', 1000.0], rounds['relay', 1000.0])
                ]
            )
        )
        for percent in (50, 99)
    }
    # The two devices themselves take about half a core; what is above it is somebody else.
    foreign = float(np.median([one.foreign for measured in rounds.values() for one in measured]))
    report = {
        'machine': machine(),
        'scheduling': no_realtime or 'SCHED_FIFO',
        'busy_cores_beside_the_probe': foreign,
        'figures': figures,
        'stages_us': {name: 1e6 * cost for name, cost in stages().items()},
    }
    print(json.dumps(report, indent=2))
    return 0


if __name__ == '__main__':
    sys.exit(main())
