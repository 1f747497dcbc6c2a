# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How long a program that is started later needs to find a running node and to get its ~/status.

    python benchmarks/late_listeners.py [--tries 20] [--range LOCALHOST] [--profile FILE]

Each try is a process of its own beside a simulated arm, which pauses. `found` is the time from its
node's start until it knows the publisher of ~/status, `told` until it has the status by a
subscription without durability, as `ros2 topic echo` makes it where the publisher is not found
yet. `--profile ''` leaves Fast DDS's defaults to the arm. Exit status 1 if a status never came.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time

import numpy as np

ARM = ('-m', 'franka_dynamics.ros.simulator_node', '--ros-args', '-p', 'lockstep_rate:=100.0')
STATUS, LONGEST_S = '/simulation/simulator/status', 10.0


def listen() -> None:
    """Print when the publisher is found, and when a status has come [s]."""
    from diagnostic_msgs.msg import DiagnosticStatus
    import rclpy

    began, told = time.monotonic(), list[DiagnosticStatus]()
    rclpy.init()
    node, found = rclpy.create_node('late'), float('inf')
    node.create_subscription(DiagnosticStatus, STATUS, told.append, 1)
    while not told and time.monotonic() - began < LONGEST_S:
        if found == float('inf') and node.count_publishers(STATUS):
            found = time.monotonic() - began
        rclpy.spin_once(node, timeout_sec=0.01)
    print(found, time.monotonic() - began if told else float('inf'))


def main() -> int:
    """Start an arm and one listener after the other; print their times."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[1])
    parser.add_argument('--tries', type=int, default=20)
    parser.add_argument('--range', default='LOCALHOST')
    parser.add_argument('--profile', help="the arm's profiles file of Fast DDS")
    options = parser.parse_args()
    os.environ |= {'ROS_AUTOMATIC_DISCOVERY_RANGE': options.range, 'ROS_DOMAIN_ID': '71'}
    own = {} if options.profile is None else {'FASTRTPS_DEFAULT_PROFILES_FILE': options.profile}
    listener = [sys.executable, '-c', 'import late_listeners; late_listeners.listen()']
    rows = []
    with subprocess.Popen([sys.executable, *ARM], env=os.environ | own) as arm:
        try:
            time.sleep(5.0)
            for _ in range(options.tries):
                here = os.path.dirname(os.path.abspath(__file__))
                printed = subprocess.check_output(listener, cwd=here, text=True)
                rows.append([float(word) for word in printed.split()])
        finally:
            arm.send_signal(signal.SIGINT)
    for name, times in zip(('found', 'told'), np.array(rows).T):
        late = int((times > 2.0).sum())
        print(
            f'{name}: median {np.median(times):.2f} s, longest {times.max():.2f} s, {late} of '
            f'{len(times)} after 2 s, {int(np.isinf(times).sum())} never'
        )
    return int(np.isinf(rows).any())


if __name__ == '__main__':
    sys.exit(main())
