# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Records a running system to a bag, and checks during recording whether the bag is usable.

The bag is MCAP; messages are stored as the bytes received.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from rclpy.node import NodeNameNonExistentError
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from .messages import JointStateReader, taken
from .observer import Observer
from ..errors import JointStateError, MissingDependencyError
from ..typing import Array

# At 1 kHz the queue holds a second of messages, so a busy disk may delay the recorder that long.
_RECORDER_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class BagRecorder:
    """
    Records topics until closed; use as a context manager.

    The folder `path` must not exist. Raises MissingDependencyError if rosbags is not installed.
    """

    def __init__(self, node: Any, path: Path) -> None:
        try:
            from rosbags.rosbag2 import StoragePlugin, Writer
            from rosbags.typesys import get_typestore, Stores
        except ImportError as error:
            raise MissingDependencyError(
                "Recording needs rosbags: pip install 'franka_dynamics[replay]'."
            ) from error
        self._node, self._types = node, get_typestore(Stores.ROS2_JAZZY)
        self._sources: dict[str, tuple[Any, Any]] = {}  # by topic: subscription and connection
        self.counts = Counter[str]()
        self.first: dict[
            str, float
        ] = {}  # by topic: arrival of the first message, system time [s]
        self.newest: dict[str, bytes] = {}
        self._writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
        self._writer.open()

    def __enter__(self) -> BagRecorder:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def add(self, topic: str, kind: type) -> None:
        """Record one more topic from now on, unless it is recorded already."""
        if topic not in self._sources:
            name = f'{kind.__module__.partition(".")[0]}/msg/{kind.__name__}'
            self._sources[topic] = (
                self._node.create_subscription(
                    kind, topic, lambda _: None, _RECORDER_QOS, raw=True
                ),
                self._writer.add_connection(topic, name, typestore=self._types),
            )

    def poll(self) -> None:
        """Write the messages that have come, with the times of their arrival."""
        come = []
        for topic, (subscription, connection) in self._sources.items():
            while (waiting := taken(subscription)) is not None:
                data, info = waiting
                # Not every middleware tells the arrival.
                arrival = info['received_timestamp'] or time.time_ns()
                come.append((arrival, connection, data))
                self.first.setdefault(topic, arrival * 1e-9)
                self.counts[topic] += 1
                self.newest[topic] = data
        for arrival, connection, data in sorted(come, key=itemgetter(0)):
            self._writer.write(connection, arrival, data)


# Joint states below 100 Hz are too coarse for identification; franka_ros2's merged topic: 30 Hz.
_SLOW_HZ = 100.0
_SILENT_S = 2.0
_MOVING = 0.02  # [rad/s]; the motion of a slower joint shows neither friction nor inertia
_LOOK_S = 0.1
_DISCOVERY_S = 1.0  # wait for topics and a node named without their namespace [s]


@dataclass
class Progress:
    """Progress of a recording, and problems that make it unusable."""

    seconds: float = 0.0
    span: float = 0.0  # between the first and the newest stamp [s]
    states: int = 0
    heard: float = 0.0  # time since the first joint state, of any arm [s]
    topic: str = ''  # of the joint states, with its namespace
    of_arm: bool = False  # whether a message with the arm's joints came
    rate: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return one line about the progress and the problems."""
        said = '; '.join(self.problems) if self.problems else 'usable so far'
        return f'{self.seconds:.0f} s, {self.states} states at {self.rate:.0f} Hz: {said}'


class _Watch(Progress):
    """Checks the newest joint state ten times per second; BagRecorder counts all states."""

    def __init__(self, joint_names: Sequence[str], topic: str) -> None:
        super().__init__(topic=topic)
        self._reader, self._names = JointStateReader(joint_names), joint_names
        self._fastest: Array = np.zeros(len(joint_names))
        self._effort_seen, self._fault = False, ''
        self._first: float | None = None
        self._newest: bytes | None = None
        self._began = self._looked = time.monotonic()  # and when `look` last got a new state [s]

    def look(self, recorder: BagRecorder) -> None:
        """Update the progress and the problems."""
        now, newest = time.monotonic(), recorder.newest.get(self.topic)
        self.seconds, self.states = now - self._began, recorder.counts[self.topic]
        if newest is None:
            self.problems = [f'no joint states on {self.topic} yet']
            return
        self.heard = time.time() - recorder.first[self.topic]
        self.rate = (self.states - 1) / max(1e-3, self.heard)
        if newest is not self._newest:
            self._newest, self._looked = newest, now
            self._read(newest)
        self.problems = [self._fault] if self._fault else []
        if now - self._looked > _SILENT_S:
            self.problems.append(f'{self.topic} has been silent for {now - self._looked:.0f} s')
        if self.seconds > 1.0 and self.rate < _SLOW_HZ:
            self.problems.append(
                f'{self.rate:.0f} Hz is slow; franka_ros2 has the full rate on '
                'franka/joint_states (--topic)'
            )
        if not self.of_arm or self.seconds < 2.0:
            return
        if not self._effort_seen:
            self.problems.append('no measured torque: effort is missing or zero')
        resting = [name for name, speed in zip(self._names, self._fastest) if speed < _MOVING]
        if len(resting) == len(self._names):
            self.problems.append('no joint has moved')
        elif resting:
            ends = ', '.join(name.rpartition('_')[2] for name in resting)
            self.problems.append(f'{ends} not moved')

    def _read(self, newest: bytes) -> None:
        try:
            reading = self._reader.read(newest)
        except JointStateError as error:
            self._fault = str(error)
            return
        self._first = reading.stamp if self._first is None else self._first
        self.of_arm = True
        self.span = max(self.span, reading.stamp - self._first)
        finite = np.isfinite(reading.position).all() and np.isfinite(reading.velocity).all()
        self._fault = '' if finite else 'positions or velocities are not finite'
        self._fastest = np.fmax(self._fastest, np.abs(reading.velocity))
        self._effort_seen |= reading.effort is not None


def record(
    bag: Path,
    joint_names: Sequence[str],
    topic: str,
    command: str,
    node: str,
    go_on: Callable[[Progress], bool],
) -> Progress:
    """
    Record joint states, torques, trajectories and diagnostics until `go_on` returns False.

    `topic` (joint states), `command` and `node` may be named without their namespace. `go_on` is
    called with the progress ten times a second.
    """
    with Observer('recorder') as own, BagRecorder(own.node, bag) as recorder:
        node, (topic, command) = own.find(_DISCOVERY_S, node, (topic, command))
        for name, kind in (
            (topic, JointState),
            (command, Float64MultiArray),
            ('/diagnostics', DiagnosticArray),
            (f'{node}/feedforward', JointState),
            (f'{node}/feedforward_trajectory', JointTrajectory),
            (f'{node}/reference', JointTrajectory),
        ):
            recorder.add(name, kind)
        watch = _Watch(joint_names, topic)
        while True:
            time.sleep(_LOOK_S)
            for name in _trajectory_topics(own.node, node):
                recorder.add(name, JointTrajectory)
            recorder.poll()
            watch.look(recorder)
            if not go_on(watch):
                return watch


def _trajectory_topics(own: Any, node: str) -> list[str]:
    """Return the topics, perhaps remapped, on which a node (full name) publishes trajectories."""
    namespace, _, name = node.rpartition('/')
    try:
        found = own.get_publisher_names_and_types_by_node(name, namespace or '/')
    except NodeNameNonExistentError:  # no such node, or not discovered yet
        return []
    return [topic for topic, kinds in found if 'trajectory_msgs/msg/JointTrajectory' in kinds]
