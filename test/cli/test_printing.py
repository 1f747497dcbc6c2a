# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What verbs print and write: paths as they are, JSON that every reader takes, progress."""

import json
import sys

import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli import _say
from franka_dynamics.cli.main import main

XACRO = """<?xml version="1.0"?>
<robot name="fr3" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="weight" default="1.5"/>
  <link name="base"/>
  <link name="arm"><inertial><mass value="$(arg weight)"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="joint1" type="revolute"><parent link="base"/><child link="arm"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="2"/></joint>
</robot>
"""


def refused(text):
    raise AssertionError(f'{text} is no JSON')


def test_an_absent_limit_is_null_in_json(tmp_path, capsys):
    # fr3 states what fer does not: the limits of velocity that depend on position.
    path = tmp_path / 'c.json'
    main(['arm', 'compare', 'fr3', '--json', str(path)])
    found = json.loads(path.read_text(), parse_constant=refused)['differences']
    (absent,) = (
        one['first']
        for one in found
        if one['parameter'] == 'limit velocity_offset' and one['place'].endswith('joint1')
    )
    assert absent is None


def test_a_path_is_printed_as_it_is(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = 'run[left]:a:/bp.json'  # brackets and colons are markup and emoji to rich
    assert main(['arm', 'base-parameters', '--arm', 'rpr', '--json', path]) == 0
    assert f'written: {path}\n' in capsys.readouterr().out
    assert (tmp_path / path).is_file()
    _say.say(path, 'note')
    assert capsys.readouterr().out == f'note: {path}\n'


def test_a_xacro_is_expanded_before_it_is_compared(tmp_path, capsys):
    pytest.importorskip('xacro')
    path, arm = tmp_path / 'robot.urdf.xacro', tmp_path / 'arm.yaml'
    path.write_text(XACRO)
    assert main(['arm', 'import', str(path), '--output', str(arm)]) == 0
    assert load(arm).links[0].mass == 1.5
    assert main(['arm', 'compare', str(path), '--arm', str(arm)]) == 0


def test_where_xacro_is_missing_it_is_named(tmp_path, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, 'xacro', None)
    path = tmp_path / 'robot.urdf.xacro'
    path.write_text(XACRO)
    said = refused('arm', 'compare', path)
    assert 'pip install xacro' in said and f'{path}' in said


def test_progress_is_told_by_lines_outside_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(_say, '_LINE_EVERY_S', 0.0)
    with _say.ProgressBar() as bar:
        bar.follow('planning')(3, 12)
    assert capsys.readouterr() == ('', 'planning: 3 of 12\n')
