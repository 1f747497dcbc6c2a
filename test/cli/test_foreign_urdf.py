# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands on a URDF that is none of the shipped arms: one verdict, and notes that are seen."""

import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli import arm_check
from franka_dynamics.urdf.writer import urdf_text

from .conftest import run
from ..urdf.urdf_texts import edited

LINK3 = "link[@name='axis3_link']/inertial"
OWN = urdf_text(load('fr3').with_joint_names([f'axis{i}' for i in range(1, 8)]))
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
    fr3.write_text(urdf_text(load('fr3')), 'utf-8')
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
    assert load(output).links[2].mass == 4.0
    status, _, data = told('arm check m:=0.2', file)
    assert status == 0 and data['consistency'][2]['mass'] == 0.2
    plain = tmp_path / 'own.urdf'
    plain.write_text(edited(OWN, f'{LINK3}/mass', value='3'), 'utf-8')
    for words in ((plain, file), (file, plain)):
        assert told('arm compare m:=3', *words)[0] == 0
        assert told('arm compare m:=4', *words)[0] == 1
