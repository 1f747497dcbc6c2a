# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`bag record`, `bag import` and `bag replay` from their options to files and exit status."""

from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
import re
import shlex
import time
from unittest.mock import Mock

import click
import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm.payload import read_payload
from franka_dynamics.cli import bag_record
from franka_dynamics.cli.choices import ArmChoice
from franka_dynamics.cli.main import root_command
from franka_dynamics.cli.requests import RecordRequest
from franka_dynamics.recordings.log_file import read_log
from franka_dynamics.ros.clients import recording_session
from franka_dynamics.ros.clients.recording_session import RecordingProgress
from franka_dynamics.tracking.laws import TrackingLaw

from ..recordings.test_log_import import DQ, EFFORT, FORMS, Q


def waiting(meanwhile):
    while True:
        meanwhile()
        time.sleep(0.01)


@pytest.fixture
def run(monkeypatch, tmp_path, answered, capsys):
    """
    Return a function that records what `hear` puts into the progress, with a stand-in player.

    It runs `bag record`, or with `motion` what `node play fr3 --record` runs.
    """
    monkeypatch.chdir(tmp_path)

    def run(hear, *words, player=waiting, motion=False):
        played = []

        def play(meanwhile):
            played.append(True)
            return player(meanwhile)

        @contextmanager
        def recorder(*_):
            # A busy machine took this long to start.
            monkeypatch.setattr(time, 'monotonic', lambda now=time.monotonic: now() + 100.0)
            heard = {'write_messages': hear}
            heard['find_node_name'] = lambda name, _: name
            heard['find_topic_names'] = lambda names, _: names
            heard['command_topic_of'] = {'feedforward': '/commands'}.get
            yield Mock(**heard, node=Mock(get_fully_qualified_node_names=lambda: []))

        monkeypatch.setattr(recording_session, 'Recorder', recorder)
        if not motion:
            return *answered('bag record --output', 'a bag', *words), played
        names = {'node': 'feedforward', 'topic': 'joint_states', 'command': 'commands'}
        request = RecordRequest(output=Path('a bag'), duration=None, **names)
        with click.Context(root_command):
            status = bag_record.record_and_check(ArmChoice('fr3'), request, 'fr3', play)
        return status, ' '.join(capsys.readouterr().out.split()), played

    return run


@pytest.mark.parametrize(
    ('progress', 'goes_on'),
    [
        ({'elapsed': 0.2}, True),  # no state yet
        ({'elapsed': 4.5}, True),  # publishers are found late
        ({'elapsed': 5.5}, False),  # nobody publishes
        ({'elapsed': 5.5, 'stamp_span': 1.0, 'state_count': 100}, True),  # a slow clock
        ({'elapsed': 4.1, 'stamp_span': 4.1, 'state_count': 4000}, False),  # enough
        ({'elapsed': 81.0, 'stamp_span': 1.0, 'state_count': 100}, False),  # too slow
        (
            {'elapsed': 3.0, 'first_state_age': 1.5, 'state_count': 100},
            True,
        ),  # perhaps of another arm
        (
            {'elapsed': 3.0, 'first_state_age': 2.5, 'state_count': 100},
            False,
        ),  # of another arm
        (
            {
                'elapsed': 3.0,
                'first_state_age': 2.5,
                'state_count': 9,
                'has_arm_state': True,
            },
            True,
        ),
    ],
)
def test_the_time_that_starting_takes_does_not_count(progress, goes_on, run):
    heard = []

    def hear(present):
        assert present.elapsed < 100.0
        vars(present).update(progress)
        heard.append(present)
        if len(heard) > 1:
            raise KeyboardInterrupt

    assert run(hear, '--duration', '4')[0] == 1 and (len(heard) > 1) is goes_on


@pytest.mark.parametrize(('heard', 'has_arm_state'), [(2.1, True), (2.1, False), (1.0, False)])
def test_nothing_moves_while_the_states_are_of_another_arm(heard, has_arm_state, run):
    times = []

    def hear(present):
        present.first_state_age = heard
        present.state_count = 2100
        present.has_arm_state = has_arm_state
        times.append(present.elapsed)
        if len(times) > 2:
            raise KeyboardInterrupt

    status, said, played = run(hear, motion=True)
    # States of another arm are taken for a mistake only after 2 s.
    assert (len(times) > 1) is (has_arm_state or heard < 2.0)
    assert (status, played) == (1, [True] * has_arm_state)
    assert ('interrupted' in said) == has_arm_state


def test_an_error_of_the_program_is_no_failed_motion(run):
    def hear(present):
        present.state_count = 100
        present.has_arm_state = True

    with pytest.raises(ZeroDivisionError):
        run(hear, player=lambda _: 1 / 0, motion=True)


PROBLEM = '/joint_states has been silent for 7 s'


@pytest.fixture
def recorded(monkeypatch, run):
    """Return a function that records a given recording, with one more problem."""

    def record_and_check(recording, **more):
        def record(path, names, *arguments):
            fd.write_recording(replace(recording, joint_names=tuple(names)), path)
            play = arguments[-1]
            problems = [PROBLEM]
            more = {
                'problems': problems,
                'motion_end_text': play(print) if play else '',
            }
            return RecordingProgress(12.0, 12.0, len(recording), 0.0, '/joint_states', **more)

        monkeypatch.setattr(bag_record, 'record_bag', record)
        return run(print, **more)[:2]

    return record_and_check


def test_faults_that_no_bag_shows_are_printed_at_the_end(simulate, recorded):
    status, said = recorded(simulate(fd.load('fr3'), rate=100.0))
    assert status == 0 and PROBLEM in said


@pytest.mark.parametrize('moves', [True, False])
def test_a_motion_that_moved_no_joint_is_not_usable(moves, simulate, recorded):
    fr3 = fd.load('fr3')
    recording = simulate(fr3, rate=100.0, noise=0.1)
    if not moves:
        still = np.full_like(recording.q, 0.5)
        effort = recording.effort - recording.effort.mean(axis=0)
        effort += fd.NewtonEulerModel(fr3).gravity(still[0])
        recording = replace(recording, q=still, dq=np.zeros_like(still), effort=effort)
    status, said = recorded(recording, player=lambda _: 'finished', motion=True)
    assert status == (0 if moves else 1)
    assert ('not usable' not in said) is moves


FER = fd.load('fer')
HEADER_STAMP = 't,' + ','.join(f'{name}{k}' for name in ('q', 'dq', 'tau') for k in range(1, 8))
COLUMNS = '--stamp t --position q{} --velocity dq{} --effort tau{}'


@pytest.mark.parametrize(('arm', 'takes_over'), [('fr3', True), ('own.urdf', False)])
def test_a_urdf_keeps_its_own_set_beside_a_node(arm, takes_over, tmp_path, monkeypatch, capsys):
    """A URDF has one inertial set: the node's would be an error after the recording."""
    monkeypatch.chdir(tmp_path)
    fd.write_urdf(fd.load('fr3'), 'own.urdf')
    values = ['fr3', 'franka_hand', 'franka_description', '', [0.0] * 10]
    client = Mock(parameter_values=lambda _: values)
    monkeypatch.setattr(bag_record, 'NodeClient', lambda _: nullcontext(client))
    choice = ArmChoice(arm)
    filled = bag_record.arm_choice_with_node_values(choice, '/feedforward')
    assert (filled.hand == 'franka_hand') is takes_over
    assert (filled != choice) is takes_over


@pytest.fixture
def log(simulate, tmp_path):
    """Return the CSV of an arm with friction."""
    made = simulate(FER, duration=3.0, rate=100.0, friction=FER.friction)
    path = tmp_path / 'log.csv'
    rows = np.column_stack([made.time, made.q, made.dq, made.effort])
    np.savetxt(path, rows, fmt='%.17e', delimiter=',', header=HEADER_STAMP, comments='')
    return path


def test_a_log_becomes_a_bag_that_replay_reads(log, tmp_path, answered):
    status, out = answered(f'bag import --arm fer {COLUMNS}', log)
    assert status == 0 and '301 messages' in out and 'warning' not in out
    assert len(fd.read_recording(tmp_path / 'log', FER.joint_names)) == 301
    assert answered('bag replay --arm fer --no-plots --require 0.1', tmp_path / 'log')[0] == 0


@pytest.mark.parametrize(('first', 'gap'), [(0, ''), (1, '_')])
def test_the_columns_that_are_suggested_read_the_log(log, first, gap, answered, refused, tmp_path):
    header, rows = log.read_text().split('\n', 1)
    for joint in range(1, 8):
        header = re.sub(rf'([a-z]){joint}\b', rf'\g<1>{gap}#{joint - 1 + first}', header)
    log.write_text(f'{header.replace("#", "")}\n{rows}')
    words = shlex.split(refused('bag', 'import', log).partition(' Try ')[2].rstrip('. \n'))
    assert answered('bag import --arm fer', log, *words)[0] == 0
    assert len(fd.read_recording(tmp_path / 'log', FER.joint_names)) == 301


def options_of(columns):
    """Return the options of the command that are these columns."""
    names = {'rate': '--log-rate', 'skip_incomplete': ''}
    default = vars(fd.ColumnMap(stamp='t'))
    given = {k: v for k, v in vars(columns).items() if v != default.get(k)}
    given['stamp'] = columns.stamp
    words = [[names.get(k, f'--{k.replace("_", "-")}'), str(v)] for k, v in given.items()]
    flags = ['--skip-incomplete'] if columns.skip_incomplete else []
    return [word for pair in words if pair[0] for word in pair] + flags


@pytest.mark.parametrize(
    'form',
    [
        *('struct.mat', 'iso.csv', 'lists.csv', 'two_stamps.csv', 'merged.csv'),
        *('episodes.parquet', 'anew.npz', 'groups.h5'),
    ],
)
def test_other_programs_logs_become_bags(form, tmp_path, answered):
    write, columns = FORMS[form]
    write(tmp_path / form)
    words = '--output', tmp_path / 'bag', *options_of(columns)
    status, out = answered('bag import --arm fer', tmp_path / form, *words)
    assert status == 0, out
    read = fd.read_recording(tmp_path / 'bag', FER.joint_names)
    np.testing.assert_allclose([read.q, read.dq, read.effort], [Q, DQ, EFFORT], rtol=1e-14)
    assert ('49 incomplete' in out) == (form == 'merged.csv')


def test_columns_of_a_log_are_listed_with_first_row_and_range(log, tmp_path, answered):
    # Columns of an array without names are listed by number.
    bare = tmp_path / 'bare.npy'
    np.save(bare, np.array([[1.5, -2.0], [0.25, 7.0], [0.5, 6.0]]))
    rows = (log, 't', [0.0, 3.0, 0.0, 3.0]), (bare, '2', [-2.0, 6.0, -2.0, 7.0])
    for file, name, figures in rows:
        words = answered('bag import --list', file)[1].rpartition('─')[2].split()
        place = words.index(name) + 1
        assert [float(text) for text in words[place : place + 4]] == figures


def test_the_list_of_an_array_with_a_row_for_each_joint_has_a_line_for_each(tmp_path, answered):
    q = np.arange(6.0)[:, None] + np.linspace(0.0, 0.5, 2501)
    np.savez(tmp_path / 'log.npz', q=q, t=np.arange(2501) / 250.0)
    _, said = answered('bag import --list', tmp_path / 'log.npz')
    assert '2501 rows' in said
    assert re.findall(r'q\[(\d+)\] (\S+) (\S+)', said) == [
        (str(joint + 1), str(joint), f'{joint + 0.5}') for joint in range(6)
    ]


def test_a_log_of_droid_takes_no_more_than_its_layout(tmp_path, answered):
    h5py = pytest.importorskip('h5py')
    path = tmp_path / 'trajectory.h5'
    state = 'observation/robot_state'
    time = np.arange(60) / 15.0
    q = FER.home + 0.1 * np.sin(time)[:, None]
    with h5py.File(path, 'w') as opened:
        opened[f'{state}/joint_positions'] = q
        opened[f'{state}/joint_velocities'] = 0.1 * np.cos(time)[:, None] * np.ones(7)
        opened[f'{state}/motor_torques_measured'] = fd.NewtonEulerModel(FER).gravity(q)
        opened['observation/timestamp/robot_state/read_start'] = (1e3 * time).astype(int)
    assert answered('bag import --arm fer --layout droid', path)[0] == 0
    found = fd.read_recording(tmp_path / 'trajectory', FER.joint_names)
    np.testing.assert_array_equal(found.q, q)
    np.testing.assert_allclose(found.time, time, rtol=0.0, atol=1e-3)


REPLAY = 'bag replay --arm fer --no-plots'
QUICK = 'bag replay --arm fer --set gaz2019 --hand none --no-plots'


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a recording with some fields replaced, and its path."""

    def write(recording, **changes):
        path = tmp_path / f'bag{len(list(tmp_path.iterdir()))}'
        fd.write_recording(replace(recording, **changes), path)
        return path

    return write


@pytest.fixture
def recording(simulate):
    return simulate(FER, friction=FER.friction, noise=0.1)


def test_a_real_arms_table_plots_json_and_verdict_agree(fer_recording_path, tmp_path, told):
    output = tmp_path / 'output'
    status, printed, data = told('bag replay --arm fer --output', output, fer_recording_path)
    assert status == 0 and 'gaz2019' in printed and '0.874 N m' in printed
    assert [path.name for path in output.iterdir()] == ['torques.png']
    assert (output / 'torques.png').read_bytes().startswith(b'\x89PNG')
    errors = {(x['inertial_set'], x['hand']): x['without_friction']['E'] for x in data['fits']}
    listed = {(one, fd.load('fer', one).hand) for one in fd.available_sets('fer')}
    tried = {(one, hand) for one, _ in listed for hand in ('none', 'franka_hand')}
    assert errors.keys() == listed | tried
    assert errors['ledezma2021', 'none'] == pytest.approx(1.003, abs=1e-3)
    assert errors['ledezma2021', 'hand_ledezma2021'] == pytest.approx(3.115, abs=1e-3)
    assert data['best'] == {'inertial_set': 'gaz2019', 'hand': 'none'}
    assert data['samples'] == 709


def test_a_hidden_load_is_not_taken_for_an_older_hand(simulate, write, figures):
    arm = fd.load('fr3', hand='franka_hand').with_payload(read_payload('0.15,0,0,0.03'))
    recording = simulate(arm, duration=12.0, friction=FER.friction, noise=0.1)
    found = figures('bag replay --no-plots', write(recording))
    assert (found['arm'], found['best']['hand']) == ('fr3', 'franka_hand')


@pytest.mark.parametrize('hand', ['none', 'franka_hand'])
def test_efforts_in_amperes_are_a_fault_with_and_without_a_hand(hand, simulate, write, answered):
    measured = simulate(fd.load('fr3', hand=hand), friction=FER.friction, noise=0.1)
    currents = measured.with_scaled_effort(1.0 / np.array([13.0, 13.0, 10.0, 10.0, 6.0, 6.0, 6.0]))
    bag = write(currents)
    status, said = answered('bag replay --arm fr3 --no-plots', bag)
    assert status == 1 and 'NOT sound' in said and '--torque-constant' in said
    # A bound on E that is asked for decides alone.
    asked = f'bag replay --arm fr3 --hand {hand} --no-plots --require'
    assert [answered(f'{asked} {most}', bag)[0] for most in (1000.0, 0.001)] == [0, 1]


def test_only_sets_hands_filter_asked_for_count(recording, write, figures, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = '--set gaz2019,ledezma2021 --hand none --cutoff 5 --trim 1'
    data = figures(f'{REPLAY} {options}', write(recording))
    assert {one['inertial_set'] for one in data['fits']} == {'gaz2019', 'ledezma2021'}
    assert [one['hand'] for one in data['fits']] == ['none', 'none']
    assert data['metric']['cutoff'] == 5.0 and data['samples'] == 361 - 2 * 30
    assert len(list(tmp_path.iterdir())) == 1  # the bag


def test_an_arm_that_is_no_franka_is_tried_without_its_hands(recording, write, tmp_path, figures):
    fd.save(replace(FER, name='other'), tmp_path / 'other.yaml')
    data = figures(f'{REPLAY} --arm', tmp_path / 'other.yaml', write(recording))
    assert {one['hand'] for one in data['fits']} == {'none'}


def test_a_missed_bound_on_e_exits_with_1(recording, write, told, answered):
    bag = write(recording)
    status, said, data = told(QUICK, bag, '--require', 0.001)
    assert status == 1 and '0.001' in said
    filtered, unfiltered = (data['fits'][0][name]['E'] for name in ('filtered', 'unfiltered'))
    assert 1.1 * filtered < unfiltered
    assert answered(QUICK, bag, '--require', 1.05 * filtered)[0] == 0


def test_the_tracking_error_of_gains_is_in_table_plot_and_json(simulate, write, told, tmp_path):
    bag = write(simulate(FER, rate=100.0, friction=FER.friction, noise=0.05))
    words = 'bag replay --arm fer --set gaz2019 --hand none --gains 300'
    status, said, data = told(words, bag, '--output', tmp_path)
    found = data['tracking']
    expected = fd.predict_tracking(bag, FER, 300.0)
    np.testing.assert_allclose(found['errors'], expected.errors, rtol=1e-9)
    assert status == 0 and 'A prediction' in said and (tmp_path / 'tracking.png').is_file()
    for name in expected.feedforward_names:
        assert name in said


def test_a_bag_is_replayed_with_a_urdf(simulate, write, figures, tmp_path, refused):
    bag = write(simulate(FER, rate=100.0))
    urdf = tmp_path / 'own.urdf'
    fd.write_urdf(FER, urdf)
    words = 'bag replay --no-plots --arm'
    (own,) = figures(words, urdf, bag)['fits']
    (shipped,) = figures(f'{words} fer --set gaz2019 --hand none', bag)['fits']
    # The file has the numbers with 15 digits, and friction of another kind, or none.
    np.testing.assert_allclose(
        own['without_friction']['per_joint'],
        shipped['without_friction']['per_joint'],
        rtol=1e-6,
    )
    held = figures(
        f'{words}', urdf, bag, '--hold', 'fer_joint7=0.1', '--joints', SIX, '--joint-names', SIX
    )
    assert held['joint_names'] == SIX.split(',')
    assert 'inertial' in refused(f'{words}', urdf, bag, '--set', 'gaz2019')
    assert 'arm import' in refused('identify arm --arm', urdf, bag)


def test_tracking_is_predicted_with_the_best_of_those_tried(simulate, write, figures):
    carrying = fd.load('fer', 'gaz2019', hand='franka_hand')
    bag = write(simulate(carrying, rate=100.0))
    data = figures('bag replay --arm fer --set gaz2019 --no-plots --gains 300 --law droid', bag)
    assert data['best']['hand'] == 'franka_hand'
    expected = fd.predict_tracking(bag, carrying, 300.0)
    np.testing.assert_allclose(data['tracking']['errors'], expected.errors, rtol=1e-9)
    laws = fd.predict_laws(bag, carrying, ['droid'])
    np.testing.assert_allclose(data['laws']['errors'], laws.errors, rtol=1e-9)


SIX = ','.join(FER.joint_names[:6])
LAW_WORDS = 'bag replay --no-plots --arm fer --set gaz2019 --hand none'


def test_laws_are_in_table_sentence_and_json(simulate, write, told, answered):
    bag = write(simulate(FER, rate=100.0))
    assert 'does not follow' in answered(f'{LAW_WORDS} --law crisp', bag)[1]
    words = '--gains 300 --damping 20 --law droid,gains --policy-rate 30 --latency 0.05'
    status, said, data = told(f'{LAW_WORDS} {words} --target-filter 8', bag)
    mine = TrackingLaw(
        *('gains', 300.0, 20.0),
        has_target_velocity=True,
        target_rate=30.0,
        latency=0.05,
        filter_cutoff=8.0,
    )
    expected = fd.predict_laws(bag, FER, ['droid', mine])
    assert status == 0 and 'Trained at droid, you run at gains' in said
    assert 'does not follow' not in said
    for name in ('lags', 'total_lags', 'errors', 'flange_errors', 'differences'):
        np.testing.assert_allclose(data['laws'][name], getattr(expected, name), rtol=1e-9)
    assert data['laws']['law_names'] == ['droid', 'gains']
    own = fd.predict_tracking(bag, FER, 300.0, 20.0)
    np.testing.assert_allclose(data['tracking']['errors'], own.errors, rtol=1e-9)


@pytest.mark.parametrize(
    ('words', 'named'),
    [
        ('--law gains', '--gains'),
        ('--law nobody', 'nobody'),
        ('--latency 0.1', '--law'),
        ('--damping 3', '--gains'),
        ('--law droid --policy-rate 0', 'target_rate'),
    ],
)
def test_options_of_laws_that_fit_nothing_are_named(words, named, simulate, write, refused):
    said = refused(f'{LAW_WORDS} {words}', write(simulate(FER, rate=100.0)))
    assert named in said


def test_a_short_recording_is_compared_but_not_judged(fer_recording, write, told):
    _, _, data = told(QUICK, write(fer_recording.select(fer_recording.time < 8.0)))
    assert data['verdict'] is None


HELD = fd.load('fer', hand='franka_hand')
# The wrench that the arm exerts at its flange: 12 N sideways, 0.5 N m about the vertical.
WRENCH = np.array([0.0, 12.0, 3.0, 0.0, 0.0, 0.5])
COMMAND = 'bag replay --no-plots --set gaz2019 --hand franka_hand --external'


def torque(q):
    model = fd.Model(HELD)
    return np.array([model.jacobian(one).T @ WRENCH for one in q])


@pytest.fixture
def pushed(simulate, tmp_path):
    """Return the bag of an arm with a hand that pushes all the time."""
    recording = simulate(HELD, rate=100.0, friction=HELD.friction)
    effort = recording.effort + torque(recording.q)
    fd.write_recording(replace(recording, effort=effort), tmp_path / 'bag')
    return tmp_path / 'bag'


def test_a_constant_push_is_found_in_a_file(pushed, tmp_path, answered):
    status, said = answered(COMMAND, tmp_path / 'out.csv', pushed)
    assert status == 0 and 'hand franka_hand' in said
    log = read_log(tmp_path / 'out.csv')
    wrench = log.select('external_wrench{}', 6, 'wrench')
    # The low-pass filter distorts the motion: errors of 0.3 N and 0.1 N m.
    assert np.abs((wrench - WRENCH) / [0.5, 0.5, 0.5, 0.2, 0.2, 0.2]).max() < 1.0
    assert (log.select('external_wrench_deviation{}', 6, 'deviation') > 0.0).all()
    found = log.select('external_torque{}', 7, 'torque')
    np.testing.assert_allclose(found, torque(log.select('q{}', 7, 'q')), rtol=0.0, atol=0.15)
    assert len(log.select('time', 1, 'time')) == len(wrench)
