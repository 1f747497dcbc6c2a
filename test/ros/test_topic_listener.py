# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a listener finds, what `node state` tells of it, and the live view of a system."""

import json

import numpy as np
import pytest
import rclpy
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.report.json_types import json_text
from franka_dynamics.ros import status
from franka_dynamics.ros.live_view import LiveView
from franka_dynamics.ros.status import fault_sentences, NodeSnapshot, NodeStatus
from franka_dynamics.ros.topic_listener import resolve_name, TopicListener
from franka_dynamics.view.scene import TorqueColumn

from .conftest import FER, FER_GRAVITY, LOCKSTEP, PATIENT
from ..processes import TIMEOUT_S

ARM = load('fer', prefix='left_')
NAMED = {'robot_type': 'fer', 'arm_prefix': 'left_'}


def test_json_of_an_arm_in_a_namespace_has_its_torques_and_limits(
    launch, probe, capsys, monkeypatch
):
    # Often a node was silent for longer than this: then `state` waits until it is heard again.
    # Both nodes, which speak once per second, must be heard within it at once.
    monkeypatch.setattr(status, 'SILENT_AFTER_S', 0.6)
    remap = {'__ns': '/left'}
    launch('simulator_node', **LOCKSTEP | NAMED, remaps=remap)
    more = {'remaps': remap | PATIENT['remaps'], 'target': 'mujoco', 'kp': [-1.0]}
    launch('feedforward_node', **PATIENT | NAMED | more)
    probe.until_status('left/feedforward', state='running')
    asked = ['node', 'state', '--json', f'--timeout={TIMEOUT_S}', '--node=/left/feedforward']
    expected, answer, node = NewtonEulerModel(ARM).gravity(ARM.home), {}, {}

    def told():
        assert main(asked) == 0
        answer.update(json.loads(capsys.readouterr().out))
        node.update(*(one for one in answer['nodes'] if one['node'] == 'left/feedforward'))
        gravity = node['torques']['gravity']['effort']
        actual = [gravity[joint] for joint in ARM.joint_names]
        return np.allclose(actual, expected, rtol=0, atol=1e-6)

    probe.until(told, 'the torque that holds')
    assert answer['state'] == 'active'
    assert node['torque_limits'] == dict(zip(ARM.joint_names, ARM.limit('effort')))
    # The rate of received states: on a busy machine some are lost.
    assert 0.0 < node['statuses']['Joint states']['values']['rate [Hz]'] < 1001.0
    assert node['statuses']['Joint states']['values']['effort'] == 'measured'
    assert node['statuses']['Command']['values']['state'] == 'running'
    assert node['statuses']['Command']['values']['rate [Hz]'] > 0.0


def test_a_views_json_has_null_for_unknown_and_a_silent_node_and_an_error_are_told():
    def view(heard, level='OK', message='as it should be'):
        one = NodeSnapshot('left/feedforward')
        values = {'published': '500', 'latency p50 [us]': '103.5', 'age [ms]': 'nan'}
        one.store(NodeStatus(one.name, 'Command', level, message, values), heard)
        return one

    shown = view(10.0)
    shown.torques['gravity'] = JointState(name=('a', 'b'), effort=(1.5, float('nan')))
    data = json.loads(json_text(shown.as_dict(10.5)))
    assert data['torques']['gravity']['effort'] == {'a': 1.5, 'b': None}
    values = data['statuses']['Command']['values']
    assert values == {'published': 500, 'latency p50 [us]': 103.5, 'age [ms]': None}
    assert data['silent'] is False
    broken = view(10.0, 'ERROR', 'somebody else commands')
    assert fault_sentences([shown, broken, view(1.0)], 10.0) == [
        'left/feedforward: Command: somebody else commands',
        'left/feedforward has been silent for 9.0 s.',
    ]


LEFT, RIGHT, ROOT = '/sim/left/feedforward', '/sim/right/feedforward', '/feedforward'


@pytest.mark.parametrize(
    ('name', 'present', 'full'),
    [
        ('feedforward', {LEFT}, LEFT),
        ('feedforward', {LEFT, ROOT}, ROOT),
        ('feedforward', set(), ROOT),
        ('feedforward', {'/feedforward_of_another'}, ROOT),
        ('left/feedforward', {LEFT, RIGHT}, LEFT),
        (RIGHT, {LEFT}, RIGHT),
    ],
)
def test_a_name_is_that_of_the_root_namespace_or_of_the_only_other_one(name, present, full):
    assert resolve_name(name, present, 'node') == full


def test_a_topic_of_a_nodes_own_name_is_not_taken_for_the_node(make_node):
    def other(**options):
        return rclpy.create_node('feedforward', namespace='/sim/left', **options)

    node = make_node(other)
    # The feedforward node has a topic of its own name.
    node.create_publisher(JointState, '~/feedforward', 1)
    node.create_publisher(JointState, 'joint_states', 1)
    with TopicListener('finder') as listener:
        found = listener.find(TIMEOUT_S, 'feedforward', ['joint_states'])
    assert found == (LEFT, ['/sim/left/joint_states'])


def test_an_environment_in_which_ros_starts_nothing_is_named(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', 'lab')
    with pytest.raises(SettingsError, match='ROS_DOMAIN_ID'):
        TopicListener('anything')


ATOL_NM = 1e-12  # two formulations: 2e-14 measured


def test_states_give_our_models_gravity_and_a_nodes_terms_are_taken_by_name(arm, probe):
    publisher = probe.create_publisher(JointState, 'feedforward/external_torque', 1)
    torque, seen = np.arange(7.0), []
    term = JointState(name=list(FER.joint_names)[::-1], effort=list(torque[::-1]))

    def shown(name, with_term):
        arm.send(2, effort=[1.0] * 7)  # all zeros would be no effort
        if with_term:
            term.header.stamp = arm.message().header.stamp
            publisher.publish(term)
        seen.append(view.read())
        return seen[-1] is not None and name in seen[-1].torques

    with LiveView(FER, 'joint_states', 'feedforward') as view:
        arm.wait_for_listener()
        probe.until(lambda: shown(TorqueColumn.GRAVITY, with_term=False), 'a state')
        state = seen[-1]
        np.testing.assert_allclose(state.q, FER.home, rtol=0.0, atol=0.0)
        np.testing.assert_allclose(
            state.torques[TorqueColumn.GRAVITY], FER_GRAVITY, rtol=0.0, atol=ATOL_NM
        )
        assert (
            TorqueColumn.MEASURED in state.torques and TorqueColumn.EXTERNAL not in state.torques
        )
        assert state.time >= 0.0
        probe.until(lambda: shown(TorqueColumn.EXTERNAL, with_term=True), 'the external torque')
    np.testing.assert_array_equal(seen[-1].torques[TorqueColumn.EXTERNAL], torque)
