#!/usr/bin/env python3
# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A policy sends chunks of joint targets to the node over ROS 2, at the pace of the simulation.

Beside `franka-dynamics sim --clock --real-time-factor 0.3` run

    python examples/16_policy_over_ros.py --ros-args -r __ns:=/simulation -p use_sim_time:=true

The policy asks the clock of its own node for the time, which with use_sim_time is that of /clock:
on a slow computer it gets slower together with the arm. Each chunk has a stamp, from which its
times count. With the folder of a bag that was recorded meanwhile, the program prints instead how
far the measured positions were from the motion that the node followed:

    python examples/16_policy_over_ros.py my_bag

Replace the function `policy` by your policy.
"""

from argparse import ArgumentParser
from pathlib import Path
import sys

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.task import Future
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

import franka_dynamics as fd
from franka_dynamics.ros.topics import DESCRIPTION_QOS
from franka_dynamics.ros.trajectory_messages import (
    trajectory_from_message,
    trajectory_message,
)

ARM = fd.load('fr3')
PERIOD_S = 0.033  # time between two targets
CHUNK = 45  # targets in a chunk
CHUNK_EVERY = 15  # after so many targets the next chunk comes, long before the present one ends
LEAD_S = 0.066  # a chunk begins so long after it is sent: it must arrive, and be planned
DURATION_S = 8.0
SWING = np.array([0.4, 0.2, 0.3, 0.2, 0.4, 0.3, 0.5])  # [rad]


def policy(time):
    """Return joint positions (n,) [rad] at a time [s]; at rest at home at time zero."""
    x = np.clip(time / 2.0, 0.0, 1.0)
    swing = SWING * np.sin(2.0 * np.pi * 0.3 * time + np.arange(ARM.n))
    return ARM.home + x**3 * (10.0 - 15.0 * x + 6.0 * x**2) * swing


class Policy(Node):
    """Sends chunks of targets once the node commands torques; `done` is done when all are sent."""

    def __init__(self):
        super().__init__('policy')
        self.begin = None  # time of the first chunk, by the clock of this node [s]
        self.done = Future()
        self.status = ''
        self.chunks = self.create_publisher(JointTrajectory, 'feedforward/reference', 10)
        self.create_subscription(
            DiagnosticStatus, 'feedforward/status', self.on_status, DESCRIPTION_QOS
        )
        # A timer of the node follows the node's clock, too.
        self.create_timer(CHUNK_EVERY * PERIOD_S, self.send_chunk)

    def on_status(self, message):
        """Keep what the node says; print it if it is not well."""
        if message.level != DiagnosticStatus.OK and message.message != self.status:
            self.get_logger().warning(f'the node says: {message.message}')
        self.status = 'OK' if message.level == DiagnosticStatus.OK else message.message

    def send_chunk(self):
        """Send the targets from now on, by the clock."""
        now = self.get_clock().now().nanoseconds * 1e-9
        if self.begin is None:
            if self.status != 'OK':
                return  # the node waits, or was not discovered yet
            self.begin = now
        since = now - self.begin
        if since > DURATION_S:  # the last chunk ends at rest
            self.done.set_result(None)
            return
        times = [PERIOD_S * k for k in range(CHUNK)]  # from the stamp on
        targets = [policy(since + LEAD_S + time) for time in times]
        begin = now + LEAD_S
        self.chunks.publish(trajectory_message(ARM.joint_names, times, targets, stamp=begin))


def send_policy(args=None):
    """Send the policy's targets until they are over."""
    rclpy.init(args=args)
    node = Policy()
    try:
        rclpy.spin_until_future_complete(node, node.done)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def tracking_errors(bag, topic='/simulation/joint_states', node='/simulation/feedforward'):
    """
    Return the distances of measured positions from the motion that was followed, (k, n) [rad].

    The node publishes each accepted motion as it planned it, stamped with its begin. Joint states
    have stamps of the same clock. The times at which a recorder received messages are of another
    clock, and a reference with stamp zero has no time at all: neither can be compared with them.
    """
    from rosbags.rosbag2 import Reader

    motions = []
    stamps = []
    positions = []
    with Reader(bag) as reader:
        for connection, _, data in reader.messages():
            if connection.topic == f'{node}/feedforward_trajectory':
                message = deserialize_message(data, JointTrajectory)
                motions.append(trajectory_from_message(message))
            elif connection.topic == topic:
                state = deserialize_message(data, JointState)
                places = [state.name.index(name) for name in ARM.joint_names]
                stamps.append(state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec)
                positions.append(np.array(state.position)[places])
    if not motions:
        raise SystemExit(f'{bag}: no motion on {node}/feedforward_trajectory')
    begins = [motion.begin for motion in motions]
    errors = []
    for stamp, position in zip(stamps, positions):
        count = int(np.searchsorted(begins, stamp, 'right'))  # motions that have begun
        if count and stamp <= motions[-1].end:
            errors.append(position - motions[count - 1].at(stamp).q)
    return np.array(errors)


def main(args=None) -> None:
    """Send a policy's targets or, given a bag, print the tracking errors in it."""
    parser = ArgumentParser(description='Send targets, or tell the tracking errors in a bag.')
    parser.add_argument('bag', nargs='?', type=Path, help='the folder of a recording')
    words = remove_ros_args(sys.argv if args is None else args)[1:]
    bag = parser.parse_args(words).bag
    if bag is None:
        send_policy(args)
        return
    errors = 1e3 * np.abs(tracking_errors(bag))
    rms = np.sqrt(np.mean(errors**2))
    print(f'{len(errors)} states: {rms:.1f} mrad rms, {errors.max():.1f} mrad at most')


if __name__ == '__main__':
    main()
