# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every command of the two tutorials runs, against a simulated arm."""

import os
import re
import shlex
import shutil
import signal
import time

import click
import pytest

from franka_dynamics.cli.main import main, root_command
from franka_dynamics.ros.topic_listener import TopicListener

from .. import processes

pytestmark = pytest.mark.long
# Fewer iterations, to save time: this test is about the sequence of commands.
SHORTER = {'identify plan': '--draws 4 --iterations 2 --period 14 --repetitions 400'.split()}
# Requests to a node that may be slow to answer on a busy machine.
PATIENT = {f'node {one}': ['--timeout', '60'] for one in ('state', 'set', 'play')}
# Commands that record, and the option that names the bag.
RECORDER = {'bag record': '--output', 'node play': '--record'}
# Commands that need no system; they run after its end, because its nodes keep a core busy.
ALONE = {'doctor --machine', 'bag replay', 'identify arm', 'identify plan', 'arm check'}
ALONE |= {'arm compare'}
# Commands that may exit with 1, for instance doctor on a machine without real time.
MAY_SAY_NO = {'doctor', 'arm compare'}


def commands(page):
    """Return the lines of a page's shell blocks, split as a shell would, comments left out."""
    text = (processes.ROOT / 'docs' / page).read_text('utf-8')
    blocks = re.findall(r'```sh\n(.*?)```', text, re.S)
    lines = [line for block in blocks for line in block.splitlines() if line.strip()]
    assert all(line.startswith('franka-dynamics ') for line in lines), lines
    return [shlex.split(line.rstrip(' &'), comments=True)[1:] for line in lines]


def verb(words):
    """Return the word, with its action if there is one."""
    return ' '.join(words[: 2 if isinstance(root_command.commands[words[0]], click.Group) else 1])


class Shell:
    """Runs commands in one folder, as a user would."""

    def __init__(self, folder, capfd):
        self.folder = folder
        self._capfd = capfd
        self.behind = []

    def start(self, words):
        with (self.folder / f'{len(self.behind)}-{words[0]}.log').open('wb') as output:
            streams = {'stdout': output, 'stderr': output, 'cwd': self.folder}
            self.behind.append(processes.start_python('-m', 'franka_dynamics', *words, **streams))
        return self.behind[-1]

    def attempt(self, words):
        """Run a command in this process; return exit status and output."""
        limit = processes.TIMEOUT_S
        if '--joints-one-by-one' in words:
            limit *= 4.0  # seven motions, of an arm whose time goes slower than the clock
        with processes.failing_after(limit):
            status = main(list(words))
            said = self._capfd.readouterr()
        return status, said.out + said.err

    def run(self, words):
        status, said = self.attempt(words)
        may = (0, 1) if verb(words) in MAY_SAY_NO else (0,)
        assert status in may, f'{shlex.join(words)}: {said}'
        return said

    def logs(self):
        return '\n'.join(path.read_text(errors='replace') for path in self.folder.glob('*.log'))


@pytest.fixture
def shell(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('COLUMNS', '200')
    before = set(processes.descendants(os.getpid()))
    opened = Shell(tmp_path, capfd)
    yield opened
    for process in opened.behind:
        process.kill()  # its nodes end with it
        process.wait()
    processes.kill_all(processes.still_running(before))  # else they command the next arm


def running(shell, words):
    """Start the simulated system; return it once the node holds the arm."""
    process = shell.start([*words, '--no-view'])

    def is_held():
        assert process.poll() is None, shell.logs()
        status = listener.latest_status('/simulation/simulator')
        return status is not None and status.is_arm_held

    with TopicListener('test') as listener:
        assert listener.wait_until(is_held, processes.TIMEOUT_S), shell.logs()
    return process


def recorded(shell, words):
    """Record, again if a busy machine left gaps or was not discovered, as the command says."""
    give_up = time.monotonic() + processes.TIMEOUT_S
    bag = shell.folder / words[words.index(RECORDER[verb(words)]) + 1]
    while True:
        status, said = shell.attempt(words)
        if status == 0:
            return said
        late = ('has no stretch without gaps', 'nothing came on')
        assert any(one in said for one in late) and time.monotonic() < give_up, said
        shutil.rmtree(bag)


def through(shell, page, sim):
    """
    Run a page's commands beside the simulated system of the command `sim`, or after its end.

    Its time goes slower than the clock, because while commands start and look at it, its nodes
    keep a core busy.
    """
    every = [words for words in commands(page) if words[0] != 'sim']
    said = {}
    alone = [words for words in every if {verb(words), ' '.join(words)} & ALONE]

    def run(words):
        # Two seconds suffice to see whether the arm stands still.
        few = (SHORTER | PATIENT).get(verb(words), [])
        few = ['--duration', '2'] if '--duration' in words else few
        if RECORDER.get(verb(words)) in words:
            said[verb(words)] = recorded(shell, [*words, *few])
        else:
            said[' '.join(words[: (len(verb(words).split()) + 2)])] = shell.run([*words, *few])

    system = running(shell, sim)
    for words in every:
        if words not in alone:
            run(words)
    system.send_signal(signal.SIGINT)
    assert system.wait(processes.TIMEOUT_S) == 0, shell.logs()
    for words in alone:
        run(words)
    return said


def test_the_commands_of_getting_started_run(shell):
    (sim,) = [words for words in commands('getting-started.md') if words[0] == 'sim']
    said = through(shell, 'getting-started.md', [*sim, '--real-time-factor', '0.5'])
    state, status, *_ = said['node state'].splitlines()
    assert state == 'active' and status.startswith('running:')
    assert (shell.folder / 'replay_output' / 'torques.png').is_file()
    assert (shell.folder / 'my_arm.yaml').is_file() and 'pass' in said['arm check my_arm.yaml']


def test_the_commands_for_the_real_arm_run(shell):
    # A simulated arm with gravity compensation stands in for the real arm.
    sim = 'sim --arm fr3 --target fci --no-gains --real-time-factor 0.25'.split()
    said = through(shell, 'howto/real-arm.md', sim)
    # The recorder notes that no joint moved; the simulated arm equals its model.
    assert 'no joint' in said['bag record']
    assert said['node state'].startswith('inactive')
    assert 'Command' in said['node state --node feedforward']
