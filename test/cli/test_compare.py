# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`compare` and `explain-torques`, and the options of `crosscheck` that they once were."""

import json

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.urdf.writer import write_urdf

from ..arms import with_row_shifted


@pytest.fixture
def urdf(tmp_path):
    """Return the path of a URDF of an FR3 whose elbow is 1 cm too wide."""
    path = tmp_path / 'robot.urdf'
    path.write_text(write_urdf(with_row_shifted(load('fr3'), 3, a=0.01)), encoding='utf-8')
    return str(path)


def printed(capsys, *arguments):
    status = main(list(arguments))
    return status, ' '.join(capsys.readouterr().out.split())


def test_a_urdf_has_one_verdict_however_it_is_asked(urdf, capsys):
    status, said = printed(capsys, 'compare', urdf)
    assert status == 1
    assert said.startswith('MISMATCH: ')
    assert '- fr3_joint4: a is 0.0825 here and 0.0925 there [m]; torque changes by' in said
    assert 'likeliest cause: ' in said
    assert printed(capsys, 'crosscheck', '--urdf', urdf) == (status, said)
    assert printed(capsys, 'crosscheck', '--against', urdf) == (status, said)


def test_a_urdf_of_the_arm_passes_and_json_says_which(tmp_path, capsys):
    path, figures = tmp_path / 'robot.urdf', tmp_path / 'figures.json'
    path.write_text(write_urdf(load('fr3', hand='franka_hand')), encoding='utf-8')
    status, said = printed(capsys, 'compare', str(path), '--json', str(figures))
    assert (status, said.split(':')[0]) == (0, 'pass')
    data = json.loads(figures.read_text())
    assert data['passed'] is True
    assert (data['hand'], data['differences'], data['findings']) == ('franka_hand', [], [])


def test_another_gravity_is_no_pass(tmp_path, capsys):
    path = tmp_path / 'robot.urdf'
    path.write_text(write_urdf(load('fr3')), encoding='utf-8')
    status, said = printed(capsys, 'compare', str(path), '--other-gravity', '0', '0', '-9.8')
    assert status == 1
    assert '- arm: gravity z is -9.81 here and -9.8 there [m/s^2]; torque changes by' in said


def test_two_arms_are_compared_as_before(capsys):
    now = printed(
        capsys,
        'compare',
        'fer',
        '--hand',
        'hand_ledezma2021',
        '--other-set',
        'ledezma2021',
        '--tolerance',
        '1.2e-4',
    )
    assert now[0] == 0
    assert 'no effect on torque.' in now[1]
    assert now == printed(
        capsys,
        'crosscheck',
        '--hand',
        'hand_ledezma2021',
        '--against',
        'fer',
        '--against-set',
        'ledezma2021',
        '--tolerance',
        '1.2e-4',
    )


def test_torques_of_the_arm_itself_are_explained(tmp_path, capsys):
    arm = load('rpr')
    states = sample_states(arm, 6, 0)
    np.savez(
        tmp_path / 'box.npz',
        q=states.q,
        dq=states.dq,
        ddq=states.ddq,
        tau=PinocchioModel(arm).inverse_dynamics(*states),
    )
    options = ['--arm', 'rpr']
    now = printed(capsys, 'explain-torques', str(tmp_path / 'box.npz'), *options)
    assert now[0] == 0
    assert now == printed(capsys, 'crosscheck', '--torques', str(tmp_path / 'box.npz'), *options)


@pytest.mark.parametrize(
    'options',
    [
        ('crosscheck', '--against', 'fr3', '--urdf', 'robot.urdf'),
        ('crosscheck', '--against', 'fr3', '--html', 'page.html'),
        ('crosscheck', '--against', 'fr3', '--states', '5'),
        ('crosscheck', '--random', '2', '--report', 'page.html'),
        ('crosscheck', '--random', '2', '--arm', 'fer'),
        ('crosscheck', '--random', '2', '--gravity', '0', '0', '-9.81'),
        ('crosscheck', '--random', '2', '--torques', 'box.npz'),
        ('crosscheck', '--torques', 'box.npz', '--html', 'page.html'),
        ('crosscheck', '--torques', 'box.npz', '--tolerance', '1e-3'),
        ('crosscheck', '--tolerance', '1e-3'),
        ('crosscheck', '--accept-unknown-inertials'),
        ('crosscheck', '--urdf', 'robot.urdf', '--set', 'gaz2019'),
        ('crosscheck', '--urdf', 'robot.urdf', '--report', 'page.html'),
        ('compare', 'robot.urdf', '--set', 'gaz2019'),
        ('compare', 'robot.urdf', '--repair', 'nearest_within_rounding'),
        ('compare', 'robot.urdf', '--payload', '1,0,0,0'),
        ('compare', 'fr3', '--arm-prefix', 'left_'),
        ('compare', 'fr3', '--accept-unknown-inertials'),
    ],
)
def test_options_that_cannot_be_honoured_are_refused(options, capsys):
    assert main(list(options)) == 2
    captured = capsys.readouterr()
    assert captured.out == ''
    assert captured.err.count('\n') == 1
    assert 'Leave one of them out.' in captured.err or 'one at a time' in captured.err


def test_random_arms_write_json(tmp_path, capsys):
    path = tmp_path / 'random.json'
    assert main(['crosscheck', '--random', '2', '--seed', '5', '--json', str(path)]) == 0
    data = json.loads(path.read_text())
    assert [arm['seed'] for arm in data['arms']] == [5, 6]
    assert data['passed'] is True
    capsys.readouterr()
