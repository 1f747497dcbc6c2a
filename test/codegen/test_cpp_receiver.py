# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The generated C++ receiver: publishers, refused messages, and time-outs."""

import math

import numpy as np
import pytest

from franka_dynamics.codegen.cpp_package import cpp_package
from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings

from .cpp_core import ATOL, compiled, needs_compiler, PAYLOAD, Receiver
from .test_cpp_package import ARMS

pytestmark = needs_compiler
ARM = ARMS['bare']
EFFORT = ARM.limit('effort')
STILL = np.zeros(ARM.n)
MUJOCO, FCI = Settings(target='mujoco'), Settings()
STEP = 1.0  # N m in a cycle, the rate limit of the FR3
WITHIN = 48  # cycles, safely within the time-out; three more are safely beyond it


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


CEASED = 500  # the cycle after a publisher's last message


def ceasing(library, settings, seconds):
    """
    Simulate a publisher that accelerates the arm and is gone in mid-motion.

    Return the order of the states, and state, torque, q and dq of each cycle.
    """
    carried = settings.target == 'fci'
    payload = settings.payload_inertia()
    simulated = ArmSimulation(
        ARM,
        SimulationSettings(gravity_compensation=carried, payload=payload, brake_release_after=0.0),
    )
    model = PinocchioModel(ARM.with_payload(payload))
    receiver = Receiver(library, settings)
    rows = []
    for k in range(round(1e3 * seconds)):
        reading = simulated.read()
        q, dq = reading.position, reading.velocity
        if k < CEASED:
            torque = model.inverse_dynamics(q, dq, np.full(ARM.n, 2.0 if k >= 250 else 0.0))
            receiver.receive(torque - (model.gravity(q) if carried else 0.0))
        torque, state = receiver.cycle(q, dq)
        simulated.step(torque)
        rows.append((state, torque, q, dq))
    states, torques, q, dq = ([row[k] for row in rows] for k in range(4))
    assert set(states[: CEASED + WITHIN]) == {'following'}
    assert np.abs(dq[CEASED]).max() > 0.4
    assert np.abs(np.diff(torques, axis=0)).max() <= STEP + ATOL
    order = [state for k, state in enumerate(states) if k == 0 or state != states[k - 1]]
    return order, states, *map(np.array, (torques, q, dq))


def test_an_arm_that_nobody_else_carries_is_braked_and_held(library):
    settings = Settings(payload=PAYLOAD, target='mujoco')
    order, states, torque, q, dq = ceasing(library, settings, 3.0)
    assert order == ['following', 'braking', 'holding']
    held = states.index('holding')
    assert held < CEASED + WITHIN + 400
    assert np.abs(dq[held:]).max() < 0.04  # what counts as rest
    assert np.abs(q[-1] - q[held]).max() < 0.01  # in two seconds
    model = PinocchioModel(ARM.with_payload(settings.payload_inertia()))
    np.testing.assert_allclose(torque[-1], model.gravity(q[-1]), rtol=0.0, atol=0.1)


def test_an_arm_that_carries_itself_is_braked_and_let_go(library):
    order, states, torque, _, dq = ceasing(library, FCI, 1.5)
    assert order == ['following', 'braking', 'stopped']
    stopped = states.index('stopped')
    assert stopped < CEASED + WITHIN + 400
    assert np.abs(dq[stopped:]).max() < 0.06 and not torque[stopped + 100 :].any()
