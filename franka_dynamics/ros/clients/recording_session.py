# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The recording of a running system's topics to a bag, and checks that the bag is usable.

The bag is MCAP; messages are stored as the bytes received.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
import shutil
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from .. import COMMAND_TOPIC
from ..joint_states import JointStateReader
from ..topic_listener import TopicListener
from ...errors import FrankaDynamicsError, JointStateError, require_extra
from ...files import name_file_in_errors

# At 1 kHz the queue holds a second of messages, so a busy disk may delay the recorder that long.
_RECORDER_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
# Joint states below 100 Hz are too coarse for identification; franka_ros2's merged topic: 30 Hz.
_MIN_STATE_RATE_HZ = 100.0
_SILENCE_TIMEOUT_S = 2.0
_MIN_MOVING_SPEED_RAD_S = 0.02  # the motion of a slower joint shows neither friction nor inertia
_UPDATE_PERIOD_S = 0.1
_MIN_FREE_DISK_BYTES = 4 * 2**20  # for messages that are still in memory, and the bag's index
_FULL_NAME_TIMEOUT_S = 1.0  # wait for topics and a node named without their namespace [s]
# Plays a motion; returns what the node answered. It calls its argument many times a second, which
# records, and which raises KeyboardInterrupt once the recording ends: then it ends the motion.
PlayMotion = Callable[[Callable[[], None]], str]


@dataclass
class RecordingProgress:
    """The progress of a recording, and the problems that make it unusable."""

    elapsed: float = 0.0  # time since the beginning [s]
    stamp_span: float = 0.0  # between the first and the newest stamp [s]
    state_count: int = 0
    first_state_age: float = 0.0  # time since the first joint state, of any arm [s]
    state_topic: str = ''  # of the joint states, with its namespace
    node_name: str = ''  # the feedforward node's full name, if one runs
    has_arm_state: bool = False  # whether a message with the arm's joints came
    state_rate: float = 0.0  # [Hz]
    problems: list[str] = field(default_factory=list)
    disk_is_full: bool = False  # which ends the recording
    motion_end_text: str = ''  # what the node answered when the motion had ended
    motion_error: BaseException | None = None  # why the motion was not played to its end

    def __str__(self) -> str:
        """Return one line about the recording's progress and problems."""
        count = f'{self.state_count} states at {self.state_rate:.0f} Hz'
        return f'{self.elapsed:.0f} s, {count}: {"; ".join(self.problems) or "usable so far"}'


class Recorder(TopicListener):
    """A listener that writes topics' messages to a bag, and checks the newest joint state."""

    def __init__(self, joint_names: Sequence[str], bag_writer: Any, typestore: Any) -> None:
        """Store the bag's writer and message types; no topic is recorded yet."""
        super().__init__('recorder')
        self._reader = JointStateReader(joint_names)
        self._bag_writer = bag_writer
        self._typestore = typestore
        self._unwritten: list[tuple[int, Any, bytes]] = []  # arrival [ns], connection and message
        self._first_stamp: float | None = None
        # Arrivals of the first and the latest joint state, system time [s].
        self._first_time = 0.0
        self._latest_time = 0.0
        self._has_moved = False
        self._has_effort = False

    def add_topic(self, topic: str, message_type: type) -> None:
        """Subscribe to one more topic, whose messages are recorded from now on."""
        name = f'{message_type.__module__.partition(".")[0]}/msg/{message_type.__name__}'
        connection = self._bag_writer.add_connection(topic, name, typestore=self._typestore)

        def store_message(data: bytes) -> None:
            """Store a serialized message with its topic and arrival time until it is written."""
            self._unwritten.append((self.arrival_ns, connection, data))

        self.node.create_subscription(message_type, topic, store_message, _RECORDER_QOS, raw=True)

    def write_messages(self, progress: RecordingProgress) -> None:
        """Write to the bag the messages that have arrived, and update the progress."""
        self.poll()
        newest_state = None
        for arrival, connection, data in sorted(self._unwritten, key=itemgetter(0)):
            self._bag_writer.write(connection, arrival, data)
            if connection.topic == progress.state_topic:
                progress.state_count += 1
                newest_state = data
                self._latest_time = 1e-9 * arrival
                if not self._first_time:
                    self._first_time = self._latest_time
        self._unwritten.clear()
        if progress.state_count:
            progress.first_state_age = time.time() - self._first_time
            # The mean over the whole recording.
            progress.state_rate = (progress.state_count - 1) / max(1e-3, progress.first_state_age)
        progress.problems = self._update_by_state(progress, newest_state)
        progress.problems += self._find_problems(progress)

    def _update_by_state(self, progress: RecordingProgress, data: bytes | None) -> list[str]:
        """Update the progress by a new joint state, if one came; return what is wrong in it."""
        if data is None:
            return []
        try:
            reading = self._reader.read(data)
        except JointStateError as error:
            return [str(error)]
        progress.has_arm_state = True
        # Stamps fall where a simulation begins anew, or after one of a former clock.
        if self._first_stamp is None or reading.stamp < self._first_stamp:
            self._first_stamp = reading.stamp
        progress.stamp_span = max(progress.stamp_span, reading.stamp - self._first_stamp)
        if (np.abs(reading.velocity) > _MIN_MOVING_SPEED_RAD_S).any():
            self._has_moved = True
        if reading.effort is not None:
            self._has_effort = True
        if not np.isfinite([reading.position, reading.velocity]).all():
            return ['positions or velocities are not finite']
        return []

    def _find_problems(self, progress: RecordingProgress) -> Iterator[str]:
        """Yield texts on what makes the recording unusable so far, by all of its states."""
        topic = progress.state_topic
        if not progress.state_count:
            yield f'no joint states on {topic} yet'
            return
        silence = time.time() - self._latest_time
        if silence > _SILENCE_TIMEOUT_S:
            yield f'{topic} has been silent for {silence:.0f} s'
        if progress.elapsed > 1.0 and progress.state_rate < _MIN_STATE_RATE_HZ:
            hint = 'franka_ros2 has the full rate on franka/joint_states (--topic)'
            yield f'{progress.state_rate:.0f} Hz is slow; {hint}'
        if progress.has_arm_state and progress.elapsed > _SILENCE_TIMEOUT_S:
            if not self._has_effort:
                yield 'no measured torque: effort is missing or zero'
            if not self._has_moved:
                yield 'no joint has moved'


def record_bag(
    bag_folder: Path,
    joint_names: Sequence[str],
    state_topic: str,
    command_topic: str | None,
    node_name: str,
    keep_running: Callable[[RecordingProgress], bool],
    play_motion: PlayMotion | None = None,
) -> RecordingProgress:
    """
    Record topics until told to end, a motion has ended or the disk is full; return the progress.

    `play_motion` is called as soon as the arm is heard, and the recording ends with it.

    `bag_folder` must not exist. Topics and node may be named without their namespace;
    `command_topic` is None for the one on which the node publishes.
    `keep_running` is called with the progress at least ten times a second. While the disk has room
    for the bag's index, a full disk ends the recording. Raises MissingDependencyError if rosbags
    is not installed, OutputError if the bag cannot be written.
    """
    with require_extra('Recording needs rosbags', 'replay'):
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import get_typestore, Stores
    types = get_typestore(Stores.ROS2_JAZZY)
    plugin = StoragePlugin.MCAP
    with (
        name_file_in_errors(bag_folder),
        Writer(bag_folder, version=9, storage_plugin=plugin) as writer,
        Recorder(joint_names, writer, types) as recorder,
    ):
        node_name, state_topic, command_topic = _full_names(
            recorder, node_name, state_topic, command_topic
        )
        node_runs = node_name in recorder.node.get_fully_qualified_node_names()
        began = time.monotonic()
        progress = RecordingProgress(
            state_topic=state_topic, node_name=node_name if node_runs else ''
        )
        message_types = {
            state_topic: JointState,
            command_topic: Float64MultiArray,
            '/diagnostics': DiagnosticArray,
            f'{node_name}/feedforward': JointState,
            f'{node_name}/feedforward_trajectory': JointTrajectory,
            f'{node_name}/reference': JointTrajectory,
        }
        for topic, message_type in message_types.items():
            recorder.add_topic(topic, message_type)

        def write_received() -> None:
            """Write the received messages; raise KeyboardInterrupt if the recording is to end."""
            progress.elapsed = time.monotonic() - began
            recorder.write_messages(progress)
            progress.disk_is_full = shutil.disk_usage(bag_folder).free < _MIN_FREE_DISK_BYTES
            if progress.disk_is_full or not keep_running(progress):
                raise KeyboardInterrupt

        # The interrupt of `write_received` ends the recording, as Ctrl-C does.
        with suppress(KeyboardInterrupt):
            while play_motion is None or not progress.has_arm_state:
                time.sleep(_UPDATE_PERIOD_S)
                write_received()
            try:
                progress.motion_end_text = play_motion(write_received)
            except (FrankaDynamicsError, KeyboardInterrupt) as error:
                progress.motion_error = error
        return progress


def _full_names(
    recorder: Recorder, node_name: str, state_topic: str, command_topic: str | None
) -> tuple[str, str, str]:
    """Return full names of node, joint states and torques; None for the torques of the node."""
    node_name = recorder.find_node_name(node_name, _FULL_NAME_TIMEOUT_S)
    if command_topic is None:
        recorder.wait_until(
            lambda: bool(recorder.command_topic_of(node_name)), _FULL_NAME_TIMEOUT_S
        )
        command_topic = recorder.command_topic_of(node_name) or COMMAND_TOPIC
    topics = recorder.find_topic_names([state_topic, command_topic], _FULL_NAME_TIMEOUT_S)
    state_topic, command_topic = topics
    return node_name, state_topic, command_topic
