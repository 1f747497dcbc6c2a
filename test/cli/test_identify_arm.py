# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`identify arm` from its options to its files and exit status."""

from dataclasses import replace
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from franka_dynamics.arm import load, ViscousCoulombFriction
from franka_dynamics.arm.arm_file_writer import arm_file_text
from franka_dynamics.arm.payload import read_payload
from franka_dynamics.cli.main import READER_GONE
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.identification.identify import identify
from franka_dynamics.identification.options import IdentificationOptions
from franka_dynamics.recordings.preprocessing import prepare
from franka_dynamics.recordings.recording import read_recording, write_recording
from franka_dynamics.recordings.replay import fit, replay_columns
from franka_dynamics.report.identification_page import recording_figure

from ..arms import drawn_around

FER = load('fer')
FRICTION = ViscousCoulombFriction(np.full(7, 0.2), np.full(7, 0.3), np.full(7, 0.01))


# For tests that do not concern friction: choosing slip elements takes half of a fit's time.
SIMPLE = ('--friction', 'viscous_coulomb')


@pytest.fixture(scope='session')
def record(simulate):
    """Return a function that writes a bag of an arm with friction."""

    def write(path, arm, duration=20.0, **given):
        write_recording(
            simulate(arm, duration=duration, friction=FRICTION, noise=0.2, **given), path
        )
        return path

    return write


@pytest.fixture(scope='module')
def recorded(record, tmp_path_factory):
    return record(tmp_path_factory.mktemp('recorded') / 'bag', drawn_around(FER, 0), 30.0)


@pytest.fixture
def bag(recorded, tmp_path):
    """Return a copy that a test may damage."""
    return shutil.copytree(recorded, tmp_path / 'bag')


def test_a_real_arms_file_predicts_the_reported_torques(
    fer_recording_path, fer_recording, tmp_path, answered
):
    out, page, figures = (tmp_path / name for name in ('my_arm.yaml', 'page.html', 'all.json'))
    files = ['--output', out, '--report', page, '--json', figures]
    command = ['identify', 'arm', fer_recording_path, '--arm', 'fer', *files]
    status, printed = answered(*command, '--require', '0.41')
    assert status == 0
    data = json.loads(figures.read_text())
    scores = {one['name']: one for one in data['scores']}
    for name in ('base parameters', 'consistent'):
        assert scores[name]['test']['E'] <= 0.39
        assert scores[name]['test_without_friction']['E'] <= 0.92
    assert min(scores[name]['test']['E'] for name in scores if ', none' in name) > 0.47
    assert data['verdict']['better'] is True
    assert len(data['scores'][0]['parts']) == 5
    arm = load(out)
    assert arm.inertial_set == 'identified'
    assert arm.inconsistencies() == ()
    motion = prepare(fer_recording, columns=replay_columns(arm.friction))
    # Ten digits are written.
    assert fit(arm, motion).whole.whole == pytest.approx(
        scores['consistent']['train']['E'], rel=1e-8
    )
    html = page.read_text()
    assert html.count('data:image/png;base64,') == 2
    said = 'On 5 stretches, each predicted from the others, the identified arm has E = 0.37'
    assert said in html
    assert 'http' not in html
    assert said in printed
    assert (
        'The best published set with friction fitted in the same way, gaz2019, none, has 0.4'
        in printed
    )


def test_an_arm_no_better_than_published_is_not_written(record, tmp_path, answered, refused):
    out, figures, page = (tmp_path / name for name in ('my_arm.yaml', 'all.json', 'page.html'))
    command = ['identify', 'arm', record(tmp_path / 'bag', FER), '--output', out, *SIMPLE]
    # --write-anyway does not accept recordings that are not sound; --anyway does.
    status, printed = answered(*command, '--json', figures, '--report', page, '--anyway')
    assert status == 1 and not out.exists()
    assert json.loads(figures.read_text())['verdict']['better'] is False
    assert 'NOT better' in page.read_text()
    assert 'is NOT better.' in printed
    assert 'no arm file was written; --write-anyway writes it nevertheless.' in printed
    assert answered(*command, '--write-anyway')[0] == 0
    assert 'NOT better than the best published set' in ' '.join(out.read_text().split())
    out.write_text('mine')
    said = refused(*command, '--write-anyway')
    assert 'exists already; choose another name, or add --force' in said
    assert out.read_text() == 'mine'


def test_a_payload_that_was_named_is_not_in_the_file(record, tmp_path, answered):
    payload = '1.5,0.0,0.0,0.05,0.004,0.0,0.0,0.004,0.0,0.002'
    drawn, out = drawn_around(FER, 0), tmp_path / 'arm.yaml'
    loaded = drawn.with_payload(read_payload(payload))
    bag = record(tmp_path / 'loaded', loaded, 30.0)
    options = ['--payload', payload, *SIMPLE, '--output', out, '--write-anyway']
    assert answered('identify', 'arm', bag, *options)[0] == 0
    found, bare, carrying = (
        NewtonEulerModel(arm).gravity(FER.home) for arm in (load(out), drawn, loaded)
    )
    # The payload alone makes 8 N m on joint 2; the identified arm misses by the noise.
    np.testing.assert_allclose(found, bare, rtol=0.0, atol=1.0)
    assert np.abs(carrying - found).max() > 5.0


def test_bags_named_as_unseen_decide(record, bag, tmp_path, answered):
    unseen, out, figures = (tmp_path / name for name in ('unseen', 'my_arm.yaml', 'all.json'))
    record(unseen, drawn_around(FER, 0), seed=1)
    command = ['identify', 'arm', bag, '--test', unseen, *SIMPLE]
    status, printed = answered(*command, '--output', out, '--json', figures)
    data = json.loads(figures.read_text())
    assert (status, data['unseen_bags']) == (0, ['unseen'])
    assert [one['samples'] for one in data['bags']] == [883, 583]
    assert all(part['name'].startswith('unseen, stretch') for part in data['scores'][0]['parts'])
    assert 'On 1 unseen bag, learnt from 1, the identified arm has E =' in printed
    assert 'fitted to all 2 bags' in printed


def test_a_hand_that_was_not_named_ends_it_with_one_sentence(record, tmp_path, answered, refused):
    out = tmp_path / 'my_arm.yaml'
    bag = record(tmp_path / 'bag', drawn_around(load('fer', hand='franka_hand'), 0))
    assert 'bag: A hand seems to be on: ' in refused('identify', 'arm', bag, '--output', out)
    assert not out.exists()
    options = ['--hand', 'franka_hand', *SIMPLE, '--output', out]
    assert answered('identify', 'arm', bag, *options)[0] == 0
    # The hand is the arm file's own: without it the arm is bare, and the hand is added only once.
    assert load(out).hand == 'franka_hand'
    assert load(out, hand='none').links[6].mass < 1.1
    replay = ['bag', 'replay', bag, '--arm', out, '--no-plots', '--require', '0.35']
    assert answered(*replay)[0] == 0


def test_a_missed_bound_on_e_writes_no_arm_file(bag, tmp_path, answered):
    # A very precise prior must not be printed as 0%.
    out = tmp_path / 'my_arm.yaml'
    options = [*SIMPLE, '--prior', '1e5', '--output', out, '--require', '0.01']
    status, printed = answered('identify', 'arm', bag, *options, '--write-anyway')
    assert status == 1 and not out.exists()
    assert 'above the required 0.01 N m' in printed
    assert 'known to 0.3% (precision 1e+05; ' in printed
    assert ' 0%' not in printed


def test_a_bound_on_e_of_an_arm_with_a_prismatic_joint_is_in_percent(simulate, tmp_path, answered):
    stanford = load('stanford')
    limit = np.array([50.0, 50.0, 200.0, 10.0, 10.0, 10.0])  # N m, and N of the third joint
    joints = (
        replace(joint, limits=replace(joint.limits, effort=most))
        for joint, most in zip(stanford.joints, limit.tolist())
    )
    arm, bag, figures = (tmp_path / name for name in ('arm.yaml', 'bag', 'all.json'))
    arm.write_text(arm_file_text(replace(stanford, joints=tuple(joints)), title='', source='test'))
    rng = np.random.default_rng(1)
    recording = simulate(stanford, duration=20.0)
    noisy = recording.effort + 0.02 * limit * rng.standard_normal(recording.effort.shape)
    write_recording(replace(recording, effort=noisy), bag)
    command = ['identify', 'arm', bag, '--arm', arm, *SIMPLE, '--json', figures, '--anyway']
    status, said = answered(*command, '--require', '0.01')
    assert status == 1
    assert 'above the required 0.01 % of the limits' in said
    parts = json.loads(figures.read_text())['scores'][1]['test']
    squares = np.square(100.0 * np.array(parts['joints']) / limit)
    assert parts['E'] == pytest.approx(np.sqrt(squares.sum()), rel=1e-9)


def another_arm(recording):
    return replace(recording, joint_names=tuple(f'panda_joint{i}' for i in range(1, 8)))


def with_its_sign_turned(recording):
    return replace(recording, effort=-recording.effort)


def in_degrees(recording):
    return replace(recording, q=np.degrees(recording.q))


@pytest.mark.parametrize(
    ('change', 'words', 'sentence'),
    [
        (another_arm, ['bag', 'other'], 'fer_joint7; one names panda_joint1, '),
        (replace, ['bag', '--test', 'other'], 'other holds the same recording as'),
        (in_degrees, ['other', '--anyway', *SIMPLE], 'correct what publishes them and record'),
        (with_its_sign_turned, ['other'], 'other: effort looks like another sign'),
        (
            replace,
            ['bag', '--test', 'none', '--skip-bad-bags', *SIMPLE],
            'No bag of --test can be used, so the result cannot be tested',
        ),
        (replace, ['bag', '--prior', '-1'], 'precision of the prior is -1.0; it must be positive'),
        (replace, ['bag', '--output', '.'], 'is a folder; give the name of a file to be written'),
    ],
)
def test_bags_and_options_at_fault_are_refused(
    change, words, sentence, bag, tmp_path, monkeypatch, refused
):
    monkeypatch.chdir(tmp_path)
    write_recording(change(read_recording(bag, FER.joint_names)), tmp_path / 'other')
    assert sentence in refused('identify', 'arm', *words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ['bag', 'other']


def test_efforts_that_were_scaled_are_drawn_in_newton_metres(simulate):
    recording = simulate(drawn_around(FER, 0), duration=30.0, friction=FRICTION, noise=0.1)
    motion = prepare(replace(recording, effort=recording.effort / 10.0))
    options = IdentificationOptions(friction='viscous_coulomb', effort_scale=(10.0,) * 7)
    result = identify([motion], FER, [FER], options)
    axes = recording_figure(result, motion, 'scaled').axes
    for row in range(7):
        measured, predicted = (line.get_ydata() for line in axes[2 * row].lines)
        np.testing.assert_allclose(measured, predicted, rtol=0.0, atol=1.0)


def test_a_broken_log_ends_with_1_and_no_file_whatever_its_gain(bag, tmp_path, answered):
    recording = read_recording(bag, FER.joint_names)
    effort = recording.effort * np.where(np.arange(7) == 3, 1.3, 1.0)
    for name, half in (('broken', slice(0, 450)), ('unseen', slice(450, None))):
        write_recording(replace(recording, effort=effort).part(half), tmp_path / name)
    out, figures = tmp_path / 'my_arm.yaml', tmp_path / 'all.json'
    command = ['identify', 'arm', tmp_path / 'broken', '--test', tmp_path / 'unseen', *SIMPLE]
    command += ['--output', out, '--write-anyway']
    status, printed = answered(*command, '--json', figures)
    said = json.loads(figures.read_text())
    assert said['verdict']['accepted'] is False and said['diagnosis']['sound'] is False
    assert said['diagnosis']['fault']['joints'] == [3]
    assert status == 1 and not out.exists()
    assert 'warning: The effort of fer_joint4 seems to be 1.' in printed
    assert said['diagnosis']['fault']['values'] == pytest.approx([1.3], rel=0.05)
    # Both ends of the output say that the log is broken and how it is corrected.
    first, last = printed[: printed.index(' E over')], printed.strip().rpartition('warning: ')[2]
    last = last[last.rindex('No arm file was written') :]
    assert first.startswith('The recordings are NOT sound. The effort of fer_joint4 seems to be')
    for end in (first, last):
        assert '--effort-scale 1 1 1 0.7' in end
    assert last.endswith('--anyway accepts them as they are.')
    assert 'to be noticed from a factor' not in printed
    assert answered(*command, '--anyway')[0] == 0
    assert 'NOT sound' in ' '.join(out.read_text().split())


def test_bags_of_one_folder_name_are_told_apart_though_the_reader_leaves(
    recorded, record, tmp_path
):
    monday, tuesday = (tmp_path / day / 'recording' for day in ('monday', 'tuesday'))
    for folder in (monday, tuesday):
        folder.parent.mkdir()
    shutil.copytree(recorded, monday)
    record(tuesday, drawn_around(FER, 0), seed=5)
    out, page, figures = (tmp_path / name for name in ('arm.yaml', 'page.html', 'all.json'))
    files = ['--output', str(out), '--report', str(page), '--json', str(figures)]
    # Paths end with slashes, as a shell's completion writes them.
    words = ['identify', 'arm', f'{monday}/', '--test', f'{tuesday}/', *SIMPLE, *files]
    command = [sys.executable, '-m', 'franka_dynamics', *words, '--write-anyway']
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.close()
    assert process.returncode == READER_GONE
    assert load(out).inertial_set == 'identified'
    data = json.loads(figures.read_text())
    assert set(data['residual_of_bags']) == {'monday/recording', 'tuesday/recording'}
    html = page.read_text()
    for day in ('monday', 'tuesday'):
        assert f'predicted torques of {day}/recording' in html
