# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Verbs stand in groups, options are spelled alike, outputs are checked before the work."""

import argparse
import functools
from importlib import import_module
import json
import os
import subprocess
import sys

import pytest

from franka_dynamics.arm.arm_file import AS_LISTED
from franka_dynamics.cli import _options
from franka_dynamics.cli.main import build_parser, GROUPS, main, verbs
from franka_dynamics.errors import OutputError

# One spelling for one thing: --output, --report, --plot, --json, --arm-prefix.
FORMER = ('--out', '--html', '--picture', '--prefix')
OUTPUTS = ('--output', '--report', '--plot', '--json')
CHECKED = (_options.output_file, _options.output_folder, _options.picture_file)


@functools.cache
def parsers():
    (choices,) = (
        action.choices
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return choices


@pytest.mark.parametrize('verb', sorted(verbs()))
def test_a_verb_has_a_group(verb):
    assert import_module(f'franka_dynamics.cli.{verbs()[verb]}').GROUP in GROUPS


def test_help_lists_every_verb_in_its_group_within_80_columns(capsys):
    with pytest.raises(SystemExit):
        main(['--help'])
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    for group in GROUPS:
        block = text.split(f'\n{group}:\n')[1].split('\n\n')[0]
        expected = [
            verb
            for verb, name in verbs().items()
            if import_module(f'franka_dynamics.cli.{name}').GROUP == group
        ]
        found = [
            line.split()[0]
            for line in block.splitlines()
            if line.startswith('  ') and not line.startswith('   ')
        ]
        assert found == expected


@pytest.mark.parametrize('verb', sorted(verbs()))
def test_options_are_spelled_alike_in_every_verb(verb):
    shown = [
        spelling
        for action in parsers()[verb]._actions
        if action.help != argparse.SUPPRESS
        for spelling in action.option_strings
    ]
    assert not set(shown) & set(FORMER)


@pytest.mark.parametrize('verb', sorted(verbs()))
def test_every_output_is_checked_before_the_work(verb):
    for action in parsers()[verb]._actions:
        if set(action.option_strings) & set(OUTPUTS) and action.help != argparse.SUPPRESS:
            assert action.type in CHECKED or action.nargs == 0, action.option_strings


def test_an_impossible_output_is_refused_before_input_is_read(tmp_path, capsys):
    file = tmp_path / 'file'
    file.write_text('')
    assert main(['identify', 'no_such_bag', '--output', str(file / 'arm.yaml')]) == 2
    assert f'{file} is a file' in capsys.readouterr().err
    assert main(['identify', 'no_such_bag', '--json', str(tmp_path)]) == 2
    assert 'is a folder; give the name of a file' in capsys.readouterr().err


def test_former_spellings_work_and_are_not_shown():
    parser = argparse.ArgumentParser()
    _options.add_option(parser, '--output', '--out', metavar='FILE')
    assert parser.parse_args(['--out', 'a']).output == 'a'
    assert parser.parse_args(['--output', 'b']).output == 'b'
    assert '--out ' not in parser.format_help()


@pytest.mark.parametrize(
    ('check', 'path', 'sentence'),
    [
        (_options.output_file, 'folder', 'is a folder'),
        (_options.output_file, 'file/below', 'is a file. Choose another place'),
        (_options.output_folder, 'file', 'it is a file; give the name of a folder'),
        (
            _options.picture_file,
            'picture.docx',
            "'docx' is no picture format; the name must end in",
        ),
        (_options.output_file, 'x' * 300 + '/y', 'cannot be written: File name too long'),
    ],
)
def test_paths_that_cannot_be_written_are_refused(tmp_path, monkeypatch, check, path, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'file').write_text('')
    (tmp_path / 'folder').mkdir()
    with pytest.raises(OutputError, match=sentence):
        check(path)


def test_paths_that_can_be_written_are_only_looked_at(tmp_path):
    path = tmp_path / 'new' / 'figures.json'
    assert _options.output_file(str(path)) == path
    assert not path.parent.exists()


def test_a_shell_is_told_verbs_and_options(tmp_path):
    pytest.importorskip('argcomplete', reason='argcomplete is not installed')

    def completions(line):
        answer = tmp_path / 'answer'
        subprocess.run(
            [sys.executable, '-m', 'franka_dynamics'],
            check=True,
            timeout=60,
            env={
                **os.environ,
                '_ARGCOMPLETE': '1',
                'COMP_LINE': line,
                'COMP_POINT': str(len(line)),
                '_ARGCOMPLETE_IFS': '\n',
                '_ARGCOMPLETE_STDOUT_FILENAME': str(answer),
            },
        )
        return {word.strip() for word in answer.read_text().splitlines()}

    assert completions('franka-dynamics cro') == {'crosscheck'}
    assert completions('franka-dynamics urdf --out') == {'--output'}


@pytest.mark.parametrize(
    'command',
    [
        'describe --arm fer',
        'describe --arm fr3 --frame space --q home',
        'base-parameters --arm rpr',
        'crosscheck --arm fer --states 5',
        'codegen --arm rpr',
        'compare fr3 --arm fer',
    ],
)
def test_tables_fit_80_columns_and_lose_nothing(command, capsys, monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')
    assert main(command.split()) in (0, 1)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if '…' in line]


@pytest.mark.parametrize(
    'command',
    [
        'parameters simulator --all .',
        'parameters --all . --output a.yaml',
        'urdf --all . --arm fr3',
        'urdf --all . --arm-prefix left_',
        'urdf --all . --format mjcf',
        'monitor --timeout 3',
        'monitor --json',
        'monitor --json figures.json',
        'view --rate 30',
        'view --cutoff 3',
        'view --trim 0.3',
        'view --stamps header',
        'view --joint-names a b c d e f g',
        'view no_such_bag --node feedforward',
        'identify-payload --static --without a --with b --rate 30',
        'identify-payload --static --without a --with b --cutoff 3',
        'identify-payload --static --without a --with b --trim 0.3',
        'identify-payload --static --without a --with b --friction-width 0.02',
        'replay no_such_bag --no-plots --output replay_output',
        'excite --rehearse-hand franka_hand',
        'codegen --table1 --arm fer',
        'codegen --table1 --output folder',
        'codegen --table1 --parameters baked',
        'codegen --friction',
        'codegen --parameters run_time --gravity 0 0 -9.81',
        'codegen --package core --output folder --gravity 0 0 -9.81',
        'codegen --package core --output folder --classical',
        'codegen --package core',
        'base-parameters --arm scemi --letters --method closed-form',
        'base-parameters --arm scemi --letters --json figures.json',
        'base-parameters --arm scemi --letters --payload 1,0,0,0',
        'base-parameters --arm scemi --letters --hand none',
        'derive --arm scemi --kinematics --payload 1,0,0,0',
        'derive --arm scemi --kinematics --set simplified',
        'derive --arm rpr --payload 1,0,0,0.1',
        'derive --arm rpr --hand none',
        'sim --no-view --port 8080',
        'sim --no-view --host 127.0.0.1',
    ],
)
def test_options_without_meaning_together_are_refused(command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(command.split()) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count('\n')) == ('', 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('verb', sorted(verbs()))
def test_a_hand_means_the_same_in_every_verb(verb):
    for action in parsers()[verb]._actions:
        if '--hand' in action.option_strings and verb != 'replay':  # it tries several
            assert action.default in (AS_LISTED, None)
            assert 'the path of a hand file' in action.help
            assert '(default: as_listed)' in action.help


@pytest.mark.parametrize('verb', sorted(verbs()))
def test_what_takes_an_arm_takes_its_hand_and_payload(verb):
    spellings = {name for action in parsers()[verb]._actions for name in action.option_strings}
    # Of the arm these read the joints' names, or its rated load, alone.
    if '--arm' in spellings and verb not in ('import-recording', 'payload-from-mesh'):
        assert {'--hand', '--payload'} <= spellings


def test_json_goes_to_a_file_or_is_printed_alone(tmp_path, capsys):
    file = tmp_path / 'arm.json'
    assert main(['describe', '--arm', 'rpr', '--json']) == 0
    printed = capsys.readouterr().out
    assert main(['describe', '--arm', 'rpr', '--json', str(file)]) == 0
    assert json.loads(printed) == json.loads(file.read_text())
    assert 'Denavit' in (shown := capsys.readouterr().out) and str(file) in shown
