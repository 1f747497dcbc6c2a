# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
SROS 2 policies cover exactly what each node has; without security in the middleware it is said.

What a node has is read from the ROS graph while it runs in every configuration that has topics
of its own. The policies' form and names follow sros2: version 0.2.0, `~` for the node's name.
"""

from fnmatch import fnmatchcase
import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Float64MultiArray, String

from franka_dynamics.resources import share_directory
from franka_dynamics.ros.node_process import guest_node
from franka_dynamics.ros.parameter_tables import NODES as NAMES

from .conftest import ROOT, TIMEOUT_S

POLICIES = share_directory() / 'security' / 'policies'
NODES = sorted([*NAMES, 'gazebo_direct'])
SIMULATED = {'use_sim_time': True}
CONFIGURATIONS = {
    'feedforward': [{**SIMULATED, 'model_source': 'robot_description'}],
    'gazebo_direct': [SIMULATED],
    'simulator': [{'publish_clock': True}],
    'trajectory_action': [SIMULATED],
}
# What an action is made of: https://design.ros2.org/articles/actions.html
ACTION_TOPICS = ('feedback', 'status')
ACTION_SERVICES = ('send_goal', 'cancel_goal', 'get_result')


def allowed(enclave, node=None):
    """Return the resolved names that a policy allows a node, by kind of end point."""
    node = node or enclave
    profile = (
        ElementTree.parse(POLICIES / f'{enclave}.policy.xml')
        .getroot()
        .find(f"enclaves/enclave[@path='/{enclave}']/profiles/profile[@node='{node}'][@ns='/']")
    )
    names = {}
    for group in profile:
        ((rule, verdict),) = group.attrib.items()
        assert verdict == 'ALLOW'
        if group.tag == 'actions':
            topics, services = {
                'execute': ('publisher', 'service'),
                'call': ('subscriber', 'client'),
            }[rule]
            for kind, parts in ((topics, ACTION_TOPICS), (services, ACTION_SERVICES)):
                names.setdefault(kind, set()).update(
                    f'{resolved(entry.text, node)}/_action/{part}'
                    for entry in group
                    for part in parts
                )
            continue
        kind = {
            'publish': 'publisher',
            'subscribe': 'subscriber',
            'reply': 'service',
            'request': 'client',
        }[rule]
        names.setdefault(kind, set()).update(resolved(entry.text, node) for entry in group)
    return names


def resolved(name, node):
    if name.startswith('~/'):
        return f'/{node}/{name[2:]}'
    return name if name.startswith('/') else f'/{name}'


def seen(probe, node):
    """Return the end points that the graph shows for a node; none while the node is absent."""
    if (node, '/') not in probe.get_node_names_and_namespaces():
        return {}
    return {
        kind: {
            name for name, _ in getattr(probe, f'get_{kind}_names_and_types_by_node')(node, '/')
        }
        for kind in ('publisher', 'subscriber', 'service', 'client')
    }


@pytest.mark.parametrize('node', NODES)
def test_a_policy_allows_exactly_what_the_node_has(node, launch, probe):
    if node == 'trajectory_action':
        pytest.importorskip('control_msgs.action', reason='control_msgs is not installed')
    description = probe.create_publisher(
        String,
        'robot_description',
        QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL),
    )
    description.publish(String(data=(share_directory() / 'urdf' / 'fer.urdf').read_text()))
    # With a second publisher, the feedforward node subscribes to its own command topic.
    probe.create_publisher(Float64MultiArray, 'feedforward/command', 1)
    policy = allowed(node)
    found = {kind: set() for kind in ('publisher', 'subscriber', 'service', 'client')}
    if node == 'trajectory_action':
        found['subscriber'].add('/joint_states')  # subscribed to only while a goal is prepared

    def missing():
        """Return the allowed end points that the node has not shown yet."""
        for kind, names in seen(probe, node).items():
            found[kind] |= names
        return {
            (kind, name)
            for kind, names in policy.items()
            for name in names
            if not any(fnmatchcase(one, name) for one in found[kind])
        }

    *others, last = CONFIGURATIONS[node]
    for configuration in others:  # each lacks some end points of the last one
        process = launch(f'{node}_node', **configuration)
        probe.until(lambda: seen(probe, node) and len(missing()) <= 2, f'most of {policy}')
        process.end()  # a killed one would stay in the graph for 20 s
    launch(f'{node}_node', **last)
    probe.until(lambda: not missing(), f'all of {policy}')
    for _ in range(100):  # time for further end points
        probe.spin()
    missing()
    superfluous = {
        (kind, name)
        for kind, names in found.items()
        for name in names
        if not any(fnmatchcase(name, one) for one in policy.get(kind, ()))
    }
    assert not superfluous, f'{node}.policy.xml lacks them'


def test_the_policy_allows_exactly_what_unloading_the_controller_needs(probe):
    messages = pytest.importorskip(
        'controller_manager_msgs.srv', reason='controller_manager_msgs is not installed'
    )
    kinds = {
        'list_controllers': messages.ListControllers,
        'switch_controller': messages.SwitchController,
        'unload_controller': messages.UnloadController,
    }
    found = {kind: set() for kind in ('publisher', 'subscriber', 'service', 'client')}

    def answer(_, response):
        for kind, names in seen(probe, 'client').items():
            found[kind] |= names
        if hasattr(response, 'controller'):
            response.controller.append(ControllerState(name='torque', state='active'))
        else:
            response.ok = True
        return response

    from controller_manager_msgs.msg import ControllerState

    for name, kind in kinds.items():
        probe.create_service(kind, f'controller_manager/{name}', answer)
    process = subprocess.Popen(
        [sys.executable, '-m', 'franka_dynamics.ros.controller_unloading']
        + ['controller_manager', 'torque'],
        env={**os.environ, 'PYTHONPATH': f'{ROOT}:{os.environ.get("PYTHONPATH", "")}'},
    )
    try:
        probe.until(lambda: process.poll() is not None, 'the end of unloading')
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    policy = allowed('feedforward', 'client')
    assert {kind: names for kind, names in found.items() if names} == policy


def test_a_client_in_the_nodes_process_is_in_the_nodes_enclave(probe, monkeypatch):
    # Keys and permissions belong to an enclave; without its name a client would have none.
    command = ['feedforward_node', '--ros-args', '-r', '__node:=left', *ENCLAVE[1:]]
    monkeypatch.setattr(sys, 'argv', command)
    with guest_node('client'):
        probe.until(
            lambda: (
                ('client', '/', '/feedforward')
                in probe.get_node_names_and_namespaces_with_enclaves()
            ),
            'the client in the enclave',
        )


def test_only_the_node_may_publish_commands():
    publishing = {
        path.name
        for path in POLICIES.iterdir()
        for topics in ElementTree.parse(path).iterfind(".//topics[@publish='ALLOW']")
        if any('command' in topic.text for topic in topics)
    }
    assert publishing == {'feedforward.policy.xml'}


ENCLAVE = ('--ros-args', '--enclave', '/feedforward')
CERTIFICATES = ('identity_ca.cert.pem', 'cert.pem', 'permissions_ca.cert.pem')
KEYS = (*CERTIFICATES, 'key.pem', 'governance.p7s', 'permissions.p7s')


def keystore(folder):
    """Make the files that rcl looks for; only the middleware reads their contents."""
    for enclave in ('', 'feedforward'):
        (folder / 'enclaves' / enclave).mkdir(parents=True, exist_ok=True)
        for name in KEYS:
            (folder / 'enclaves' / enclave / name).write_text('none\n')
    return folder


@pytest.mark.parametrize(
    ('exists', 'sentence'),
    [
        (True, 'ROS_SECURITY_ENABLE is true, but rmw_fastrtps_cpp cannot secure a node here: '),
        (False, 'security was asked for, but cannot be had: SECURITY ERROR'),
    ],
)
def test_enforced_security_that_cannot_be_had_is_one_sentence(tmp_path, exists, sentence):
    folder = keystore(tmp_path) if exists else tmp_path
    done = subprocess.run(
        [sys.executable, '-m', 'franka_dynamics.ros.feedforward_node', *ENCLAVE],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env={
            **os.environ,
            'PYTHONPATH': str(ROOT),
            'ROS_SECURITY_ENABLE': 'true',
            'ROS_SECURITY_STRATEGY': 'Enforce',
            'ROS_SECURITY_KEYSTORE': str(folder),
        },
    )
    assert done.returncode == 2
    assert sentence in done.stderr
    assert 'Traceback' not in done.stderr
