# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Processes of nodes: real time, network, names, what is left at their end, a log nobody reads."""

from itertools import chain, takewhile
import json
import os
import random
from select import select
import signal
from subprocess import PIPE
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from std_msgs.msg import Float64MultiArray

from franka_dynamics.files import share_directory
from franka_dynamics.ros import NODE_MODULES
from franka_dynamics.ros.clients import node_group
from franka_dynamics.ros.clients.node_group import NodeEndedError, NodeGroup

from .conftest import COMMAND
from ..agreement import refuses
from ..processes import background, printed, run_python, TIMEOUT_S, until

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
REALTIME_VARIABLE = 'FRANKA_DYNAMICS_REALTIME'
TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
PROFILES = 'FASTDDS_DEFAULT_PROFILES_FILE'
OLD_PROFILES = 'FASTRTPS_DEFAULT_PROFILES_FILE'
OURS = REALTIME_VARIABLE, TRANSPORTS, PROFILES, OLD_PROFILES


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


def test_sched_fifo_uses_udp_unless_transports_are_chosen(permitted, monkeypatch):
    rows = ({}, False), ({TRANSPORTS: 'SHM'}, False), ({PROFILES: 'mine.xml'}, False)
    udp = 'True False UDPv4'
    chosen = 'True False SHM'
    of_profile = 'True False None'
    assert asked(monkeypatch, *rows) == [udp, chosen, of_profile]


def test_a_node_announces_itself_often_unless_a_profile_is_set(
    monkeypatch,
):
    program = (
        'import os, sys; from franka_dynamics.ros.node_process import run_node; '
        'say = lambda: print(*filter(None, map(os.environ.get, sys.argv[1:]))); '
        'run_node(lambda: sys.exit(say()), None, [])'
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
        'import os, threading\n'
        'from franka_dynamics.ros.node_process import lower_thread_priority\n'
        'os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99)); '
        'serve = lambda: (lower_thread_priority(), print(os.sched_getparam(0).sched_priority)); '
        'thread = threading.Thread(target=serve); thread.start(); thread.join()'
    )
    assert printed('-c', program).split() == ['40']


CHILD = """
import os, sys, time
from pathlib import Path
from franka_dynamics.ros.clients.node_group import NodeGroup
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
with NodeGroup(Path(sys.argv[1])) as nodes:
    nodes.start_node('simulator_node', {})
    while not (Path(sys.argv[1]) / 'simulator_node.log').read_text():
        nodes.require_running()
        time.sleep(0.1)
    (node,) = nodes.processes.values()
    print(os.sched_getscheduler(node.pid) == os.SCHED_OTHER)
"""


def test_a_child_does_not_inherit_real_time_scheduling(permitted, tmp_path):
    assert printed('-c', CHILD, str(tmp_path)).split() == ['True']


# Runs a node until its first timer interrupts it, and prints how `main` ended.
ENDING = """
from importlib import import_module
from itertools import takewhile
import json
import os
from pathlib import Path
import signal
import sys

module, kind = sys.argv[1:]
program = import_module(module)
seen = []


def middleware_threads():
    names = [one.joinpath('comm').read_text().strip() for one in Path('/proc/self/task').iterdir()]
    # The watchdog of shared memory belongs to the library, and ends as the library is unloaded.
    return sorted(one for one in names if one.startswith('dds.') and one != 'dds.shm.wdog')


class Interrupted(getattr(program, kind)):
    def __init__(self):
        super().__init__()
        # Served once the node is activated, if it activates itself.
        self.create_timer(0.02, self._interrupt)

    def _interrupt(self):
        seen[:] = middleware_threads()
        os.kill(os.getpid(), signal.SIGINT)


setattr(program, kind, Interrupted)
status = program.main([module])
print(json.dumps({'status': status, 'running': seen, 'left': middleware_threads()}))
"""


@pytest.mark.parametrize(('name', 'says'), [('feedforward', 'activated'), ('simulator', '')])
def test_no_thread_of_the_middleware_outlives_main(name, says):
    status, output, errors = run_python(
        '-c', ENDING, NODE_MODULES[f'{name}_node'], f'{name.title()}Node'
    )
    assert status == 0, errors
    assert says in errors
    assert 'activate the node' not in errors  # it has ended
    end = json.loads(output.splitlines()[-1])
    assert end['status'] == 0
    assert len(end['running']) > 1  # or there would be nothing to end
    assert end['left'] == []


FLOODED = """
from rclpy.logging import get_logger
from franka_dynamics.ros.node_process import make_log_nonblocking
make_log_nonblocking()
for k in range(600):
    get_logger('flood').warning(f'{k} ' + 'x' * 1000)
print('goes on', flush=True)
"""


def test_a_log_that_nobody_reads_stops_nothing():
    with background('-c', FLOODED) as process:
        assert select([process.stdout], [], [], TIMEOUT_S)[0], 'it is stopped'
        assert process.stdout.readline() == 'goes on\n'
        process.stderr.close()
    errors = run_python('-c', FLOODED.replace('600', '30'))[2]
    assert all(f'{k} xxx' in errors for k in range(30))


# Runs a node, and prints the sockets and shared memory of its process.
SCRIPT = """
from pathlib import Path
import os
from franka_dynamics.ros.clients.node_group import use_isolated_network
use_isolated_network()
import rclpy
rclpy.init()
node = rclpy.create_node('alone')
publisher = node.create_publisher(__import__('std_msgs.msg').msg.String, 'said', 1)
own = {os.readlink(f'/proc/self/fd/{number}')[8:-1] for number in os.listdir('/proc/self/fd')
       if os.path.exists(f'/proc/self/fd/{number}')
       and os.readlink(f'/proc/self/fd/{number}').startswith('socket:')}
for line in Path('/proc/net/udp').read_text().splitlines()[1:]:
    fields = line.split()
    if fields[9] in own:
        print('socket', *fields[1].split(':'))
print('shared', sum('/dev/shm/fastrtps' in line
                    for line in Path('/proc/self/maps').read_text().splitlines()))
os._exit(0)
"""
CLAIMING = """
import os, sys
from franka_dynamics.ros.clients import node_group
first = int(sys.argv[1])
node_group.ROS_DOMAIN_IDS = range(first, first + 8)
try:
    while True:
        node_group.use_isolated_network()
        print(os.environ['ROS_DOMAIN_ID'], flush=True)
except node_group.NoFreeDomainError:
    print('no more', flush=True)
input()
"""
# 127.0.0.1 and DDS's multicast group 239.255.0.1, as the kernel prints addresses.
LOOPBACK = '0100007F'
GROUP = '0100FFEF'


@pytest.mark.parametrize(
    ('installed', 'named', 'taken', 'reach'),
    [
        (None, '', 'rmw_fastrtps_cpp', 'SYSTEM_DEFAULT'),  # as of wheels
        (['rmw_cyclonedds_cpp'], '', '', 'LOCALHOST'),
        (
            ['rmw_cyclonedds_cpp', 'rmw_fastrtps_cpp'],
            '',
            'rmw_fastrtps_cpp',
            'SYSTEM_DEFAULT',
        ),
        (['rmw_fastrtps_cpp'], 'rmw_cyclonedds_cpp', 'rmw_cyclonedds_cpp', 'LOCALHOST'),
    ],
)
def test_an_isolated_network_is_of_a_middleware_that_is_there(
    installed, named, taken, reach, tmp_path, monkeypatch
):
    folder = tmp_path / 'share/ament_index/resource_index/rmw_typesupport'
    folder.mkdir(parents=True)
    for name in installed or ():
        (folder / name).touch()
    if installed is None:
        monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    else:
        monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    monkeypatch.setattr(node_group, 'claim_free_domain', lambda: 5)
    for name in (
        'FASTRTPS_DEFAULT_PROFILES_FILE',
        'ROS_DOMAIN_ID',
    ):  # are restored after it
        monkeypatch.setenv(name, '')
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', '')
    monkeypatch.setenv('RMW_IMPLEMENTATION', named)
    monkeypatch.setenv('CYCLONEDDS_URI', '<General/>')  # names interfaces and peers
    node_group.use_isolated_network()
    assert os.environ['RMW_IMPLEMENTATION'] == taken
    assert os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] == reach
    assert 'CYCLONEDDS_URI' not in os.environ


def test_a_node_on_the_loopback_network_binds_nothing_else():
    lines = [line.split() for line in printed('-u', '-c', SCRIPT).splitlines()]
    addresses = {line[1] for line in lines if line[0] == 'socket'}
    assert LOOPBACK in addresses and addresses <= {LOOPBACK, GROUP}
    assert lines[-1] == ['shared', '0']


def test_processes_side_by_side_get_a_domain_each():
    # A process keeps the domains that it claimed. Both take all they get of eight, which leaves
    # enough to others on this machine; these eight are drawn, because others may test this, too.
    words = '-c', CLAIMING, random.randrange(1, 94)
    with background(*words, stdin=PIPE) as one, background(*words, stdin=PIPE) as other:
        both = one, other
        lines = (takewhile(lambda line: line != 'no more\n', x.stdout) for x in both)
        domains = list(chain.from_iterable(lines))
        for process in both:
            process.communicate('\n')
    assert 1 < len(domains) == len(set(domains)) <= 8


def test_a_simulations_torques_reach_no_real_controller(probe, tmp_path, monkeypatch):
    monkeypatch.delenv(REALTIME_VARIABLE, raising=False)
    # Where franka_ros2's forward controller takes torques.
    torques = probe.collect(Float64MultiArray, f'/{COMMAND}', reliable=True)
    with NodeGroup(tmp_path) as nodes:
        nodes.start_arm_and_node({}, {'target': 'mujoco'}, lockstep_rate=1000.0)

        def held():
            nodes.require_running()
            return probe.says('simulation/simulator: Simulated arm', 'the brakes are open')

        probe.until(held, 'the arm is held')
        # The arm waits, so that nothing has to come before the work of others.
        pids = [process.pid for process in nodes.processes.values()]
        assert [os.sched_getscheduler(pid) for pid in pids] == [os.SCHED_OTHER] * 2
        # The group's end names the node that crashed, the signal, and the log with its stack.
        node = nodes.processes['feedforward_node']
        log = tmp_path / 'feedforward_node.log'
        node.send_signal(signal.SIGABRT)
        node.wait(TIMEOUT_S)
        said = nodes.end_nodes()[0]
    assert all(word in said for word in ('feedforward_node', 'SIGABRT', str(log)))
    assert 'Fatal Python error: Aborted' in log.read_text() and not torques


def test_a_node_ended_by_a_full_disk_is_told_with_the_folder(tmp_path, monkeypatch):
    with NodeGroup(tmp_path) as nodes:
        nodes.start_node('simulator_node', {'robot_type': 'no_such_arm'})
        nodes.processes['simulator_node'].wait(TIMEOUT_S)
        monkeypatch.setattr('shutil.disk_usage', lambda folder: SimpleNamespace(free=0))
        with refuses(NodeEndedError, f'{tmp_path} is full', 'choose another place'):
            nodes.require_running()


LEFT = """
import os, signal, sys
from pathlib import Path
from franka_dynamics.ros.clients.node_group import NodeGroup
from franka_dynamics.ros.topic_listener import TopicListener
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell's background jobs ignore it
folder = Path(sys.argv[1])
nodes = NodeGroup(folder)
nodes.start_node('feedforward_node', {})
with TopicListener('waits') as listener:
    status = lambda: listener.latest_status('/simulation/feedforward')
    listener.wait_until(lambda: status() is not None, 600.0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_node_ends_in_order_if_its_parent_is_killed(tmp_path):
    assert run_python('-c', LEFT, tmp_path)[0] == -signal.SIGKILL
    log = tmp_path / 'feedforward_node.log'
    until(lambda: 'shut down' in log.read_text(), 'its end')
