# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Round-trip time of a joint state through the node, compared with a bare relay that only copies.

    python benchmarks/latency.py [--rounds 10] [--seconds 3] [--quick]

Both run as processes of their own under the same scheduling; a probe publishes joint states and
times the replies, in interleaved rounds of one run. The relay is written like an rclpy tutorial: a
SingleThreadedExecutor calls a function that publishes a JointState's seven positions as a
Float64MultiArray.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
import gc
import os
import struct
import subprocess
import sys
import time
from typing import Any

import numpy as np
from timing import machine, new_parser

from franka_dynamics.ros.clients.node_group import use_isolated_network
from franka_dynamics.ros.realtime import request_realtime

DEVICES = ('node', 'relay')
NODES_COMMAND = 'feedforward/command'
RATE_HZ = 1000.0
_WARM_UP_S = 0.5  # [s] at the start of each round, not counted
_START_S = 120.0  # [s]; reached only if something is broken
_SLOWLY_S = 2e-3  # time for the reply to each state while replies are learnt
_STATES = 64  # number of different joint states, sent in turn
# Format of a command's second of seven values, and its distance from the message's end [bytes].
_SECOND = struct.Struct('<d')
_FROM_END = 6 * 8


@dataclass
class Round:
    """Times [s] at which each joint state of a round was sent and answered (NaN: never)."""

    sent: np.ndarray
    replied: np.ndarray

    @property
    def trips(self) -> np.ndarray:
        """Round-trip times of the answered states [s]."""
        return (self.replied - self.sent)[np.isfinite(self.replied)]

    @property
    def lost(self) -> int:
        """Number of states that were never answered."""
        return int(np.isnan(self.replied).sum())


class Probe:
    """
    Publishes serialized joint states and times the replies.

    Positions differ by a microradian from state to state, so that the second value of a reply
    identifies the answered state, if the reply is less than 64 states late.
    """

    def __init__(self) -> None:
        import rclpy
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from rclpy.serialization import serialize_message
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray
        from std_srvs.srv import Trigger

        from franka_dynamics.arm import load
        from franka_dynamics.ros.rclpy_private import Executor
        from franka_dynamics.ros.receivers.receiver_kinds import (
            DECLARATION_SERVICES,
            ReceiverKind,
        )

        arm = load('fr3')
        rclpy.init()
        self._node = rclpy.create_node('latency_probe')
        # The node stops while the relay is measured, because it gets no states; after six such
        # stops within a minute it needs to be told to go on.
        self._request = Trigger.Request()
        self._clear = self._node.create_client(Trigger, '/feedforward/clear_fault')
        # The node knows a simulated arm, the only receiver it accepts here, by its service.
        declared = DECLARATION_SERVICES[ReceiverKind.SIMULATED_ARM]
        self._declared = self._node.create_service(Trigger, declared, lambda _, answer: answer)
        self._executor = Executor()
        self._executor.add_node(self._node)
        qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
        self._states = [
            bytearray(
                serialize_message(
                    JointState(
                        name=list(arm.joint_names),
                        position=(arm.home_position + 1e-6 * k).tolist(),
                        velocity=[0.0] * 7,
                    )
                )
            )
            for k in range(_STATES)
        ]
        self._publishers: dict[str, Any] = {}
        # Offset and slope of a reply's second value as a function of the answered state's number.
        self._line: dict[str, tuple[float, float]] = {}
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
        """Learn a reply's second value as a linear function of the answered state's number."""
        ends = []
        for number in (0, _STATES - 1):
            until = time.monotonic() + _START_S
            recent: list[float] = []
            # Wait for 100 equal replies: at first the node's torque ramps up. On a busy machine
            # some states get no reply in time.
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

    def measure(self, device: str, seconds: float, warm_up: float = _WARM_UP_S) -> Round:
        """Send joint states at RATE_HZ once node or relay answers; return the times."""
        until = time.monotonic() + _START_S
        # Ask until the node commands again: it stopped after its last round and first needs
        # several good states.
        while self._ask(device, 0) is None and time.monotonic() < until:
            if device == 'node':
                self._clear.call_async(self._request)
        not_counted = round(warm_up * RATE_HZ)
        count = round((seconds + warm_up) * RATE_HZ)
        made = Round(np.zeros(count), np.full(count, np.nan))
        line = self._line[device]
        deadline = time.perf_counter()
        for k in range(count):
            # After a delay of this process the next state is due half a period later, without a
            # burst.
            deadline = max(deadline, time.perf_counter() - 0.5 / RATE_HZ) + 1.0 / RATE_HZ
            made.sent[k] = time.perf_counter()
            self._send(device, k % _STATES)
            self._collect(deadline, line, k, made)
        self._collect(time.perf_counter() + 0.01, line, count - 1, made)
        counted = Round(made.sent[not_counted:], made.replied[not_counted:])
        if not len(counted.trips):
            raise SystemExit(f'{device} answered nothing in a round; see its output above')
        return counted

    def _collect(self, until: float, line: tuple[float, float], newest: int, made: Round) -> None:
        """Note the times of the replies that come before a deadline."""
        while (left := until - time.perf_counter()) > 0.0:
            self._reply = None
            self._executor.spin_once(timeout_sec=left)
            if self._reply is not None:
                number = round((self._reply - line[0]) / line[1])
                asked = newest - (newest - number) % _STATES
                if asked >= 0 and np.isnan(made.replied[asked]):
                    made.replied[asked] = self._replied_at

    def _send(self, device: str, number: int) -> None:
        data = self._states[number]
        now = time.time_ns()
        data[4:8] = (now // 10**9).to_bytes(4, 'little')
        data[8:12] = (now % 10**9).to_bytes(4, 'little')
        self._publishers[device].publish(bytes(data))


def remapped(device: str, command: str) -> list[str]:
    """Return ROS arguments that remap topics to /node/... or /relay/..."""
    topics = {'joint_states': f'/{device}/joint_states', command: f'/{device}/command'}
    return [
        '--ros-args',
        *(word for pair in topics.items() for word in ('-r', ':='.join(pair))),
    ]


@contextmanager
def devices(
    names: Sequence[str] = DEVICES, parameters: Sequence[str] = ()
) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Run the feedforward node, with more `parameters` as ROS arguments, and the relay."""
    options = ['-p', 'target:=mujoco', '--log-level', 'error']
    options += [word for one in parameters for word in ('-p', one)]
    node = [
        '-m',
        'franka_dynamics.ros.node.feedforward_node',
        *remapped('node', NODES_COMMAND),
    ]
    words = {
        'node': [*node, *options],
        'relay': [__file__, '--relay', *remapped('relay', 'command')],
    }
    processes = {name: subprocess.Popen([sys.executable, *words[name]]) for name in names}
    try:
        yield processes
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            process.wait()


def relay() -> None:
    """Publish each joint state's positions until stopped."""
    import rclpy
    from rclpy.qos import QoSProfile, ReliabilityPolicy
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    from franka_dynamics.ros.rclpy_private import RCLError

    request_realtime()
    rclpy.init()
    node = rclpy.create_node('relay')
    reliable, best_effort = (
        QoSProfile(depth=1, reliability=one)
        for one in (ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT)
    )
    publisher = node.create_publisher(Float64MultiArray, 'command', reliable)

    def copy(message: JointState) -> None:
        publisher.publish(Float64MultiArray(data=list(message.position)))

    node.create_subscription(JointState, 'joint_states', copy, best_effort)
    gc.collect()
    gc.freeze()
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        rclpy.try_shutdown()
    except RCLError:  # the signal's handler has shut the context down while it was waited for
        if rclpy.ok():
            raise


def main() -> int:
    """Measure round-trip times of node and relay; print percentiles and their ratios."""
    parser = new_parser(__doc__)
    parser.add_argument('--rounds', type=int, default=10)
    parser.add_argument(
        '--seconds',
        type=float,
        default=3.0,
        help='duration of a round of node or relay [s]',
    )
    parser.add_argument('--quick', action='store_true', help='one round of a second')
    parser.add_argument('--relay', action='store_true', help='be the relay')
    arguments, _ = parser.parse_known_args()
    if arguments.relay:
        relay()
        return 0
    use_isolated_network()
    request_realtime()
    scheduling = 'SCHED_FIFO' if os.sched_getscheduler(0) == os.SCHED_FIFO else 'not real-time'
    count = arguments.rounds
    seconds = arguments.seconds
    if arguments.quick:
        count = 1
        seconds = 1.0
    rounds: dict[str, list[Round]] = {device: [] for device in DEVICES}
    with devices():
        probe = Probe()
        for device in DEVICES:
            probe.learn(device)
        for _ in range(count):
            for device in DEVICES:
                rounds[device].append(probe.measure(device, seconds))
    print(f'{machine()}; {scheduling}; at {RATE_HZ:.0f} Hz')
    # Ratio of the node's to the relay's times in each pair of rounds: a stall affects one pair
    # only.
    shares = [
        np.percentile(node.trips, (50, 99)) / np.percentile(relay.trips, (50, 99))
        for node, relay in zip(rounds['node'], rounds['relay'])
    ]
    print('node / relay, median of rounds: p50 {:.2f}, p99 {:.2f}'.format(*np.median(shares, 0)))
    for device, measured in rounds.items():
        trips = np.concatenate([one.trips for one in measured])
        lost = sum(one.lost for one in measured) / sum(len(one.sent) for one in measured)
        p50, p99 = np.percentile(1e6 * trips, (50, 99))
        print(f'{device}: p50 {p50:.0f} us, p99 {p99:.0f} us, never answered {lost:.1%}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
