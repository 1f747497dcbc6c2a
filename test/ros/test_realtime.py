# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Effects of request_realtime, in separate processes."""

import pytest

from ..processes import printed

IMPORT = 'import os, resource; from franka_dynamics.ros.node_process import request_realtime; '
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


@pytest.fixture
def ask(monkeypatch):
    """Return a function: has a process SCHED_FIFO, does it say why not, and its transports."""
    for name in OURS:
        monkeypatch.delenv(name, raising=False)
    return lambda before='', **given: printed('-c', IMPORT + before + ASK, **given).split()


@pytest.fixture
def permitted(ask):
    """Skip if this user may not use SCHED_FIFO."""
    if ask()[0] != 'True':
        pytest.skip('this user may not use SCHED_FIFO')


# The limit of an ordinary account, zero; it does not restrict root.
FORBID = 'resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0)); os.getuid() or os.setuid(65534); '


@pytest.mark.parametrize(
    ('environment', 'transports'),
    [
        ({}, 'UDPv4'),  # keeps Fast DDS from shared memory
        ({'FASTDDS_BUILTIN_TRANSPORTS': 'SHM'}, 'SHM'),
        ({'FASTDDS_DEFAULT_PROFILES_FILE': 'mine.xml'}, 'None'),
    ],
)
def test_realtime_takes_udp_unless_the_user_chose_transports(
    permitted, ask, environment, transports
):
    assert ask(**environment) == ['True', 'False', transports]


@pytest.mark.parametrize(
    ('given', 'says_why'),
    [({'FRANKA_DYNAMICS_REALTIME': 'off'}, 'False'), ({'before': FORBID}, 'True')],
)
def test_realtime_switched_off_or_forbidden_changes_nothing(ask, given, says_why):
    assert ask(**given) == ['False', says_why, 'None']


def test_services_run_below_all_that_brings_and_sends_torques(permitted):
    # libfranka raises the thread that connects to 99; DDS stays at 50.
    program = (
        'import os, threading; from franka_dynamics.ros.node_process import lower_priority; '
        'os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99)); '
        'serve = lambda: (lower_priority(), print(os.sched_getparam(0).sched_priority)); '
        'thread = threading.Thread(target=serve); thread.start(); thread.join()'
    )
    assert printed('-c', program).split() == ['40']


CHILD = """
import os, sys, time
from pathlib import Path
from franka_dynamics.ros.node_group import NodeGroup
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
with NodeGroup(Path(sys.argv[1])) as nodes:
    nodes.start('simulator_node', {})
    while not (Path(sys.argv[1]) / 'simulator_node.log').read_text():
        nodes.require_all()
        time.sleep(0.1)
    (node,) = nodes._running.values()
    print(os.sched_getscheduler(node.pid) == os.SCHED_OTHER)
"""


def test_a_child_does_not_inherit_its_parents_real_time_scheduling(permitted, tmp_path):
    assert printed('-c', CHILD, str(tmp_path)).split() == ['True']
