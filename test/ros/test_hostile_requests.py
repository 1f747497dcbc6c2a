# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nonsensical transitions and parameters, sent over DDS to a running node."""

from lifecycle_msgs.srv import ChangeState
import numpy as np
import pytest
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import SetParameters, SetParametersAtomically

NODE = 'feedforward'
SERVICES = {
    'set_parameters': SetParameters,
    'set_parameters_atomically': SetParametersAtomically,
}


@pytest.fixture(scope='module')
def world(node_world):
    world = node_world(target='mujoco')
    world.ask = lambda service, **fields: world.probe.call(
        SERVICES[service], f'{NODE}/{service}', SERVICES[service].Request(**fields)
    )
    return world


def test_a_transition_that_there_is_not_ends_nothing(world):
    world.commands_come()
    client = world.probe.create_client(ChangeState, f'{NODE}/change_state')
    world.probe.until(client.service_is_ready, 'the service')
    request = ChangeState.Request()
    request.transition.id = 255
    client.call_async(request)  # rclpy answers nothing
    world.probe.until(lambda: 'could not be read' in world.node.text, 'the request')
    assert world.probe.lifecycle_state(NODE) == 'active'
    world.commands_come()


def entry(name, kind, **values):
    return ParameterMessage(name=name, value=ParameterValue(type=kind, **values))


@pytest.mark.parametrize(
    'parameter',
    [
        entry('terms.no_such', 3, double_value=1.0),
        entry('target', 4, string_value='x' * 10**6),
        entry('scale', 3, double_value=np.nan),
        entry('payload', 8, double_array_value=[np.nan] * 10),
        entry('scale', 1, bool_value=True),
    ],
    ids=lambda parameter: f'{parameter.name[:9]} {parameter.value.type}',
)
def test_parameters_without_sense_are_refused_with_a_reason(world, parameter):
    one_by_one = world.ask('set_parameters', parameters=[parameter]).results
    together = world.ask('set_parameters_atomically', parameters=[parameter]).result
    for result in (*one_by_one, together):
        assert not result.successful
        assert result.reason
