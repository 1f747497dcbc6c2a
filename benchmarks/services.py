# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How long the torque waits while services, parameters and references are handled.

    python benchmarks/services.py [--rounds 5] [--quick]

The feedforward node is one process. A driver publishes joint states at 1 kHz and notes how long
each state waits for a torque; a client, a third process, makes one request at a time.

The table gives the longest wait around each request: median and largest of the rounds. The row
'nothing', measured without a request, shows the machine's share of the wait.
"""

from collections.abc import Sequence
import os
import subprocess
import sys

from latency import devices, Probe
import numpy as np
from rcl_interfaces.srv import DescribeParameters, ListParameters, SetParameters
from rclpy.parameter import Parameter
from timing import machine, new_parser
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.arm import load
from franka_dynamics.ros.clients.node_client import NodeClient
from franka_dynamics.ros.clients.node_group import use_isolated_network
from franka_dynamics.ros.realtime import request_realtime
from franka_dynamics.ros.topics import REFERENCE_QOS
from franka_dynamics.ros.trajectory_messages import trajectory_message

NUMBERS = ('1', '13', '100', '1000')
REQUESTS = (
    'nothing',
    *(f'{n} parameters' for n in NUMBERS),
    'trajectory of 2000 points',
)
REQUESTS += ('all parameters listed and described', 'clear_fault')
QUICK_REQUESTS = ('nothing', '13 parameters', 'trajectory of 2000 points')
_ROUND_S = 1.0


def longest_wait(probe: Probe) -> float:
    """Publish joint states for a round; return the longest time from one to a torque [s]."""
    made = probe.measure('node', _ROUND_S, warm_up=0.0)
    arrivals = np.sort(made.replied[np.isfinite(made.replied)])
    waits = np.append(arrivals, np.inf)[np.searchsorted(arrivals, made.sent)] - made.sent
    return float(waits[np.isfinite(waits)].max())


def serve_requests() -> None:
    """Make the request that each line names, under ordinary scheduling, as another machine's."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    arm = load('fr3')
    times = np.linspace(0.01, 100.0, 2000)
    still = np.zeros((2000, arm.n))
    points = np.tile(np.array(arm.home), (2000, 1))
    motion = trajectory_message(list(arm.joint_names), times, points, still, still)
    with NodeClient('/feedforward', 60.0) as client:
        reference = client.node.create_publisher(
            JointTrajectory, '/feedforward/reference', REFERENCE_QOS
        )
        client.lifecycle_state()
        print('ready', flush=True)
        for line in sys.stdin:
            first = line.split()[0]
            if first in NUMBERS:
                entries = [Parameter('scale', value=1.0 - 1e-6 * k) for k in range(int(first))]
                given = [one.to_parameter_msg() for one in entries]
                answer = client.call_service(SetParameters, 'set_parameters', parameters=given)
                assert all(one.successful for one in answer.results), answer
            elif first == 'all':
                names = client.call_service(ListParameters, 'list_parameters').result.names
                client.call_service(DescribeParameters, 'describe_parameters', names=names)
            elif first == 'clear_fault':
                client.clear_fault()
            elif first == 'trajectory':
                reference.publish(motion)
            print('done', flush=True)


def run(rounds: int, requests: Sequence[str]) -> dict[str, list[float]]:
    """Return the longest wait for a torque around each request, of every round [s]."""
    figures: dict[str, list[float]] = {request: [] for request in requests}
    request_realtime()  # before rclpy.init, because the middleware's threads inherit it
    # 1,000 parameters delay joint states for longer than the default time-out: the node would
    # stop each time, and latch a fault at the sixth.
    command = [sys.executable, __file__, '--client']
    pipe = subprocess.PIPE
    with (
        devices(('node',), ['period:=0.125']),
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as client,
    ):
        assert client.stdin is not None and client.stdout is not None
        try:
            probe = Probe()
            probe.learn('node')
            client.stdout.readline()
            longest_wait(probe)  # without a pause, after which the node waits for new states
            for _ in range(rounds):
                for request in requests:
                    print(request, file=client.stdin, flush=True)
                    figures[request].append(longest_wait(probe))
                    if not client.stdout.readline():
                        raise SystemExit(f'{request}: the client has ended; see its output above')
        finally:
            client.kill()  # it waits for standard input, where SIGINT does not end it
    return figures


def main() -> None:
    """Print the longest wait for a torque around each request."""
    options = new_parser(__doc__)
    options.add_argument('--rounds', type=int, default=5, help='default: %(default)s')
    options.add_argument('--quick', action='store_true', help='one round of some requests')
    options.add_argument('--client', action='store_true', help='make requests read from stdin')
    given = options.parse_args()
    if given.client:
        return serve_requests()
    use_isolated_network()
    rounds, requests = (1, QUICK_REQUESTS) if given.quick else (given.rounds, REQUESTS)
    figures = run(rounds, requests)
    print(f'{machine()}\nlongest wait for a torque [ms]; median, largest of {rounds} rounds')
    for request, waits in figures.items():
        print(f'{request:36}{1e3 * np.median(waits):9.1f}{1e3 * max(waits):7.1f}')
    longest = max(max(waits) for waits in figures.values())
    print(f'no joint state waited over {1e3 * longest:.1f} ms')


if __name__ == '__main__':
    main()
