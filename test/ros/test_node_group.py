# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes of `sim`, demonstration and tests: their network, their names and their end."""

import random
import signal
from subprocess import PIPE

from std_msgs.msg import Float64MultiArray

from franka_dynamics.ros.node_group import NodeGroup

from .conftest import COMMAND
from ..processes import background, printed, run_python, TIMEOUT_S, until

# Runs a node, and prints the sockets and shared memory of its process.
SCRIPT = """
from pathlib import Path
import os
from franka_dynamics.ros.node_group import use_isolated_network
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
from franka_dynamics.ros import node_group
first = int(sys.argv[1])
node_group._DOMAINS = range(first, first + 8)
try:
    while True:
        node_group.use_isolated_network()
        print(os.environ['ROS_DOMAIN_ID'], flush=True)
except OSError:
    print('no more', flush=True)
input()
"""
# 127.0.0.1 and DDS's multicast group 239.255.0.1, as the kernel prints addresses.
LOOPBACK, GROUP = '0100007F', '0100FFEF'


def test_a_node_on_the_loopback_network_binds_nothing_else():
    lines = [line.split() for line in printed('-u', '-c', SCRIPT).splitlines()]
    addresses = {line[1] for line in lines if line[0] == 'socket'}
    assert LOOPBACK in addresses
    assert addresses <= {LOOPBACK, GROUP}
    assert lines[-1] == ['shared', '0']


def test_processes_side_by_side_get_a_domain_each():
    # A process keeps the domains that it claimed. Both take all they get of eight, which leaves
    # enough to others on this machine; these eight are drawn, because others may test this, too.
    words = '-c', CLAIMING, random.randrange(1, 94)
    with background(*words, stdin=PIPE) as one, background(*words, stdin=PIPE) as other:
        both = one, other
        domains = [
            domain for process in both for domain in iter(process.stdout.readline, 'no more\n')
        ]
        for process in both:
            process.communicate('\n')
    assert 1 < len(domains) == len(set(domains)) <= 8


def test_a_simulations_torques_reach_no_real_arms_controller_and_a_crash_is_told(probe, tmp_path):
    # Where franka_ros2's forward controller takes torques.
    torques = probe.collect(Float64MultiArray, f'/{COMMAND}', reliable=True)
    with NodeGroup(tmp_path) as nodes:
        nodes.start_arm_and_node({}, {'target': 'mujoco'}, lockstep_rate=1000.0)

        def held():
            nodes.require_running()
            return probe.says('simulation/simulator: Simulated arm', 'the brakes are open')

        probe.until(held, 'the arm is held')
        # The group's end names the node that crashed, the signal, and the log with its stack.
        node, log = nodes._running['feedforward_node'], tmp_path / 'feedforward_node.log'
        node.send_signal(signal.SIGABRT)
        node.wait(TIMEOUT_S)
        said = nodes.end_all()[0]
    assert all(word in said for word in ('feedforward_node', 'SIGABRT', str(log)))
    assert 'Fatal Python error: Aborted' in log.read_text()
    assert not torques


LEFT = """
import os, signal, sys
from pathlib import Path
from franka_dynamics.ros.node_group import NodeGroup
from franka_dynamics.ros.topic_listener import TopicListener
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell's background jobs ignore it
folder = Path(sys.argv[1])
nodes = NodeGroup(folder)
nodes.start('feedforward_node', {})
with TopicListener('waits') as listener:
    listener.until(lambda: listener.status('/simulation/feedforward') is not None, 600.0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_node_ends_in_order_if_the_program_that_started_it_is_killed(tmp_path):
    assert run_python('-c', LEFT, tmp_path)[0] == -signal.SIGKILL
    log = tmp_path / 'feedforward_node.log'
    until(lambda: 'shut down' in log.read_text(), 'its end')
