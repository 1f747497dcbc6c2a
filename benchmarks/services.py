# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How long the torque waits while services, parameters and references are handled.

    python benchmarks/services.py [--rounds 5]

The feedforward node is one process. A driver publishes joint states at 1 kHz and notes how long
each state waits for a torque; a client, a third process, makes one request at a time.

The table gives the longest wait around each request: median and largest of the rounds. The row
'nothing', measured without a request, shows the machine's share of the wait.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import os
import subprocess
import sys
import time
from typing import Any

from latency import NODES_COMMAND, Probe, RATE_HZ, remapped
from lifecycle_msgs.srv import ChangeState
import numpy as np
from rcl_interfaces import srv
import rclpy
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger
from timing import machine
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.ros.node_group import use_isolated_network

_NAME = 'feedforward'
_PARAMETERS = (
    '1 parameter',
    '13 parameters',
    '100 parameters',
    '1000 parameters',
    '1000 parameters atomically',
    'trajectory of 2000 points',
    'all parameters listed and described',
)
REQUESTS = ('nothing', *_PARAMETERS, 'clear_fault')
_ROUND_S = 1.0


class Driver:
    """Publishes joint states, and notes the times of the node's torque commands."""

    def __init__(self) -> None:
        from franka_dynamics.ros.node_process import request_realtime

        # Scheduling is set before rclpy.init, because the middleware's threads inherit the
        # scheduling.
        request_realtime()
        self._probe = Probe()

    def drive(self, seconds: float) -> tuple[np.ndarray, np.ndarray]:
        """Publish joint states for a time [s]; return the times of states and commands [s]."""
        made = self._probe.measure('node', seconds, RATE_HZ, warm_up=0.0)
        return made.sent, np.sort(made.replied[np.isfinite(made.replied)])

    def wait_for_commands(self) -> None:
        """Drive until commands come."""
        self._probe.learn('node')


def longest_wait(sent: np.ndarray, arrivals: np.ndarray) -> float:
    """Return the longest time from a joint state to the next torque [s]."""
    waits = np.append(arrivals, np.inf)[np.searchsorted(arrivals, sent)] - sent
    if not np.isfinite(waits).any():
        raise SystemExit('no torque came; see the node above')
    return float(waits[np.isfinite(waits)].max())


class Client:
    """Makes requests of the feedforward node, each named by a line, one of REQUESTS."""

    def __init__(self) -> None:
        rclpy.init()
        self._node = rclpy.create_node('client')
        self._kinds = kinds = {
            'set_parameters': srv.SetParameters,
            'set_parameters_atomically': srv.SetParametersAtomically,
            'list_parameters': srv.ListParameters,
            'describe_parameters': srv.DescribeParameters,
            'clear_fault': Trigger,
            'change_state': ChangeState,
        }
        self._clients = {
            service: self._node.create_client(kind, f'{_NAME}/{service}')
            for service, kind in kinds.items()
        }
        self._reference = self._node.create_publisher(JointTrajectory, f'{_NAME}/reference', 10)
        for client in self._clients.values():
            client.wait_for_service()
        self._still = standing_still()

    def _call(self, service: str, **fields: Any) -> Any:
        future = self._clients[service].call_async(self._kinds[service].Request(**fields))
        rclpy.spin_until_future_complete(self._node, future, timeout_sec=20.0)
        if future.result() is None:
            raise SystemExit(f'no answer of {service}')
        return future.result()

    def request(self, line: str) -> None:
        """Make one request; exit if nobody answers it, or the node refuses valid parameters."""
        words = line.split()
        if words[0] == 'nothing':
            time.sleep(0.5)
        elif words[0] == 'trajectory':
            self._reference.publish(self._still)
            time.sleep(0.5)
        elif words[0] == 'all':
            names = self._call('list_parameters').result.names
            self._call('describe_parameters', names=names)
        elif words[0] == 'clear_fault':
            self._call('clear_fault')
        else:
            entries = [
                Parameter('scale', value=1.0 - 1e-6 * k).to_parameter_msg()
                for k in range(int(words[0]))
            ]
            atomically = words[-1] == 'atomically'
            answer = self._call(
                'set_parameters_atomically' if atomically else 'set_parameters', parameters=entries
            )
            results = [answer.result] if atomically else answer.results
            if not all(result.successful for result in results):
                raise SystemExit(f'{line}: {results[-1].reason}')


def standing_still() -> Any:
    """Return a trajectory of 2,000 equal points at the arm's home."""
    from franka_dynamics.arm import load
    from franka_dynamics.ros.messages import trajectory_message

    arm = load('fer')
    times, still = np.linspace(0.01, 100.0, 2000), np.zeros((2000, 7))
    return trajectory_message(
        list(arm.joint_names), times, np.tile(arm.home, (2000, 1)), still, still
    )


def serve_requests() -> None:
    """Run as the client, under ordinary scheduling, in place of a program on another machine."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    client = Client()
    print('ready', flush=True)
    for line in sys.stdin:
        client.request(line)
        print('done', flush=True)


@contextmanager
def processes(words: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Run the node and the client; yield the client."""
    module = f'franka_dynamics.ros.{_NAME}_node'
    node = subprocess.Popen([sys.executable, '-m', module, *words, '--log-level', 'error'])
    asking = subprocess.Popen(
        [sys.executable, __file__, '--client'],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield asking
    finally:
        asking.kill()  # it waits for standard input, where SIGINT does not end it
        node.terminate()
        for process in (asking, node):
            process.wait()


def run(rounds: int) -> dict[str, list[float]]:
    """Return the longest wait for a torque around each request, of every round [s]."""
    figures: dict[str, list[float]] = {request: [] for request in REQUESTS}
    driver = Driver()
    # 1,000 parameters delay joint states for longer than the default state_timeout: the node would
    # stop each time, and latch a fault at the sixth.
    parameters = ['-p', 'target:=mujoco', '-p', 'state_timeout:=0.5']
    words = [*remapped('node', NODES_COMMAND), *parameters]
    with processes(words) as asking:
        assert asking.stdin is not None and asking.stdout is not None
        asking.stdout.readline()
        driver.wait_for_commands()
        driver.drive(_ROUND_S)  # without a pause, after which the node would wait for new states
        for _ in range(rounds):
            for request in REQUESTS:
                asking.stdin.write(request + '\n')
                asking.stdin.flush()
                figures[request].append(longest_wait(*driver.drive(_ROUND_S)))
                if not asking.stdout.readline():
                    raise SystemExit(f'{request}: the client has ended; see its output above')
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the longest wait for a torque around each request."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').strip().split('\n')[0])
    parser.add_argument('--rounds', type=int, default=5, help='default: %(default)s')
    parser.add_argument('--client', action='store_true', help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.client:
        serve_requests()
        return 0
    use_isolated_network()
    figures = run(options.rounds)
    print(
        f'{machine()}\nlongest wait for a torque [ms]; median, largest of {options.rounds} rounds'
    )
    for request, waits in figures.items():
        print(f'{request:36}{1e3 * np.median(waits):9.1f}{1e3 * max(waits):7.1f}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
