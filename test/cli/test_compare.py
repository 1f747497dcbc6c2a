# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`arm compare`: one verdict on a URDF or an arm file, and what its options mean together."""

import json
import re

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.cli.main import main
from franka_dynamics.urdf.writer import write_urdf

from ..arms import with_link, with_row_shifted


@pytest.fixture
def urdf(tmp_path):
    """Return the path of a URDF of an FR3 whose elbow is 1 cm too wide."""
    path = tmp_path / 'robot.urdf'
    path.write_text(write_urdf(with_row_shifted(load('fr3'), 3, a=0.01)), encoding='utf-8')
    return str(path)


def printed(capsys, *arguments):
    status = main(list(arguments))
    return status, ' '.join(capsys.readouterr().out.split())


def test_a_urdf_is_compared_with_its_arm_and_a_node_refuses_it(urdf, capsys):
    status, said = printed(capsys, 'arm', 'compare', urdf)
    assert status == 1
    assert said.startswith('MISMATCH: fr3 (franka_description, hand none) against ')
    assert '- fr3_joint4: a is 0.0825 here and 0.0925 there [m]; torque changes by' in said
    assert 'note: a node refuses it as its model' in said


def test_a_difference_has_one_effect_on_torque_for_the_arm_and_for_a_node(tmp_path, capsys):
    path, arm = tmp_path / 'robot.urdf', load('fr3')
    heavier = arm.links[2] + LinkInertia.from_center_of_mass(0.5, (0.1, 0.0, 0.0), np.zeros(6))
    path.write_text(write_urdf(with_link(arm, 2, heavier)), encoding='utf-8')
    status, said = printed(capsys, 'arm', 'compare', str(path), '--gravity', '0', '3', '-9')
    effects = re.findall(r'(first moment x|mass) is .*? by up to (\S+) N m', said)
    assert status == 1 and len(effects) > 1 and len(set(effects)) < len(effects)
    assert len(set(effects)) == len({name for name, _ in effects})


def test_a_urdf_of_the_arm_passes_and_json_says_which(tmp_path, capsys):
    path, figures = tmp_path / 'robot.urdf', tmp_path / 'figures.json'
    path.write_text(write_urdf(load('fr3', hand='franka_hand')), encoding='utf-8')
    status, said = printed(capsys, 'arm', 'compare', str(path), '--json', str(figures))
    assert (status, said.split(':')[0]) == (0, 'pass')
    data = json.loads(figures.read_text())
    assert data['passed'] is True
    assert (data['hand'], data['differences']) == ('franka_hand', [])
    assert 'inertials of fr3 franka_description, franka_hand, exactly' in data['node'][0]


def test_two_urdfs_and_a_urdf_before_an_arm_file_are_compared(urdf, tmp_path, capsys):
    path = tmp_path / 'sound.urdf'
    path.write_text(write_urdf(load('fr3', hand='none')), encoding='utf-8')
    status, said = printed(capsys, 'arm', 'compare', urdf, '--arm', str(path))
    assert status == 1
    assert '- fr3_joint4: a is 0.0825 here and 0.0925 there' in said and '1 difference' in said
    # Friction and rotors, of which a URDF says nothing, are no difference.
    assert printed(capsys, 'arm', 'compare', 'fr3', '--arm', str(path))[0] == 0
    assert main(['arm', 'compare', 'fr3', '--hand', 'none', '--arm', str(path)]) == 2
    assert '--hand has no meaning with a URDF' in capsys.readouterr().err


@pytest.mark.parametrize(
    'options',
    [
        ('arm', 'compare', 'robot.urdf', '--repair', 'nearest_within_rounding'),
        ('arm', 'compare', 'robot.urdf', '--payload', '1,0,0,0'),
        ('arm', 'compare', 'fr3', '--arm-prefix', 'left_'),
    ],
)
def test_options_that_cannot_be_honoured_are_refused(options, capsys):
    assert main(list(options)) == 2
    captured = capsys.readouterr()
    assert captured.out == ''
    assert captured.err.count('\n') == 1
    assert 'Leave one of them out.' in captured.err


def run(tmp_path, text, *options):
    path = tmp_path / 'robot.urdf'
    path.write_text(text, encoding='utf-8')
    return main(['arm', 'compare', str(path), *options])


def test_a_missing_urdf_file_or_a_set_of_another_arm_exits_with_2(tmp_path, capsys):
    assert main(['arm', 'compare', str(tmp_path / 'none.urdf')]) == 2
    assert run(tmp_path, write_urdf(load('fr3')), '--set', 'gaz2019') == 2
    assert 'fr3 has no published set gaz2019' in capsys.readouterr().err
    assert run(tmp_path, write_urdf(load('fr3')), '--arm', 'fr3', '--arm-prefix', 'x_') == 2
    assert "has no joint 'x_fr3_joint1'" in capsys.readouterr().err
