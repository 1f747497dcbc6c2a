# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks on processes and on a Dask cluster, of which parts end in the middle."""

from importlib import import_module
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from franka_dynamics import workers
from franka_dynamics.errors import ClusterError
from franka_dynamics.workers import workers_of

from .agreement import refuses

TASKS = """
import os, time

def task(number):
    time.sleep(0.05)
    return number, os.getpid()

def die(number):
    os._exit(1)
"""


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    """Return a module with a task, which processes on other machines find, too."""
    (tmp_path / 'tasks_of_a_test.py').write_text(TASKS)
    monkeypatch.syspath_prepend(tmp_path)
    return import_module('tasks_of_a_test')


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a part of a cluster, as the page on clusters tells."""
    started = []

    def start(*words):
        command = [sys.executable, '-m', 'dask', *map(str, words), '--no-dashboard']
        environment = {**os.environ, 'PYTHONPATH': str(tmp_path)}
        with (tmp_path / f'{len(started)}.log').open('w') as log:
            started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_of_two_workers_one_may_end_and_then_the_other_and_the_scheduler(
    start, tasks, monkeypatch
):
    pytest.importorskip('distributed')
    # A busy machine takes long to start them.
    monkeypatch.setattr(workers, 'SCHEDULER_TIMEOUT_S', 120.0)
    monkeypatch.setattr(workers, 'WORKER_TIMEOUT_S', 120.0)
    with socket.socket() as chosen:
        chosen.bind(('127.0.0.1', 0))
        port = chosen.getsockname()[1]
    address = f'tcp://127.0.0.1:{port}'
    scheduler = start('scheduler', '--host', '127.0.0.1', '--port', port)
    both = [start('worker', address, '--nthreads', 1, '--no-nanny') for _ in range(2)]
    with workers_of(address) as cluster:
        while len(cluster.present()) < 2:
            time.sleep(0.05)
    with workers_of(address) as cluster:
        done = []
        for result in cluster.results(tasks.task, range(40)):
            done.append(result)
            if len(done) == 10:
                os.kill(both[0].pid, signal.SIGKILL)
        assert sorted(number for number, _ in done) == [*range(40)]
        assert {process for _, process in done} == {each.pid for each in both}
        assert cluster.loss_text().startswith('1 of 2 workers ended')
        # Now the other one ends, and the scheduler after it.
        both[1].kill()
        while cluster.present():
            time.sleep(0.05)
        monkeypatch.setattr(workers, 'WORKER_TIMEOUT_S', 0.2)
        with refuses(ClusterError, address, 'no workers', 'dask worker'), workers_of(address):
            pass
        scheduler.kill()
        with refuses(ClusterError, 'scheduler', 'has ended'):
            list(cluster.results(tasks.task, range(4)))


@pytest.mark.parametrize('count', ['1', '2'])
def test_processes_do_each_task_once(count, tasks):
    with workers_of(count) as pool:
        if count == '1':
            assert pool is None
            return
        done = list(pool.results(tasks.task, range(20)))
        assert sorted(number for number, _ in done) == [*range(20)]
        assert os.getpid() not in {process for _, process in done}
        assert pool.loss_text() == ''


def test_a_process_that_dies_is_told(tasks):
    with refuses(ClusterError, 'died', '--workers'), workers_of('2') as pool:
        list(pool.results(tasks.die, range(3)))


SCRIPT = """
import signal
from tasks_of_a_test import task
from franka_dynamics.workers import workers_of
if __name__ == '__main__':
    signal.signal(signal.SIGINT, signal.default_int_handler)  # not what a busy shell left
    try:
        with workers_of('2') as pool:
            for number, _ in pool.results(task, range(100_000)):
                print(number, flush=True)
    except KeyboardInterrupt:
        print('interrupted', flush=True)
"""


def test_an_interrupt_ends_processes_without_a_traceback(tasks, tmp_path):
    (tmp_path / 'script.py').write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / 'script.py')],
        env={**os.environ, 'PYTHONPATH': os.pathsep.join([str(tmp_path), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all processes
    said, errors = process.communicate(timeout=120)
    assert said.endswith('interrupted\n') and not errors, errors
