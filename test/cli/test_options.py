# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Help, options, outputs checked before the work; what verbs print and write."""

import json
from pathlib import Path
import sys

import pytest

from franka_dynamics.cli import actions
from franka_dynamics.cli._click import verbs
from franka_dynamics.cli._options import new_bag, picture_option
from franka_dynamics.cli.main import COMMAND, main, WORDS
from franka_dynamics.errors import OutputError
from franka_dynamics.files import writable_file, writable_folder

from ..processes import printed

# One spelling for one thing: --output, --report, --plot, --json.
OUTPUTS = {'--output', '--report', '--plot', '--json'}
VERBS = dict(verbs(COMMAND))


def test_help_has_every_word_and_action(capsys):
    assert main(['--help']) == 0
    said = capsys.readouterr().out.split()
    assert {*WORDS, *(word for words in VERBS for word in words.split())} <= set(said)


def test_every_action_has_words():
    kinds = {
        one for one in vars(actions).values() if getattr(one, '__module__', '') == actions.__name__
    }
    last = {one for one in kinds if isinstance(one, type) and not one.__subclasses__()}
    assert {verb.kind for verb in VERBS.values()} == last
    assert all(verb.get_short_help_str() for verb in VERBS.values())


@pytest.mark.parametrize('verb', VERBS)
def test_every_output_is_checked_before_the_work(verb):
    for param in VERBS[verb].params:
        if OUTPUTS & {*param.opts}:
            with pytest.raises(OutputError):
                param.type.convert('/dev/null/below.png', param, None)


@pytest.mark.parametrize(
    ('check', 'path', 'sentence'),
    [
        (writable_file, 'folder', 'is a folder'),
        (writable_file, 'file/below', 'is a file. Choose another place'),
        (writable_folder, 'file', 'it is a file; give the name of a folder'),
        (
            picture_option('').metadata['option'].kind,
            'picture.docx',
            'picture.docx .* must end in .png',
        ),
        (writable_file, 'x' * 300 + '/y', 'cannot be written: File name too long'),
        (writable_file, 'x' * 300, 'cannot be written: File name too long'),
        # Root has the permission to write here, but cannot.
        (writable_file, '/proc/x.yaml', 'cannot be written'),
        (new_bag, 'folder', 'never overwritten'),
    ],
)
def test_paths_that_cannot_be_written_are_refused(tmp_path, monkeypatch, check, path, sentence):
    monkeypatch.chdir(tmp_path)
    Path('file').touch()
    Path('folder').mkdir()
    with pytest.raises(OutputError, match=sentence):
        check(path)


def test_a_flag_is_a_switch_or_takes_a_value_in_every_verb():
    kinds = {}
    for verb in VERBS.values():
        for param in verb.params:
            for flag in param.opts:
                kinds.setdefault(flag, set()).add(getattr(param, 'is_flag', False))
    assert {flag for flag, each in kinds.items() if len(each) > 1} == set()


def test_a_shell_gets_completions_of_verbs_and_options():
    lines = {'cod': 'codegen', 'arm ch': 'check', 'arm export --out': '--output'}
    lines['bag replay b'] = 'b'  # a file, which the shell completes
    for line, word in lines.items():
        words = f'franka-dynamics {line}'
        given = {'COMP_WORDS': words, 'COMP_CWORD': str(len(words.split()) - 1)}
        given['_FRANKA_DYNAMICS_COMPLETE'] = 'bash_complete'
        kind, _, completed = printed('-m', 'franka_dynamics', **given).strip().partition(',')
        assert completed == word and kind == ('file' if word == 'b' else 'plain')


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
