# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mistakes that users make: each is answered by one sentence that names the value and the fix."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.recordings.recording import write_recording
from franka_dynamics.urdf.writer import urdf_text

MOTION = '--position q{} --velocity dq{} --effort tau{}'
PLAN = 'identify plan --draws 3 --iterations 2 --period 8 --repetitions 400'
# A command, and what its answer names: the value, and what to write instead.
MISTAKES = [
    ('arm show --hand franka', ("'franka'", 'did you mean franka_hand?')),
    (
        'arm show --arm fr3 --q 90,0,0,-90,0,90,45',
        ('fr3_joint1', '90 rad', '--q 1.5708,0,0,-1.57'),
    ),
    ('arm show --arm --json', ("'--json'",)),
    ('arm check --gravity 0,0', ("'--gravity'", "'0,0'", '3')),
    ('node state --node /a//b', ('--node', "'/a//b'", 'no ROS name')),
    ('arm show --q 1_0,0,0,0,0,0,0', ('zero, home or 7 numbers', '1_0')),
    ('arm show --arm fer --q 1,2', ('(2,)', '(7,)', 'fer')),
    ('arm show --arm fer --q nan,0,0,0,0,0,0', ('fer_joint1', 'nan')),
    ('codegen --package --arm fr3', ('--arm', 'arm export --format controller')),
    ('codegen --package', ('--output FOLDER',)),
    ('bag import log.csv', ('--position q{}', '--velocity dq{}', '--effort tau{}', '--stamp t')),
    ('bag import log.csv --stamp t --position q{}', ('velocity is missing', 't, q1, q2')),
    (f'bag import log.csv {MOTION}', ('stamp column', 'rate')),
    (f'bag import log.csv --stamp t {MOTION} --effort-scale 1,2', ('[1.0, 2.0]', 'one number')),
    (f'bag import log.csv --arm rpr --stamp t {MOTION} --joint-names a', ('--joint-names', '1')),
    ('node set payload -1,0,0,0', ('-1,0,0,0', 'negative')),
    ('bag replay log.csv', ('log.csv', '`bag import`')),
    # Numbers and names.
    ('arm check --gravity 0,0,inf', ('inf is not a finite number',)),
    ('arm chek', ("'chek'", "'check'", 'arm --help')),
    ('arm show --arm ur5', ('panda is the fer',)),
    ('arm check --arm .', ('. is a folder; give',)),
    # Two descriptions.
    ('arm compare fr3 fer --arm-prefix left_', ('--arm-prefix', 'arm compare --help')),
    ('arm compare fr3.urdf fr3.urdf --hand none', ('--hand has no meaning with two URDFs',)),
    ('arm compare fr3 fr3.urdf --set gaz2019', ('fr3', 'gaz2019')),
    ('arm export --arm-prefix a&b', ('--arm-prefix', "'a&b'", 'letters, digits')),
    ('arm compare fr3 fr3.urdf --arm-prefix x_', ("'x_fr3_joint1'",)),
    # Recordings.
    (f'bag import log.csv --arm fr3 {MOTION} --stamp t', ('--position-unit deg', 'fr3_joint')),
    ('bag replay --arm fer bag --joint-names a,b', ('2 names', 'fer has 7')),
    ('bag replay --arm fer bag --set gaz2020', ("'gaz2020'", 'gaz2019')),
    ('bag replay --arm fer millis', ('--effort-scale', 'mN m')),
    ('bag replay --arm fer degrees', ('--position-unit deg', 'correct what publishes them')),
    ('bag replay --arm fer bag --external out.h5', ('out.h5', '.csv')),
    ('bag replay both', ('left_fr3_joint1', 'right_fr3_joint1', '--arm-prefix')),
    ('identify arm --arm fer bag panda', ('fer_joint7', 'panda_joint1')),
    ('identify arm --arm fer bag --test same', ('same holds the same recording',)),
    ('identify arm --arm fer bag --workers 0', ("'0'", 'tcp://')),
    ('identify arm --arm fer bag --output .', ('folder', 'name of a file')),
    ('identify payload --arm fer --without bag --with same --output p.yaml', ('mass', 'swapped')),
    # Motions and meshes.
    (f'{PLAN} --period 0 --output x.yaml', ('0.0 s', 'positive')),
    ('payload-from-mesh tool.stl --mass -2', ('--mass', '-2')),
    ('arm check --arm fer --gravity 0 0 -9.81', ('commas', '0,0,-9.81')),
]


# Options that mean nothing together; the answer names the option that must go.
WITHOUT_MEANING = """
node state activate --json
node play fer --topic states
view --stamps received
view no_such_bag --node feedforward
bag replay no_such_bag --no-plots --output replay_output
codegen --arm rpr --gravity 0,0,nan
codegen --parameters run_time --gravity 0,0,-9.81
codegen --arm rpr --quantity gravity,gravity --output folder
codegen --package --output folder --gravity 0,0,-9.81
arm show --arm scemi --symbolic --json figures.json
arm show --base-parameters --q zero
arm show fr3 --arm fer
arm compare fr3 fer side:=left
arm compare fr3.urdf fr3.urdf --set gaz2019
arm check fer --arm fr3
bag import log.csv --layout droid --effort-scale 0.001
bag import log.csv --layout droid --position-unit deg
payload-from-mesh tool.stl --mass 1 --density 2700
"""


@pytest.fixture(scope='module')
def folder(tmp_path_factory, simulate):
    """Return a folder with logs, bags and descriptions, sound and unsound."""
    folder, fer = tmp_path_factory.mktemp('here'), load('fer')
    (folder / 'fr3.urdf').write_text(urdf_text(load('fr3')))
    time = np.arange(0.0, 12.0, 0.01)
    angle = 20.0 * np.sin(time)[:, None] * np.ones(7) + [0, -45, 0, -135, 0, 90, 45]
    velocity = 20.0 * np.cos(time)[:, None] * np.ones(7)
    torque = np.random.default_rng(0).normal(size=angle.shape)
    names = ['t', *(f'{kind}{k}' for kind in ('q', 'dq', 'tau') for k in range(1, 8))]
    table = np.column_stack([time, angle, velocity, torque])
    np.savetxt(folder / 'log.csv', table, delimiter=',', header=','.join(names), comments='')
    recording = simulate(fer, duration=20.0, noise=0.2)
    others = {
        'bag': recording,
        'same': recording,
        'degrees': replace(recording, q=np.degrees(recording.q)),
        'millis': replace(recording, effort=1e3 * recording.effort),
        'panda': replace(recording, joint_names=tuple(f'panda_joint{i}' for i in range(1, 8))),
    }
    sides = [f'{side}_fr3_joint{i}' for side in ('left', 'right') for i in range(1, 8)]
    twice = {what: np.tile(getattr(recording, what), 2) for what in ('q', 'dq', 'effort')}
    others['both'] = replace(recording, joint_names=tuple(sides), **twice)
    for name, one in others.items():
        write_recording(one, folder / name)
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    """Change into the folder, which a mistake leaves as it is."""
    monkeypatch.chdir(folder)
    return folder


EVERY = [*MISTAKES, *((command, ()) for command in WITHOUT_MEANING.strip().splitlines())]


@pytest.mark.parametrize(('command', 'names'), EVERY, ids=[one for one, _ in EVERY])
def test_a_mistake_is_answered_by_one_sentence_with_value_and_fix(command, names, here, refused):
    if command.startswith(('node set', 'view --stamps')):
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    before = sorted(here.iterdir())
    said = refused(command)
    assert [name for name in names if name not in said] == [], said
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize('gravity', ['0,0,9.81', '0,0,-981', '0,0,-1.62'])
def test_unusual_gravity_is_remarked(gravity, capsys):
    assert main(f'arm check --arm rpr --states 2 --gravity {gravity}'.split()) == 0
    assert gravity in capsys.readouterr().err
    assert main('arm check --arm rpr --states 2 --gravity 4.9,0,-8.5'.split()) == 0
    assert capsys.readouterr().err == ''


@pytest.fixture
def fr3_bag(simulate, tmp_path):
    """Return the bag of an FR3 with the prefix left_."""
    recording = simulate(load('fr3'), duration=12.0, noise=0.1)
    names = tuple(f'left_{name}' for name in recording.joint_names)
    write_recording(replace(recording, joint_names=names), tmp_path / 'bag')
    return tmp_path / 'bag'


def test_a_bags_arm_and_prefix_are_found_by_its_joints(fr3_bag, answered, refused):
    status, said = answered('bag replay', fr3_bag, '--no-plots', '--hand', 'none')
    assert status == 0 and 'left_fr3_joint1' in said, said
    # Another arm is refused by name.
    said = refused('bag replay --no-plots --arm fer', fr3_bag)
    assert 'not of fer' in said and '--arm fr3' in said
