# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every action prints its help, and wrong input gives one sentence and exit status 2."""

import os
from pathlib import Path
import signal
import subprocess
import sys

import pytest

from franka_dynamics.cli.main import build_parser, INPUT_AT_FAULT, main, parsers, READER_GONE
from franka_dynamics.cli.node import Defaults


@pytest.mark.parametrize('verb', dict(parsers(build_parser())))
def test_a_verbs_help_prints_its_usage_and_exits_zero(verb, capsys):
    assert main([*verb.split(), '--help']) == 0
    assert f'usage: franka-dynamics {verb}' in capsys.readouterr().out


def test_commands_do_linear_algebra_on_one_thread():
    count = 'import os, numpy; print(len(os.listdir("/proc/self/task")))'
    environment = {k: v for k, v in os.environ.items() if not k.endswith('_NUM_THREADS')}
    threads = subprocess.run(
        [sys.executable, '-c', f'import franka_dynamics.cli.main; {count}'],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert int(threads.stdout) == 1, threads.stderr


def test_no_traceback_follows_when_a_verbs_reader_stops():
    process = subprocess.Popen(
        [sys.executable, '-m', 'franka_dynamics', 'arm', 'show', '--arm', 'rpr', '--json'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert process.stderr.read() == ''
    assert process.wait() == READER_GONE
    process.stderr.close()


@pytest.mark.parametrize('words', ['arm show --arm rpr', 'arm show --help', '--version'])
def test_a_full_disk_behind_standard_output_is_told_in_one_sentence(words):
    with open('/dev/full', 'w') as full:
        done = subprocess.run(
            [sys.executable, '-m', 'franka_dynamics', *words.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.stderr.count('\n') == 1
    assert 'No space left on device' in done.stderr
    assert done.returncode == INPUT_AT_FAULT


def test_ctrl_c_while_modules_are_imported_exits_in_one_word(tmp_path):
    # Given a library that the command line imports, during whose import Ctrl-C comes.
    (tmp_path / 'rich').mkdir()
    (tmp_path / 'rich/__init__.py').write_text(
        'import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5.0)\n'
    )
    done = subprocess.run(
        [sys.executable, '-m', 'franka_dynamics', 'arm', 'show'],
        env={**os.environ, 'PYTHONPATH': str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (130, 'franka-dynamics: interrupted\n')


@pytest.mark.parametrize('words', ['', 'arm', 'node'])
def test_words_without_an_action_print_the_help(words, capsys):
    assert main(words.split()) == 0
    bare = capsys.readouterr()
    assert main([*words.split(), '--help']) == 0
    assert bare.out == capsys.readouterr().out and bare.err == ''
    assert 'usage: franka-dynamics' in bare.out


def test_negative_numbers_have_exponents(capsys):
    assert main('arm check --arm rpr --states 5 --gravity 0 -1e-3 -9.81e0'.split()) == 0
    assert main('arm show --arm rpr --q -1.5e-1 -.5 -2E+0'.split()) == 0


def test_rarely_used_options_are_shown_by_help_all(capsys):
    assert main(['identify', 'arm', '--help']) == 0
    brief = capsys.readouterr().out
    assert main(['identify', 'arm', '--help-all']) == 0
    whole = capsys.readouterr().out
    assert '--help-all' in brief
    options = [
        flag
        for action in dict(parsers(build_parser()))['identify arm']._actions
        for flag in action.option_strings
    ]
    assert [flag for flag in options if f'  {flag}' not in whole and flag != '--help'] == []
    assert 8 <= sum(f'  {flag}' in brief for flag in options) <= 16  # with those of help


def test_an_interrupt_hidden_by_an_extension_exits_as_interrupted(capsys, monkeypatch):
    # Given an action in which an extension turns a KeyboardInterrupt into its own error, as
    # pybind11 does.
    def run(_arguments):
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt as error:
            raise RuntimeError('Unable to convert call argument') from error
        raise AssertionError('not interrupted')

    monkeypatch.setattr(Defaults, 'run', run)
    # Pytest's workers may have a handler of their own.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(['node', 'defaults']) == 130
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == 'franka-dynamics: interrupted\n'


def test_where_ros_is_missing_one_sentence_of_each_action_says_so():
    commands = (
        'demo,sim --no-view,view,bag record,node monitor,node get scale,node load a b'.split(',')
    )
    code = (
        'import sys; sys.modules["rclpy"] = None\n'
        'from franka_dynamics.cli.main import main\n'
        f'print(*[main(words.split()) for words in {commands!r}])'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    statuses = done.stdout.splitlines()[-1].split()
    assert statuses == [str(INPUT_AT_FAULT)] * len(commands), done.stderr
    said = done.stderr.splitlines()
    assert len(said) == len(commands)
    for words, sentence in zip(commands, said):
        name = ' '.join(words.split()[: 2 if words.split()[0] in ('bag', 'node') else 1])
        assert f'franka-dynamics {name} needs ROS 2' in sentence


@pytest.mark.parametrize(
    ('words', 'told'),
    [
        ('arm show --arm FR3', 'Did you mean fr3?'),
        ('arm show --arm pandda', 'Did you mean panda?'),
        ('arm show --arm frr', 'Did you mean fr3?'),
        ('arm show --arm ur5', 'panda is the fer'),
        ('arm check --arm ./folder', 'folder is a folder; give'),
        ('arm compare folder', 'folder is a folder; give'),
        ('arm check --hand empty.yaml', 'a hand file starts with name, source'),
        ('arm explain arrays.yaml', "arrays.yaml: files that end in '.yaml' cannot be"),
        ('arm explain missing.npz', 'missing.npz does not exist, or is a folder'),
        ('arm check --payload=-1,0,0,0', 'a mass cannot be negative'),
    ],
)
def test_a_wrong_file_or_number_is_told_in_one_sentence(
    words, told, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path('folder').mkdir()
    Path('empty.yaml').touch()
    Path('arrays.yaml').write_text('q: [0.0]')
    assert main(words.split()) == INPUT_AT_FAULT
    out, sentence = capsys.readouterr()
    assert told in sentence
    assert (out, sentence.count('\n')) == ('', 1)
