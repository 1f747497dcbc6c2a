# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages, files, names and parameters at fault: one sentence each, with the name and value."""

from contextlib import closing
from functools import partial
import importlib

import numpy as np
import pytest
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from franka_dynamics.control.request import MAX_POINTS
from franka_dynamics.errors import (
    apart,
    DescriptionError,
    JointStateError,
    ReferenceRefusedError,
    SettingsError,
    UnknownArmError,
    UrdfError,
)
from franka_dynamics.ros.controller_factory import resolve_model
from franka_dynamics.ros.joint_state_messages import JointStateReader, NoArmJointsError
from franka_dynamics.ros.parameter_tables import parameter_specs
from franka_dynamics.ros.topic_listener import resolve_name
from franka_dynamics.ros.trajectory_file import read_trajectory_file
from franka_dynamics.ros.trajectory_messages import parse_trajectory

from .conftest import Probe
from .test_messages import GOOD, joint_state, WANTED
from ..agreement import refuses

READER = JointStateReader(WANTED)
UNREADABLE = 'cannot be read: failed to deserialize'
FORM = 'a trajectory needs joint_names and points'
LEFT, RIGHT = '/sim/left/feedforward', '/sim/right/feedforward'


def points(count, joints=2, **fields):
    """Take a trajectory whose points are alike."""
    names = [f'joint{k}' for k in range(joints)]
    parse_trajectory(
        JointTrajectory(joint_names=names, points=[JointTrajectoryPoint(**fields)] * count)
    )


def uneven():
    rows = ([0.1, 0.2], [1.0])
    made = [JointTrajectoryPoint(positions=[0.0, 0.0], velocities=row) for row in rows]
    parse_trajectory(JointTrajectory(joint_names=['a', 'b'], points=made))


def motion(text, folder):
    (folder / 'motion.yaml').write_text(text)
    read_trajectory_file(folder / 'motion.yaml')


def model(node=None, **changes):
    values = {spec.name: spec.default for spec in parameter_specs('feedforward')}
    values['model_source'] = 'robot_description'
    resolve_model(node, values | changes, lambda: False)


def late_description():
    with closing(Probe()) as node:
        model(node)


# What is read, and what the sentence names.
STATES = {
    JointStateError: [
        (joint_state(position=[1.0, 2.0]), '3 names but 2 values of position'),
        (joint_state(velocity=[]), '3 values of position and 0 of velocity'),
        (joint_state(effort=[1.0]), '3 names but 1 values of effort'),
        (joint_state(['b_joint1', *WANTED[1:]]), 'lacks a_joint1; it has b_joint1'),
        (joint_state([*WANTED, WANTED[0]], range(12)), 'names a_joint1 more than once'),
        *((data, UNREADABLE) for data in (b'', GOOD[:60])),
        (GOOD[:20] + b'\xff\xff\xff\x7f' + GOOD[24:], UNREADABLE),
        (GOOD[:8] + b'\xff\xff\xff\xff' + GOOD[12:], '4294967295 nanoseconds'),
        (joint_state(('x' * 40000, *WANTED[1:])), '... (40000 characters)'),
    ],
    # A gripper's messages on the arm's topic are no fault.
    NoArmJointsError: [
        (joint_state([], []), 'no joints', 'robot_type, arm_prefix or joint_names'),
        (joint_state(['finger'], range(3)), 'lacks a_joint1, a_joint2, a_joint3', 'finger'),
        (joint_state([f'j{k}' for k in range(1000)], range(3000)), 'j11, ... (1000 in all)'),
    ],
}
REFUSED = {
    **{
        error: [(partial(READER.read, data), *names) for data, *names in rows]
        for error, rows in STATES.items()
    },
    ReferenceRefusedError: [
        (lambda: points(0), 'no points', f'{MAX_POINTS}'),
        (lambda: points(1, velocities=[0.0, 0.0]), 'no positions'),
        (lambda: points(MAX_POINTS + 1, 1, positions=[0.0]), f'{MAX_POINTS + 1} points'),
        (uneven, 'velocities', '[1, 2] values', '2 joints'),
    ],
    SettingsError: [
        (lambda: resolve_name('feedforward', {LEFT, RIGHT}, 'node'), LEFT, RIGHT),
        (lambda: model(inertial_set='gaz2019'), 'inertial_set is gaz2019', 'of the URDF'),
    ],
    UrdfError: [(lambda: model(model_source='/no.urdf'), '/no.urdf cannot be read')],
    UnknownArmError: [
        (lambda: model(model_source='description', robot_type='ur5'), "'ur5'", 'fr3v2'),
        (lambda: model(model_source='description', inertial_set='gaz'), "'gaz'"),
        (lambda: model(model_source='description', hand='claw'), "'claw'", 'franka_hand'),
    ],
    DescriptionError: [(late_description, '/robot_description', '0.5 s')],
}
FILES = [
    ('hello', FORM),
    ('points: [{}]\njoint_names: [a]', FORM),
    ('points: []\njoint_names: [a]', 'no points'),
    (
        'points: [{positions: [0.0], time_from_start: {sec: 1}}]\njoint_names: [a, b]',
        'positions have [1]',
        '2 joints',
    ),
]
ROWS = [(error, call, names) for error, rows in REFUSED.items() for call, *names in rows]


# Numbers as ids: the padding of messages is random, and test workers must agree on ids.
@pytest.mark.parametrize(('error', 'call', 'names'), ROWS, ids=map(str, range(len(ROWS))))
def test_what_is_at_fault_is_refused_by_name_and_what_follows_is_taken(
    error, call, names, monkeypatch
):
    monkeypatch.setattr('franka_dynamics.ros.controller_factory.DESCRIPTION_TIMEOUT_S', 0.5)
    READER.read(GOOD)
    for _ in range(2):
        with refuses(error, *names) as refusal:
            call()
        assert refusal.type is error
    np.testing.assert_array_equal(READER.read(GOOD).position, [0.0, 1.0, 2.0])


@pytest.mark.parametrize(('text', 'names'), [(text, names) for text, *names in FILES])
def test_a_file_that_is_no_trajectory_is_refused_by_what_it_lacks(text, names, tmp_path):
    with refuses(SettingsError, 'motion.yaml', *names):
        motion(text, tmp_path)


@pytest.mark.parametrize('node', ['feedforward', 'simulator', 'gazebo_direct'])
@pytest.mark.parametrize(
    'words', [['-p', 'scale:=0.5'], ['--params-file', 'f.yaml'], ['--help'], ['--ros_args']]
)
def test_words_outside_those_for_ros_are_refused_with_the_usage(node, words, capsys):
    main = importlib.import_module(f'franka_dynamics.ros.{node}_node').main
    assert main(['node', *words, '--ros-args', '-r', '__node:=never', '--']) == 2
    said = capsys.readouterr().err
    assert ', '.join(words) in said and 'usage: node --ros-args' in said


def test_numbers_that_differ_are_shown_with_digits_that_tell_them_apart():
    assert apart(0.5, 0.25) == ('0.5', '0.25')
    assert apart(1.5704, 1.57) == ('1.5704', '1.57')
    assert apart(0.1, np.nextafter(0.1, 0.0)) != ('0.1', '0.1')
    assert apart(0.1, 0.1) == ('0.1', '0.1')
