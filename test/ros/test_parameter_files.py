# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A wrong parameter file ends a node with one sentence and exit status 2."""

import os
import subprocess
import sys

import pytest

from franka_dynamics.errors import SettingsError
from franka_dynamics.ros.parameter_files import (
    given_file,
    matches,
    read_sections,
    require_section,
)

from .conftest import TIMEOUT_S

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
    (section('payload: [0.5'), 'cannot be read as YAML'),
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
def sentence(tmp_path):
    """Return a function that starts the node with a file and returns its one sentence."""

    def start(text, *arguments):
        path = tmp_path / 'parameters.yaml'
        path.write_text(text)
        done = subprocess.run(
            [sys.executable, '-m', NODE, '--ros-args', '--params-file', str(path), *arguments],
            capture_output=True,
            text=True,
            env=dict(os.environ),
            timeout=TIMEOUT_S,
        )
        assert done.returncode == 2, done.stderr
        # rcl's parser may have logged a line of its own before.
        ours = [line for line in done.stderr.splitlines() if '[rcl]' not in line]
        assert len(ours) == 1, done.stderr
        return ours[0]

    return start


def test_a_file_for_another_node_ends_a_node_with_one_sentence(sentence):
    text = sentence(section('scale: 0.5', 'feedfoward'))
    assert 'no section for /feedforward; its sections are /feedfoward' in text


def test_an_argument_ros_cannot_read_ends_a_node_with_a_sentence(sentence):
    text = sentence(section('scale: 0.5'), '-p', 'scale:=')
    assert text.startswith('the command line was not understood: ')
    assert "'-p scale:='" in text
    assert '.c:' not in text  # no line of rcl's C sources


@pytest.mark.parametrize(('text', 'expected'), FORMS)
def test_a_file_of_another_form_is_named_with_its_fix(text, expected, tmp_path):
    path = tmp_path / 'parameters.yaml'
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingsError, match=expected) as error:
        read_sections(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(('text', 'expected'), VALUES)
def test_a_wrong_parameter_is_named_when_the_node_is_made(text, expected, tmp_path):
    from rclpy.context import Context

    from franka_dynamics.ros.feedforward_node import FeedforwardNode

    path = tmp_path / 'parameters.yaml'
    path.write_text(section(text))
    context = Context()
    context.init(args=['--ros-args', '--params-file', str(path)])
    try:
        with pytest.raises(SettingsError, match=expected):
            FeedforwardNode(context=context)
    finally:
        context.try_shutdown()


@pytest.mark.parametrize(
    'pattern, node, expected',
    [
        ('/**', '/left/feedforward', True),
        ('/feedforward', '/left/feedforward', False),
        ('/*/feedforward', '/left/feedforward', True),
        ('/*/feedforward', '/feedforward', False),
        ('/**/feedforward', '/a/b/feedforward', True),
        ('/left/*', '/left', False),
    ],
)
def test_sections_match_nodes_as_ros_matches_them(pattern, node, expected, tmp_path):
    # Given a file with one section; ROS's own answer is whether the parameter arrives.
    from rclpy.context import Context
    from rclpy.node import Node

    path = tmp_path / 'parameters.yaml'
    path.write_text(section('mark: true', pattern))
    context = Context()
    context.init(args=['--ros-args', '--params-file', str(path)])
    namespace, name = node.rsplit('/', 1)
    try:
        probe = Node(
            name,
            namespace=namespace or None,
            context=context,
            automatically_declare_parameters_from_overrides=True,
        )
        arrived = probe.has_parameter('mark')
        probe.destroy_node()
    finally:
        context.try_shutdown()
    assert matches(pattern, node) == arrived == expected


def test_a_file_for_a_node_elsewhere_names_both_fixes(tmp_path):
    path = tmp_path / 'parameters.yaml'
    path.write_text(section('scale: 0.5', 'feedforward'))
    require_section(path, '/feedforward')
    with pytest.raises(SettingsError, match=r'Name one /\*\* or /left/feedforward'):
        require_section(path, '/left/feedforward')


def test_a_launch_arguments_file_of_no_use_is_named_with_its_argument(tmp_path):
    path = tmp_path / 'typo.yaml'
    path.write_text('{}')
    with pytest.raises(SettingsError, match=r'^params_file: .*typo.yaml.* Nothing is started'):
        given_file('params_file', str(path))
    assert given_file('params_file', '') == []
