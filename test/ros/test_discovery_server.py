# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes and tools where all processes are clients of a real Fast DDS discovery server."""

import os
from pathlib import Path
import shutil
import socket
import subprocess
import sys
import time

import pytest

from franka_dynamics.ros import FASTDDS_PROFILE_VARIABLES
from franka_dynamics.ros.clients.machine_checks import TO_DO
from franka_dynamics.ros.clients.node_client import NodeClient
from franka_dynamics.ros.clients.system_checks import system_checks

from .conftest import COMMAND, LOCKSTEP, PATIENT, ROOT_NAMES
from ..processes import TIMEOUT_S, until

# Of apt, or of the wheels.
PATHS = os.pathsep.join([os.environ['PATH'], str(Path(sys.executable).parent)])
PROGRAM = shutil.which('fast-discovery-server', path=PATHS)

# In a process of their own: what Fast DDS has read of a discovery server outlives the test, and
# other tests' nodes are then not found.
pytestmark = [
    pytest.mark.ros,
    pytest.mark.skipif(PROGRAM is None, reason='fast-discovery-server is not installed'),
]


@pytest.fixture(autouse=True)
def server(monkeypatch):
    """Let this process and its children use a discovery server, and nothing else to find nodes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    words = [PROGRAM, '-i', '0', '-l', '127.0.0.1', '-p', str(port)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        assert 'running' in one.stdout.readline()
        for name in FASTDDS_PROFILE_VARIABLES:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv('ROS_SUPER_CLIENT', '')  # as it was is restored after the test
        monkeypatch.delenv('ROS_SUPER_CLIENT')
        monkeypatch.setenv('ROS_DISCOVERY_SERVER', f'127.0.0.1:{port}')
        yield
        one.kill()


@pytest.fixture
def start_both(launch):
    """Return a function that starts a simulated arm and a node, and returns the node."""

    def start():
        launch('simulator_node', **ROOT_NAMES | LOCKSTEP)
        return launch('feedforward_node', **PATIENT, target='mujoco')

    return start


def test_the_simulated_arm_is_known_and_carried(start_both):
    node = start_both()
    with NodeClient('feedforward', TIMEOUT_S) as client:
        until(lambda: 'torques are sent' in client.status_sentence(), 'torques')
        client.clear_fault()  # services are found, too
    found = list(system_checks('joint_states', COMMAND, 2.0))
    said = [f'{one.subject}: {one.text}' for one in found]
    assert any(one.startswith('commands: /feedforward publishes') for one in said), said
    assert not [one for one in found if one.subject == 'node' and one.level == TO_DO], said
    node.end()


def test_a_client_that_is_not_told_of_all_nodes_sends_nothing(start_both, monkeypatch):
    monkeypatch.setenv('ROS_SUPER_CLIENT', 'FALSE')
    node = start_both()
    unseen = '/simulator shows no service'
    until(lambda: unseen in node.text, unseen, said=lambda: node.text)
    time.sleep(1.0)
    assert 'ROS_SUPER_CLIENT' in node.text and 'commanding' not in node.text
    node.end()
