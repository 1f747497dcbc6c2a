# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nonsensical bytes, transitions and parameters, sent over DDS to a running node."""

import os
import random

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
import pytest
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)

NODE = 'feedforward'
# `make fuzz` sends more requests, others each time.
FUZZ = os.environ.get('FRANKA_DYNAMICS_FUZZ')
REQUESTS = int(FUZZ or 300) // 10
LONGEST_REASON = 600
MEGABYTE = 'x' * 10**6
ENDING = {
    Transition.TRANSITION_UNCONFIGURED_SHUTDOWN,
    Transition.TRANSITION_INACTIVE_SHUTDOWN,
    Transition.TRANSITION_ACTIVE_SHUTDOWN,
}


SERVICES = {
    'change_state': ChangeState,
    'set_parameters': SetParameters,
    'set_parameters_atomically': SetParametersAtomically,
    'describe_parameters': DescribeParameters,
    'get_parameters': GetParameters,
    'get_parameter_types': GetParameterTypes,
    'list_parameters': ListParameters,
}


@pytest.fixture(scope='module')
def world(node_world):
    world = node_world(target='mujoco')
    world.ask = lambda service, **fields: world.probe.call(
        SERVICES[service], f'{NODE}/{service}', SERVICES[service].Request(**fields)
    )
    return world


@pytest.fixture(autouse=True)
def lives(world):
    """Require that the node is still active and answers states with torques."""
    world.commands_come()
    yield
    assert world.node.running
    # And numpy has printed no warning of an invalid value.
    assert not any(word in world.node.text for word in ('Traceback', 'RuntimeWarning'))
    world.commands_come()


def test_transitions_that_cannot_be_made_are_refused(world):
    possible = ENDING | {Transition.TRANSITION_DEACTIVATE}
    numbers = [number for number in range(256) if number not in possible]
    for number, label in (*((number, '') for number in numbers), (0, MEGABYTE), (128, MEGABYTE)):
        assert not world.ask('change_state', transition=Transition(id=number, label=label)).success
    assert world.probe.lifecycle_state(NODE) == 'active'
    assert 'a request was refused: ' in world.node.text
    assert MEGABYTE not in world.node.text


def entry(name, kind, **values):
    return ParameterMessage(name=name, value=ParameterValue(type=kind, **values))


@pytest.mark.parametrize(
    'parameter',
    [
        entry('scale', 99),
        entry('scale', 0),
        entry('terms.gravity', 0),
        entry(MEGABYTE, 3),
        entry('target', 4, string_value=MEGABYTE),
        entry('', 3, double_value=1.0),
        entry('payload', 8, double_array_value=[np.nan] * 10),
        entry('scale', 1, bool_value=True),
    ],
    ids=lambda parameter: f'{parameter.name[:9]} {parameter.value.type}',
)
def test_parameters_without_sense_are_refused_in_a_sentence(world, parameter):
    one_by_one = world.ask('set_parameters', parameters=[parameter]).results
    together = world.ask('set_parameters_atomically', parameters=[parameter]).result
    for result in (*one_by_one, together):
        assert not result.successful
        assert 0 < len(result.reason) < LONGEST_REASON


def test_a_request_of_too_many_parameters_is_refused_entry_by_entry(world):
    parameters = [entry('scale', 3, double_value=0.5 + k / 4000) for k in range(1200)]
    results = world.ask('set_parameters', parameters=parameters).results
    assert [result.successful for result in results] == [False] * 1200


def random_fields(rng):
    """Return nonsensical values of the fields that requests of all services have."""
    name = rng.choice(['', 'scale', 'kp', 'payload', 'target', 'no.such', 'ü' * 50, 'robot_typ'])
    parameter = entry(
        name,
        rng.randrange(256),
        double_value=rng.choice([0.0, -1.0, np.nan, 1e300]),
        string_value=name,
        integer_value=rng.randrange(-(2**63), 2**63),
        double_array_value=[rng.uniform(-1e9, 1e9)] * rng.randrange(12),
    )
    transition = Transition(
        id=rng.choice([k for k in range(256) if k not in ENDING]),
        label=rng.choice(['', '', 'x', 'activate', 'transition_error']),
    )
    return {
        'transition': transition,
        'parameters': [parameter] * rng.randrange(4),
        'names': [name, name],
        'prefixes': [name],
        'depth': rng.randrange(2**64),
    }


def test_any_sequence_of_requests_is_answered(world):
    rng = random.Random() if FUZZ else random.Random(16)
    for _ in range(REQUESTS):
        service, fields = rng.choice(list(SERVICES)), random_fields(rng)
        has = SERVICES[service].Request.get_fields_and_field_types()
        given = {field: value for field, value in fields.items() if field in has}
        assert world.ask(service, **given) is not None, given
        assert world.node.running, given
        if world.probe.lifecycle_state(NODE) == 'inactive':
            assert world.probe.transition(NODE, Transition.TRANSITION_ACTIVATE)
    # Parameters that were set by chance are set back.
    before = {'payload': [0.0] * 10, 'kp': [0.0], 'kd': [0.0], 'scale': 1.0}
    assert world.probe.set_parameters(NODE, **before).successful
