# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Effects of request_realtime, in separate processes."""

import os
import subprocess
import sys

import pytest

IMPORT = 'import os, resource; from franka_dynamics.ros.realtime import request_realtime; '
ASK = (
    'why = request_realtime(); '
    'print(os.sched_getscheduler(0) == os.SCHED_FIFO, bool(why), '
    "os.environ.get('FASTDDS_BUILTIN_TRANSPORTS'))"
)
OURS = (
    'FRANKA_DYNAMICS_REALTIME',
    'FASTDDS_BUILTIN_TRANSPORTS',
    'FASTDDS_DEFAULT_PROFILES_FILE',
    'FASTRTPS_DEFAULT_PROFILES_FILE',
)


def ask(before='', **environment):
    """Return whether a process runs under SCHED_FIFO, whether it said why not, and transports."""
    kept = {name: value for name, value in os.environ.items() if name not in OURS}
    answer = subprocess.run(
        [sys.executable, '-c', IMPORT + before + ASK],
        check=True,
        env={**kept, **environment},
        capture_output=True,
        text=True,
    )
    return answer.stdout.split()


@pytest.fixture(scope='module')
def permitted():
    """Skip if this user may not use SCHED_FIFO."""
    fifo, _, _ = ask()
    if fifo != 'True':
        pytest.skip('this user may not use SCHED_FIFO')


def test_realtime_keeps_fast_dds_from_shared_memory(permitted):
    assert ask() == ['True', 'False', 'UDPv4']


@pytest.mark.parametrize(
    ('environment', 'transports'),
    [
        ({'FASTDDS_BUILTIN_TRANSPORTS': 'SHM'}, 'SHM'),
        ({'FASTDDS_DEFAULT_PROFILES_FILE': 'mine.xml'}, 'None'),
    ],
)
def test_realtime_leaves_transports_of_the_users_own(permitted, environment, transports):
    assert ask(**environment) == ['True', 'False', transports]


def test_realtime_switched_off_changes_nothing():
    assert ask(FRANKA_DYNAMICS_REALTIME='off') == ['False', 'False', 'None']


def test_without_permission_realtime_says_why_and_stays_off():
    # The limit of an ordinary account, zero; it does not restrict root.
    forbid = (
        'resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0)); os.getuid() or os.setuid(65534); '
    )
    assert ask(before=forbid) == ['False', 'True', 'None']


@pytest.mark.parametrize('priority', [50, 99])
def test_services_run_below_all_that_brings_and_sends_torques(permitted, priority):
    # libfranka raises the thread that connects to 99; DDS stays at 50.
    program = (
        'import os, threading; from franka_dynamics.ros.realtime import lower_priority; '
        f'os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param({priority})); '
        'serve = lambda: (lower_priority(), print(os.sched_getparam(0).sched_priority)); '
        'thread = threading.Thread(target=serve); thread.start(); thread.join()'
    )
    answer = subprocess.run(
        [sys.executable, '-c', program], check=True, capture_output=True, text=True
    )
    assert answer.stdout.split() == ['40']
