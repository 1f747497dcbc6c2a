# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The generated C++ receiver: publishers, refused messages, and time-outs."""

import math

import numpy as np
import pytest

from franka_dynamics.codegen.cpp_package import cpp_package
from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel

from .cpp_core import ATOL, compiled, needs_compiler, Receiver
from .test_cpp_package import ARMS

pytestmark = needs_compiler
ARM = ARMS['bare']
EFFORT = ARM.limit('effort')
STILL = np.zeros(ARM.n)
MUJOCO, FCI = Settings(target='mujoco'), Settings()
STEP = 1.0  # N m in a cycle, the rate limit of the FR3


@pytest.fixture(scope='module')
def library(tmp_path_factory):
    return compiled(cpp_package(ARM, 'my_arm'), tmp_path_factory.mktemp('receiver'))


def cycles(receiver, count, *, torque=None, publisher=1, q=ARM.home, dq=STILL):
    """Run cycles, each after a message if a torque is given; return torques and states."""
    rows = []
    for _ in range(count):
        if torque is not None:
            assert receiver.receive(torque, publisher) == 'heard'
        rows.append(receiver.cycle(q, dq))
    return np.array([row[0] for row in rows]), [row[1] for row in rows]


@pytest.mark.parametrize('command', ['torque', 'total_torque'])
def test_torques_are_followed_with_the_terms_or_without(library, command):
    dq, given = np.full(ARM.n, 0.3), np.linspace(-5.0, 5.0, ARM.n)
    torques, states = cycles(Receiver(library, MUJOCO, command), 300, torque=given, dq=dq)
    assert set(states) == {'following'}
    model = PinocchioModel(ARM)
    terms = model.gravity(ARM.home) + model.coriolis(ARM.home, dq)
    expected = given + (terms if command == 'torque' else 0.0)
    np.testing.assert_allclose(torques[-1], expected, rtol=0.0, atol=ATOL)
    # The torque goes from the arm's gravity torque to the commanded one, within the rate limit.
    assert np.abs(torques[0] - model.gravity(ARM.home)).max() <= STEP + ATOL
    assert np.abs(np.diff(torques, axis=0)).max() <= STEP + ATOL


def test_a_restart_forgets_the_last_torque_and_its_publisher(library):
    receiver = Receiver(library, FCI)
    cycles(receiver, 10, torque=np.full(ARM.n, 2.0), publisher=1)
    assert receiver.receive(np.full(ARM.n, 3.0), 1) == 'heard'
    receiver.restart()
    torque, state = receiver.cycle(ARM.home, STILL)
    assert np.isnan(torque).all() and state == 'waiting'
    assert receiver.receive(np.full(ARM.n, -2.0), 2) == 'heard'


UPPER, VELOCITY, ACCELERATION = (
    ARM.limit(name)[0] for name in ('upper', 'velocity', 'acceleration')
)


@pytest.mark.parametrize(
    ('command', 'index', 'value', 'answer'),
    [
        # As the receiver in Python (test/control/test_receiver.py).
        ('total_torque', 0, EFFORT[0], 'heard'),
        ('total_torque', 0, EFFORT[0] + 1e-9, 'out of bounds'),
        ('total_torque', 6, -EFFORT[6] - 1e-9, 'out of bounds'),
        ('total_torque', 6, -1e308, 'out of bounds'),
        ('total_torque', 3, math.nan, 'not finite'),
        ('total_torque', 3, math.inf, 'not finite'),
        ('motion', 0, UPPER + 0.19, 'heard'),
        ('motion', 0, UPPER + 0.21, 'out of bounds'),
        ('motion', ARM.n, 10.0 * VELOCITY, 'heard'),
        ('motion', ARM.n, 10.1 * VELOCITY, 'out of bounds'),
        ('motion', 2 * ARM.n, -10.1 * ACCELERATION, 'out of bounds'),
        ('motion', 2 * ARM.n, 1e308, 'out of bounds'),
    ],
)
def test_a_command_that_cannot_be_meant_is_refused(library, command, index, value, answer):
    receiver = Receiver(library, FCI, command)
    values = np.concatenate([ARM.home, STILL, STILL]) if command == 'motion' else STILL.copy()
    values[index] = value
    assert receiver.receive(values) == answer
    assert receiver.receive(values[:-1]) == 'wrong size'
    assert receiver.receive(np.append(values, 0.0)) == 'wrong size'


@pytest.mark.parametrize('elapsed', [math.nan, -1.0, 0.0])
def test_without_time_passing_the_torque_stays(library, elapsed):
    receiver = Receiver(library, MUJOCO)
    torques, _ = cycles(receiver, 300, torque=np.full(ARM.n, 2.0))
    receiver.receive(np.full(ARM.n, 5.0))
    torque, _ = receiver.cycle(ARM.home, STILL, elapsed)
    np.testing.assert_array_equal(torque, torques[-1])
    cycles(receiver, 20, torque=np.full(ARM.n, 5.0))
    for _ in range(90):  # in silence too
        last, state = receiver.cycle(ARM.home, STILL)
    assert state == 'holding'
    torque, _ = receiver.cycle(ARM.home, STILL, elapsed)
    np.testing.assert_array_equal(torque, last)
