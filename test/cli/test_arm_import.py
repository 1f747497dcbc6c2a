# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`arm import`, and commands on a URDF that is none of the shipped arms': verdicts and notes."""

from dataclasses import replace
import re

import numpy as np
import pinocchio as pin
import pytest

import franka_dynamics as fd
from franka_dynamics.cli import arm_check, arm_files
from franka_dynamics.errors import InertiaError
from franka_dynamics.urdf.writer import urdf_text

from .conftest import run
from ..urdf.urdf_texts import assert_as_in_the_file, edited, six_axes

TOOL = (
    '<link name="tool0"/><joint name="tool" type="fixed"><parent link="link6"/>'
    '<child link="tool0"/><origin xyz="0 0 0.1" rpy="0 0.3 0"/></joint>'
)
FINGER = (
    '<link name="left_finger"><inertial><mass value="2"/><inertia ixx="0.02" ixy="0" ixz="0" '
    'iyy="0.02" iyz="0" izz="0.02"/></inertial></link><joint name="drive" type="prismatic">'
    '<parent link="tool0"/><child link="left_finger"/><axis xyz="0 1 0"/>'
    '<limit effort="9" velocity="1" lower="0.01" upper="0.04"/></joint>'
)


@pytest.fixture
def imported(tmp_path, answered):
    """Return a function that imports a URDF's text and returns the loaded arm and the output."""

    def run(text, *options):
        (tmp_path / 'a.urdf').write_text(text, encoding='utf-8')
        output = ['--output', tmp_path / 'a.yaml', '--force']
        status, said = answered('arm import', tmp_path / 'a.urdf', *output, *options)
        assert status == 0
        return fd.load(tmp_path / 'a.yaml'), said

    return run


@pytest.mark.parametrize('convention', ['modified', 'standard'])
def test_another_makers_arm_moves_and_weighs_as_in_pinocchio(convention, imported):
    text = six_axes(extra=TOOL)
    arm, said = imported(text, '--convention', convention)
    assert 'pass: ' in said and '6 joints from axis1 to axis6, flange tool0' in said
    assert arm.convention.value == convention
    assert_as_in_the_file(arm, text)
    model, q = pin.buildModelFromXML(text), np.linspace(-2.0, 2.0, 6)
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    pose = data.oMf[model.getFrameId('tool0')].homogeneous
    np.testing.assert_allclose(arm.frames(q)[-1], pose, rtol=0.0, atol=1e-13)


def test_a_mismatch_leaves_no_file_unless_it_is_forced(tmp_path, answered, monkeypatch):
    urdf, file = tmp_path / 'a.urdf', tmp_path / 'a.yaml'
    urdf.write_text(six_axes().replace('0.43" rpy="0 0 0"', '0.43" rpy="3.14159 0 0"'), 'utf-8')
    assert answered('arm import', urdf, '--output', file)[0] == 0  # nearly parallel axes are exact
    file.unlink()
    written = arm_files.arm_file_text
    monkeypatch.setattr(
        arm_files,
        'arm_file_text',
        lambda arm, **words: written(replace(arm, links=(*arm.links[:-1], arm.links[0])), **words),
    )
    status, said = answered('arm import', urdf, '--output', file)
    assert status == 1 and 'MISMATCH: ' in said and 'was not written' in said
    assert 'g at axis' in said and not file.exists()
    assert answered('arm import', urdf, '--output', file, '--anyway')[0] == 1
    assert fd.load(file).n == 6


def test_a_gripper_is_carried_by_the_last_link_and_a_wrist_that_carries_one_is_the_arms(imported):
    arm, said = imported(six_axes(extra=TOOL + FINGER))
    assert 'note: drive at 0.01 (taken for a gripper)' in said
    np.testing.assert_allclose(arm.links[-1].mass, 2.25, rtol=0.0, atol=1e-14)
    text = six_axes().replace('"axis6"', '"wrist_roll"').replace('"link6"', '"gripper_link"')
    arm, said = imported(text)
    assert 'taken for a gripper' not in said
    assert arm.joint_names[-1] == 'wrist_roll'


@pytest.mark.parametrize(
    ('pattern', 'text', 'note'),
    [
        ('revolute(.*?)<limit.*?/>', r'continuous\1', 'joint axis3 has no limits; none are'),
        ('iyy="', 'iyy="9', "link 'link1', <inertia>: i"),
        (
            '<inertial>.*?</inertial>',
            '',
            "'link1': neither the link nor what is fixed to it has an <inertial>",
        ),
    ],
)
def test_what_is_missing_in_a_urdf_is_noted(pattern, text, note, imported):
    limitless = 'limit' in pattern
    changed = re.sub(pattern, text, six_axes(), count=0 if limitless else 1)
    arm, said = imported(changed)
    assert f'note: {note}' in said
    assert np.isinf(arm.limit('effort')).all() == limitless


def test_of_two_arms_the_prefix_chooses_one_and_is_taken_off(tmp_path, imported, refused):
    left, right = (urdf_text(fd.load('fr3', prefix=side)) for side in ('left_', 'right_'))
    both = left.replace('</robot>', right[right.index('<joint name="right_fr3_link0_joint"') :])
    (tmp_path / 'both.urdf').write_text(both, encoding='utf-8')
    said = refused('arm import', tmp_path / 'both.urdf', '--output', tmp_path / 'a.yaml')
    assert 'has 2 chains of moving joints' in said and '--joints left_fr3_joint1,' in said
    assert not (tmp_path / 'a.yaml').exists()
    arm, _ = imported(both, '--arm-prefix', 'right_', '--name', 'mine')
    assert (arm.name, arm.joint_names) == ('mine', fd.load('fr3').joint_names)


def test_joints_and_a_tip_choose_the_part_of_the_chain(imported):
    text, names = six_axes(extra=TOOL), [f'axis{i}' for i in range(1, 7)]
    part, whole = (
        imported(text, '--joints', ','.join(names), '--tip', 'link6')[0],
        imported(text)[0],
    )
    tip, tool = (fd.NewtonEulerModel(arm).frames(np.zeros(6))[-1, :3, 3] for arm in (part, whole))
    np.testing.assert_allclose(np.linalg.norm(tool - tip), 0.1, rtol=0.0, atol=1e-14)


def test_a_urdfs_efforts_in_newton_millimetres_count_as_none_masses_in_grams_are_asked(imported):
    fer = urdf_text(fd.load('fer'))
    arm, said = imported(fer.replace('effort="12"', 'effort="12000"'))
    assert said.count('They are left out') == 1 and 'limit of fer_joint5 is 12000 N m' in said
    assert np.isinf(arm.limit('effort')).tolist() == [False] * 4 + [True] * 3
    # Where no mass is given, neither: no joint has so much.
    bare = re.sub('<inertial>.*?</inertial>', '', fer, flags=re.DOTALL)
    arm, said = imported(bare.replace('effort="12"', 'effort="120000"'))
    assert said.count('They are left out') == 1
    assert np.isinf(arm.limit('effort')).tolist() == [False] * 4 + [True] * 3
    grams = re.sub('mass value="(.*?)"', lambda m: f'mass value="{1000 * float(m[1])}"', fer)
    with pytest.raises(InertiaError, match=r'fer_link4. .*in grams'):
        fd.import_urdf(grams).require_physical('a test')


LINK3 = "link[@name='axis3_link']/inertial"
OWN = urdf_text(fd.load('fr3').with_joint_names([f'axis{i}' for i in range(1, 8)]))
IMPOSSIBLE = edited(OWN, f'{LINK3}/inertia', iyy='-0.5')
HEAVY = edited(OWN, f'{LINK3}/mass', value='90')


@pytest.fixture(autouse=True)
def few_states(monkeypatch):
    """Compare at few states: these tests are about what is said of a file."""
    compare = arm_check.compare_formulations
    monkeypatch.setattr(
        arm_check, 'compare_formulations', lambda arm, **more: compare(arm, **{**more, 'count': 5})
    )


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / 'own.urdf'
        path.write_text(text, 'utf-8')
        return path

    return write


@pytest.mark.parametrize('words', [[], ['--joints', 'axis1,axis2,axis3,axis4,axis5,axis6,axis7']])
def test_an_arm_of_another_maker_is_checked_alone(file, told, words):
    status, said, data = told('arm check', file(OWN), *words)
    assert status == 0
    assert said.startswith('pass:') and said.count('pass:') == 1
    assert data['passed'] and data['largest'] < 1e-12


@pytest.mark.parametrize(
    ('text', 'entry', 'verdict'),
    [(HEAVY, '<mass>', 'pass: '), (IMPOSSIBLE, '<inertia>', 'not physical: ')],
)
def test_doubtful_numbers_are_a_table_and_data(file, told, text, entry, verdict):
    status, said, data = told('arm check', file(text))
    assert status == (verdict != 'pass: ') and said.startswith(verdict)
    found = [one for one in data['doubts'] if one['names'] == ['axis3_link']]
    assert entry in [one['entry'] for one in found]
    assert 'axis3_link' in said and entry in said
    assert verdict == 'pass: ' or said.count('axis3_link') == 1  # one fault is said once


def test_files_and_folders_are_checked_one_after_another(tmp_path, told, refused):
    folder = tmp_path / 'some'
    texts = {'a/own.urdf': OWN, 'heavy.urdf': HEAVY, 'no.urdf': IMPOSSIBLE, 'cut.urdf': OWN[:99]}
    texts['part.urdf.xacro'] = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="a"/>'
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, 'utf-8')
    fr3 = tmp_path / 'fr3.urdf'
    fr3.write_text(urdf_text(fd.load('fr3')), 'utf-8')
    status, said, data = told('arm check --states 7 --all', folder, fr3, 'fr3')
    verdicts = {path.removeprefix(f'{folder}/'): one['verdict'] for path, one in data.items()}
    assert verdicts == {
        **{'a/own.urdf': 'pass', 'heavy.urdf': 'pass', f'{fr3}': 'pass', 'fr3': 'pass'},
        **{'no.urdf': 'not physical', 'cut.urdf': 'error'},
    }
    assert status == 2 and all(f'{one}: {folder}/' in said for one in ('error', 'not physical'))
    assert "note: link 'axis3_link', <mass>: 90 kg" in said
    assert told('arm check', folder / 'no.urdf', folder / 'heavy.urdf')[0] == 1
    assert told('arm check', folder / 'a')[0] == 0
    (tmp_path / 'empty').mkdir()
    said = refused('arm check', tmp_path / 'empty')
    assert f'{tmp_path}/empty' in said and '.urdf.xacro' in said


@pytest.mark.parametrize('command', ['arm show', 'codegen', 'arm export'])
def test_each_command_warns_once_of_what_changes_torques(file, capsys, command):
    text = OWN.replace('rpy="0 0 0"', 'rpy="0 0.5 0"', 1)
    assert run(command, '--arm', file(text)) == 0
    said = capsys.readouterr().err
    assert said.count('tilted') == 1 and 'UrdfWarning' not in said


@pytest.mark.parametrize(
    ('words', 'link'), [(['--set', 'franka_description'], 'fer_joint4'), ([], 'axis3_link')]
)
def test_c_code_of_an_impossible_link_says_so(file, tmp_path, capsys, words, link):
    arm = 'fer' if words else file(IMPOSSIBLE)
    assert run('codegen', '--arm', arm, *words, '--output', tmp_path / 'code') == 0
    out, err = capsys.readouterr()
    assert 'warning' in out + err and link in out + err
    (header,) = (tmp_path / 'code').glob('*.h')
    comment = header.read_text('utf-8').partition('*/')[0]
    assert 'WARNING' in comment and link in ' '.join(comment.replace(' * ', ' ').split())


def test_commands_take_a_xacro_files_arguments_as_words(tmp_path, told):
    pytest.importorskip('xacro')
    head = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="own"><xacro:arg name="m" '
    text = edited(OWN, f'{LINK3}/mass', value='$(arg m)')
    file, output = tmp_path / 'own.urdf.xacro', tmp_path / 'arm.yaml'
    file.write_text(text.replace('<robot name="fr3">', f'{head}default="2"/>'), 'utf-8')
    assert told('arm show', file, 'm:=3')[2]['links'][2]['mass'] == 3.0
    assert run('arm import m:=4', file, '--output', output) == 0
    assert fd.load(output).links[2].mass == 4.0
    status, _, data = told('arm check m:=0.2', file)
    assert status == 0 and data['consistency'][2]['mass'] == 0.2
    plain = tmp_path / 'own.urdf'
    plain.write_text(edited(OWN, f'{LINK3}/mass', value='3'), 'utf-8')
    for words in ((plain, file), (file, plain)):
        assert told('arm compare m:=3', *words)[0] == 0
        assert told('arm compare m:=4', *words)[0] == 1
