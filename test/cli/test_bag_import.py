# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`bag import`: a simulated log, DROID's layout, and wrong columns."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.recordings.recording import read_recording

FER = load('fer')
HEADER = 't,' + ','.join(f'{name}{joint}' for name in ('q', 'dq', 'tau') for joint in range(1, 8))
COLUMNS = ('--stamp', 't', '--position', 'q{}', '--velocity', 'dq{}', '--effort', 'tau{}')


@pytest.fixture
def log(tmp_path):
    """Return a CSV of a sine about the home pose, torques by model and friction."""
    time = 0.01 * np.arange(300)
    q = FER.home + 0.3 * np.sin(2.0 * time[:, None])
    dq, ddq = 0.6 * np.cos(2.0 * time[:, None]) * np.ones(7), -4.0 * (q - FER.home)
    effort = NewtonEulerModel(FER).inverse_dynamics(q, dq, ddq) + FER.friction.torque(dq)
    path = tmp_path / 'log.csv'
    np.savetxt(
        path,
        np.column_stack([time, q, dq, effort]),
        delimiter=',',
        header=HEADER,
        comments='',
        fmt='%.17e',
    )
    return path


def test_a_log_becomes_a_bag_that_replay_reads(log, tmp_path, capsys):
    assert main(['bag', 'import', str(log), *COLUMNS]) == 0
    out = capsys.readouterr().out
    assert '300 messages in 2.99 s' in out
    assert 'warning' not in out
    assert len(read_recording(tmp_path / 'log', FER.joint_names)) == 300
    assert main(['bag', 'replay', str(tmp_path / 'log'), '--no-plots', '--require', '0.1']) == 0


def test_the_columns_of_a_log_are_listed_with_first_row_and_range(log, tmp_path, capsys):
    assert main(['bag', 'import', str(log), '--list']) == 0
    out = capsys.readouterr().out
    assert 'q1' in out and '2.99' in out
    # An array without names is listed by number, with its values.
    np.save(tmp_path / 'bare.npy', np.array([[1.5, -2.0], [0.25, 7.0]]))
    assert main(['bag', 'import', str(tmp_path / 'bare.npy'), '--list']) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if '│ 2 ' in line)
    assert [float(text) for text in row.split('│')[2:6]] == [-2.0, 7.0, -2.0, 7.0]


def test_a_log_of_droid_takes_no_more_than_its_layout(tmp_path):
    h5py = pytest.importorskip('h5py')
    path, state = tmp_path / 'trajectory.h5', 'observation/robot_state'
    time = np.arange(60) / 15.0
    q = FER.home + 0.1 * np.sin(time)[:, None]
    with h5py.File(path, 'w') as opened:
        opened[f'{state}/joint_positions'] = q
        opened[f'{state}/joint_velocities'] = 0.1 * np.cos(time)[:, None] * np.ones(7)
        opened[f'{state}/motor_torques_measured'] = NewtonEulerModel(FER).gravity(q)
        opened['observation/timestamp/robot_state/read_start'] = (1e3 * time).astype(int)
    assert main(['bag', 'import', str(path), '--layout', 'droid']) == 0
    found = read_recording(tmp_path / 'trajectory', FER.joint_names)
    np.testing.assert_array_equal(found.q, q)
    np.testing.assert_allclose(found.time, time, rtol=0.0, atol=1e-3)


@pytest.mark.parametrize(
    ('options', 'sentence'),
    [
        (COLUMNS[:4], 'velocity is missing; the file has t, q1, q2'),
        ((), 'position is missing; the file has t, q1, q2'),
        (COLUMNS[2:], 'either the stamp column or the rate'),
        (
            (*COLUMNS, '--effort-scale', '1', '2'),
            'The effort scale is [1.0, 2.0]; give one number',
        ),
        ((*COLUMNS, '--arm', 'rpr', '--joint-names', 'a'), '--joint-names has 1 names'),
    ],
)
def test_incomplete_options_get_one_sentence(log, options, sentence, refused):
    assert sentence in refused('bag', 'import', log, *options)


@pytest.mark.parametrize(
    ('columns', 'sentence'),
    [
        ((*COLUMNS, '--position-unit', 'rad'), ''),
        ((*COLUMNS[:4], '--velocity', 'tau{}', '--effort', 'tau{}'), 'may be in deg/s'),
        ((*COLUMNS[:2], '--position', 'tau{}', *COLUMNS[4:]), 'look like degrees'),
    ],
)
def test_columns_mixed_up_are_warned_of(log, columns, sentence, tmp_path, answered):
    status, out = answered('bag', 'import', log, *columns, '--output', tmp_path / 'b')
    assert status == 0 and sentence in out
    assert ('warning' in out) == bool(sentence)
