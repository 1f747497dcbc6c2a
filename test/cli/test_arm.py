# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`arm show`, `check`, `compare` and `export`: their figures, files and exit statuses."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio
import pytest

from franka_dynamics.arm import available_arms, load
from franka_dynamics.arm_io import save
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.dynamics.regressor import parameter_vector
from franka_dynamics.files import share_directory
from franka_dynamics.identification.base_parameters import BaseParameters
from franka_dynamics.urdf.generated_files import generated_files
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.validation import crosscheck
from franka_dynamics.validation.urdf_check import checked_arm_from_urdf

from ..arms import with_row_shifted

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
    arm, centers = load(name), [link['center_of_mass'] for link in data['links']]
    frames = NewtonEulerModel(arm).frames(q)
    expected = [(pose @ [*link.center_of_mass, 1.0])[:3] for pose, link in zip(frames, arm.links)]
    np.testing.assert_allclose(centers, expected, rtol=0.0, atol=1e-12)


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
    class Faulty(ExponentialsModel):
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
        assert status == 0 and 'axis of length 2' in said
    save(load('fer'), tmp_path / 'mine.yaml')
    assert answered(CHECK, tmp_path / 'mine.yaml')[0] == 0


def test_two_arms_are_compared_of_whichever_files(urdf, tmp_path, answered):
    # Given an FR3 whose elbow is 1 cm too wide.
    wide, sound = urdf(with_row_shifted(load('fr3'), 3, a=0.01)), urdf(load('fr3'), 'sound.urdf')
    for words in (('fr3', wide), (wide, 'fr3'), (sound, wide)):
        status, said = answered('arm compare', *words)
        assert status == 1 and 'fr3_joint4: position x is 0.0925 instead of 0.0825' in said
    # A URDF has no friction and no rotors, so these do not count as differences.
    assert answered('arm compare', sound, 'fr3')[0] == 0
    save(load('fer'), tmp_path / 'mine.yaml')
    assert answered('arm compare fer', tmp_path / 'mine.yaml')[0] == 0


def test_hands_that_differ_are_named(tmp_path, answered):
    save(load('fr3', hand='franka_hand'), tmp_path / 'mine.yaml')
    status, said = answered('arm compare fr3', tmp_path / 'mine.yaml')
    assert status == 1 and '--hand franka_hand' in said
    assert answered('arm compare --hand franka_hand fr3', tmp_path / 'mine.yaml')[0] == 0


def test_links_without_inertials_are_one_sentence_and_their_geometry_is_compared(urdf, told):
    path = urdf(with_row_shifted(load('fr3'), 3, a=0.01))
    text = path.read_text('utf-8')
    path.write_text(re.sub('<inertial>.*?</inertial>', '', text, flags=re.DOTALL), 'utf-8')
    status, said, data = told('arm compare fr3', path)
    assert status == 1 and 'no <inertial> with mass in fr3_link1, ' in said
    moved = {one['place'] for one in data['differences'] if one['kind'] == 'geometry'}
    assert moved == {'fr3_joint4'}


def test_a_urdf_is_compared_with_the_nearest_published_set_and_hand(urdf, figures):
    path = urdf(load('fr3', hand='franka_hand'))
    data = figures('arm compare fr3', path)
    assert (data['passed'], data['first']['hand']) == (True, 'franka_hand')
    assert data['differences'] == []
    assert 'inertials of fr3 franka_description, franka_hand, within rounding' in data['notes'][0]


def test_against_another_set_exits_with_1_and_json_lists_all(tmp_path, told):
    save(load('fer', 'franka_description'), tmp_path / 'mine.yaml')
    status, _, data = told('arm compare fer', tmp_path / 'mine.yaml')
    masses = {one['place'] for one in data['differences'] if one['parameter'] == 'mass'}
    assert status == 1 and masses == {f'fer_joint{i}' for i in range(1, 8)}
    effects = [one['torque_effect'] for one in data['differences']]
    assert effects == sorted(effects, reverse=True) and effects[0] > 1.0
    assert data['together']['largest'] > 1.0


# Files -------------------------------------------------------------------------------------------


def test_a_written_arm_and_hand_are_recognised_by_the_check(tmp_path, answered):
    path = tmp_path / 'left.urdf'
    command = 'arm export --arm fr3 --hand franka_hand --arm-prefix left_ --output'
    assert answered(command, path) == (0, f'written: {path}')
    _, verdict = checked_arm_from_urdf(path.read_text('utf-8'), load('fr3', prefix='left_'))
    assert (verdict.inertial_set, verdict.hand_in_urdf) == ('franka_description', 'franka_hand')


def test_an_exported_mjcf_is_the_shipped_one_printed_or_by_its_ending(tmp_path, capsys, refused):
    file, shipped = tmp_path / 'arm.mjcf', generated_files()['rpr.xml']
    assert main('arm export --arm rpr --format mjcf'.split()) == 0
    assert capsys.readouterr().out == shipped
    assert main(f'arm export --arm rpr --output {file}'.split()) == 0
    assert file.read_text('utf-8') == shipped
    capsys.readouterr()
    said = refused('arm export --arm rpr --force --format urdf --output', file)
    assert '--format' in said and 'arm.mjcf' in said


@pytest.mark.parametrize('form', ['urdf', 'mjcf'])
def test_an_arm_of_ones_own_keeps_its_masses(form, tmp_path, urdf, answered):
    save(load('fr3'), tmp_path / 'my--arm.yaml')  # whose name would end a comment
    status, said = answered('arm export --format', form, '--arm', tmp_path / 'my--arm.yaml')
    assert status == 0
    ElementTree.fromstring(said)
    given, copy = urdf(load('fr3'), 'a.urdf'), tmp_path / f'copy.{form}'
    words = 'arm export --payload 1.5,0,0,0 --arm', given, '--output', copy
    assert answered(*words)[0] == 0
    build = pinocchio.buildModelFromUrdf if form == 'urdf' else pinocchio.buildModelFromMJCF
    mass = sum(inertia.mass for inertia in build(str(copy)).inertias[1:])
    expected = sum(link.mass for link in load('fr3').links) + 1.5
    assert mass == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    'words', ['arm export', f'arm import {share_directory() / "urdf" / "fer.urdf"}']
)
def test_a_file_that_is_there_is_written_over_only_with_force(words, tmp_path, refused, answered):
    file = tmp_path / 'there.yaml'
    file.write_text('mine')
    assert 'add --force' in refused(words, '--output', file)
    assert file.read_text() == 'mine'
    assert answered(words, '--output', file, '--force')[0] == 0
    assert file.read_text() != 'mine'
