# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings written as data sets of several forms, by the libraries that their users have."""

import json

import numpy as np
import pytest

JOINTS = [f'joint_{k}' for k in range(1, 8)]


def write_droid(folder, recordings):
    """Write folders as DROID's: success/DATE/EPISODE/trajectory.h5."""
    h5py = pytest.importorskip('h5py')
    for number, recording in enumerate(recordings):
        path = folder / 'success' / '2023-07-07' / f'run_{number}' / 'trajectory.h5'
        path.parent.mkdir(parents=True)
        with h5py.File(path, 'w') as opened:
            state = 'observation/robot_state'
            opened[f'{state}/joint_positions'] = recording.q
            opened[f'{state}/joint_velocities'] = recording.dq
            opened[f'{state}/motor_torques_measured'] = recording.effort
            stamps = opened.create_group('observation/timestamp/robot_state')
            stamps['read_start'] = recording.stamp_ns // 10**6
    return folder


def write_robomimic(path, recordings, rate=20):
    """Write a file of robomimic's with efforts, which its own data sets lack."""
    with pytest.importorskip('h5py').File(path, 'w') as opened:
        data = opened.create_group('data')
        data.attrs['env_args'] = json.dumps({'env_kwargs': {'control_freq': rate}})
        for number, recording in enumerate(recordings):
            observed = data.create_group(f'demo_{number}/obs')
            observed['robot0_joint_pos'] = recording.q
            observed['robot0_joint_vel'] = recording.dq
            observed['robot0_joint_torque'] = recording.effort
            observed['agentview_image'] = np.zeros((len(recording), 4, 4, 3), dtype=np.uint8)
    return path


def write_lerobot(folder, recordings, version='v3.0'):
    """Write a data set as LeRobot does: of version 3 all episodes in one file."""
    pyarrow = pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    from pyarrow import parquet

    tables = [_lerobot_rows(pyarrow, number, one) for number, one in enumerate(recordings)]
    is_third = version.startswith('v3')
    names = {'names': [f'{joint}.pos' for joint in JOINTS] + ['gripper.pos']}
    info = {
        'codebase_version': version,
        'robot_type': 'panda',
        'fps': 30,
        'chunks_size': 1000,
        'data_path': 'data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet'
        if is_third
        else 'data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet',
        'features': {
            'action': {'dtype': 'float32', 'shape': [8], **names},
            'observation.state': {'dtype': 'float32', 'shape': [8], **names},
            'observation.velocity': {'dtype': 'float32', 'shape': [7], 'names': None},
            'observation.effort': {'dtype': 'float32', 'shape': [7], 'names': None},
            'observation.images.wrist': {'dtype': 'image', 'shape': [4, 4, 3], 'names': None},
        },
    }
    meta = folder / 'meta'
    chunk = folder / 'data' / 'chunk-000'
    episodes = meta / 'episodes' / 'chunk-000'
    for one in (chunk, episodes):
        one.mkdir(parents=True)
    (meta / 'info.json').write_text(json.dumps(info))
    (meta / 'stats.json').write_text(json.dumps({'observation.effort': {'mean': [0.0] * 7}}))
    numbers = list(range(len(recordings)))
    if is_third:
        with parquet.ParquetWriter(chunk / 'file-000.parquet', tables[0].schema) as writer:
            for table in tables:
                writer.write_table(table)
        counts = {'stats/episode_index/count': [[len(one)] for one in recordings]}
        zeros = [0] * len(recordings)
        where = {'data/chunk_index': zeros, 'data/file_index': zeros}
        table = pyarrow.table({'episode_index': numbers, **where, **counts})
        parquet.write_table(table, episodes / 'file-000.parquet')
        return folder
    for number, table in enumerate(tables):
        parquet.write_table(table, chunk / f'episode_{number:06d}.parquet')
    lines = [{'episode_index': number, 'stats': {}} for number in numbers]
    for name in ('episodes.jsonl', 'episodes_stats.jsonl'):
        (meta / name).write_text(''.join(f'{json.dumps(line)}\n' for line in lines))
    return folder


def _lerobot_rows(pyarrow, number, recording):
    """Return the rows of an episode, with pictures in them."""
    count = len(recording)

    def fixed(values):
        flat = np.asarray(values, dtype=np.float32)
        return pyarrow.FixedSizeListArray.from_arrays(flat.ravel(), flat.shape[1])

    state = fixed(np.column_stack([recording.q, np.full(count, 0.04)]))
    return pyarrow.table(
        {
            'action': state,
            'observation.state': state,
            'observation.velocity': fixed(recording.dq),
            'observation.effort': fixed(recording.effort),
            'observation.images.wrist': [{'bytes': b'no picture', 'path': None}] * count,
            'timestamp': np.arange(count, dtype=np.float32) / np.float32(30.0),
            'frame_index': np.arange(count),
            'episode_index': np.full(count, number),
        }
    )
