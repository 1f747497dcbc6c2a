# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The ros2 commands of the pages are ones that ROS's own command line takes."""

import json
from pathlib import Path
import re
import shlex
import subprocess
import sys

import pytest

pytest.importorskip('ros2cli', reason="ROS's own ros2cli is not installed")

from . import launching

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / 'README.md', *sorted((ROOT / 'docs').rglob('*.md'))]
# For each command what its parser says: nothing, or what it refuses. Nothing is run.
PROGRAM = """
import argparse, contextlib, io, json, multiprocessing, sys
import ros2cli.cli

parse = argparse.ArgumentParser.parse_args

def only_parse(self, *given, **named):
    parse(self, *given, **named)
    raise SystemExit(0)

def refusal(words):
    sys.argv, said = ['ros2', *words], io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            ros2cli.cli.main()
        except SystemExit as end:
            return said.getvalue() if end.code else ''
        except Exception as error:  # of a command that misses a package
            return repr(error)

argparse.ArgumentParser.parse_args = only_parse
# ros2cli remembers subcommands: each command has a process of its own.
with multiprocessing.get_context('fork').Pool(1, maxtasksperchild=1) as pool:
    print(json.dumps(pool.map(refusal, json.load(sys.stdin), chunksize=1)))
"""


def commands():
    """Return every ros2 command of the pages, as words after ros2, by what is written there."""
    found = {}
    for page in PAGES:
        text = page.read_text(encoding='utf-8')
        blocks = '\n'.join(re.findall(r'```(?:sh)?\n(.*?)```', text, re.S)).replace('\\\n', ' ')
        inline = re.findall(r'`(ros2 [^`]+)`', text)
        for line in (*blocks.splitlines(), *inline):
            if not line.strip().startswith('ros2 '):
                continue
            line = line.partition(' > ')[0]  # the shell, not ros2, reads a redirection
            words = shlex.split(re.sub(r'\$\([^)]*\)', 'VALUE', line), comments=True)
            # `ros2 param` or `ros2 param load` alone is a name, not a command.
            if len(words) > 3:
                found[' '.join(words)] = words[1:]
    return found


COMMANDS = commands()
OF_LAUNCH, OF_RUN = (
    [text for text, words in COMMANDS.items() if words[:2] == [verb, 'franka_dynamics']]
    for verb in ('launch', 'run')
)


@pytest.fixture(scope='module')
def refusals(tmp_path_factory):
    """Return what ROS's command line says of each command, and of one that is misspelt."""
    prefix = launching.ament_prefix(tmp_path_factory.mktemp('prefix'))
    words = {**COMMANDS, 'misspelt': ['topic', 'ecko', '/diagnostics']}
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM],
        input=json.dumps([*words.values()]),
        env=launching.environment(prefix),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(words, json.loads(done.stdout)))


def test_the_pages_have_commands_and_a_misspelt_one_is_refused(refusals):
    assert {words[0] for words in COMMANDS.values()} >= {'launch', 'run', 'param', 'topic'}
    assert "invalid choice: 'ecko'" in refusals['misspelt']


@pytest.mark.parametrize('text', COMMANDS)
def test_a_command_of_a_page_is_understood(text, refusals):
    group = COMMANDS[text][0]
    if f"invalid choice: '{group}'" in refusals[text]:
        pytest.skip(f'`ros2 {group}` is not installed')
    assert refusals[text] == ''


@pytest.mark.parametrize('text', OF_LAUNCH)
def test_a_launch_command_of_a_page_gives_arguments_that_exist(text):
    from launch.launch_description_sources import get_launch_description_from_python_launch_file

    name, *given = [word for word in COMMANDS[text][2:] if not word.startswith('--')]
    path = ROOT / 'launch' / name
    description = get_launch_description_from_python_launch_file(str(path))
    declared = {one.name: one for one in description.get_launch_arguments()}
    for argument, value in (word.split(':=') for word in given):
        choices = declared[argument].choices
        assert choices is None or value in choices


@pytest.mark.parametrize('text', OF_RUN)
def test_a_run_command_of_a_page_names_a_command_of_this_package(text, setup_script):
    scripts = setup_script['arguments']['entry_points']['console_scripts']
    assert COMMANDS[text][2] in {script.split(' = ')[0] for script in scripts}
