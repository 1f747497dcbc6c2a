# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`arm check OTHER`: the verdict on a URDF or an arm file, and combinations of options."""

import re

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.arm_file_writer import save
from franka_dynamics.urdf.writer import urdf_text

from ..arms import with_link, with_row_shifted

WIDE = '- fr3_joint4: a is 0.0925 instead of 0.0825 [m]; torque changes by'


def urdf(folder, arm):
    path = folder / 'robot.urdf'
    path.write_text(urdf_text(arm), encoding='utf-8')
    return path


@pytest.fixture
def wide(tmp_path):
    """Return the path of a URDF of an FR3 whose elbow is 1 cm too wide."""
    return urdf(tmp_path, with_row_shifted(load('fr3'), 3, a=0.01))


def test_a_urdf_is_compared_with_its_arm_and_a_node_refuses_it(wide, answered):
    status, said = answered('arm check', wide)
    assert status == 1 and said.startswith('MISMATCH: ')
    assert ' against fr3 (franka_description, hand none): ' in said and WIDE in said
    assert 'note: a node refuses it as its model' in said


def test_a_difference_has_one_effect_on_torque_for_the_arm_and_for_a_node(tmp_path, answered):
    arm = load('fr3')
    heavier = arm.links[2] + LinkInertia.from_center_of_mass(0.5, (0.1, 0.0, 0.0), np.zeros(6))
    path = urdf(tmp_path, with_link(arm, 2, heavier))
    status, said = answered('arm check --gravity 0 3 -9', path)
    effects = re.findall(r'(first moment x|mass) is .*? by up to (\S+) N m', said)
    assert status == 1 and len(effects) > 1 and len(set(effects)) < len(effects)
    assert len(set(effects)) == len({name for name, _ in effects})


def test_a_urdf_of_the_arm_passes_and_json_says_which(tmp_path, figures):
    data = figures('arm check', urdf(tmp_path, load('fr3', hand='franka_hand')))
    assert (data['passed'], data['hand'], data['differences']) == (True, 'franka_hand', [])
    assert 'inertials of fr3 franka_description, franka_hand, exactly' in data['node'][0]


def test_two_urdfs_and_a_urdf_before_an_arm_file_are_compared(wide, tmp_path, answered, refused):
    (tmp_path / 'sound').mkdir()
    sound = urdf(tmp_path / 'sound', load('fr3', hand='none'))
    status, said = answered('arm check', wide, '--arm', sound)
    assert status == 1 and WIDE in said and '1 difference' in said
    # A URDF has no friction and no rotors, so these do not count as differences.
    assert answered('arm check fr3 --arm', sound)[0] == 0
    said = refused('arm check fr3 --hand none --arm', sound)
    assert '--hand has no meaning with a URDF' in said


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        ('robot.urdf --repair nearest_within_rounding', '--repair needs --arm; add it'),
        ('robot.urdf --payload 1,0,0,0', '--payload needs --arm; add it'),
        ('fr3 --arm-prefix left_', 'Leave one of them out.'),
        ('none.urdf', 'No such file or directory. Correct its path'),
        ('{urdf} --set gaz2019', 'fr3 has no published set gaz2019'),
        ('{urdf} --arm fr3 --arm-prefix x_', "has no joint 'x_fr3_joint1'"),
    ],
)
def test_what_cannot_be_compared_is_refused(words, said, wide, refused):
    assert said in refused('arm check ' + words.format(urdf=wide))


def test_against_another_set_exits_with_1_and_json_lists_all(answered, figures):
    command = 'arm check fer --arm fer --set franka_description'
    status, out = answered(command)
    data = figures(command, status=1)
    masses = {one['place'] for one in data['differences'] if one['parameter'] == 'mass'}
    assert status == 1 and masses == {f'fer_joint{i}' for i in range(1, 8)}
    effects = [one['torque_effect'] for one in data['differences']]
    assert effects == sorted(effects, reverse=True) and effects[0] > 1.0
    # Ten differences and the effect of all differences together are printed.
    assert out.count('torque changes by up to') == 10
    assert f'- and {len(effects) - 10} more with less effect' in out
    assert f'Together they change the torque by up to {data["together"]["largest"]:.3g} N m' in out


def test_the_hand_is_given_to_both_arms(answered):
    status, said = answered('arm check fer --arm fer --hand franka_hand')
    assert (status, said.split(':')[0]) == (0, 'pass')


def test_an_arm_file_is_compared_with_the_shipped_arm_of_its_name(tmp_path, answered):
    save(load('fr3'), tmp_path / 'mine.yaml')
    status, said = answered('arm check', tmp_path / 'mine.yaml')
    assert status == 0 and ' against fr3 (franka_description, ' in said
