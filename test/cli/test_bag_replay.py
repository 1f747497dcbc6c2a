# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The verb `replay` from its options to its files and exit status."""

from dataclasses import replace
import json

import numpy as np
import pytest
import yaml

from franka_dynamics.arm import available_hands, available_sets, LinkInertia, load
from franka_dynamics.arm.arm_file_writer import arm_file_text
from franka_dynamics.cli.main import main
from franka_dynamics.recordings.recording import write_recording

from ..arms import drawn_around
from ..foreign_logs import teleoperated

FER = load('fer')


@pytest.fixture
def bag(simulate, tmp_path):
    path = tmp_path / 'bag'
    write_recording(simulate(FER, friction=FER.friction, noise=0.1), path)
    return path


def test_a_real_arms_table_plots_json_and_verdict_agree(fer_recording_path, tmp_path, answered):
    output = tmp_path / 'output'
    files = '--output', output, '--json', tmp_path / 'figures.json'
    status, printed = answered('bag', 'replay', fer_recording_path, *files)
    assert status == 0
    assert "gaz2019 bare has E = 0.874 N m with the arm file's friction" in printed
    assert 'ledezma2021 bare (0.875) fits as well' in printed
    assert 'No hand seems to be on' in printed
    figures = json.loads((tmp_path / 'figures.json').read_text())
    errors = {
        (one['inertial_set'], one['hand']): one['without_friction']['E'] for one in figures['fits']
    }
    assert len(errors) == len(available_sets('fer')) * (1 + len(available_hands()))
    assert errors['ledezma2021', 'none'] == pytest.approx(1.003, abs=1e-3)
    assert errors['ledezma2021', 'hand_ledezma2021'] == pytest.approx(3.115, abs=1e-3)
    assert figures['best'] == {'inertial_set': 'gaz2019', 'hand': 'none'}
    assert figures['samples'] == 709
    assert {path.name for path in output.iterdir()} == {'torques.png'}
    assert all(path.read_bytes().startswith(b'\x89PNG') for path in output.iterdir())


def test_only_the_sets_hands_and_filter_asked_for_are_used(bag, tmp_path):
    figures = tmp_path / 'figures.json'
    command = ['bag', 'replay', str(bag), '--set', 'gaz2019', 'ledezma2021']
    options = ['--hand', 'none', '--cutoff', '5', '--trim', '1', '--no-plots']
    assert main([*command, *options, '--json', str(figures)]) == 0
    data = json.loads(figures.read_text())
    assert {one['inertial_set'] for one in data['fits']} == {'gaz2019', 'ledezma2021'}
    assert [one['hand'] for one in data['fits']] == ['none', 'none']
    assert data['metric']['cutoff'] == 5.0
    assert data['samples'] == 361 - 2 * 30
    assert sorted(path.name for path in tmp_path.iterdir()) == ['bag', 'figures.json']


def test_an_arm_that_is_not_a_franka_is_tried_without_frankas_hands(bag, tmp_path):
    arm, figures = tmp_path / 'other.yaml', tmp_path / 'figures.json'
    arm.write_text(arm_file_text(replace(FER, name='other')))
    command = ['bag', 'replay', str(bag), '--arm', str(arm), '--no-plots', '--json', str(figures)]
    assert main(command) == 0
    assert {one['hand'] for one in json.loads(figures.read_text())['fits']} == {'none'}


def test_a_missed_bound_on_e_exits_with_1(bag, answered):
    quick = ['bag', 'replay', bag, '--set', 'gaz2019', '--hand', 'none', '--no-plots']
    assert answered(*quick, '--require', '3.0')[0] == 0
    status, said = answered(*quick, '--require', '0.1')
    assert status == 1 and 'E is above the required 0.1 N m' in said


@pytest.mark.parametrize(
    ('options', 'sentence'),
    [
        ('', 'cannot be read, so it is cut short or damaged'),
        ('--joint-names a b', '--joint-names has 2 names, but fer has 7 joints'),
        ('--set gaz2020', "has no inertial set 'gaz2020'; it has gaz2019"),
        ('--effort-scale 1 2', 'give one number that is not zero for each of the 7 joints'),
    ],
)
def test_bad_input_is_refused_in_one_sentence_nothing_written(
    bag, tmp_path, monkeypatch, options, sentence, refused
):
    monkeypatch.chdir(tmp_path)
    if not options:
        (bag / 'bag.mcap').write_bytes((bag / 'bag.mcap').read_bytes()[:-1000])
    assert sentence in refused('bag', 'replay', bag, *options.split())
    assert [path.name for path in tmp_path.iterdir()] == ['bag']


def test_the_guard_would_stop_a_push_and_says_when(simulate, tmp_path, capsys):
    # Given a recording in which joint 3 feels 12 N m more from 6 s on for 0.3 s.
    recording = simulate(FER, rate=200.0, friction=FER.friction)
    effort = recording.effort.copy()
    effort[(recording.time > 6.0) & (recording.time < 6.3), 2] += 12.0
    write_recording(replace(recording, effort=effort), tmp_path / 'pushed')
    # When it is replayed.
    command = ['bag', 'replay', str(tmp_path / 'pushed'), '--no-plots']
    options = ['--set', 'gaz2019', '--hand', 'none', '--json', str(tmp_path / 'c.json')]
    assert main([*command, *options]) == 0
    # Then joint 3's share of its bound, a tenth of 87 N m, is that torque, and the stop is
    # printed.
    guard = json.loads((tmp_path / 'c.json').read_text())['guard']
    assert guard['share'][2] == pytest.approx(12.0 / 8.7, rel=0.15)
    assert max(guard['share'][:2] + guard['share'][3:]) < 0.7
    assert 6.0 < guard['stopped'] < 6.1
    assert f'after {guard["stopped"]:.1f} s' in ' '.join(capsys.readouterr().out.split())


def test_bounds_are_learnt_into_a_parameter_file(tmp_path):
    fr3 = load('fr3')
    write_recording(teleoperated(fr3, 20.0, seconds=12.0), tmp_path / 'bag')
    file = tmp_path / 'guard.yaml'
    command = ['bag', 'replay', str(tmp_path / 'bag'), '--arm', 'fr3', '--hand', 'none']
    assert main([*command, '--no-plots', '--learn', str(file)]) == 0
    guard = yaml.safe_load(file.read_text())['/**']['ros__parameters']['guard']
    assert guard['joint_factors'][3] > 1.2
    assert guard['joint_factors'][:3] == [1.0, 1.0, 1.0]


def test_efforts_in_amperes_are_scaled(simulate, tmp_path):
    constants = np.array([11.0, -9.0, 8.0, 6.0, 2.5, 2.0, 1.5])
    torques = simulate(FER, friction=FER.friction, noise=0.1)
    write_recording(torques, tmp_path / 'torques')
    write_recording(replace(torques, effort=torques.effort / constants), tmp_path / 'currents')
    figures = []
    for name, scale in (('torques', []), ('currents', ['--effort-scale', *map(str, constants)])):
        path = tmp_path / f'{name}.json'
        bag = str(tmp_path / name)
        command = ['bag', 'replay', bag, '--no-plots', '--set', 'gaz2019']
        assert main([*command, '--json', str(path), *scale]) == 0
        figures.append(json.loads(path.read_text())['fits'])
    for one, other in zip(*figures):
        assert one['whole']['E'] == pytest.approx(other['whole']['E'], rel=1e-9)


def test_a_bare_arm_that_no_set_fits_gets_that_verdict_first(simulate, tmp_path, answered):
    cable = LinkInertia.from_center_of_mass(0.25, (0.0, 0.0, 0.05), 1e-4 * np.eye(3))
    truth = drawn_around(FER, 0).with_payload(cable)
    write_recording(simulate(truth, friction=FER.friction, noise=0.1), tmp_path / 'bag')
    _, printed = answered('bag', 'replay', tmp_path / 'bag', '--no-plots')
    assert printed.startswith('No listed set fits: the best has an error of ')
    best = printed.partition('of a good model.')[2].partition(' has E')[0].partition(' fits best')
    assert best[0].endswith(' bare')
    # Sets with a hand, which weighs three times as much, are not among those shown.
    table = printed.partition('E over all joints')[2].partition('root mean square')[0]
    assert 'gaz2019' in table and 'hand_' not in table


def test_positions_in_degrees_end_it_with_what_to_do(simulate, tmp_path, refused):
    recording = simulate(FER, duration=5.0)
    write_recording(replace(recording, q=np.degrees(recording.q)), tmp_path / 'bag')
    said = refused('bag', 'replay', tmp_path / 'bag', '--no-plots', after='')
    assert 'they look like degrees' in said and '--position-unit deg' in said
    assert 'correct what publishes them and record again' in said  # if the bag is not from a log


def test_where_no_set_fits_none_fits_as_well(fer_recording, tmp_path, answered):
    effort = fer_recording.effort * np.where(np.arange(7) == 3, 1.3, 1.0)
    write_recording(replace(fer_recording, effort=effort), tmp_path / 'bag')
    _, printed = answered('bag', 'replay', tmp_path / 'bag', '--no-plots')
    assert printed.startswith('No listed set fits: the best has an error of ')
    assert '`identify arm` tries which fault of the recording explains it.' in printed
    assert 'as well' not in printed
