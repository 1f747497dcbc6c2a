# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`identify` arm, plan and payload, and `payload-from-mesh`: from options to files and status."""

from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
import json
from pathlib import Path
import re
import shutil

import numpy as np
import pytest
import yaml

import franka_dynamics as fd
from franka_dynamics.arm import ViscousCoulombFriction
from franka_dynamics.arm.payload import payload_array, read_payload
from franka_dynamics.cli.main import main
from franka_dynamics.motion.planning import TrajectoryRequest
from franka_dynamics.motion.reference import ReferenceFollower
from franka_dynamics.recordings.preprocessing import to_motion
from franka_dynamics.recordings.replay import predict_torque
from franka_dynamics.urdf.writer import urdf_text

from ..arms import drawn_around
from ..urdf.urdf_texts import six_axes

pytestmark = pytest.mark.usefixtures('remembered_regressors')
FER = fd.load('fer')
DRAWN = drawn_around(fd.load('fer'), 0)
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
    scores = {one['name']: one for one in data['torque_errors']}
    for name in ('base parameters', 'consistent'):
        assert scores[name]['test']['E'] < 0.376 and scores[name]['frictionless']['E'] < 0.92
    published = [scores[name] for name in scores if ', none' in name]
    assert min(one['test']['E'] for one in published) == pytest.approx(0.476, abs=3e-3)
    assert data['improvement']['better'] is True
    assert data['verdict']['sound'] is True and data['verdict']['questions'] == []
    assert len(data['torque_errors'][0]['fold_errors']) == 5
    arm = fd.load(out)
    assert (arm.inertial_set, arm.inconsistencies()) == ('identified', ())
    motion = to_motion(fer_recording)
    # Ten digits are written.
    error = scores['consistent']['train']['E']
    assert predict_torque(arm, motion).error.E == pytest.approx(error, rel=1e-8)
    html = page.read_text()
    # Torques, friction, base parameters.
    assert html.count('data:image/png;base64,') == 3 and 'http' not in html
    for text in (html, printed):
        assert 'E = 0.37' in text and 'gaz2019' in text
    # Links are printed, base parameters are on the page alone.
    assert 'centre moved' in html and 'centre moved' in printed
    assert 'XXR_5' in html and 'XXR_5' not in printed


def test_friction_is_written_beside_published_inertias(record, out, tmp_path, verb):
    # Given the published arm with friction of its own, so that inertias cannot be better.
    page = tmp_path / 'page.html'
    bag = record(tmp_path / 'bag', FER, 30.0)
    status, printed, data = verb(bag, f'{SIMPLE} --report {page}')
    assert status == 0 and data['improvement']['better'] is False
    verdict = data['verdict']
    assert (verdict['accepted'], verdict['published_inertias_kept']) == (False, True)
    # Then the file has the published links and the friction that was simulated.
    arm = fd.load(out)
    assert arm.inertial_set in fd.available_sets('fer') and arm.hand == 'none'
    published = fd.load('fer', arm.inertial_set)
    for own, link in zip(arm.links, published.links):
        np.testing.assert_allclose(own.parameters(), link.parameters(), rtol=1e-9, atol=1e-12)
    speeds = np.linspace(-1.0, 1.0, 21)[:, None] * np.ones(7)
    found = arm.friction.torque(speeds)
    true = FRICTION.torque(speeds)
    errors = np.sqrt(np.mean((found - true) ** 2, axis=0))
    assert errors.max() < 0.1 < np.sqrt(np.mean(true**2))
    # A deviation that covers the error, and is no more than some times as large.
    spread = arm.friction.torque_std(arm.friction.terms(speeds))
    assert np.mean(np.abs(found - true) < 2.0 * spread) > 0.8 and spread.max() < 0.2
    for text in (page.read_text(), printed):
        assert arm.inertial_set in text


def test_an_arm_no_better_than_published_is_not_written(simulate, out, tmp_path, verb, refused):
    # Given the published arm without friction: there is nothing to write.
    bag = tmp_path / 'bag'
    fd.write_recording(simulate(FER, duration=20.0, noise=0.2), bag)
    status, _, data = verb(bag, SIMPLE)
    assert status == 1 and not out.exists() and data['improvement']['better'] is False
    assert data['verdict']['published_inertias_kept'] is False
    out.write_text('mine')
    assert str(out) in refused(f'identify arm {bag} --arm fer --output {out} {SIMPLE}')
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
    assert [one['sample_count'] for one in data['recordings']] == [883, 583]
    assert len(data['torque_errors'][0]['fold_errors']) == 1
    errors = {one['name']: one['test']['E'] for one in data['torque_errors']}
    assert f'E = {errors["consistent"]:.3f}' in printed and HAND_QUESTION not in printed
    assert set(data['residual_of_recordings']) == {
        'monday/recording',
        'tuesday/recording',
    }


def test_the_mounted_hand_is_suggested_where_another_was_named(bag, verb):
    said = verb(bag, f'--hand franka_hand {SIMPLE}')[1]
    assert HAND_QUESTION in said and 'none' in said.partition(HAND_QUESTION)[2].split()[:4]


def test_a_hand_is_the_arm_files_own_and_added_once(record, out, tmp_path, verb, answered):
    bag = record(tmp_path / 'bag', drawn_around(fd.load('fer', hand='franka_hand'), 0))
    assert verb(bag, f'--hand franka_hand {SIMPLE}')[0] == 0
    assert fd.load(out).hand == 'franka_hand' and fd.load(out, hand='none').links[6].mass < 1.1
    assert answered(f'bag replay {bag} --arm {out} --no-plots --require 0.35')[0] == 0


def test_e_of_an_arm_with_a_prismatic_joint_is_in_percent(simulate, tmp_path, verb):
    limit = np.array([50.0, 50.0, 200.0, 10.0, 10.0, 10.0])  # N m, and N of the third joint
    stanford = fd.load('stanford')
    arm = tmp_path / 'arm.yaml'
    bag = tmp_path / 'bag'
    limits = (replace(x.limits, effort=most) for x, most in zip(stanford.joints, limit.tolist()))
    joints = (replace(joint, limits=one) for joint, one in zip(stanford.joints, limits))
    fd.save(replace(stanford, joints=tuple(joints)), arm)
    recording = simulate(stanford, duration=20.0)
    noise = np.random.default_rng(1).standard_normal(recording.effort.shape)
    fd.write_recording(replace(recording, effort=recording.effort + 0.02 * limit * noise), bag)
    status, said, data = verb(bag, f'--arm {arm} {SIMPLE} --anyway')
    assert status == 0 and '%' in said
    parts = data['torque_errors'][1]['test']
    error = np.linalg.norm(100.0 * np.array(parts['per_joint']) / limit)
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


def test_exchanged_velocities_get_one_verdict(bag, tmp_path, verb, told, refused):
    # Given velocities of two joints exchanged, as by a driver that sorts names.
    broken = tmp_path / 'broken'
    recording = fd.read_recording(bag, FER.joint_names)
    fd.write_recording(replace(recording, dq=recording.dq[:, [1, 0, *range(2, 7)]]), broken)
    # Then no command calls the recording sound, and all give the same reason.
    status, _, data = told(f'bag replay {broken} --arm fer --no-plots')
    verdict = data['verdict']
    assert status == 1
    accepted = verb(broken, f'{SIMPLE} --anyway')[2]['verdict']
    assert verdict['sound'] is False and accepted['sound'] is False
    (reason,) = verdict['value_faults']
    assert accepted['value_faults'] == [reason] and 'velocities' in reason
    assert reason in refused(f'identify arm {broken} --arm fer {SIMPLE}')


ROTORS = np.array([1.0, 1.0, 0.9, 0.15, 0.12, 0.1])  # behind the gears [kg m^2]
SCALE = np.array([12.5, 12.5, 11.0, 9.0, 9.4, 8.7])  # [N m/A]
AMPERES = 0.05  # of noise
VISCOUS = [10.0, 9.0, 6.0, 1.2, 1.0, 1.1]
COULOMB = [8.0, 9.0, 5.0, 1.5, 1.4, 1.2]


def test_a_urdfs_currents_give_a_better_model(simulate, tmp_path, monkeypatch, answered, told):
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
    assert status == 0
    # Of which rotors only a sum with the links' inertias is known, is said where they stand.
    sums = re.findall(r' \d[\d.e+-]* sum\b', said)
    base = fd.base_parameters('six.yaml', rotor_inertia=True)
    apart = {name for name in base.names if name.startswith('Ia')}
    assert len(sums) == 6 - len(apart) > 0
    assert json.loads(Path('f.json').read_text())['improvement']['better'] is True
    rotors = np.array([joint.rotor_inertia for joint in fd.load('found.yaml').joints])
    np.testing.assert_allclose(rotors[:5] / ROTORS[:5], 1.0, atol=0.15)
    # On another motion only white noise sampled at 100 Hz should remain in a band of 3 Hz.
    noise_alone = AMPERES * np.linalg.norm(SCALE) * np.sqrt(3.0 / 50.0)
    words = 'bag replay unseen --no-plots --hand none --arm'
    # That the file without rotors lacks them is told, and does not make the recording unsound.
    (right, _, found), (wrong, said_of_six, six) = (
        told(f'{words} {x}.yaml', *scale) for x in ('found', 'six')
    )
    found, six = found['fits'][0], six['fits'][0]
    assert (right, wrong) == (0, 0)
    assert 'otor' in said_of_six
    assert found['filtered']['E'] < 1.5 * noise_alone
    assert six['filtered']['E'] > 20.0 * found['filtered']['E']


PLAN = 'identify plan --draws 2 --iterations 1 --period 8'
# With so few steps the optimised motion must be repeated often.
OFTEN = f'{PLAN} --repetitions 400'
LOAD = '0.5,0,0,0.05,1e-3,0,0,1e-3,0,1e-3'


@pytest.fixture(scope='module')
def planned(tmp_path_factory):
    """Return the file of a planned motion, and what was printed."""
    file = tmp_path_factory.mktemp('planned') / 'excitation.yaml'
    said = StringIO()
    arm = f'--arm fer --set ledezma2021 --payload {LOAD} --gravity 4.9,0,-8.5'
    with redirect_stdout(said):
        assert main(f'{OFTEN} {arm} --output {file}'.split()) == 0
    return file, ' '.join(said.getvalue().split())


def test_the_node_accepts_and_follows_the_written_message(planned):
    out, printed = planned
    assert '400 repetitions' in printed and str(out) in printed
    assert 'ros2 topic pub --once /feedforward/reference' in printed
    message = yaml.safe_load(out.read_text())
    arm = fd.load('fer')
    assert message['joint_names'] == list(arm.joint_names)
    points = message['points']
    stamps = [point['time_from_start'] for point in points]
    times = np.array([stamp['sec'] + 1e-9 * stamp['nanosec'] for stamp in stamps])
    np.testing.assert_allclose(times, np.arange(201) / 25.0, rtol=0.0, atol=1e-9)
    fields = 'positions', 'velocities', 'accelerations'
    columns = [np.array([point[field] for point in points]) for field in fields]
    request = TrajectoryRequest(tuple(message['joint_names']), times, *columns)
    reference = ReferenceFollower(arm)
    reference.at(0.0)
    reference.hold(arm.home)
    planned = reference.follow(**request.follow_kwargs(arm))
    # Between points 0.04 s apart the interpolation is close to the planned series.
    middle = 0.5 * (columns[0][100] + columns[0][101])
    np.testing.assert_allclose(planned.at(planned.begin + 4.02).q, middle, rtol=0.0, atol=2e-3)
    np.testing.assert_allclose(columns[1][[0, -1]], 0.0, rtol=0.0, atol=1e-6)


def test_an_arm_whose_file_states_no_home_needs_no_start(tmp_path, answered):
    # Joints 4 and 6 of an FR3 cannot be at zero.
    (tmp_path / 'fr3.urdf').write_text(urdf_text(fd.load('fr3')), 'utf-8')
    out = tmp_path / 'excitation.yaml'
    answered(f'{PLAN} --repetitions 10 --arm', tmp_path / 'fr3.urdf', '--output', out)
    q = np.array([point['positions'] for point in yaml.safe_load(out.read_text())['points']])
    limits = [fd.load('fr3').limit(name) for name in ('lower', 'upper')]
    assert ((q > limits[0] + 0.0999) & (q < limits[1] - 0.0999)).all()
    assert (np.ptp(q, axis=0) > 0.1).all()


def test_given_bags_are_complemented_by_the_motion(simulate, tmp_path, answered):
    names = tuple(f'axis{k}' for k in range(7))
    recording = replace(simulate(fd.load('fer'), duration=10.0), joint_names=names)
    fd.write_recording(replace(recording, topic='/measured'), tmp_path / 'bag')
    given = [
        '--given',
        tmp_path / 'bag',
        '--joint-names',
        ','.join(names),
        '--topic',
        '/measured',
    ]
    status, said = answered(f'{OFTEN} --gravity 0,0,-9.81 --output', tmp_path / 'a.yaml', *given)
    assert status == 0
    assert '400 repetitions' in said and '53.3 minutes' in said and '1 given' in said


def test_by_default_it_says_how_often_to_repeat_the_motion(tmp_path, answered):
    # Link 7 of the FR3 has 1e-4 kg m^2, and may have some 1e-3, so slow a motion must be repeated
    # more often than 10 times.
    out = tmp_path / 'excitation.yaml'
    command = f'{PLAN} --arm fr3 --fraction 0.5 --output', out
    status, printed = answered(*command)
    assert status == 0
    count = int(re.search(r'(\d+) repetitions', printed)[1])
    assert 10 < count <= 200
    out.unlink()
    status, printed = answered(*command, '--repetitions', count - 1)
    assert status == 1 and '--repetitions' in printed
    assert out.exists()  # a second motion may complement it


INERTIA = np.diag([0.003, 0.004, 0.002])
ONE_KG = fd.LinkInertia.from_center_of_mass(1.0, [0.02, -0.03, 0.08], INERTIA)


@pytest.fixture
def bags(simulate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, arm in (('bare', FER), ('loaded', FER.with_payload(ONE_KG))):
        fd.write_recording(simulate(arm, duration=30.0, rate=100.0, noise=0.2), tmp_path / name)


def test_beside_json_on_standard_output_nothing_is_printed(bags, capsys):
    words = 'identify payload --arm fer --without bare --with loaded --json --output p.yaml'
    assert main(words.split()) == 0
    assert json.loads(capsys.readouterr().out)['payload'][0] == pytest.approx(1.0, abs=0.01)


def test_the_payload_of_two_bags_is_in_the_parameter_file(bags, tmp_path, told):
    words = 'identify payload --arm fer --without bare --with loaded --output p.yaml'
    status, said, data = told(words, '--desk', 'd.json')
    assert status == 0 and 'payload: [' in said
    text = (tmp_path / 'p.yaml').read_text()
    payload = yaml.safe_load(text)['/**']['ros__parameters']['payload']
    np.testing.assert_allclose(payload[:4], payload_array(ONE_KG)[:4], rtol=0.0, atol=0.01)
    np.testing.assert_allclose(data['payload'], payload, rtol=1e-8, atol=1e-12)
    # Efforts of another unit are scaled, and a known mass tells the scale.
    command = 'identify payload --arm fer --without bare --with loaded --effort-scale 0.5'
    _, said, _ = told(f'{command} --known-mass 1.0 --output half.yaml')
    (factor,) = re.findall(r'--effort-scale ([\d.]+) ', said)
    assert float(factor) == pytest.approx(1.0, abs=0.01)
    assert np.abs((np.array(data['values']) - payload_array(ONE_KG)) / data['std']).max() < 4.0
    desk = json.loads((tmp_path / 'd.json').read_text())
    np.testing.assert_allclose([desk['mass'], *desk['centerOfMass']], payload[:4], rtol=1e-8)


def test_a_plan_of_poses_is_a_motion_for_node_play(tmp_path, told):
    words = f'identify payload --plan {tmp_path / "p.yaml"} --arm fer --poses 9 --table -0.2'
    status, said, data = told(words)
    assert status == 0 and 'node play' in said and len(data['poses']) == 9
    motion = yaml.safe_load((tmp_path / 'p.yaml').read_text())
    assert motion['joint_names'] == list(FER.joint_names)
    places = [point['positions'] for point in motion['points']]
    np.testing.assert_allclose(places, data['positions'], atol=1e-6)
    stamps = [point['time_from_start'] for point in motion['points']]
    seconds = [stamp['sec'] + 1e-9 * stamp['nanosec'] for stamp in stamps]
    np.testing.assert_allclose(seconds, data['times'], atol=1e-8)
    assert not np.any([point['velocities'] for point in motion['points']])


@pytest.mark.parametrize(
    ('words', 'named'),
    [
        ('', '--without'),
        ('--without bare', '--with'),
        ('--without bare --with loaded --poses 9', '--plan'),
        ('--plan p.yaml --desk d.json', '--desk'),
        ('--plan p.yaml --poses 7', '--poses'),
        ('--plan p.yaml --start 0,0,0', 'start'),
    ],
)
def test_options_of_a_plan_and_of_bags_are_not_mixed(words, named, refused):
    assert named in refused(f'identify payload {words}')


SIZE = np.array([0.06, 0.02, 0.1])  # m
MASS = float(2700.0 * SIZE.prod())
MOMENTS = MASS / 12.0 * ((SIZE**2).sum() - SIZE**2)


@pytest.fixture
def bar(tmp_path):
    """Return a command with a bar of 60 x 20 x 100 mm, its origin in its middle."""
    import trimesh

    trimesh.creation.box(SIZE * 1e3).export(tmp_path / 'bar.stl')
    return f'payload-from-mesh {tmp_path / "bar.stl"}'


@pytest.fixture
def payload(bar, answered):
    """Return a function that returns the payload that a command prints."""

    def run(options):
        status, said = answered(f'{bar} {options}')
        assert status == 0
        return np.array(yaml.safe_load(re.search(r'payload: (\[.*?\])', said)[1]))

    return run


@pytest.mark.parametrize('weight', ['--density 2700', f'--mass {MASS!r}'])
def test_a_bar_on_the_flange_prints_the_textbook_payload(payload, weight):
    # Given the bar 50 mm in front of the flange, turned by a quarter about z.
    found = payload(f'{weight} --xyz 0,0,0.05 --rpy 0,0,{np.pi / 2!r}')
    # Then x and y have changed places, and the inertia is about the centre of mass.
    expected = [MASS, 0, 0, 0.05, MOMENTS[1], 0, 0, MOMENTS[0], 0, MOMENTS[2]]
    # Nine digits are printed of single-precision coordinates.
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_a_mount_on_the_hand_adds_its_turn_and_its_length(payload):
    center = payload('--mass 1 --mount hand_tcp --xyz 0.1,0,0')[1:4]
    half = 0.1 * np.sqrt(0.5)
    np.testing.assert_allclose(center, [half, -half, 0.1034], rtol=0.0, atol=1e-8)


def test_the_output_file_sets_the_nodes_parameter(bar, tmp_path, answered):
    output = tmp_path / 'payload.yaml'
    picture = tmp_path / 'payload.png'
    assert answered(f'{bar} --density 2700 --output {output} --plot {picture}')[0] == 0
    numbers = yaml.safe_load(output.read_text())['/**']['ros__parameters']['payload']
    assert [type(number) for number in numbers] == [float] * 10
    np.testing.assert_allclose(np.array(numbers)[[4, 7, 9]], MOMENTS, rtol=1e-6, atol=0.0)
    assert picture.read_bytes().startswith(b'\x89PNG')
    assert len(list(tmp_path.iterdir())) == 3  # with the mesh


def test_a_weight_over_the_rated_load_is_warned_of(bar, tmp_path, answered):
    said = answered(f'{bar} --mass 5')[1]
    assert said.count('warning: ') == 2
    assert all(one in said for one in ('5 kg', '3 kg', 'fr3', '4.167e+04 kg/m^3', 'mm'))
    fd.save(replace(fd.load('rpr'), rated_load=9.0), tmp_path / 'strong.yaml')
    said = answered(f'{bar} --mass 5 --arm {tmp_path / "strong.yaml"}')[1]
    assert said.count('warning: ') == 1 and '3 kg' not in said
