# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Topics -> rosbag2 (MCAP), messages kept as the bytes they came in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
import time
from typing import Any

from rclpy.qos import QoSProfile, ReliabilityPolicy

from ..errors import MissingDependencyError

# Deep enough that a busy moment of the disk loses nothing.
_RECORDER_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class BagRecorder:
    """
    Records topics until closed; use as a context manager.

    Parameters
    ----------
    node : Node
        Whose subscriptions these are; spin it.
    path : Path
        Folder of the bag; it must not exist.
    topics : mapping of str to type
        Topic names and their message classes.

    Raises
    ------
    MissingDependencyError
        If rosbags is not installed.

    """

    def __init__(self, node: Any, path: Path, topics: Mapping[str, type]) -> None:
        try:
            from rosbags.rosbag2 import StoragePlugin, Writer
            from rosbags.typesys import get_typestore, Stores
        except ImportError as error:
            raise MissingDependencyError(
                "Recording needs rosbags: pip install 'franka_dynamics[replay]'."
            ) from error
        types = get_typestore(Stores.ROS2_JAZZY)
        # Messages so far, and when the first came (clock [s]), by topic.
        self.counts = dict.fromkeys(topics, 0)
        self.first: dict[str, float | None] = dict.fromkeys(topics)
        self._writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
        self._writer.open()
        for topic, kind in topics.items():
            package, *_ = kind.__module__.split('.')
            connection = self._writer.add_connection(
                topic, f'{package}/msg/{kind.__name__}', typestore=types
            )
            node.create_subscription(
                kind, topic, self._sink(topic, connection), _RECORDER_QOS, raw=True
            )

    def __enter__(self) -> BagRecorder:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def _sink(self, topic: str, connection: Any) -> Any:
        def record(data: bytes) -> None:
            now = time.time_ns()
            self._writer.write(connection, now, data)
            if not self.counts[topic]:
                self.first[topic] = now * 1e-9
            self.counts[topic] += 1

        return record
