# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tests started with SIGINT ignored hang nothing; what is left running fails and is killed."""

import os
from pathlib import Path
import re
import signal
import subprocess
import sys

import pytest

from .processes import descendants, kill_all, still_running

ROOT = Path(__file__).parents[1]
SLEEPER = 'import time; print("up", flush=True); time.sleep(1000)'
# A module as tests write them: its child is interrupted, and what a killed child started is left.
MODULE = f'''
import os, signal, subprocess, sys

def start(program):
    child = subprocess.Popen([sys.executable, '-c', program], stdout=subprocess.PIPE, text=True)
    child.said = child.stdout.readline()
    return child

def test_interrupt():
    child = start({SLEEPER!r})
    child.send_signal(signal.SIGINT)
    assert child.wait(60) != 0
    child.stdout.close()

def test_orphan():
    child = start("""
import subprocess, sys, time
orphan = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'],
                          start_new_session=True)
print(orphan.pid, flush=True)
time.sleep(1000)
""")
    child.kill()
    child.wait()
    child.stdout.close()
    print('orphan', child.said)
'''


@pytest.fixture(scope='module')
def run_in_background(tmp_path_factory):
    """Run a module beside this conftest.py as a shell's background job would."""
    folder = tmp_path_factory.mktemp('suite') / 'test'
    folder.mkdir()
    (folder / 'test_made_up.py').write_text(MODULE)
    for name in ('conftest.py', 'processes.py'):
        (folder / name).symlink_to(ROOT / 'test' / name)
    (folder.parent / 'pyproject.toml').write_text(
        "[tool.pytest.ini_options]\naddopts = '--import-mode=importlib'\n"
    )
    return subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-s', 'test'],
        cwd=folder.parent,
        capture_output=True,
        text=True,
        timeout=300.0,
        env={**os.environ, 'PYTHONPATH': str(ROOT), 'FRANKA_DYNAMICS_GRACE': '0.5'},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )


def test_ignored_interrupts_when_tested_then_children_take_them(run_in_background):
    assert '2 passed, 1 error' in run_in_background.stdout, run_in_background.stdout


def test_an_orphan_at_a_modules_end_fails_and_is_killed(run_in_background):
    said = run_in_background.stdout
    assert 'still running' in said
    orphan = int(re.search(r'orphan (\d+)', said)[1])
    assert orphan not in descendants(os.getpid())


def test_a_child_when_looked_for_then_it_is_found_until_killed():
    before = set(descendants(os.getpid()))
    child = subprocess.Popen([sys.executable, '-c', SLEEPER], stdout=subprocess.PIPE)
    child.stdout.readline()
    assert list(still_running(before, grace=0.0)) == [child.pid]
    kill_all([child.pid])
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()
    kill_all([child.pid])  # again: it has ended
