# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
SROS 2 policies cover exactly what each node has; without security in the middleware it is said.

What a node has is read from the ROS graph while it runs in every configuration that has topics
of its own. The policies' form and names follow sros2: version 0.2.0, `~` for the node's name.
"""

from fnmatch import fnmatchcase
from importlib.util import find_spec
from xml.etree import ElementTree

import pytest
from std_msgs.msg import Float64MultiArray, String

from franka_dynamics.arm import load
from franka_dynamics.files import share_directory
from franka_dynamics.ros.parameter_tables import NODE_NAMES
from franka_dynamics.ros.topics import DESCRIPTION_QOS

from .conftest import ArmStream
from ..processes import run_python

POLICIES = share_directory() / 'security' / 'policies'
# Parameters with which a node has all its topics.
PARAMETERS = {
    'feedforward': {
        'use_sim_time': True,
        'max_state_age': 0.0,
        'model_source': 'robot_description',
    },
    'gazebo_direct': {'use_sim_time': True},
    'simulator': {'publish_clock': True},
}
# The end points behind each rule of a policy; those of an action are in
# https://design.ros2.org/articles/actions.html.
_FEEDBACK = [f'/_action/{name}' for name in ('feedback', 'status')]
_GOALS = [f'/_action/{name}' for name in ('send_goal', 'cancel_goal', 'get_result')]
END_POINTS = {
    'publish': {'publisher': ['']},
    'subscribe': {'subscriber': ['']},
    'reply': {'service': ['']},
    'request': {'client': ['']},
    'execute': {'publisher': _FEEDBACK, 'service': _GOALS},
}


def allowed(enclave, node=None):
    """Return the end points that a policy allows a node: kind and resolved name."""
    node = node or enclave
    policy = ElementTree.parse(POLICIES / f'{enclave}.policy.xml').getroot()
    profile = policy.find(f"enclaves/enclave[@path='/{enclave}']/profiles/profile[@node='{node}']")
    space = profile.get('ns').rstrip('/')
    found = set()
    for group in profile:
        ((rule, verdict),) = group.attrib.items()
        assert verdict == 'ALLOW'
        for entry in group:
            name = entry.text.replace('~', node) if entry.text[0] == '~' else entry.text
            name = name if name.startswith('/') else f'{space}/{name}'
            for kind, parts in END_POINTS[rule].items():
                found |= {(kind, name + part) for part in parts}
    return found


def seen(probe, node, space='/'):
    """Return the end points that the graph shows for a node; none while the node is absent."""
    if (node, space) not in probe.get_node_names_and_namespaces():
        return set()
    return {
        (kind, name)
        for kind in ('publisher', 'subscriber', 'service', 'client')
        for name, _ in getattr(probe, f'get_{kind}_names_and_types_by_node')(node, space)
    }


def be_a_controller_manager(probe):
    """Take torques, and offer a controller manager's service; False without its messages."""
    probe.create_subscription(Float64MultiArray, 'feedforward/command', print, 1)
    try:
        from controller_manager_msgs.srv import ListControllers
    except ImportError:
        return False
    name = 'controller_manager/list_controllers'
    probe.create_service(ListControllers, name, lambda _, answer: answer)
    return True


@pytest.mark.parametrize('node', sorted([*NODE_NAMES, 'gazebo_direct']))
def test_a_policy_allows_exactly_what_the_node_has(node, launch, probe):
    description = probe.create_publisher(String, 'robot_description', DESCRIPTION_QOS)
    description.publish(String(data=(share_directory() / 'urdf' / 'fr3.urdf').read_text()))
    # With a second publisher, the feedforward node subscribes to its own command topic.
    probe.create_publisher(Float64MultiArray, 'feedforward/command', 1)
    policy, found = allowed(node), set()
    if not be_a_controller_manager(probe):  # then no node asks one
        policy = {one for one in policy if 'list_controllers' not in one[1]}
    if find_spec('control_msgs') is None:  # then no node has an action
        policy = {one for one in policy if '/_action/' not in one[1]}
    space = '/simulation' if node in ('simulator', 'gazebo_direct') else '/'

    def differences():
        """Return what the node has not shown of the policy, and what the policy lacks."""
        found.update(seen(probe, node, space))
        alike = {
            (one, pattern)
            for one in found
            for pattern in policy
            if one[0] == pattern[0] and fnmatchcase(one[1], pattern[1])
        }
        shown, named = zip(*alike) if alike else ((), ())
        return policy - set(named), found - set(shown)

    parameters = PARAMETERS[node]
    launch(f'{node}_node', **parameters)
    # A node asks who receives its torques once states have come.
    states = ArmStream(probe, load('fr3').joint_names, load('fr3').home)
    states.until(lambda: not differences()[0], f'all of {policy}')
    for _ in range(100):  # time for further end points
        probe.spin()
    assert differences() == (set(), set())


# The files that rcl looks for; only the middleware reads their contents.
KEYS = ['identity_ca.cert.pem', 'cert.pem', 'permissions_ca.cert.pem', 'key.pem']
KEYS += ['governance.p7s', 'permissions.p7s']


def test_enforced_security_that_cannot_be_had_is_one_sentence(tmp_path):
    for enclave in ('enclaves', 'enclaves/feedforward'):
        (tmp_path / enclave).mkdir()
        for name in KEYS:
            (tmp_path / enclave / name).write_text('none\n')
    words = ('-m', 'franka_dynamics.ros.feedforward_node', '--ros-args')
    status, _, errors = run_python(
        *words,
        *('--enclave', '/feedforward'),
        ROS_SECURITY_ENABLE='true',
        ROS_SECURITY_STRATEGY='Enforce',
        ROS_SECURITY_KEYSTORE=str(tmp_path),
    )
    assert (status, 'Traceback' in errors) == (2, False), errors
    assert errors.count('ROS starts no node: ') == 1
