# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`arm show`, `check`, `compare`, `export`, `import`: figures, files, verdicts, exit statuses."""

from dataclasses import replace
import json
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import available_arms, load
from franka_dynamics.arm.arm_file import arm_file_text
from franka_dynamics.arm_io import save
from franka_dynamics.cli import arm_check, arm_files
from franka_dynamics.cli.main import EXIT_INTERRUPTED, main
from franka_dynamics.dynamics.regressor import parameter_vector
from franka_dynamics.errors import InertiaError
from franka_dynamics.files import share_directory
from franka_dynamics.parameters.base_parameters import BaseParameters
from franka_dynamics.urdf.generated_files import generated_files
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.validation import crosscheck
from franka_dynamics.validation.urdf_check import checked_arm_from_urdf

from .conftest import run
from ..arms import with_row_shifted
from ..urdf.urdf_texts import assert_as_in_file, edited, six_axes

CHECK = 'arm check --states 5'
BASE = 'arm show --base-parameters --arm'


@pytest.mark.parametrize(
    'command',
    [
        'arm show --arm fer --set ledezma2021',
        'arm show --arm rpr --q -1.5e-1,-.5,-2E+0',
        'arm show --arm scemi --symbolic',
        'arm show --arm rpr --symbolic latex',  # standard rows are converted first
        f'{CHECK} --arm rpr --gravity 0,-1e-3,-9.81e0',
        f'{CHECK} --arm rpr --all',
        'arm compare fer fer --hand franka_hand',
    ],
)
def test_a_command_on_a_sound_arm_ends_with_0(command, answered):
    assert answered(command)[0] == 0


@pytest.mark.parametrize('name', available_arms())
def test_80_columns_show_an_arm_with_every_cell_on_one_line(name, monkeypatch, capsys):
    monkeypatch.setenv('COLUMNS', '80')
    assert main(['arm', 'show', name]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert set(load(name).joint_names) <= {word for line in lines for word in line.split()}
    assert not any(line.startswith(' ') for line in lines)  # as where a cell is folded


@pytest.mark.parametrize(
    ('name', 'convention', 'given', 'q'),
    [
        ('fer', 'modified', 'home', load('fer').home.tolist()),
        ('rpr', 'standard', '0.5,-0.1,0.7', [0.5, -0.1, 0.7]),
    ],
)
def test_json_holds_the_pose(name, convention, given, q, figures):
    data = figures(f'arm show --arm {name} --q', given)
    assert (data['q'], data['convention']) == (q, convention)
    arm = load(name)
    centers = [link['center_of_mass'] for link in data['links']]
    frames = fd.NewtonEulerModel(arm).frames(q)
    expected = [(pose @ [*link.center_of_mass, 1.0])[:3] for pose, link in zip(frames, arm.links)]
    np.testing.assert_allclose(centers, expected, rtol=0.0, atol=1e-12)


def test_all_terms_of_friction_are_shown(tmp_path, figures, capsys):
    terms = np.arange(1.0, 43.0).reshape(6, 7) / 128.0
    friction = fd.arm.MaxwellSlipFriction(
        *terms[:3], terms[3:4], [0.25], 0.01, stribeck=terms[4], load_dependent=terms[5]
    )
    path = tmp_path / 'own.yaml'
    path.write_text(arm_file_text(replace(load('fer'), friction=friction)), 'utf-8')
    data = figures(f'arm show {path}')['friction']
    keys = 'viscous', 'coulomb', 'offset', 'slip', 'stribeck', 'load_dependent'
    np.testing.assert_allclose(np.vstack([data[key] for key in keys]), terms, rtol=1e-12)
    assert (data['model'], data['reach'], data['width']) == ('maxwell_slip', [0.25], 0.01)
    capsys.readouterr()
    assert main(['arm', 'show', str(path)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    last = ['7', *(f'{value:.4g}' for value in terms[:, 6])]
    assert last in rows
    assert figures('arm show fr3')['friction'] is None


# Base parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(('gravity', 'count'), [('vertical', 43), ('tilted', 45), ('none', 39)])
def test_base_parameters_are_counted_as_in_the_literature(gravity, count, figures):
    assert figures(f'arm show --arm fer --base-parameters {gravity}')['rank'] == count


def test_the_json_files_map_gives_its_values(figures):
    content = figures(f'{BASE} scemi')
    assert len(content['values']) == content['rank'] == 36
    matrix = np.array(content['parameters']['matrix'])
    expected = matrix @ parameter_vector(load('scemi'))
    np.testing.assert_allclose(content['values'], expected, rtol=1e-14, atol=1e-14)
    assert content['parameters']['standard_names'][9] == 'm_1' and not matrix[:, 9].any()


@pytest.mark.parametrize('confirmed', [(42, 1e-14), (43, 1e-3)])
def test_what_other_states_do_not_confirm_exits_with_1(monkeypatch, answered, confirmed):
    # No arm is known that other states do not confirm, hence the stand-in.
    monkeypatch.setattr(BaseParameters, 'check_at_random_states', lambda _: confirmed)
    assert answered(f'{BASE} fer')[0] == 1


# The check of one description, and of two --------------------------------------------------------


def test_a_faulty_formulation_is_named_and_exits_with_1(answered, monkeypatch):
    class Faulty(fd.ExponentialsModel):
        def gravity(self, q):
            return 1.001 * super().gravity(q)

    monkeypatch.setitem(crosscheck.FORMULATIONS, 'exponentials', Faulty)
    status, out = answered(CHECK)
    assert status == 1 and 'exponentials' in out and 'gravity' in out


def test_json_holds_the_figures_of_the_check(figures):
    data = figures(CHECK)
    assert data['passed'] is True and data['reference'] == 'Pinocchio'
    assert set(data['differences']['gravity']) == {'Newton-Euler', 'exponentials'}
    assert 0.0 < data['differences']['inverse_dynamics']['exponentials'] < data['tolerance']
    assert [link['physical'] for link in data['consistency']] == [True] * 7


@pytest.fixture
def urdf(tmp_path):
    """Return a function that writes the URDF of an arm and returns its path."""

    def write(arm, name='robot.urdf'):
        (tmp_path / name).write_text(urdf_text(arm), encoding='utf-8')
        return tmp_path / name

    return write


def test_a_urdf_is_checked_as_an_arm_file_is(urdf, tmp_path, answered):
    path = urdf(load('fr3'))
    path.write_text(path.read_text('utf-8').replace('xyz="0 0 1"', 'xyz="0 0 2"', 1), 'utf-8')
    for words in ((path,), ('--arm', path)):
        status, said = answered(CHECK, *words)
        assert status == 0 and 'length 2' in said
    save(load('fer'), tmp_path / 'mine.yaml')
    assert answered(CHECK, tmp_path / 'mine.yaml')[0] == 0


def test_two_arms_are_compared_of_whichever_files(urdf, tmp_path, answered):
    # Given an FR3 whose elbow is 1 cm too wide.
    wide = urdf(with_row_shifted(load('fr3'), 3, a=0.01))
    sound = urdf(load('fr3'), 'sound.urdf')
    for words in (('fr3', wide), (wide, 'fr3'), (sound, wide)):
        status, said = answered('arm compare', *words)
        assert status == 1 and all(one in said for one in ('fr3_joint4', '0.0925', '0.0825'))
    # A URDF has no friction and no rotors, so these do not count as differences.
    assert answered('arm compare', sound, 'fr3')[0] == 0
    save(load('fer'), tmp_path / 'mine.yaml')
    assert answered('arm compare fer', tmp_path / 'mine.yaml')[0] == 0


def test_hands_that_differ_are_named(tmp_path, answered):
    save(load('fr3', hand='franka_hand'), tmp_path / 'mine.yaml')
    status, said = answered('arm compare fr3', tmp_path / 'mine.yaml')
    assert status == 1 and '--hand franka_hand' in said
    assert answered('arm compare --hand franka_hand fr3', tmp_path / 'mine.yaml')[0] == 0


def test_the_effect_on_a_sliding_joint_is_a_force(tmp_path, told):
    turning, sliding, last = fd.load('rpr').joints
    # A rotor acts on its own joint alone.
    joints = (turning, replace(sliding, rotor_inertia=sliding.rotor_inertia + 1.0), last)
    save(replace(fd.load('rpr'), joints=joints), tmp_path / 'heavier.yaml')
    status, _, data = told('arm compare rpr', tmp_path / 'heavier.yaml')
    assert status == 1
    total = data['total_effect']
    assert (total['joint'], total['unit'], total['rms_unit']) == (sliding.name, 'N', '')
    assert [one['effect_unit'] for one in data['differences']] == ['N']


def test_geometry_of_links_without_inertials_is_compared(urdf, told):
    path = urdf(with_row_shifted(load('fr3'), 3, a=0.01))
    text = path.read_text('utf-8')
    path.write_text(re.sub('<inertial>.*?</inertial>', '', text, flags=re.DOTALL), 'utf-8')
    status, said, data = told('arm compare fr3', path)
    assert status == 1 and '<inertial>' in said and 'fr3_link1' in said
    moved = {one['owner'] for one in data['differences'] if one['kind'] == 'geometry'}
    assert moved == {'fr3_joint4'}


def test_a_urdf_is_compared_with_the_nearest_set_and_hand(urdf, figures):
    data = figures('arm compare fr3', urdf(load('fr3', hand='franka_hand')))
    assert (data['passed'], data['first']['hand']) == (True, 'franka_hand')
    assert data['differences'] == []
    assert all(one in data['notes'][0] for one in ('franka_description', 'franka_hand'))


def test_against_another_set_exits_with_1_and_json_lists_all(tmp_path, told):
    save(load('fer', 'franka_description'), tmp_path / 'mine.yaml')
    status, _, data = told('arm compare fer', tmp_path / 'mine.yaml')
    masses = {one['owner'] for one in data['differences'] if one['parameter'] == 'mass'}
    assert status == 1 and masses == {f'fer_joint{i}' for i in range(1, 8)}
    effects = [one['torque_effect'] for one in data['differences']]
    assert effects == sorted(effects, reverse=True) and effects[0] > 1.0
    assert data['total_effect']['largest'] > 1.0


# Files -------------------------------------------------------------------------------------------


def test_a_written_arm_and_hand_are_recognised_by_the_check(tmp_path, answered):
    path = tmp_path / 'left.urdf'
    command = 'arm export --arm fr3 --hand franka_hand --arm-prefix left_ --output'
    assert answered(command, path) == (0, f'written: {path}')
    _, verdict = checked_arm_from_urdf(path.read_text('utf-8'), load('fr3', prefix='left_'))
    assert (verdict.inertial_set, verdict.hand_in_urdf) == (
        'franka_description',
        'franka_hand',
    )


def test_an_exported_mjcf_is_the_shipped_one(tmp_path, capsys, refused):
    file = tmp_path / 'arm.mjcf'
    shipped = generated_files()['rpr.xml']
    assert main('arm export --arm rpr --format mjcf'.split()) == 0
    assert capsys.readouterr().out == shipped
    assert main(f'arm export --arm rpr --output {file}'.split()) == 0
    assert file.read_text('utf-8') == shipped
    capsys.readouterr()
    said = refused('arm export --arm rpr --force --format urdf --output', file)
    assert '--format' in said and 'arm.mjcf' in said


def test_a_desk_file_has_the_hand_that_the_set_brings(answered):
    status, said = answered('arm export --arm fer --format desk --set ledezma2021')
    assert status == 0
    hand = fd.load_hand('hand_ledezma2021')
    assert json.loads(said)['mass'] == pytest.approx(hand.mass, rel=1e-12)


@pytest.mark.parametrize('form', ['urdf', 'mjcf'])
def test_an_arm_of_ones_own_keeps_its_masses(form, tmp_path, urdf, answered):
    save(load('fr3'), tmp_path / 'my--arm.yaml')  # whose name would end a comment
    status, said = answered('arm export --format', form, '--arm', tmp_path / 'my--arm.yaml')
    assert status == 0
    ElementTree.fromstring(said)
    given = urdf(load('fr3'), 'a.urdf')
    copy = tmp_path / f'copy.{form}'
    assert answered(*('arm export --payload 1.5,0,0,0 --arm', given, '--output', copy))[0] == 0
    build = pin.buildModelFromUrdf if form == 'urdf' else pin.buildModelFromMJCF
    mass = sum(inertia.mass for inertia in build(str(copy)).inertias[1:])
    assert mass == pytest.approx((sum(link.mass for link in load('fr3').links) + 1.5), rel=1e-12)


@pytest.mark.parametrize('words', ['arm export', f'arm import {share_directory()}/urdf/fer.urdf'])
def test_a_file_that_is_there_is_written_over_only_with_force(words, tmp_path, refused, answered):
    file = tmp_path / 'there.yaml'
    file.write_text('mine')
    assert 'add --force' in refused(words, '--output', file) and file.read_text() == 'mine'
    assert answered(words, '--output', file, '--force')[0] == 0 and file.read_text() != 'mine'


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
    assert 'pass: ' in said and all(one in said for one in ('axis1', 'axis6', 'tool0'))
    assert arm.convention.value == convention
    assert_as_in_file(arm, text)
    model = pin.buildModelFromXML(text)
    q = np.linspace(-2.0, 2.0, 6)
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    pose = data.oMf[model.getFrameId('tool0')].homogeneous
    np.testing.assert_allclose(arm.frames(q)[-1], pose, rtol=0.0, atol=1e-13)


def test_a_mismatch_leaves_no_file_unless_it_is_forced(tmp_path, answered, monkeypatch):
    urdf = tmp_path / 'a.urdf'
    file = tmp_path / 'a.yaml'
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
    assert status == 1 and 'MISMATCH: ' in said
    assert 'axis' in said and not file.exists()
    assert answered('arm import', urdf, '--output', file, '--anyway')[0] == 1
    assert fd.load(file).n == 6


def test_a_gripper_is_carried_by_the_last_link_of_the_arm(
    imported,
):
    arm, said = imported(six_axes(extra=TOOL + FINGER))
    assert 'drive at 0.01' in said and arm.joint_names == tuple(f'axis{k}' for k in range(1, 7))
    np.testing.assert_allclose(arm.links[-1].mass, 2.25, rtol=0.0, atol=1e-14)
    text = six_axes().replace('"axis6"', '"wrist_roll"').replace('"link6"', '"gripper_link"')
    arm, _ = imported(text)
    assert arm.n == 6 and arm.joint_names[-1] == 'wrist_roll'


@pytest.mark.parametrize(
    ('pattern', 'text', 'note'),
    [
        (
            'revolute(.*?)<limit.*?/>',
            r'continuous\1',
            'joint axis3 has no limits; none are',
        ),
        ('iyy="', 'iyy="9', "link 'link1', <inertia>: i"),
        (
            '<inertial>.*?</inertial>',
            '',
            "'link1': neither the link nor what is fixed to it has",
        ),
    ],
)
def test_what_is_missing_in_a_urdf_is_noted(pattern, text, note, imported):
    limitless = 'limit' in pattern
    arm, said = imported(re.sub(pattern, text, six_axes(), count=0 if limitless else 1))
    assert f'note: {note}' in said and np.isinf(arm.limit('effort')).all() == limitless


def test_of_two_arms_the_prefix_chooses_one_and_is_taken_off(tmp_path, imported, refused):
    left, right = (urdf_text(fd.load('fr3', prefix=side)) for side in ('left_', 'right_'))
    both = left.replace('</robot>', right[right.index('<joint name="right_fr3_link0_joint"') :])
    (tmp_path / 'both.urdf').write_text(both, encoding='utf-8')
    said = refused('arm import', tmp_path / 'both.urdf', '--output', tmp_path / 'a.yaml')
    assert '--joints left_fr3_joint1,' in said
    assert not (tmp_path / 'a.yaml').exists()
    arm, _ = imported(both, '--arm-prefix', 'right_', '--name', 'mine')
    assert (arm.name, arm.joint_names) == ('mine', fd.load('fr3').joint_names)


def test_joints_and_a_tip_choose_the_part_of_the_chain(imported):
    text = six_axes(extra=TOOL)
    names = [f'axis{i}' for i in range(1, 7)]
    part, _ = imported(text, '--joints', ','.join(names), '--tip', 'link6')
    whole, _ = imported(text)
    tip, tool = (fd.NewtonEulerModel(arm).frames(np.zeros(6))[-1, :3, 3] for arm in (part, whole))
    np.testing.assert_allclose(np.linalg.norm(tool - tip), 0.1, rtol=0.0, atol=1e-14)


def test_efforts_and_masses_of_a_urdf_in_other_units_are_told(
    imported,
):
    fer = urdf_text(fd.load('fer'))
    arm, said = imported(fer.replace('effort="12"', 'effort="12000"'))
    (note,) = (one for one in said.split('note: ') if '12000 N m' in one)
    assert 'fer_joint5' in note
    assert np.isinf(arm.limit('effort')).tolist() == [False] * 4 + [True] * 3
    # Where no mass is given, neither: no joint has so much.
    bare = re.sub('<inertial>.*?</inertial>', '', fer, flags=re.DOTALL)
    arm, said = imported(bare.replace('effort="12"', 'effort="120000"'))
    assert sum('120000 N m' in one for one in said.split('note: ')) == 1
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
    at_five = lambda arm, **more: compare(arm, **{**more, 'count': 5})  # noqa: E731
    monkeypatch.setattr(arm_check, 'compare_formulations', at_five)


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
    texts = {
        'a/own.urdf': OWN,
        'heavy.urdf': HEAVY,
        'no.urdf': IMPOSSIBLE,
        'cut.urdf': OWN[:99],
    }
    texts['part.urdf.xacro'] = MACROS_ALONE
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, 'utf-8')
    fr3 = tmp_path / 'fr3.urdf'
    fr3.write_text(urdf_text(fd.load('fr3')), 'utf-8')
    status, said, data = told('arm check --states 7', folder, fr3, 'fr3')
    verdicts = {path.removeprefix(f'{folder}/'): one['verdict'] for path, one in data.items()}
    assert verdicts == {
        **{'a/own.urdf': 'pass', 'heavy.urdf': 'pass', f'{fr3}': 'pass', 'fr3': 'pass'},
        **{'no.urdf': 'not physical', 'cut.urdf': 'error'},
    }
    assert status == 2 and all(f'{one}: {folder}/' in said for one in ('error', 'not physical'))
    assert 'axis3_link' in said and '90 kg' in said
    assert told('arm check', folder / 'no.urdf', folder / 'heavy.urdf')[0] == 1
    assert told('arm check', folder / 'a')[0] == 0
    (tmp_path / 'empty').mkdir()
    said = refused('arm check', tmp_path / 'empty')
    assert f'{tmp_path}/empty' in said and '.urdf.xacro' in said


MACROS_ALONE = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="a"/>'


def test_a_file_named_by_hand_is_not_left_out(tmp_path, told):
    """A folder's xacro file with macros alone is no arm; whoever names one is told so."""
    own = tmp_path / 'own.urdf'
    own.write_text(OWN, 'utf-8')
    macros = tmp_path / 'macros.urdf.xacro'
    macros.write_text(MACROS_ALONE, 'utf-8')
    status, _, data = told('arm check --states 2', own, macros)
    assert status == 2
    assert [data[f'{file}']['verdict'] for file in (own, macros)] == ['pass', 'error']
    assert list(told('arm check --states 2', tmp_path)[2]) == [f'{own}']


def test_what_is_no_file_in_a_folder_ends_no_check(tmp_path, told):
    (tmp_path / 'folder.xml').mkdir()
    (tmp_path / 'own.urdf').write_text(OWN, 'utf-8')
    status, _, data = told('arm check --states 2', tmp_path)
    assert status == 0 and list(data) == [f'{tmp_path}/own.urdf']


def test_a_folder_does_not_hide_a_shipped_arm(tmp_path, monkeypatch, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'fr3').mkdir()
    assert told('arm check --states 2 fr3')[2]['verdict'] == 'pass'


def test_json_of_several_files_is_written_before_text(tmp_path, monkeypatch, capsys):
    path = tmp_path / 'figures.json'
    command = ('arm', 'check', 'rpr', 'fr3', '--states', '2', '--json')
    assert main(command) == 0
    alone = capsys.readouterr().out
    assert [one['verdict'] for one in json.loads(alone).values()] == ['pass', 'pass']

    def end(*_):
        """End the program at its first line, as `| head` can."""
        raise KeyboardInterrupt

    monkeypatch.setattr(arm_check, 'echo', end)
    assert main([*command, f'{path}']) == EXIT_INTERRUPTED
    assert json.loads(path.read_text()) == json.loads(alone)


@pytest.mark.parametrize('command', ['arm show', 'codegen', 'arm export'])
def test_each_command_warns_once_of_what_changes_torques(file, capsys, command):
    assert run(command, '--arm', file(OWN.replace('rpy="0 0 0"', 'rpy="0 0.5 0"', 1))) == 0
    said = capsys.readouterr().err
    assert said.count('tilted') == 1 and 'UrdfWarning' not in said


@pytest.mark.parametrize(
    ('words', 'link'),
    [(['--set', 'franka_description'], 'fer_joint4'), ([], 'axis3_link')],
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
    file = tmp_path / 'own.urdf.xacro'
    output = tmp_path / 'arm.yaml'
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
