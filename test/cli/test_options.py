# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Help, options, outputs checked before the work; what verbs print and write."""

import json
from pathlib import Path
import sys

import pytest

from franka_dynamics.cli._options import new_bag, picture_file
from franka_dynamics.cli.main import main
from franka_dynamics.errors import OutputError
from franka_dynamics.files import writable_file, writable_folder

from ..agreement import refuses
from ..commands import commands

# One spelling for one thing: --output, --report, --plot, --json.
OUTPUTS = {'--output', '--report', '--plot', '--json'}
COMMANDS = dict(commands())


@pytest.mark.parametrize('words', COMMANDS)
def test_every_output_is_checked_before_the_work(words):
    for param in COMMANDS[words].params:
        if OUTPUTS & {*param.opts}:
            with pytest.raises(OutputError):
                param.type.convert('/dev/null/below.png', param, None)


LONG = 'x' * 300
UNWRITABLE = [
    (writable_file, 'folder', 'is a folder'),
    (writable_file, 'file/below', 'Not a directory'),
    (writable_folder, 'file', 'folder'),
    (picture_file, 'picture.docx', '.png'),
    *((writable_file, path, 'too long') for path in (LONG, f'{LONG}/y')),
    (writable_file, '/proc/x.yaml', 'written'),  # root has the permission, but cannot
    (new_bag, 'folder', 'overwritten'),
]


@pytest.mark.parametrize(('check', 'path', 'word'), UNWRITABLE)
def test_paths_that_cannot_be_written_are_refused(tmp_path, monkeypatch, check, path, word):
    monkeypatch.chdir(tmp_path)
    Path('file').touch()
    Path('folder').mkdir()
    with refuses(OutputError, path.split('/')[0], word):
        check(path)


def test_where_xacro_is_missing_it_is_named(tmp_path, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, 'xacro', None)
    (tmp_path / 'robot.urdf.xacro').write_text('<robot xmlns:xacro="http://ros.org/wiki/xacro"/>')
    said = refused('arm check', tmp_path / 'robot.urdf.xacro')
    assert 'pip install xacro' in said and 'robot.urdf.xacro' in said


@pytest.mark.parametrize(
    'command', ['arm show', 'arm show --base-parameters', 'arm check --states 2']
)
def test_json_without_a_file_is_printed_alone(command, capsys):
    assert main([*command.split(), '--arm', 'rpr', '--json']) == 0
    assert json.loads(capsys.readouterr().out)
    # Text comes back with the next command.
    assert main([*command.split(), '--arm', 'rpr']) == 0
    assert 'rpr' in capsys.readouterr().out
