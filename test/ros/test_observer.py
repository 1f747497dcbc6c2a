# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What an observer finds, and what `node state` tells of it, alone and beside running nodes."""

import json

import numpy as np
import pytest
import rclpy
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros import observer
from franka_dynamics.ros.observer import at_fault, NodeView, Observer, resolved, Status

from .conftest import LOCKSTEP, PATIENT
from ..messages import stamp
from ..processes import TIMEOUT_S

ARM = load('fer', prefix='left_')
NAMED = {'robot_type': 'fer', 'arm_prefix': 'left_'}


@pytest.fixture
def left(launch):
    """Start a FER and its node in a namespace."""
    remap = {'__ns': '/left'}
    # A quarter of a real arm's rate, to save processor time.
    launch('simulator_node', **LOCKSTEP | NAMED | {'lockstep_rate': 250.0, 'remaps': remap})
    remaps = remap | PATIENT['remaps']
    launch('feedforward_node', **PATIENT | NAMED | {'remaps': remaps, 'target': 'mujoco'})


def test_json_of_an_arm_in_a_namespace_has_its_torques_and_limits(
    left, probe, capsys, monkeypatch
):
    # As where a busy machine keeps diagnostics back for longer than a node may be silent: `state`
    # waits until it hears the node again.
    monkeypatch.setattr(observer, 'SILENT_AFTER_S', 0.05)
    states = probe.collect(JointState, 'left/joint_states', reliable=True, depth=8000)
    probe.until_status('left/feedforward', state='running')
    asked = ['node', 'state', '--json', f'--timeout={TIMEOUT_S}', '--node=/left/feedforward']
    found = {}

    def asked_about_states_that_came():
        assert main(asked) == 0
        answer = json.loads(capsys.readouterr().out)
        nodes = {one['node']: one for one in answer['nodes']}
        torques = nodes['left/feedforward']['torques']
        stamps = [torques[term]['stamp'] for term in ('gravity', 'coriolis')]
        probe.until(lambda: states and stamp(states[-1]) > max(stamps), 'a later state')
        found.update(answer=answer, nodes=nodes)
        return all(min(abs(stamp(one) - at) for one in states) < 1e-4 for at in stamps)

    probe.until(asked_about_states_that_came, 'torques of a state that was not lost')
    answer, nodes = found['answer'], found['nodes']
    assert answer['state'] == 'active'
    node = nodes['left/feedforward']
    assert node['torque_limits'] == dict(zip(ARM.joint_names, ARM.limit('effort')))
    # The rate of received states: on a busy machine some are lost.
    assert 0.0 < node['statuses']['Joint states']['values']['rate [Hz]'] < 1001.0
    assert node['statuses']['Joint states']['values']['effort'] == 'measured'
    assert node['statuses']['Command']['values']['mode'] == 'running'
    assert node['statuses']['Command']['values']['rate [Hz]'] > 0.0
    # A torque that comes late lets the arm yield: the models compute from the same state.
    model, of_state = NewtonEulerModel(ARM), ('position', 'velocity')
    for term, arguments in (('gravity', of_state[:1]), ('coriolis', of_state)):
        shown = node['torques'][term]
        state = min(states, key=lambda one: abs(stamp(one) - shown['stamp']))
        expected = getattr(model, term)(*(np.array(getattr(state, one)) for one in arguments))
        actual = [shown['effort'][joint] for joint in ARM.joint_names]
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)


def test_a_views_json_has_null_for_unknown_and_a_silent_node_and_an_error_are_told():
    def view(heard, level='OK', message='as it should be'):
        one = NodeView('left/feedforward')
        values = {'published': '500', 'latency p50 [us]': '103.5', 'age [ms]': 'nan'}
        one.take(Status(one.name, 'Command', level, message, values), heard)
        return one

    shown = view(10.0)
    shown.torques['gravity'] = JointState(name=('a', 'b'), effort=(1.5, float('nan')))
    data = json.loads(json.dumps(shown.as_dict(10.5), allow_nan=False))
    assert data['torques']['gravity']['effort'] == {'a': 1.5, 'b': None}
    values = data['statuses']['Command']['values']
    assert values == {'published': 500, 'latency p50 [us]': 103.5, 'age [ms]': None}
    assert data['silent'] is False
    broken = view(10.0, 'ERROR', 'somebody else commands')
    assert at_fault([shown, broken, view(1.0)], 10.0) == [
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
    assert resolved(name, present, 'node') == full


def test_a_topic_of_a_nodes_own_name_is_not_taken_for_the_node(make_node):
    def other(**options):
        return rclpy.create_node('feedforward', namespace='/sim/left', **options)

    node = make_node(other)
    # The feedforward node has a topic of its own name.
    node.create_publisher(JointState, '~/feedforward', 1)
    node.create_publisher(JointState, 'joint_states', 1)
    with Observer('finder') as observer:
        found = observer.find(TIMEOUT_S, 'feedforward', ['joint_states'])
    assert found == (LEFT, ['/sim/left/joint_states'])
