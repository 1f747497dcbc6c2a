# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A recording -> rosbag2 (MCAP or sqlite3), written without ROS."""

from __future__ import annotations

from pathlib import Path
import shutil
import tempfile

import numpy as np

from .recording import Recording
from .rosbag import JOINT_STATE
from ..errors import MissingDependencyError, RecordingError

STORAGES = ('mcap', 'sqlite3')


def write_recording(recording: Recording, path: str | Path, *, storage: str = 'mcap') -> None:
    """
    Write a recording as a rosbag2 that ROS 2 and `read_recording` can read.

    The bag appears complete or not at all.

    Parameters
    ----------
    recording : Recording
        Stamps, joint names and joint states.
    path : str or Path
        Folder to be made; it must not exist.
    storage : str
        'mcap' or 'sqlite3'.

    Raises
    ------
    RecordingError
        If the folder exists or the storage is unknown.
    MissingDependencyError
        If rosbags is not installed.

    """
    bag = Path(path).expanduser()
    if storage not in STORAGES:
        raise RecordingError(f'There is no storage {storage!r}; choose {" or ".join(STORAGES)}.')
    if bag.exists():
        raise RecordingError(
            f'{bag} exists already; a bag is never overwritten. Remove it or choose another name.'
        )
    bag.parent.mkdir(parents=True, exist_ok=True)
    # The bag's files carry its folder's name, so the folder is named before it is moved.
    with tempfile.TemporaryDirectory(dir=bag.parent, prefix='.writing-') as scratch:
        _write(recording, Path(scratch) / bag.name, storage)
        shutil.move(Path(scratch) / bag.name, bag)


def _write(recording: Recording, bag: Path, storage: str) -> None:
    try:
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import get_typestore, Stores
    except ImportError as error:
        raise MissingDependencyError(
            "Writing bags needs rosbags: pip install 'franka_dynamics[replay]'."
        ) from error
    types = get_typestore(Stores.ROS2_JAZZY)
    joint_state, header = types.types[JOINT_STATE], types.types['std_msgs/msg/Header']
    time = types.types['builtin_interfaces/msg/Time']
    plugin = {'mcap': StoragePlugin.MCAP, 'sqlite3': StoragePlugin.SQLITE3}[storage]
    with Writer(bag, version=9, storage_plugin=plugin) as writer:
        connection = writer.add_connection(recording.topic, JOINT_STATE, typestore=types)
        for stamp, *state in zip(
            recording.stamp_ns.tolist(), recording.q, recording.dq, recording.effort
        ):
            stamped = header(stamp=time(sec=stamp // 10**9, nanosec=stamp % 10**9), frame_id='')
            columns = [np.ascontiguousarray(column, dtype=np.float64) for column in state]
            message = joint_state(stamped, list(recording.joint_names), *columns)
            writer.write(connection, stamp, types.serialize_cdr(message, JOINT_STATE))
