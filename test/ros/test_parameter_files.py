# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A wrong parameter file ends a node with one sentence and exit status 2."""

import re

import pytest
from rclpy.node import Node

from franka_dynamics.errors import SettingsError
from franka_dynamics.ros.feedforward_node import FeedforwardNode
from franka_dynamics.ros.parameter_files import given_file, matches, read_sections

from .conftest import run_python

NODE = 'franka_dynamics.ros.feedforward_node'


def section(text, name='/**'):
    return f'{name}:\n  ros__parameters:\n    {text}\n'


# Contents of a file and the expected message: first wrong forms, then wrong parameters.
FORMS = [
    (
        section('payload: [0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0]'),
        'payload is .* write every number with a decimal point',
    ),
    (section('scale: 0.5\n    scale: 1.0'), 'line 4: scale is given twice'),
    (
        '/**:\n  ros_parameters:\n    scale: 0.5\n',
        'ros_parameters/scale stands outside ros__parameters',
    ),
    ('scale: 0.5\n', 'scale stands outside ros__parameters'),
    ('', 'holds no mapping .* a parameter file starts with /\\*\\*'),
    (None, 'cannot be read: No such file'),
]
VALUES = [
    ('scael: 0.5', r'^scael \(scale\?\): no such parameter'),
    ('terms: {gravty: false}', r'^terms.gravty \(terms.gravity\?\): no such parameter'),
    ('terms: false', '^terms: no such parameter'),
    ('scale: 1', '^scale must be of type double'),
    ("scale: '0.5'", '^scale must be of type double'),
    ('scale: 1.5', '^scale is 1.5; it must be within 0 and 1'),
    ('scale: .nan', '^scale is nan; it must be within 0 and 1'),
    ('target: gazebo', "^target is 'gazebo'; the choices are 'fci', "),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'parameters.yaml'


@pytest.mark.parametrize(
    ('text', 'more', 'expected'),
    [
        (
            section('scale: 0.5', 'feedforward'),
            ('-r', '__ns:=/left'),
            r'no section for /left/feedforward; its sections are /feedforward\. '
            r'Name one /\*\* or /left/feedforward',
        ),
        (section('payload: [0.5'), (), '/parameters.yaml cannot be read as YAML'),
        (
            section('scale: 0.5'),
            ('-p', 'scale:='),
            "^the command line was not understood: .*'-p scale:='",
        ),
    ],
)
def test_what_a_node_cannot_start_with_ends_it_with_one_sentence(text, more, expected, path):
    path.write_text(text)
    status, _, errors = run_python('-m', NODE, '--ros-args', '--params-file', path, *more)
    # rcl's parser may have logged a line of its own before.
    (ours,) = [line for line in errors.splitlines() if '[rcl]' not in line]
    assert status == 2
    assert re.search(expected, ours)
    assert '.c:' not in ours  # no line of rcl's C sources


@pytest.mark.parametrize(('text', 'expected'), FORMS)
def test_a_file_of_another_form_is_named_with_its_fix(text, expected, path):
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingsError, match=expected) as error:
        read_sections(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(('text', 'expected'), VALUES)
def test_a_wrong_parameter_is_named_when_the_node_is_made(text, expected, path, make_node):
    path.write_text(section(text))
    with pytest.raises(SettingsError, match=expected):
        make_node(FeedforwardNode, '--params-file', path)


@pytest.mark.parametrize(
    'pattern, node',
    [
        ('/**', '/left/feedforward'),
        ('/feedforward', '/left/feedforward'),
        ('/*/feedforward', '/left/feedforward'),
        ('/*/feedforward', '/feedforward'),
        ('/*/feedforward', '/a/b/feedforward'),
        ('/**/feedforward', '/a/b/feedforward'),
        ('/**/feedforward', '/feedforward'),
        ('/left/*', '/left'),
    ],
)
def test_sections_match_nodes_as_ros_matches_them(pattern, node, path, make_node):
    # ROS's own answer is whether the parameter arrives.
    path.write_text(section('mark: true', pattern))
    namespace, name = node.rsplit('/', 1)
    options = {'namespace': namespace or None, 'node_name': name}
    overridden = {'automatically_declare_parameters_from_overrides': True}
    given = make_node(Node, '--params-file', path, **options, **overridden)
    assert matches(pattern, node) == given.has_parameter('mark')


def test_a_launch_arguments_file_of_no_use_is_named_with_its_argument(tmp_path):
    path = tmp_path / 'typo.yaml'
    path.write_text('{}')
    with pytest.raises(SettingsError, match=r'^params_file: .*typo.yaml.* Nothing is started'):
        given_file('params_file', str(path))
    assert given_file('params_file', '') == []
