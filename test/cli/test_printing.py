# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What verbs print and write: paths as they are, JSON that every reader takes, progress."""

import json
import sys

import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli import _say
from franka_dynamics.cli.main import main

from .six_axes import six_axes
from ..processes import printed


@pytest.fixture
def xacro(tmp_path):
    """Return the path of an arm as xacro, with the mass of its first link as an argument."""
    argument = 'xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="m" default="1.5"/>'
    text = six_axes().replace('"six">', f'"six" {argument}').replace('"3.8"', '"$(arg m)"')
    (tmp_path / 'robot.urdf.xacro').write_text(text)
    return tmp_path / 'robot.urdf.xacro'


def test_a_path_is_printed_as_it_is(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = 'run[left]:a:/bp.json'  # brackets and colons are markup and emoji to rich
    assert main(['arm', 'show', '--base-parameters', '--arm', 'rpr', '--json', path]) == 0
    assert f'written: {path}\n' in capsys.readouterr().out
    assert (tmp_path / path).is_file()
    _say.say(path, 'note')
    assert capsys.readouterr().out == f'note: {path}\n'


def test_a_xacro_is_expanded_before_it_is_compared(xacro, tmp_path, answered):
    pytest.importorskip('xacro')
    arm = tmp_path / 'arm.yaml'
    assert answered('arm import', xacro, '--output', arm)[0] == 0
    assert load(arm).links[0].mass == 1.5
    assert answered('arm check', xacro, '--arm', arm)[0] == 0


def test_where_xacro_is_missing_it_is_named(xacro, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, 'xacro', None)
    said = refused('arm check', xacro)
    assert 'pip install xacro' in said and f'{xacro}' in said


def test_progress_is_told_by_lines_outside_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(_say, '_LINE_EVERY_S', 0.0)
    with _say.ProgressBar() as bar:
        bar.follow('planning')(3, 12)
    assert capsys.readouterr() == ('', 'planning: 3 of 12\n')


# Prints whether a console is a terminal, in the foreground of a new one and in its background.
IN_A_TERMINAL = """
import os, pty
from franka_dynamics.cli._say import terminal
child, end = pty.fork()
if not child:
    print(terminal().is_terminal, flush=True)
    if not os.fork():
        os.setpgid(0, 0)
        print(terminal().is_terminal, flush=True)
        os._exit(0)
    os.wait()
    os._exit(0)
print(os.waitpid(child, 0)[1], os.read(end, 100).decode().split())
"""


def test_nothing_is_drawn_over_the_shell_from_the_background():
    assert printed('-c', IN_A_TERMINAL) == "0 ['True', 'False']\n"


@pytest.mark.parametrize(
    'command', ['arm show', 'arm show --base-parameters', 'arm check --states 2']
)
def test_json_without_a_file_is_printed_alone(command, capsys):
    assert main([*command.split(), '--arm', 'rpr', '--json']) == 0
    assert json.loads(capsys.readouterr().out)
    # Text comes back with the next command.
    assert main([*command.split(), '--arm', 'rpr']) == 0
    assert 'rpr' in capsys.readouterr().out
