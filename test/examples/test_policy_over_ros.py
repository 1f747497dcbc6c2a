# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A policy over ROS: its pace, the errors told from a bag, and both with a simulated arm."""

import re
import signal

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from rosbags.rosbag2 import StoragePlugin, Writer  # noqa: E402
from rosbags.typesys import get_typestore, Stores  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from franka_dynamics.motion.trajectory import Trajectory  # noqa: E402
from franka_dynamics.ros.clients.node_group import NodeGroup  # noqa: E402
from franka_dynamics.ros.messages import seconds_to_stamp, stamp_to_seconds  # noqa: E402
from franka_dynamics.ros.topic_listener import TopicListener  # noqa: E402
from franka_dynamics.ros.topics import DESCRIPTION_QOS  # noqa: E402
from franka_dynamics.ros.trajectory_messages import motion_message, parse_request  # noqa: E402

from .. import processes, scripts  # noqa: E402

SIMULATED = '--ros-args -r __ns:=/simulation -p use_sim_time:=true'.split()
TICK_S = 0.01


def test_the_pace_is_that_of_the_clock_topic(policy_over_ros):
    rclpy.init(args=['policy', *SIMULATED])
    chunks = []
    executor = SingleThreadedExecutor()
    try:
        sender = policy_over_ros.Policy()
        other = rclpy.create_node('other', use_global_arguments=False)
        for node in (sender, other):
            executor.add_node(node)
        status = other.create_publisher(
            DiagnosticStatus, '/simulation/feedforward/status', DESCRIPTION_QOS
        )
        status.publish(DiagnosticStatus(level=DiagnosticStatus.OK))
        clock = other.create_publisher(Clock, '/clock', 1)
        topic = '/simulation/feedforward/reference'
        other.create_subscription(JointTrajectory, topic, chunks.append, 10)
        now = 0.0

        def three_came():
            nonlocal now
            if other.count_publishers(topic) and clock.get_subscription_count():
                now += TICK_S
                clock.publish(Clock(clock=seconds_to_stamp(now)))
            for _ in range(4):
                executor.spin_once(timeout_sec=0.002)
            return len(chunks) > 2

        processes.until(three_came, 'three chunks')
    finally:
        executor.shutdown()
        rclpy.try_shutdown()
    begins = np.array([stamp_to_seconds(chunk.header.stamp) for chunk in chunks])
    # However fast the computer is, the times are those of the clock: some seconds since zero.
    period = policy_over_ros.CHUNK_EVERY * policy_over_ros.PERIOD_S
    assert begins[-1] < now + 1.0
    np.testing.assert_allclose(np.diff(begins), period, rtol=0.0, atol=5.0 * TICK_S)
    for begin, chunk in zip(begins, chunks):
        request = parse_request(chunk)
        since = begin - begins[0] + policy_over_ros.LEAD_S
        targets = [policy_over_ros.policy(since + time) for time in request.times]
        np.testing.assert_allclose(request.positions, targets, rtol=0.0, atol=1e-6)


def test_errors_are_told_by_stamps_whenever_messages_arrived(policy_over_ros, tmp_path):
    arm = policy_over_ros.ARM
    times = np.array([0.0, 1.0])
    speed = np.full(7, 0.2)
    rows = [np.stack((arm.home + speed * time, speed, 0.0 * speed)) for time in times]
    # The second motion takes the place of the first half a second after its begin.
    motions = [Trajectory(times, np.array(rows), begin) for begin in (10.0, 10.5)]
    off = np.linspace(-0.003, 0.003, 7)
    store = get_typestore(Stores.ROS2_JAZZY)
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        topics = {
            JointTrajectory: ('/simulation/feedforward/feedforward_trajectory', 'trajectory_msgs'),
            JointState: ('/simulation/joint_states', 'sensor_msgs'),
        }
        connections = {
            kind: writer.add_connection(topic, f'{of}/msg/{kind.__name__}', typestore=store)
            for kind, (topic, of) in topics.items()
        }
        messages = [motion_message(arm.joint_names, one, np.zeros((2, 7))) for one in motions]
        for stamp in (9.9, 10.2, 10.7, 99.0):  # before, during the first and the second, after
            since = stamp - (10.0 if stamp < 10.5 else 10.5)
            q = arm.home + speed * since + off
            state = JointState(name=arm.joint_names[::-1], position=q[::-1].tolist())
            state.header.stamp = seconds_to_stamp(stamp)
            messages.append(state)
        for arrival, message in enumerate(messages):
            writer.write(connections[type(message)], arrival, bytes(serialize_message(message)))
    errors = policy_over_ros.tracking_errors(tmp_path / 'bag')
    np.testing.assert_allclose(errors, [off, off], rtol=0.0, atol=1e-7)


@pytest.mark.long
def test_a_policy_is_followed_within_milliradians(tmp_path):
    script = scripts.example('policy_over_ros')
    with NodeGroup(tmp_path) as nodes, TopicListener('test') as listener:
        params = {'model_source': 'simulated_arm', 'terms.friction': True, 'kp': [-1.0]}
        nodes.start_arm_and_node({}, {**params, 'target': 'mujoco'}, 300.0, clock=True)

        def is_held():
            nodes.require_running()
            status = listener.latest_status('/simulation/simulator')
            return status is not None and status.is_arm_held

        assert listener.wait_until(is_held, processes.TIMEOUT_S)
        names = '--node simulation/feedforward --topic simulation/joint_states'.split()
        bag = tmp_path / 'bag'
        record = ('-m', 'franka_dynamics', 'bag', 'record', '--output', bag, *names)
        with processes.background(*record) as recorder:
            listener.poll_for(3.0)
            processes.printed(script, *SIMULATED)
            recorder.send_signal(signal.SIGINT)
            recorder.wait(processes.TIMEOUT_S)
    said = processes.printed(script, bag)
    rms, largest = map(float, re.findall(r'([\d.]+) mrad', said))
    # Measured 0.5 and 1.7.
    assert 0.0 < rms < 3.0 and largest < 10.0, said
