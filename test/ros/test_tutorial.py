# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every command of the two tutorials runs, against a simulated arm."""

import re
import shlex
import shutil
import signal
import time

import pytest

from franka_dynamics.cli.main import main, WORDS

from ..processes import ROOT, start_python, until

TIMEOUT_S = 600.0  # only reached when something is broken
# Fewer iterations, to save time: this test is about the sequence of commands.
SHORTER = {'identify plan': '--draws 4 --iterations 2 --period 14 --repetitions 400'.split()}
# Requests to a node that may be slow to answer on a busy machine.
PATIENT = {f'node {one}': ['--timeout', '60'] for one in ('state', 'set', 'play')}
# Commands that record, and the option that names the bag.
RECORDER = {'bag record': '--output', 'node play': '--record'}
FROM_FILES = {'bag replay', 'identify arm', 'arm check'}
# Commands that may exit with 1, for instance doctor on a machine without real time.
MAY_SAY_NO = {'doctor', 'arm check'}


def commands(page):
    """Return the lines of a page's shell blocks, split as a shell would, comments left out."""
    blocks = re.findall(r'```sh\n(.*?)```', (ROOT / 'docs' / page).read_text('utf-8'), re.S)
    lines = [line for block in blocks for line in block.splitlines() if line.strip()]
    assert all(line.startswith('franka-dynamics ') for line in lines), lines
    split = [shlex.split(line, comments=True)[1:] for line in lines]
    return [[word for word in words if word != '&'] for words in split]


def verb(words):
    """Return the word, with its action if there is one."""
    return ' '.join(words[: 2 if WORDS[words[0]][1] else 1])


class Shell:
    """Runs commands in one folder, as a user would."""

    def __init__(self, folder, capfd):
        self.folder, self._capfd, self.behind = folder, capfd, []

    def start(self, words):
        with (self.folder / f'{len(self.behind)}-{words[0]}.log').open('wb') as output:
            streams = {'stdout': output, 'stderr': output, 'cwd': self.folder}
            self.behind.append(start_python('-m', 'franka_dynamics', *words, **streams))
        return self.behind[-1]

    def attempt(self, words):
        """Run a command in this process; return exit status and output."""
        status, said = main(list(words)), self._capfd.readouterr()
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
    opened = Shell(tmp_path, capfd)
    yield opened
    for process in opened.behind:
        process.kill()  # its nodes end with it
        process.wait()


def running(shell, *options, factor):
    """
    Start the simulated system; return it once the node holds the arm.

    Its time goes slower than the clock, because while commands start and look at the system its
    nodes would keep a core busy.
    """
    process = shell.start(['sim', '--no-view', '--real-time-factor', factor, *options])
    waits = {'process': process, 'said': shell.logs, 'timeout': TIMEOUT_S}
    until(lambda: 'The arm is held' in shell.logs(), 'the arm is held', **waits)
    return process


def recorded(shell, words):
    """Record, again if a busy machine left gaps or was not discovered, as the command says."""
    give_up = time.monotonic() + TIMEOUT_S
    bag = shell.folder / words[words.index(RECORDER[verb(words)]) + 1]
    while True:
        status, said = shell.attempt(words)
        if status == 0:
            return said
        late = ('has no stretch without gaps', 'nothing was heard')
        assert any(one in said for one in late) and time.monotonic() < give_up, said
        shutil.rmtree(bag)


def through(shell, page):
    """Run a page's commands in order; a simulated system ends after its recording."""
    said, system = {}, None
    for words in commands(page):
        if words[0] == 'sim':
            system = running(shell, '--realistic', factor='0.3')
            continue
        if system is not None and verb(words) in FROM_FILES:
            system.send_signal(signal.SIGINT)
            assert system.wait(TIMEOUT_S) == 0, shell.logs()
            system = None
        # Two seconds suffice to see whether the arm stands still.
        few = (SHORTER | PATIENT).get(verb(words), [])
        few = ['--duration', '2'] if '--duration' in words else few
        if verb(words) in RECORDER:
            said[verb(words)] = recorded(shell, [*words, *few])
        else:
            count = len(verb(words).split()) + 2
            said[' '.join(words[:count])] = shell.run([*words, *few])
    assert system is None
    return said


def test_the_commands_of_getting_started_run(shell):
    said = through(shell, 'getting-started.md')
    assert said['node state'].splitlines()[:2] == ['active', 'running: torques are sent']
    assert 'would not have stopped the arm' in said['bag replay recording']
    assert (shell.folder / 'my_arm.yaml').is_file()
    assert 'pass' in said['arm check --arm my_arm.yaml']
    # The node has ended.
    status, said = shell.attempt('node state --timeout 3'.split())
    assert (status, 'does not answer' in said) == (1, True)


def test_the_commands_for_the_real_arm_run(shell):
    # A simulated arm with gravity compensation stands in for the real arm.
    running(shell, '--arm', 'fr3', '--target', 'fci', '--no-gains', factor='0.2')
    said = through(shell, 'howto/real-arm.md')
    # The recorder notes that no joint moved; the simulated arm equals its model.
    assert 'note: no joint has moved' in said['bag record']
    assert 'would not have stopped the arm' in said['bag replay before --arm']
    assert said['node state'].startswith('inactive')
    assert 'Command' in said['node state --node feedforward']
