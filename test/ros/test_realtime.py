# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Effects of request_realtime, in separate processes."""

import json
from xml.etree import ElementTree

import pytest

from franka_dynamics.resources import share_directory

from ..processes import printed, run_python

# Each row of an environment, and whether SCHED_FIFO is forbidden, is asked in a copy of its own.
ASK = """
import json, os, resource, sys
from franka_dynamics.ros.node_process import request_realtime
for given, forbidden in json.loads(sys.argv[1]):
    if not os.fork():
        os.environ.update(given)
        if forbidden:  # as to an ordinary account; the limit does not restrict root
            resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
            os.getuid() or os.setuid(65534)
        why, fifo = request_realtime(), os.sched_getscheduler(0) == os.SCHED_FIFO
        print(fifo, bool(why), os.environ.get('FASTDDS_BUILTIN_TRANSPORTS'), flush=True)
        os._exit(0)
    os.wait()
"""
OURS = (
    'FRANKA_DYNAMICS_REALTIME',
    'FASTDDS_BUILTIN_TRANSPORTS',
    'FASTDDS_DEFAULT_PROFILES_FILE',
    'FASTRTPS_DEFAULT_PROFILES_FILE',
)
REALTIME_VARIABLE, TRANSPORTS, PROFILES, _ = OURS


@pytest.fixture(scope='module')
def permitted():
    """Skip if this user may not use SCHED_FIFO."""
    asked = 'import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))'
    if run_python('-c', asked)[0]:
        pytest.skip('this user may not use SCHED_FIFO')


def asked(monkeypatch, *rows):
    for name in OURS:
        monkeypatch.delenv(name, raising=False)
    return printed('-c', ASK, json.dumps(rows)).splitlines()


def test_without_sched_fifo_it_says_why_unless_it_is_not_wanted(monkeypatch):
    rows = ({REALTIME_VARIABLE: 'off'}, False), ({}, True)
    assert asked(monkeypatch, *rows) == ['False False None', 'False True None']


def test_with_sched_fifo_udp_is_used_unless_the_user_chose_transports(permitted, monkeypatch):
    rows = ({}, False), ({TRANSPORTS: 'SHM'}, False), ({PROFILES: 'mine.xml'}, False)
    udp, chosen, of_profile = 'True False UDPv4', 'True False SHM', 'True False None'
    assert asked(monkeypatch, *rows) == [udp, chosen, of_profile]


def test_a_node_announces_itself_more_often_than_by_default_unless_a_profile_is_chosen(
    monkeypatch,
):
    program = (
        'import os, sys; from franka_dynamics.ros.node_process import run_node; '
        'run_node(lambda: sys.exit(print(*filter(None, map(os.environ.get, sys.argv[1:])))), [])'
    )
    for name in OURS:
        monkeypatch.delenv(name, raising=False)
    own = share_directory() / 'config' / 'fastdds_discovery.xml'
    assert printed('-c', program, *OURS[2:]).split() == [str(own)]
    announced = ElementTree.parse(own).find('.//{*}leaseAnnouncement/{*}nanosec')
    assert int(announced.text) < 5e8  # `ros2 topic echo` looks so long
    monkeypatch.setenv(PROFILES, 'mine.xml')
    assert printed('-c', program, *OURS[2:]).split() == ['mine.xml']


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
        nodes.require_running()
        time.sleep(0.1)
    (node,) = nodes._running.values()
    print(os.sched_getscheduler(node.pid) == os.SCHED_OTHER)
"""


def test_a_child_does_not_inherit_its_parents_real_time_scheduling(permitted, tmp_path):
    assert printed('-c', CHILD, str(tmp_path)).split() == ['True']
