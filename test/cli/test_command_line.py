# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command as a process, its help and exit statuses, options, outputs, and files."""

import json
import os
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.cli._options import new_bag, picture_file
from franka_dynamics.cli.main import EXIT_BROKEN_PIPE, EXIT_INTERRUPTED, EXIT_INVALID_INPUT, main
from franka_dynamics.errors import OutputError
from franka_dynamics.files import writable_file, writable_folder

from ..agreement import refuses
from ..processes import printed, PYTHONPATH, ROOT, run_python, start_python
from ..scripts import commands

PROCESS = ('-m', 'franka_dynamics')
ENVIRONMENT = {**os.environ, 'PYTHONPATH': PYTHONPATH}


def test_help_and_completion_import_nothing_that_computes():
    heavy = ['numpy', 'pinocchio', 'scipy', 'pandas', 'matplotlib', 'rich', 'yaml', 'rclpy']
    said = printed(
        '-c',
        'import sys\n'
        'from franka_dynamics.cli.main import main\n'
        f'helps = [main([*words.split(), "--help"]) for words in {[*dict(commands())]!r}]\n'
        f'print(helps.count(0), [name for name in {heavy!r} if name in sys.modules])',
    )
    assert said.splitlines()[-1] == f'{len(dict(commands()))} []'
    assert 'None' not in said and 'as_listed' not in said


@pytest.mark.parametrize(('words', 'command'), [*commands()])
def test_every_command_has_a_function_that_does_its_work(words, command):
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    assert callable(command.import_work(f'franka-dynamics {words}'))


def test_commands_do_linear_algebra_on_one_thread(monkeypatch):
    for name in [name for name in os.environ if name.endswith('_NUM_THREADS')]:
        monkeypatch.delenv(name)
    count = 'import os, numpy; print(len(os.listdir("/proc/self/task")))'
    assert int(printed('-c', f'import franka_dynamics.cli.main; {count}')) == 1


def test_no_traceback_follows_when_a_verbs_reader_stops():
    with start_python(*PROCESS, *'arm show --arm rpr --json'.split()) as process:
        process.stdout.close()
        assert process.stderr.read() == ''
    assert process.returncode == EXIT_BROKEN_PIPE


@pytest.mark.parametrize('words', ['--help', 'arm show fr3', 'arm show --arm rpr --json'])
def test_an_output_that_takes_nothing_is_named_in_one_line(words):
    for redirection in ('>/dev/full', '>&-'):
        command = ['sh', '-c', f'exec "$@" {redirection}', 'sh', sys.executable, *PROCESS]
        done = subprocess.run(
            [*command, *words.split()], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
        )
        assert (done.returncode, done.stderr.count('\n')) == (EXIT_INVALID_INPUT, 1), done.stderr
        assert 'standard output' in done.stderr


def test_a_closed_standard_error_changes_no_answer():
    command = ['sh', '-c', 'exec "$@" 2>&-', 'sh', sys.executable, *PROCESS]
    words = 'arm check --arm rpr --states 10'.split()
    done = subprocess.run([*command, *words], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0 and done.stdout.startswith('pass')


@pytest.mark.parametrize('encoding', ['utf-16-le', 'utf-16-be', 'utf-8'])
@pytest.mark.parametrize('name', ['config/arms/fr3.yaml', 'urdf/fr3.urdf'])
def test_a_file_that_another_system_wrote_is_read(encoding, name, tmp_path):
    path = tmp_path / Path(name).name
    path.write_bytes(('\ufeff' + (ROOT / name).read_text('utf-8')).encode(encoding))
    ours, theirs = (fd.Model(fd.load(f'{one}')) for one in (ROOT / name, path))
    assert np.array_equal(ours.gravity(np.ones(7)), theirs.gravity(np.ones(7)))


@pytest.mark.parametrize('name', ['urdf/fr3.xml', 'urdf/franka.urdf.xacro'])
def test_a_file_whose_reader_takes_utf_8_alone_is_named_with_what_rewrites_it(name, tmp_path):
    path = tmp_path / Path(name).name
    path.write_text((ROOT / name).read_text('utf-8'), 'utf-16')
    with pytest.raises(fd.FrankaDynamicsError) as error:
        fd.load(path)
    assert f'iconv -f UTF-16 -t UTF-8 {path}' in str(error.value)


@pytest.mark.parametrize(
    'where', ['{}', 'class Dying:\n    def __del__(self):\n        {}\nDying()']
)
def test_ctrl_c_during_an_import_or_in_a_destructor_exits_in_one_word(where, tmp_path):
    # Given a library that the command line imports, during whose import Ctrl-C comes.
    (tmp_path / 'rich').mkdir()
    text = where.format('os.kill(os.getpid(), signal.SIGINT); time.sleep(5.0)')
    (tmp_path / 'rich/__init__.py').write_text(
        f'import os, signal, time\n{text}\ntime.sleep(5.0)\n'
    )
    status, _, errors = run_python(*PROCESS, 'arm', 'show', PYTHONPATH=f'{tmp_path}:{PYTHONPATH}')
    assert (status, errors) == (EXIT_INTERRUPTED, 'franka-dynamics: interrupted\n')


@pytest.mark.parametrize('words', ['', 'arm', 'node'])
def test_words_without_an_action_print_the_help(words, capsys):
    bare, asked = ((main(given.split()), capsys.readouterr()) for given in (words, f'{words} -h'))
    status, (out, err) = bare
    assert bare == asked and (status, err) == (0, '') and 'Usage: franka-dynamics' in out


def test_where_ros_is_missing_one_sentence_of_each_action_says_so():
    names = ['demo', 'sim', 'view', 'bag record', 'node state', 'node play']
    commands = [*names[:5], 'node play fer']
    _, output, errors = run_python(
        '-c',
        'import pkgutil, sys\n'
        'ends = ("_msgs", "_srvs", "_interfaces")\n'
        'names = [one.name for one in pkgutil.iter_modules() if one.name.endswith(ends)]\n'
        'sys.modules.update(dict.fromkeys(["rclpy", *names]))\n'
        'from franka_dynamics.cli.main import main\n'
        f'print(*[main(words.split()) for words in {commands!r}])',
    )
    statuses = output.splitlines()[-1].split()
    assert statuses == [str(EXIT_INVALID_INPUT)] * len(names), errors
    said = [line.partition(' needs ROS 2')[0] for line in errors.splitlines()]
    assert said == [f'franka-dynamics: franka-dynamics {name}' for name in names]


def test_completion_offers_the_shipped_arms_and_hands(capsys, monkeypatch):
    for words, offered in (
        ('arm show --arm fr3v', ['fr3v2', 'fr3v2_1']),
        ('sim --hand ro', ['robotiq_arg85']),
    ):
        monkeypatch.setenv('_FRANKA_DYNAMICS_COMPLETE', 'bash_complete')
        monkeypatch.setenv('COMP_WORDS', f'franka-dynamics {words}')
        monkeypatch.setenv('COMP_CWORD', str(len(words.split())))
        assert main([]) == 0
        said = capsys.readouterr().out.split()
        assert [one.removeprefix('plain,') for one in said if one.startswith('plain,')] == offered


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
