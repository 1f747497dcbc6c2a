# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters changed while the node commands: validated, whole, without a step."""

import numpy as np
import pytest
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter

from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from .conftest import FER, FER_GRAVITY

NODE = 'feedforward'
LOAD = [3.0, 0.0, 0.0, 0.05, 3e-3, 0.0, 0.0, 3e-3, 0.0, 3e-3]
LOADED = NewtonEulerModel(
    FER.with_payload(Settings(payload=tuple(LOAD)).payload_inertia())
).gravity(FER.home)
# After the end of the ramp only rounding remains.
ATOL_NM = 1e-12


@pytest.fixture(scope='module')
def world(node_world):
    world = node_world(target='mujoco')
    world.arm.until(lambda: len(world.commands) > 50, 'commands')
    return world


def settle(world, expected):
    """Publish states until the command is the expected torque."""
    world.arm.until(
        lambda: np.allclose(world.commands[-1].data, expected, rtol=0, atol=ATOL_NM),
        f'a command of {expected}',
    )


def test_a_payload_put_on_and_taken_off_leaves_torques_the_same(world):
    settle(world, FER_GRAVITY)
    before = list(world.commands[-1].data)
    assert world.probe.set_parameters(NODE, payload=LOAD).successful
    settle(world, LOADED)
    assert world.probe.set_parameters(NODE, payload=[0.0] * 10).successful
    settle(world, FER_GRAVITY)
    world.arm.send(100)
    assert list(world.commands[-1].data) == before


@pytest.mark.parametrize(
    ('values', 'reason'),
    [
        ({'scale': 0.5, 'kd': [-1.0]}, 'kd must be within 0'),
        ({'target': 'fci', 'terms.friction': True}, 'target'),
        ({'robot_type': 'fr3'}, 'read-only'),
        ({'kp': [250.0] * 7}, 'swing'),
        ({'terms.no_such': 1.0}, 'undeclared'),
        ({'target': 'x' * 10**6}, 'target'),
        ({'scale': np.nan}, 'scale'),
        ({'payload': [np.nan] * 10}, 'payload'),
        ({'scale': True}, 'DOUBLE'),
    ],
    ids=lambda one: ' '.join(one) if isinstance(one, dict) else one,
)
def test_of_values_at_fault_none_is_taken_and_the_reason_is_told(world, values, reason):
    settle(world, FER_GRAVITY)
    results = [world.probe.set_parameters(NODE, **values)]
    if len(values) == 1:
        ((name, value),) = values.items()
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()]
        )
        results += world.probe.call(SetParameters, f'{NODE}/set_parameters', request).results
    for result in results:
        assert not result.successful and reason in result.reason
    world.arm.send(100)
    np.testing.assert_allclose(world.commands[-1].data, FER_GRAVITY, rtol=0, atol=ATOL_NM)


def test_changes_that_need_each_other_are_taken_together(world):
    # Stiffness without damping would swing; with it, it may even be late on a busy machine.
    stiff = {'kp': [250.0] * 4 + [25.0, 25.0, 5.0]}
    assert not world.probe.set_parameters(NODE, **stiff).successful
    assert world.probe.set_parameters(NODE, **stiff, kd=[4.0] * 4 + [0.5, 0.5, 0.1]).successful
    assert world.probe.set_parameters(NODE, kp=[0.0], kd=[0.0]).successful
    settle(world, FER_GRAVITY)
