# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How long services, parameters and references hold up the feedforward node's torque.

    python benchmarks/services.py [--rounds 5] [--json FILE]

The node runs as a process of its own. A driver publishes joint states at 1 kHz and notes how long
each waits for the next command; a client, a third process, makes one request at a time. What is
reported is the longest wait around each request, of all rounds, beside the longest of as many
seconds without any. A state that the driver itself sent late is not counted as waiting.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import json
from pathlib import Path
import subprocess
import sys
import time
from typing import Any

import numpy as np
from timing import machine

from franka_dynamics.ros.isolated_network import use_loopback

REQUESTS = (
    'nothing',
    '13 parameters',
    '100 parameters',
    '1000 parameters',
    '1000 parameters atomically',
    'trajectory of 10000 points',
)
_RATE_HZ, _ROUND_S, _START_S = 1000.0, 1.0, 30.0
_NODE = 'feedforward'


class Driver:
    """Publishes states that stand still, and notes when commands come."""

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
        self._node = rclpy.create_node('driver')
        self._executor = EventsExecutor()
        self._executor.add_node(self._node)
        self._state = bytearray(
            serialize_message(
                JointState(
                    name=list(arm.joint_names),
                    position=list(arm.home),
                    velocity=[0.0] * 7,
                    effort=[0.0] * 7,
                )
            )
        )
        self._publisher = self._node.create_publisher(
            JointState, 'joint_states', QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
        )
        self._arrivals: list[float] = []
        self._node.create_subscription(
            Float64MultiArray,
            f'{_NODE}/command',
            lambda _: self._arrivals.append(time.perf_counter()),
            QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT),
            raw=True,
        )

    def drive(self, seconds: float) -> np.ndarray:
        """Return how long each state of some seconds waited for the next command [s]."""
        sent = []
        self._arrivals.clear()
        deadline = time.perf_counter()
        end = deadline + seconds
        while deadline < end:
            deadline = max(deadline, time.perf_counter() - 0.5 / _RATE_HZ) + 1.0 / _RATE_HZ
            now = time.time_ns()
            self._state[4:8] = (now // 10**9).to_bytes(4, 'little')
            self._state[8:12] = (now % 10**9).to_bytes(4, 'little')
            sent.append(time.perf_counter())
            self._publisher.publish(bytes(self._state))
            while (left := deadline - time.perf_counter()) > 0.0:
                self._executor.spin_once(timeout_sec=left)
        arrivals = np.array([*self._arrivals, np.inf])
        waits = arrivals[np.searchsorted(arrivals, sent)] - np.array(sent)
        return waits[np.isfinite(waits)]

    def wait_for_commands(self) -> None:
        """Drive until commands come."""
        give_up = time.monotonic() + _START_S
        while len(self.drive(0.2)) < 100:
            if time.monotonic() > give_up:
                raise SystemExit('the node does not command; see its output above')


def client() -> None:
    """Make the requests that are named on standard input, one a line; answer when done."""
    from rcl_interfaces.srv import SetParameters, SetParametersAtomically
    import rclpy
    from rclpy.parameter import Parameter
    from trajectory_msgs.msg import JointTrajectory

    from franka_dynamics.arm import load
    from franka_dynamics.ros.messages import trajectory_message

    arm = load('fer')
    rclpy.init()
    node = rclpy.create_node('client')
    each = node.create_client(SetParameters, f'{_NODE}/set_parameters')
    atomic = node.create_client(SetParametersAtomically, f'{_NODE}/set_parameters_atomically')
    reference = node.create_publisher(JointTrajectory, f'{_NODE}/reference', 10)
    each.wait_for_service()
    atomic.wait_for_service()
    times = np.linspace(0.01, 100.0, 10000)
    still = trajectory_message(
        list(arm.joint_names),
        times,
        np.tile(arm.home, (10000, 1)),
        np.zeros((10000, 7)),
        np.zeros((10000, 7)),
    )
    print('ready', flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == 'nothing':
            time.sleep(0.5)
        elif words[0] == 'trajectory':
            reference.publish(still)
            time.sleep(0.5)
        else:
            entries = [
                Parameter('scale', value=1.0 - 1e-6 * k).to_parameter_msg()
                for k in range(int(words[0]))
            ]
            call: Any = (
                atomic.call_async(SetParametersAtomically.Request(parameters=entries))
                if words[-1] == 'atomically'
                else each.call_async(SetParameters.Request(parameters=entries))
            )
            rclpy.spin_until_future_complete(node, call, timeout_sec=20.0)
        print('done', flush=True)


@contextmanager
def processes() -> Iterator[subprocess.Popen[str]]:
    """Run the node and the client; yield the client."""
    node = subprocess.Popen(
        [
            sys.executable,
            '-m',
            'franka_dynamics.ros.feedforward_node',
            '--ros-args',
            '-p',
            'target:=mujoco',
            '-p',
            'listen_before_activation:=0.0',
            '-p',
            'max_restarts:=1000',
            '--log-level',
            'error',
        ]
    )
    asking = subprocess.Popen(
        [sys.executable, __file__, '--client'],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield asking
    finally:
        asking.kill()  # which waits for its standard input and heeds no other signal
        node.terminate()
        for process in (asking, node):
            process.wait()


def run(rounds: int) -> dict[str, list[float]]:
    """Return the longest wait of each round around each request [s]."""
    from franka_dynamics.ros.realtime import request_realtime

    driver = Driver()
    longest: dict[str, list[float]] = {name: [] for name in REQUESTS}
    with processes() as asking:
        assert asking.stdin is not None and asking.stdout is not None
        asking.stdout.readline()
        request_realtime()
        driver.wait_for_commands()
        for _ in range(rounds):
            for name in REQUESTS:
                asking.stdin.write(name + '\n')
                asking.stdin.flush()
                longest[name].append(float(driver.drive(_ROUND_S).max()))
                asking.stdout.readline()
    return longest


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, and write JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('--rounds', type=int, default=5, help='default: %(default)s')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write all figures there')
    parser.add_argument('--client', action='store_true', help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.client:
        client()
        return 0
    use_loopback()
    longest = run(options.rounds)
    print(machine())
    print(
        f'{"request":30} longest wait for a command [ms]: median and largest of '
        f'{options.rounds} rounds'
    )
    for name, waits in longest.items():
        print(f'{name:30} {1e3 * np.median(waits):6.1f} {1e3 * max(waits):6.1f}')
    if options.json is not None:
        options.json.write_text(json.dumps({'machine': machine(), 'longest_s': longest}, indent=1))
    return 0


if __name__ == '__main__':
    sys.exit(main())
