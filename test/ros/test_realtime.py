# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Effects of request_realtime, in separate processes."""

import pytest

from ..processes import printed, run_python

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


# The limit of an ordinary account, zero; it does not restrict root.
FORBID = 'resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0)); os.getuid() or os.setuid(65534); '


@pytest.fixture(scope='module')
def permitted():
    """Skip if this user may not use SCHED_FIFO."""
    asked = 'import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))'
    if run_python('-c', asked)[0]:
        pytest.skip('this user may not use SCHED_FIFO')


@pytest.mark.parametrize(
    ('before', 'given', 'expected'),
    [
        # UDP keeps Fast DDS from shared memory, unless the user chose transports.
        ('', {}, 'True False UDPv4'),
        ('', {OURS[1]: 'SHM'}, 'True False SHM'),
        ('', {OURS[2]: 'mine.xml'}, 'True False None'),
        ('', {OURS[0]: 'off'}, 'False False None'),
        (FORBID, {}, 'False True None'),
    ],
)
def test_realtime_has_sched_fifo_and_udp_or_says_why_not(
    before, given, expected, monkeypatch, request
):
    if expected.startswith('True'):
        request.getfixturevalue('permitted')
    for name in OURS:
        monkeypatch.delenv(name, raising=False)
    assert printed('-c', IMPORT + before + ASK, **given).split() == expected.split()


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
