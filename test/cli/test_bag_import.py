# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`bag import`: a simulated log, DROID's layout, and columns mixed up."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.recordings.recording import read_recording

FER = load('fer')
HEADER = 't,' + ','.join(f'{name}{joint}' for name in ('q', 'dq', 'tau') for joint in range(1, 8))
COLUMNS = '--stamp t --position q{} --velocity dq{} --effort tau{}'


@pytest.fixture
def log(tmp_path):
    """Return a CSV of a sine about the home pose, torques by model and friction."""
    time = 0.01 * np.arange(300)
    q = FER.home + 0.3 * np.sin(2.0 * time[:, None])
    dq, ddq = 0.6 * np.cos(2.0 * time[:, None]) * np.ones(7), -4.0 * (q - FER.home)
    effort = NewtonEulerModel(FER).inverse_dynamics(q, dq, ddq) + FER.friction.torque(dq)
    path, rows = tmp_path / 'log.csv', np.column_stack([time, q, dq, effort])
    np.savetxt(path, rows, fmt='%.17e', delimiter=',', header=HEADER, comments='')
    return path


def test_a_log_becomes_a_bag_that_replay_reads(log, tmp_path, answered):
    status, out = answered(f'bag import --arm fer {COLUMNS}', log)
    assert status == 0 and '300 messages in 2.99 s' in out and 'warning' not in out
    assert len(read_recording(tmp_path / 'log', FER.joint_names)) == 300
    assert answered('bag replay --arm fer --no-plots --require 0.1', tmp_path / 'log')[0] == 0


def test_the_columns_of_a_log_are_listed_with_first_row_and_range(log, tmp_path, answered):
    assert '2.99' in answered('bag import --list', log)[1].rpartition('│ q1 ')[0]
    # An array without names is listed by number, with its values.
    np.save(tmp_path / 'bare.npy', np.array([[1.5, -2.0], [0.25, 7.0]]))
    row = answered('bag import --list', tmp_path / 'bare.npy')[1].partition('│ 2 ')[2]
    assert [float(text) for text in row.split('│')[1:5]] == [-2.0, 7.0, -2.0, 7.0]


def test_a_log_of_droid_takes_no_more_than_its_layout(tmp_path, answered):
    h5py = pytest.importorskip('h5py')
    path, state = tmp_path / 'trajectory.h5', 'observation/robot_state'
    time = np.arange(60) / 15.0
    q = FER.home + 0.1 * np.sin(time)[:, None]
    with h5py.File(path, 'w') as opened:
        opened[f'{state}/joint_positions'] = q
        opened[f'{state}/joint_velocities'] = 0.1 * np.cos(time)[:, None] * np.ones(7)
        opened[f'{state}/motor_torques_measured'] = NewtonEulerModel(FER).gravity(q)
        opened['observation/timestamp/robot_state/read_start'] = (1e3 * time).astype(int)
    assert answered('bag import --arm fer --layout droid', path)[0] == 0
    found = read_recording(tmp_path / 'trajectory', FER.joint_names)
    np.testing.assert_array_equal(found.q, q)
    np.testing.assert_allclose(found.time, time, rtol=0.0, atol=1e-3)


@pytest.mark.parametrize(
    ('columns', 'warning'),
    [
        (f'{COLUMNS} --position-unit rad', ''),
        (COLUMNS.replace('dq{}', 'tau{}'), 'may be in deg/s'),
    ],
)
def test_columns_mixed_up_are_warned_of(log, columns, warning, answered):
    status, out = answered(f'bag import --arm fer {columns}', log)
    assert status == 0 and warning in out
    assert ('warning' in out) == bool(warning)
