# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The generated C++ core, compiled by g++, against the Python node's own control path."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.cli.main import main
from franka_dynamics.codegen.cpp_package import cpp_package
from franka_dynamics.control.limits import TorqueLimiter
from franka_dynamics.control.settings import Settings, Terms
from franka_dynamics.control.terms import TermModel
from franka_dynamics.errors import DescriptionError, SettingsError
from franka_dynamics.parameter_schema import specs

from .cpp_core import ATOL, compiled, needs_compiler, packed

STATES = 8000
# The largest that a number may be; the C++ package states it by itself.
RANGES = {spec.name: spec.maximum for name in ('torque', 'motion') for spec in specs(name)}
PAYLOAD = (1.2, 0.01, -0.02, 0.06, 0.004, 0.0005, -0.0002, 0.005, 0.0003, 0.003)
INCLINED = (2.0, -3.0, -9.12)


@pytest.fixture(scope='module', params=['fer', 'fr3'])
def built(request, tmp_path_factory):
    """Generate a package by the command and compile a caller of its core."""
    folder = tmp_path_factory.mktemp('cpp')
    assert (
        main(['codegen', '--arm', request.param, '--package', 'my_arm', '--output', str(folder)])
        == 0
    )
    return load(request.param), compiled({}, folder / 'my_arm')


SETTINGS = {
    'fci': Settings(),
    'fci_inclined_unknown_payload': Settings(
        gravity_vector=INCLINED, payload=PAYLOAD, payload_known_to_robot=False
    ),
    'fci_known_payload': Settings(payload=PAYLOAD),
    'mujoco_payload': Settings(target='mujoco', payload=PAYLOAD, gravity_vector=INCLINED),
}


@needs_compiler
@pytest.mark.parametrize('name', SETTINGS)
def test_the_compiled_controller_has_the_terms_of_the_node(built, name):
    arm, library = built
    settings, count = SETTINGS[name], STATES // len(SETTINGS)
    states = sample_states(arm, count, seed=3)
    found = np.full((4, count, arm.n), np.nan)
    library.terms(count, packed(settings), *states, *found)
    model = TermModel(arm, settings)
    for i, (q, dq, ddq) in enumerate(zip(*states)):
        gravity = model.gravity(q)
        expected = np.stack(
            [
                gravity,
                model.gravity_left_to_us(q, gravity),
                model.coriolis(q, dq),
                model.inertia(q, ddq),
            ]
        )
        np.testing.assert_allclose(found[:, i], expected, rtol=0.0, atol=ATOL)


@needs_compiler
def test_the_compiled_limiter_gives_the_nodes_torques_bit_by_bit(built):
    arm, library = built
    rng = np.random.default_rng(5)
    desired, previous = rng.uniform(-120.0, 120.0, (2, 5000, arm.n))
    # Half of them near to what was before, so that none, one or both limits cut.
    desired[::2] = previous[::2] + rng.uniform(-2.0, 2.0, desired[::2].shape)
    elapsed = rng.choice([-1.0, 0.0, 1e-4, 1e-3, 0.5], 5000)
    found = np.empty_like(desired)
    library.limits(len(desired), desired, previous, elapsed, found)
    limiter = TorqueLimiter(arm.limit('effort'), arm.limit('effort_rate'))
    expected = [limiter.limit(*row).torque for row in zip(desired, previous, elapsed)]
    np.testing.assert_array_equal(found, expected)


@needs_compiler
@pytest.mark.parametrize(
    ('joint', 'value', 'expected'), [(2, np.nan, 2), (0, np.inf, 2), (3, 0.5, 3), (None, 0.0, 0)]
)
def test_given_a_state_when_not_to_be_trusted_then_no_torque(built, joint, value, expected):
    arm, library = built
    q = arm.home.copy()
    if joint is not None:
        q[joint] = value
    # Outcome: command 0, silent 1, not_finite 2, out_of_range 3; joint 4 never gets to 0.5 rad.
    assert library.outcome(q, np.zeros(arm.n)) == expected


@needs_compiler
@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'scale': RANGES['scale']}, None),
        ({'scale': RANGES['scale'] + 1e-9}, b'scale must be within 0 and 1'),
        ({'kp': (-1.0,)}, b'kp and kd must be'),
        ({'gravity_vector': (0.0, 0.0, -1.6)}, b'the target compensates gravity itself'),
        ({'payload': (-1.0, *[0.0] * 9)}, b'a mass cannot be negative'),
        ({'payload': (0.0, 0.1, *[0.0] * 8)}, b'payload has no mass'),
        ({'payload': (1.0, 0, 0, 0, 1.0, 0, 0, 0.1, 0, 0.1)}, b'belongs to no real body'),
        ({'payload': (float('nan'), *[0.0] * 9)}, b'ten finite numbers'),
        ({'payload': (5.0, *[0.0] * 9)}, b'more than the rated load'),
        ({'payload': (5.0, *[0.0] * 9), 'max_payload': 6.0}, None),
        ({'payload': (1.0, 60.0, *[0.0] * 8)}, b'are these millimetres'),
        ({'kp': (1000.0,)}, b'25 and 3 times the joint'),
        ({'max_tracking_error': (-1.0,)}, b'max_tracking_error must not be negative'),
        ({'terms': Terms(friction=True)}, (b'compensates friction', b'had no friction model')),
        ({'ramp_time': RANGES['ramp_time']}, None),
        ({'ramp_time': RANGES['ramp_time'] + 1e-9}, b'ramp_time must be within'),
        ({'payload': PAYLOAD}, None),
    ],
)
def test_impossible_settings_are_refused_in_one_sentence(built, change, message):
    arm, library = built
    answer = library.refusal(packed(replace(Settings(), **change)))
    if message is None:
        assert answer is None
    else:
        messages = message if isinstance(message, tuple) else (message,)
        assert any(text in answer for text in messages)
    with pytest.raises(SettingsError) if message else nullcontext():  # and so says the node
        replace(Settings(), **change).validate(arm)


@pytest.mark.parametrize('name', ['My_arm', 'a__b'])
def test_a_package_name_that_ros_does_not_take_is_refused(name):
    with pytest.raises(DescriptionError, match='cannot be the name of a ROS package'):
        cpp_package(load('fer'), name)


def test_an_arm_without_torque_limits_is_refused_by_joint():
    with pytest.raises(DescriptionError, match='joint1 has no torque limit'):
        cpp_package(load('scemi'), 'scemi')
