# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Help, options, outputs checked before the work; what verbs print and write."""

import json
from pathlib import Path
import sys

import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli import _say, actions
from franka_dynamics.cli._click import verbs
from franka_dynamics.cli._options import new_bag, picture_option
from franka_dynamics.cli.main import COMMAND, main, WORDS
from franka_dynamics.errors import OutputError
from franka_dynamics.files import writable_file, writable_folder

from .six_axes import six_axes
from ..processes import printed

# One spelling for one thing: --output, --report, --plot, --json.
OUTPUTS = {'--output', '--report', '--plot', '--json'}
VERBS = dict(verbs(COMMAND))


def test_help_is_a_screen_with_every_word_and_action(capsys):
    assert main(['--help']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert set(WORDS) <= {line.split()[0] for line in lines if line}
    said = ' '.join(lines).split()
    assert {word for words in VERBS for word in words.split()} <= set(said)


def test_every_action_has_words():
    kinds = {
        one for one in vars(actions).values() if getattr(one, '__module__', '') == actions.__name__
    }
    last = {one for one in kinds if isinstance(one, type) and not one.__subclasses__()}
    assert {verb.kind for verb in VERBS.values()} == last


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


@pytest.mark.parametrize('command', ['arm show --arm fer', 'arm show --base-parameters --arm rpr'])
def test_tables_fit_80_columns_and_lose_nothing(command, capsys, monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')
    assert main(command.split()) in (0, 1)
    # A sentence is not wrapped, so that it can be copied.
    lines = [line for line in capsys.readouterr().out.splitlines() if '  ' in line]
    assert lines and max(map(len, lines)) <= 80
    assert not [line for line in lines if '…' in line]


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
