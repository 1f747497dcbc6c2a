# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Records a running system to a bag, and checks during recording whether the bag is usable.

The bag is MCAP; messages are stored as the bytes received.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from rclpy.experimental import EventsExecutor
from rclpy.node import NodeNameNonExistentError
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from .messages import JointStateReader
from .node_process import guest_node
from .observer import find
from ..errors import JointStateError, MissingDependencyError
from ..typing import Array

# At 1 kHz the queue holds a second of messages, so a busy disk may delay the recorder that long.
_RECORDER_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class BagRecorder:
    """
    Records topics until closed; use as a context manager.

    `topics` maps names to message classes; the folder `path` must not exist. Raises
    MissingDependencyError if rosbags is not installed.
    """

    def __init__(self, node: Any, path: Path, topics: Mapping[str, type]) -> None:
        try:
            from rosbags.rosbag2 import StoragePlugin, Writer
            from rosbags.typesys import get_typestore, Stores
        except ImportError as error:
            raise MissingDependencyError(
                "Recording needs rosbags: pip install 'franka_dynamics[replay]'."
            ) from error
        self._node, self._types = node, get_typestore(Stores.ROS2_JAZZY)
        # By topic: number of messages, arrival of the first (system time [s]), newest message.
        self.counts: dict[str, int] = {}
        self.first: dict[str, float | None] = {}
        self.newest: dict[str, bytes] = {}
        self._writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
        self._writer.open()
        for topic, kind in topics.items():
            self.add(topic, kind)

    def __enter__(self) -> BagRecorder:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def add(self, topic: str, kind: type) -> None:
        """Record one more topic from now on, unless it is recorded already."""
        if topic in self.counts:
            return
        self.counts[topic], self.first[topic] = 0, None
        package, *_ = kind.__module__.split('.')
        connection = self._writer.add_connection(
            topic, f'{package}/msg/{kind.__name__}', typestore=self._types
        )
        self._node.create_subscription(
            kind, topic, self._sink(topic, connection), _RECORDER_QOS, raw=True
        )

    def _sink(self, topic: str, connection: Any) -> Any:
        def record(data: bytes) -> None:
            now = time.time_ns()
            self._writer.write(connection, now, data)
            if not self.counts[topic]:
                self.first[topic] = now * 1e-9
            self.counts[topic] += 1
            self.newest[topic] = data

        return record


# Joint states below 100 Hz are too coarse for identification; franka_ros2's merged topic: 30 Hz.
_SLOW_HZ = 100.0
_SILENT_S = 2.0
_MOVING = 0.02  # [rad/s]; the motion of a slower joint shows neither friction nor inertia
_SPIN_S, _LOOK_S = 0.05, 0.1
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
        self._reader = JointStateReader(joint_names)
        self._names = joint_names
        self._fastest: Array = np.zeros(len(joint_names))
        self._effort_seen = False
        self._fault = ''
        self._first: float | None = None
        self._newest: bytes | None = None
        self._looked = 0.0  # time when `look` last got a new state, steady clock [s]

    def look(self, newest: bytes | None) -> None:
        if newest is None or newest is self._newest:
            return
        self._newest, self._looked = newest, time.monotonic()
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

    def found(self) -> list[str]:
        """Return the problems up to now."""
        if self.states == 0:
            return [f'no joint states on {self.topic} yet']
        found = [self._fault] if self._fault else []
        silent = time.monotonic() - self._looked
        if silent > _SILENT_S:
            found.append(f'{self.topic} has been silent for {silent:.0f} s')
        if self.seconds > 1.0 and self.rate < _SLOW_HZ:
            found.append(
                f'{self.rate:.0f} Hz is slow; franka_ros2 has the full rate on '
                'franka/joint_states (--topic)'
            )
        if not self.of_arm or self.seconds < 2.0:
            return found
        if not self._effort_seen:
            found.append('no measured torque: effort is missing or zero')
        resting = [name for name, speed in zip(self._names, self._fastest) if speed < _MOVING]
        if len(resting) == len(self._names):
            found.append('no joint has moved')
        elif resting:
            found.append(f'{", ".join(name.rpartition("_")[2] for name in resting)} not moved')
        return found


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
    # EventsExecutor takes less time per message than the default executor.
    with guest_node('recorder', EventsExecutor) as (own, executor), ExitStack() as ends:
        spin = partial(executor.spin_once, timeout_sec=_SPIN_S)
        node, (topic, command) = find(own, spin, _DISCOVERY_S, node, (topic, command))
        watch = _Watch(joint_names, topic)
        topics: dict[str, type] = {
            topic: JointState,
            command: Float64MultiArray,
            '/diagnostics': DiagnosticArray,
            f'{node}/feedforward': JointState,
            f'{node}/feedforward_trajectory': JointTrajectory,
            f'{node}/reference': JointTrajectory,
        }
        recorder = ends.enter_context(BagRecorder(own, bag, topics))
        began = looked = time.monotonic()
        while True:
            executor.spin_once(timeout_sec=_SPIN_S)
            now = time.monotonic()
            if now - looked < _LOOK_S:
                continue
            looked = now
            for name in _trajectory_topics(own, node):
                recorder.add(name, JointTrajectory)
            watch.look(recorder.newest.get(topic))
            watch.seconds, watch.states = now - began, recorder.counts[topic]
            first = recorder.first[topic]
            if first is not None:
                watch.heard = time.time() - first
                watch.rate = (watch.states - 1) / max(1e-3, watch.heard)
            watch.problems = watch.found()
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
