# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`identify plan`, `identify payload`, `payload-from-mesh`: from options to the node's files."""

from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
import json
import re

import numpy as np
import pytest
import yaml

import franka_dynamics as fd
from franka_dynamics.arm.payload import payload_array
from franka_dynamics.cli.main import main
from franka_dynamics.motion.reference import Reference
from franka_dynamics.motion.request import TrajectoryRequest
from franka_dynamics.urdf.writer import urdf_text

PLAN = 'identify plan --draws 2 --iterations 1 --period 8'
# With so few steps the optimised motion must be repeated often.
OFTEN = f'{PLAN} --repetitions 400'
LOAD = '0.5,0,0,0.05,1e-3,0,0,1e-3,0,1e-3'


@pytest.fixture(scope='module')
def planned(tmp_path_factory):
    """Return the file of a planned motion, and what was printed."""
    file, said = tmp_path_factory.mktemp('planned') / 'excitation.yaml', StringIO()
    arm = f'--arm fer --set ledezma2021 --payload {LOAD} --gravity 4.9,0,-8.5'
    with redirect_stdout(said):
        assert main(f'{OFTEN} {arm} --output {file}'.split()) == 0
    return file, ' '.join(said.getvalue().split())


def test_the_node_accepts_and_follows_the_written_message(planned):
    out, printed = planned
    assert 'After 400 repetitions of 8 s' in printed
    assert f'trajectory: {out}' in printed
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
    reference = Reference(arm)
    reference.at(0.0)
    reference.hold(arm.home)
    planned = reference.follow(**request.follow_arguments(arm))
    # Between points 0.04 s apart the interpolation is close to the planned series.
    middle = 0.5 * (columns[0][100] + columns[0][101])
    np.testing.assert_allclose(planned.at(planned.begin + 4.02).q, middle, rtol=0.0, atol=2e-3)
    np.testing.assert_allclose(columns[1][[0, -1]], 0.0, rtol=0.0, atol=1e-6)


def test_an_arm_whose_file_states_no_home_needs_no_start(tmp_path, answered):
    # Joints 4 and 6 of an FR3 cannot be at zero.
    (tmp_path / 'fr3.urdf').write_text(urdf_text(fd.load('fr3')), 'utf-8')
    out = tmp_path / 'excitation.yaml'
    answered(f'{PLAN} --repetitions 10 --arm', tmp_path / 'fr3.urdf', '--output', out)
    points = yaml.safe_load(out.read_text())['points']
    q = np.array([point['positions'] for point in points])
    limits = [fd.load('fr3').limit(name) for name in ('lower', 'upper')]
    assert ((q > limits[0] + 0.0999) & (q < limits[1] - 0.0999)).all()
    assert (np.ptp(q, axis=0) > 0.1).all()


def test_given_bags_are_complemented_by_the_motion(simulate, tmp_path, answered):
    names = tuple(f'axis{k}' for k in range(7))
    recording = replace(simulate(fd.load('fer'), duration=10.0), joint_names=names)
    fd.write_recording(replace(recording, topic='/measured'), tmp_path / 'bag')
    given = ['--given', tmp_path / 'bag', '--joint-names', ','.join(names), '--topic', '/measured']
    status, said = answered(f'{OFTEN} --gravity 0,0,-9.81 --output', tmp_path / 'a.yaml', *given)
    assert status == 0
    assert '400 repetitions of 8 s (53.3 minutes), and the 1 given bags' in said


def test_by_default_it_says_how_often_to_repeat_the_motion(tmp_path, answered):
    # Link 7 of the FR3 has 1e-4 kg m^2, which no motion shows above the sensors' noise. So slow a
    # motion must be repeated more often than 10 times.
    out = tmp_path / 'excitation.yaml'
    command = f'{PLAN} --arm fr3 --fraction 0.4 --output', out
    status, printed = answered(*command)
    assert status == 0
    count = int(printed.split('After ')[1].split(' repetitions of 8 s')[0])
    assert 10 < count <= 200
    assert re.search(r'XXR_7 [^A-Z]*not needed', printed)
    assert 'NOT identifiable' not in printed
    out.unlink()
    status, printed = answered(*command, '--repetitions', count - 1)
    assert status == 1 and 'that matter are NOT identifiable: ' in printed
    assert '(--repetitions)' in printed
    assert out.exists()  # a second motion may complement it


FER = fd.load('fer')
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
    score = (np.array(data['values']) - payload_array(ONE_KG)) / data['std']
    assert np.abs(score).max() < 4.0
    desk = json.loads((tmp_path / 'd.json').read_text())
    np.testing.assert_allclose([desk['mass'], *desk['centerOfMass']], payload[:4], rtol=1e-8)


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
    center, half = payload('--mass 1 --mount hand_tcp --xyz 0.1,0,0')[1:4], 0.1 * np.sqrt(0.5)
    np.testing.assert_allclose(center, [half, -half, 0.1034], rtol=0.0, atol=1e-8)


def test_the_output_file_sets_the_nodes_parameter(bar, tmp_path, answered):
    output, picture = tmp_path / 'payload.yaml', tmp_path / 'payload.png'
    assert answered(f'{bar} --density 2700 --output {output} --plot {picture}')[0] == 0
    numbers = yaml.safe_load(output.read_text())['/**']['ros__parameters']['payload']
    assert [type(number) for number in numbers] == [float] * 10
    np.testing.assert_allclose(np.array(numbers)[[4, 7, 9]], MOMENTS, rtol=1e-6, atol=0.0)
    assert picture.read_bytes().startswith(b'\x89PNG')
    assert len(list(tmp_path.iterdir())) == 3  # with the mesh


def test_an_unlikely_weight_is_warned_of_by_the_arms_own_rated_load(bar, tmp_path, answered):
    said = answered(f'{bar} --mass 5')[1]
    assert 'warning: 5 kg is above the 3 kg that fr3 is rated for' in said
    assert 'warning: nothing is as dense as 4.167e+04 kg/m^3; is the unit mm right?' in said
    fd.save(replace(fd.load('rpr'), rated_load=9.0), tmp_path / 'strong.yaml')
    assert 'rated' not in answered(f'{bar} --mass 5 --arm {tmp_path / "strong.yaml"}')[1]
