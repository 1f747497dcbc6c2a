# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The network of tests, demonstration and benchmarks does not leave the machine."""

import subprocess

from .conftest import printed, start_python

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
# 127.0.0.1 and DDS's multicast group 239.255.0.1, as the kernel prints addresses.
LOOPBACK, GROUP = '0100007F', '0100FFEF'


def test_a_node_on_the_loopback_network_binds_nothing_else():
    lines = [line.split() for line in printed('-u', '-c', SCRIPT).splitlines()]
    addresses = {line[1] for line in lines if line[0] == 'socket'}
    assert LOOPBACK in addresses
    assert addresses <= {LOOPBACK, GROUP}
    assert lines[-1] == ['shared', '0']


def test_processes_side_by_side_get_a_domain_each():
    # Of thirty random domains among 101, two are equal with a probability of 99 %. A process keeps
    # the domains that it claimed, so that two processes suffice.
    script = (
        'import os; from franka_dynamics.ros.node_group import use_isolated_network\n'
        'for _ in range(15):\n'
        "    use_isolated_network(); print(os.environ['ROS_DOMAIN_ID'], flush=True)\n"
        'input()'
    )
    both = [start_python('-c', script, stdin=subprocess.PIPE) for _ in range(2)]
    domains = [process.stdout.readline() for process in both for _ in range(15)]
    for process in both:
        process.communicate('\n')
    assert len(set(domains)) == 30
