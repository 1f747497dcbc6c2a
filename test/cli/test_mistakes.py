# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mistakes that users make: each is answered by one sentence that names the value and the fix."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.recordings.recording import write_recording
from franka_dynamics.urdf.writer import urdf_text

XACRO = """<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:include filename="$(find franka_description)/robots/fr3/fr3.urdf.xacro"/></robot>"""

# A command, and what its answer names: the value, and what to write instead.
MISTAKES = [
    ('--arm fr3 arm show', ('--arm', 'franka-dynamics arm show --arm fr3')),
    ('arm --arm fr3 show', ('--arm', 'franka-dynamics arm show --arm fr3')),
    ('arm show --hand franka', ("'franka'", 'did you mean franka_hand?')),
    ('arm show --payload 0.5 0 0 0.1', ('--payload 0.5,0,0,0.1',)),
    (
        'arm show --arm fr3 --q 90 0 0 -90 0 90 45',
        ('fr3_joint1', '90 rad', '--q 1.5708 0 0 -1.57'),
    ),
    ('codegen --language cpp', ('cpp', '--package NAME')),
    ('bag import log.csv', ('--position q{}', '--velocity dq{}', '--effort tau{}', '--stamp t')),
    ('arm check robot.urdf.xacro', ('robot.urdf.xacro', 'source ROS')),
    # Ten more.
    ('arm show --arm --json', ("'--arm'", 'value is missing', '--json')),
    ('help', ("'help'", '--help')),
    ('arm show --arm fr3 --output x.yaml', ('--output is no option',)),
    ('node set payload -1,0,0,0', ('-1,0,0,0', 'negative')),
    ('bag replay log.csv', ('log.csv', '`bag import`')),
    ('bag replay no_such_bag extra', ('extra', 'no option')),
    ('identify payload --with loaded', ("'--without'",)),
    ('arm import robot.urdf', ("'--output'",)),
    ('bag replay --hand none no_bag', ('BAG', 'before --hand')),
    ('view fr3', ('fr3', '--arm fr3')),
    ('arm export --format mujoco', ('mujoco', 'mjcf')),
    ('arm check --states 1e3', ('1e3', 'whole number')),
    ('node state avtivate', ('avtivate', "'activate'")),
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Change into a folder with a log in degrees and a xacro file that needs a ROS package."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    Path('robot.urdf.xacro').write_text(XACRO)
    time = np.arange(0.0, 12.0, 0.01)
    angle = 20.0 * np.sin(time)[:, None] * np.ones(7) + [0, -45, 0, -135, 0, 90, 45]
    velocity = 20.0 * np.cos(time)[:, None] * np.ones(7)
    torque = np.random.default_rng(0).normal(size=angle.shape)
    names = ['t', *(f'{kind}{k}' for kind in ('q', 'dq', 'tau') for k in range(1, 8))]
    table = np.column_stack([time, angle, velocity, torque])
    np.savetxt('log.csv', table, delimiter=',', header=','.join(names), comments='')
    return tmp_path


@pytest.mark.parametrize(('command', 'names'), MISTAKES, ids=[one for one, _ in MISTAKES])
def test_a_mistake_is_answered_by_one_sentence_with_value_and_fix(command, names, here, refused):
    if 'xacro' in command:
        pytest.importorskip('xacro')
    if command.startswith('node set'):
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    before = sorted(here.iterdir())
    said = refused(command)
    assert [name for name in names if name not in said] == [], said
    assert sorted(here.iterdir()) == before


def test_a_log_in_degrees_is_refused_and_no_bag_written(here, refused):
    pytest.importorskip('rosbags')
    columns = '--position q{} --velocity dq{} --effort tau{} --stamp t'
    said = refused(f'bag import log.csv --arm fr3 {columns} --output bag')
    assert '--position-unit deg' in said and 'fr3_joint' in said
    assert not (here / 'bag').exists()


@pytest.mark.parametrize('gravity', ['0 0 9.81', '0 0 -981', '0 0 -1.62'])
def test_unusual_gravity_is_remarked(gravity, capsys):
    assert main(f'arm check --arm rpr --states 2 --gravity {gravity}'.split()) == 0
    assert gravity in capsys.readouterr().err
    assert main('arm check --arm rpr --states 2 --gravity 4.9 0 -8.5'.split()) == 0
    assert capsys.readouterr().err == ''


def test_a_checked_urdf_is_not_taken_for_the_arm_of_its_name(here, answered):
    Path('my.urdf').write_text(urdf_text(load('fr3')))
    status, said = answered('arm check --states 5 --arm my.urdf')
    assert status == 0 and 'my.urdf' in said.partition('largest')[0]
    assert 'arm check my.urdf' in said


@pytest.fixture
def fr3_bag(simulate, tmp_path):
    """Return the bag of an FR3 with the prefix left_."""
    pytest.importorskip('rosbags')
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
