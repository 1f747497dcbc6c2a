# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`identify arm` from its options to its files and exit status."""

from dataclasses import replace
import shutil

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import ViscousCoulombFriction
from franka_dynamics.arm.payload import read_payload
from franka_dynamics.recordings.preprocessing import prepare
from franka_dynamics.recordings.replay import replay_fit

from ..arms import drawn_around
from ..urdf.urdf_texts import six_axes

pytestmark = pytest.mark.usefixtures('remembered_regressors')
FER, DRAWN = fd.load('fer'), drawn_around(fd.load('fer'), 0)
FRICTION = ViscousCoulombFriction(np.full(7, 0.2), np.full(7, 0.3), np.full(7, 0.01))
# For tests that do not concern friction.
SIMPLE = '--friction viscous_coulomb'
HAND_QUESTION = 'Is another hand mounted?'


@pytest.fixture(scope='session')
def record(simulate):
    """Return a function that writes a bag of an arm with friction."""

    def write(path, arm, duration=20.0, **given):
        recording = simulate(arm, duration=duration, friction=FRICTION, noise=0.2, **given)
        fd.write_recording(recording, path)
        return path

    return write


@pytest.fixture(scope='module')
def recorded(record, tmp_path_factory):
    return record(tmp_path_factory.mktemp('recorded') / 'bag', DRAWN, 30.0)


@pytest.fixture
def bag(recorded, tmp_path):
    """Return a copy that a test may damage."""
    return shutil.copytree(recorded, tmp_path / 'bag')


@pytest.fixture
def out(tmp_path):
    return tmp_path / 'my_arm.yaml'


@pytest.fixture
def verb(out, told):
    """Return a function: status, output and figures of `identify arm`; the arm file is `out`."""
    return lambda bag, options: told(f'identify arm {bag} --arm fer {options} --output', out)


def test_a_real_arms_file_predicts_torques(fer_recording_path, fer_recording, out, tmp_path, verb):
    page = tmp_path / 'page.html'
    status, printed, data = verb(fer_recording_path, f'--report {page}')
    assert status == 0
    scores = {one['name']: one for one in data['scores']}
    for name in ('base parameters', 'consistent'):
        assert scores[name]['test']['E'] < 0.3735
        assert scores[name]['rigid']['E'] < 0.92
    published = [scores[name] for name in scores if ', none' in name]
    assert min(one['test']['E'] for one in published) == pytest.approx(0.469, abs=3e-3)
    assert data['improvement']['better'] is True
    assert data['verdict']['sound'] is True and data['verdict']['questions'] == []
    assert len(data['scores'][0]['folds']) == 5
    arm = fd.load(out)
    assert (arm.inertial_set, arm.inconsistencies()) == ('identified', ())
    motion = prepare(fer_recording)
    # Ten digits are written.
    error = scores['consistent']['train']['E']
    assert replay_fit(arm, motion).error.E == pytest.approx(error, rel=1e-8)
    html = page.read_text()
    # Torques, friction, base parameters.
    assert html.count('data:image/png;base64,') == 3 and 'http' not in html
    for text in (html, printed):
        assert 'E = 0.37' in text and 'gaz2019' in text
    # Links are printed, base parameters are on the page alone.
    assert 'centre moved' in html and 'centre moved' in printed
    assert 'XXR_5' in html and 'XXR_5' not in printed


def test_an_arm_no_better_than_published_is_not_written(record, out, tmp_path, verb, refused):
    bag = record(tmp_path / 'bag', FER)
    status, printed, data = verb(bag, SIMPLE)
    assert status == 1 and not out.exists() and data['improvement']['better'] is False
    assert 'is NOT better' in printed
    out.write_text('mine')
    assert 'remove it' in refused(f'identify arm {bag} --arm fer --output {out} {SIMPLE}')
    assert out.read_text() == 'mine'
    out.unlink()
    status, _, data = verb(bag, f'{SIMPLE} --anyway')
    assert status == 0 and fd.load(out).inertial_set == 'identified'
    assert data['improvement']['better'] is False and data['verdict']['accepted'] is True


def test_a_payload_that_was_named_is_not_in_the_file(record, out, tmp_path, verb):
    payload = '1.5,0.0,0.0,0.05,0.004,0.0,0.0,0.004,0.0,0.002'
    loaded = DRAWN.with_payload(read_payload(payload))
    bag = record(tmp_path / 'loaded', loaded, 30.0)
    assert verb(bag, f'{SIMPLE} --payload {payload} --anyway')[0] == 0
    arms = fd.load(out), DRAWN, loaded
    found, bare, carrying = (fd.NewtonEulerModel(arm).gravity(FER.home) for arm in arms)
    # The payload alone makes 8 N m on joint 2; the identified arm misses by the noise.
    np.testing.assert_allclose(found, bare, rtol=0.0, atol=1.0)
    assert np.abs(carrying - found).max() > 5.0


def test_unseen_bags_decide_and_those_of_one_name_are_told_apart(recorded, record, tmp_path, verb):
    # Paths end with slashes, as a shell's completion writes them.
    monday, tuesday = (f'{tmp_path}/{day}/recording/' for day in ('monday', 'tuesday'))
    shutil.copytree(recorded, monday)
    (tmp_path / 'tuesday').mkdir()
    record(tuesday, DRAWN, seed=1)
    status, printed, data = verb(monday, f'--test {tuesday} {SIMPLE}')
    assert (status, data['unseen_recordings']) == (0, ['tuesday/recording'])
    assert [one['samples'] for one in data['recordings']] == [883, 583]
    assert len(data['scores'][0]['folds']) == 1
    assert 'On 1 unseen bag, learnt from 1, the identified arm has E =' in printed
    assert 'fitted to all 2 bags' in printed and HAND_QUESTION not in printed
    assert set(data['residual_of_recordings']) == {'monday/recording', 'tuesday/recording'}


def test_the_mounted_hand_is_suggested_where_another_was_named(bag, verb):
    said = verb(bag, f'--hand franka_hand {SIMPLE}')[1]
    assert HAND_QUESTION in said and ', none predicts' in said


def test_a_hand_is_the_arm_files_own_and_added_once(record, out, tmp_path, verb, answered):
    bag = record(tmp_path / 'bag', drawn_around(fd.load('fer', hand='franka_hand'), 0))
    assert verb(bag, f'--hand franka_hand {SIMPLE}')[0] == 0
    assert fd.load(out).hand == 'franka_hand'
    assert fd.load(out, hand='none').links[6].mass < 1.1
    assert answered(f'bag replay {bag} --arm {out} --no-plots --require 0.35')[0] == 0


def test_e_of_an_arm_with_a_prismatic_joint_is_in_percent(simulate, tmp_path, verb):
    limit = np.array([50.0, 50.0, 200.0, 10.0, 10.0, 10.0])  # N m, and N of the third joint
    stanford, arm, bag = fd.load('stanford'), tmp_path / 'arm.yaml', tmp_path / 'bag'
    joints = (
        replace(joint, limits=replace(joint.limits, effort=most))
        for joint, most in zip(stanford.joints, limit.tolist())
    )
    fd.save(replace(stanford, joints=tuple(joints)), arm)
    recording = simulate(stanford, duration=20.0)
    noise = np.random.default_rng(1).standard_normal(recording.effort.shape)
    fd.write_recording(replace(recording, effort=recording.effort + 0.02 * limit * noise), bag)
    status, said, data = verb(bag, f'--arm {arm} {SIMPLE} --anyway')
    assert status == 0 and '% of the limits' in said
    parts = data['scores'][1]['test']
    error = np.linalg.norm(100.0 * np.array(parts['joints']) / limit)
    assert parts['E'] == pytest.approx(error, rel=1e-9)


def test_a_broken_log_ends_with_1_and_no_file(bag, out, tmp_path, verb):
    recording = fd.read_recording(bag, FER.joint_names)
    effort = recording.effort * np.where(np.arange(7) == 3, 1.3, 1.0)
    fd.write_recording(replace(recording, effort=effort), tmp_path / 'broken')
    status, printed, data = verb(tmp_path / 'broken', SIMPLE)
    assert status == 1 and not out.exists()
    assert data['verdict']['accepted'] is False and data['verdict']['sound'] is False
    (cause,) = data['verdict']['causes']
    assert (cause['kind'], cause['joints']) == ('gain', [3])
    assert cause['values'] == pytest.approx([1.3], rel=0.1)
    assert 'fer_joint4' in printed and '--effort-scale 1,1,1,0.7' in printed


ROTORS = np.array([1.0, 1.0, 0.9, 0.15, 0.12, 0.1])  # behind the gears [kg m^2]
SCALE = np.array([12.5, 12.5, 11.0, 9.0, 9.4, 8.7])  # [N m/A]
AMPERES = 0.05  # of noise
VISCOUS, COULOMB = [10.0, 9.0, 6.0, 1.2, 1.0, 1.1], [8.0, 9.0, 5.0, 1.5, 1.4, 1.2]


def test_a_urdfs_currents_give_a_better_model(simulate, tmp_path, monkeypatch, answered, figures):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'six.urdf').write_text(six_axes(), encoding='utf-8')
    assert answered('arm import six.urdf --output six.yaml')[0] == 0
    real = drawn_around(fd.load('six.yaml'), 5)
    geared = (replace(joint, rotor_inertia=one) for joint, one in zip(real.joints, ROTORS))
    real = replace(real, joints=tuple(geared))
    rubbing = ViscousCoulombFriction(*map(np.array, (VISCOUS, COULOMB)), np.zeros(6))
    header = ','.join(['t', *(f'{word}{k}' for word in ('q', 'dq', 'i') for k in range(1, 7))])
    columns = '--stamp t --position q{} --velocity dq{} --effort i{}'
    for seed, name in enumerate(('log', 'unseen')):
        log = simulate(real, duration=40.0, rate=100.0, friction=rubbing, seed=seed)
        noise = np.random.default_rng(seed).standard_normal(log.q.shape)
        rows = np.column_stack([log.time, log.q, log.dq, log.effort / SCALE + AMPERES * noise])
        np.savetxt(f'{name}.csv', rows, delimiter=',', header=header, comments='')
        assert answered(f'bag import {name}.csv --arm six.yaml {columns}')[0] == 0
    scale = '--torque-constant', ','.join(map(str, SCALE))
    command = 'identify arm log --arm six.yaml --rotor-inertia --output found.yaml --json f.json'
    status, said = answered(command, *scale)
    assert status == 0 and 'the identified arm is better' in said
    rotors = np.array([joint.rotor_inertia for joint in fd.load('found.yaml').joints])
    np.testing.assert_allclose(rotors[:5] / ROTORS[:5], 1.0, atol=0.15)
    # On another motion only white noise sampled at 100 Hz should remain in a band of 3 Hz.
    noise_alone = AMPERES * np.linalg.norm(SCALE) * np.sqrt(3.0 / 50.0)
    found, six = (
        figures(f'bag replay unseen --arm {name}.yaml --no-plots --hand none', *scale)['fits'][0]
        for name in ('found', 'six')
    )
    assert found['filtered']['E'] < 1.5 * noise_alone
    assert six['filtered']['E'] > 20.0 * found['filtered']['E']
