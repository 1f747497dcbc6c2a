# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How long a torque acts after the process that commands it was killed.

    python benchmarks/keeper.py [--kills 20] [--no-beacon]

A process commands 80 N m at 1 kHz and is killed by SIGKILL; a keeper runs beside it. Measured by
this machine's clock: from the kill to the first smaller torque, to the last (zero), and the
largest step between two torques heard. --no-beacon hides the process from the keeper, so that
only silence tells. Exit status 0 if zero was reached every time, 1 if not.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time

from franka_dynamics.ros.process_beacon import ProcessBeacon
import numpy as np
import rclpy
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray

from franka_dynamics.ros.node_group import use_isolated_network

TOPIC, TORQUE_NM = '/effort_controller/commands', 80.0
_TIMEOUT_S, _SETTLE_S = 30.0, 1.0
_COMMAND, _BEACON = '--command', '--no-beacon'


def command(beacon: bool) -> None:
    """Command a torque at 1 kHz until killed."""
    rclpy.init()
    node = rclpy.create_node('commander')
    publisher = node.create_publisher(Float64MultiArray, TOPIC, 1)
    lit = ProcessBeacon(publisher.topic_name) if beacon else None
    assert lit is None or lit.lit, 'another process commands this topic'
    message = Float64MultiArray(data=[TORQUE_NM] * 7)
    while publisher.get_subscription_count() < 2:  # the keeper and the listener
        time.sleep(1e-2)
    while True:
        publisher.publish(message)
        time.sleep(1e-3)


class Listener:
    """Hears commands with the time they were sent [s]."""

    def __init__(self) -> None:
        rclpy.init()
        self.node = rclpy.create_node('listener')
        self.heard: list[tuple[float, float]] = []
        on_command = self._on_command
        self.node.create_subscription(Float64MultiArray, TOPIC, on_command, QoSProfile(depth=1000))

    def until(self, done) -> bool:
        """Listen until something is true; return whether it became so in time."""
        give_up = time.monotonic() + _TIMEOUT_S
        while not done() and time.monotonic() < give_up:
            rclpy.spin_once(self.node, timeout_sec=0.01)
        return done()

    def _on_command(self, message, info) -> None:
        self.heard.append((1e-9 * info['source_timestamp'], message.data[0]))


def kill_once(listener: Listener, beacon: bool) -> tuple[float, float, float] | None:
    """Return times to the first smaller torque and to zero [s] and the largest step [N m]."""
    listener.heard.clear()
    hidden = [] if beacon else [_BEACON]
    process = subprocess.Popen([sys.executable, __file__, _COMMAND, *hidden])
    try:
        listener.until(lambda: listener.heard and listener.heard[-1][1] == TORQUE_NM)
        began = time.monotonic()
        listener.until(lambda: time.monotonic() > began + _SETTLE_S)  # the keeper hears it too
        listener.heard.clear()
        killed = time.time()
        process.send_signal(signal.SIGKILL)
        if not listener.until(lambda: listener.heard and listener.heard[-1][1] == 0.0):
            return None
    finally:
        process.kill()
        process.wait()
    heard = sorted(listener.heard)
    first = next(stamp for stamp, torque in heard if torque < TORQUE_NM)
    steps = np.diff([TORQUE_NM, *(torque for _, torque in heard)])
    return first - killed, heard[-1][0] - killed, float(np.abs(steps).max())


def main() -> int:
    """Kill again and again; return whether the torque went every time."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--kills', type=int, default=20, help='default: %(default)s')
    parser.add_argument(
        _BEACON, action='store_true', help='hide the process, so that only silence tells'
    )
    parser.add_argument(_COMMAND, action='store_true', help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.command:
        command(not arguments.no_beacon)
    use_isolated_network()
    from rich.progress import track

    keeper = subprocess.Popen(
        [
            sys.executable,
            '-m',
            'franka_dynamics.ros.keeper_node',
            '--ros-args',
            '-r',
            f'keeper/command:={TOPIC}',
            '--log-level',
            'fatal',
        ]
    )
    try:
        listener = Listener()
        listener.until(lambda: listener.node.count_publishers(TOPIC) > 0)
        results = [
            kill_once(listener, not arguments.no_beacon)
            for _ in track(range(arguments.kills), 'killing')
        ]
    finally:
        keeper.send_signal(signal.SIGINT)
        keeper.wait()
    measured = np.array([result for result in results if result is not None])
    if not len(measured):
        print('the torque was never taken back')
        return 1
    for name, column, factor, unit in (
        ('from kill to first smaller torque', 0, 1e3, 'ms'),
        ('from kill to zero', 1, 1e3, 'ms'),
        ('largest step heard', 2, 1.0, 'N m'),
    ):
        values = factor * measured[:, column]
        print(f'{name}: median {np.median(values):.1f} {unit}, largest {values.max():.1f} {unit}')
    print(f'zero was reached {len(measured)} times of {arguments.kills}')
    return 0 if len(measured) == arguments.kills else 1


if __name__ == '__main__':
    sys.exit(main())
