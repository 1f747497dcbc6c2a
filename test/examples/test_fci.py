# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The FCI example over the real protocol, against franka-sim, seen from the robot's side.

The robot is `measured`: its tau_J includes the gravity torque that MuJoCo computes, as a real
robot's sensors do.
"""

from pathlib import Path
import signal
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('pylibfranka', reason="libfranka's bindings are not installed")

from franka_dynamics.arm import load
from franka_dynamics.control.default_gains import weak_gains
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import JointVectorError

from .. import scripts
from ..processes import background, TIMEOUT_S, until
from ..simulated_robot import FrankaSim, START

RATE_NM = 1.0  # 1000 N m/s in a cycle of 1 ms
# Of the motion of the fourth joint. Slow, because franka-sim's arm moves on between two states of
# a busy machine, and what moves fast then contradicts its velocity.
ANGLE, SECONDS, JOINT = 0.05, 2.0, 3


@pytest.fixture
def robot(tmp_path):
    """Return a simulated robot that ends with the test."""
    robot = FrankaSim(tmp_path, measured=True)
    yield robot
    robot.kill()


@pytest.fixture
def moving(robot, tmp_path):
    """Start the example, and wait until the robot is given torques."""
    words = ['--hand', 'none', '--joint', JOINT + 1, '--angle', ANGLE, '--duration', SECONDS]
    program = Path(__file__).with_name('recorded_fci.py')
    with background(program, tmp_path / 'cycles.npz', robot.address, *words) as process:
        until(
            lambda: robot.cycles >= 300,
            'torques reach the robot',
            process=process,
            said=lambda: process.stderr.read() if process.poll() is not None else '',
        )
        yield process


def assert_safe(torques):
    """Assert that the torque begins and ends at zero and changes within the rate."""
    np.testing.assert_allclose(torques[0], 0.0, rtol=0.0, atol=RATE_NM)
    np.testing.assert_allclose(torques[-1], 0.0, rtol=0.0, atol=0.0)
    assert np.abs(np.diff(torques, axis=0)).max() <= RATE_NM


def test_a_motion_is_fed_forward_and_ends_where_it_began(moving, robot, tmp_path):
    said, errors = moving.communicate(timeout=TIMEOUT_S)
    assert moving.returncode == 0, said + errors
    assert_safe(robot.torques())
    cycles = np.load(tmp_path / 'cycles.npz')
    q, dq, torque = cycles['q'], cycles['dq'], cycles['torque']
    # Two quintics from rest to rest, of half the duration each: out, and back.
    time = (cycles['time'] - cycles['start']) / (0.5 * SECONDS)
    s = np.where(time < 1.0, time, 2.0 - time)
    way, rate = ANGLE * np.eye(7)[JOINT], np.where(time < 1.0, 1.0, -1.0) / (0.5 * SECONDS)
    desired = cycles['q_start'] + np.outer(10 * s**3 - 15 * s**4 + 6 * s**5, way)
    velocity = np.outer((30 * s**2 - 60 * s**3 + 30 * s**4) * rate, way)
    acceleration = np.outer((60 * s - 180 * s**2 + 120 * s**3) * rate**2, way)
    arm = load('fr3', hand='none')
    model, (kp, kd) = NewtonEulerModel(arm), weak_gains(arm, 20.0)
    # The robot adds gravity itself. Each torque is compared with the state that it answers, so
    # late states do not matter; where a torque changes by the largest step, the rate limits it.
    expected = model.inverse_dynamics(q, dq, acceleration) - model.gravity(q)
    expected += kp * (desired - q) + kd * (velocity - dq)
    free = np.abs(np.diff(torque, axis=0, prepend=torque[:1])).max(axis=1) < 0.99 * RATE_NM
    compared = (0.0 < time) & (time < 2.0) & free
    assert compared.sum() > 100
    np.testing.assert_allclose(cycles['q_start'], START, rtol=0.0, atol=1e-3)
    np.testing.assert_allclose(torque[compared], expected[compared], rtol=0.0, atol=1e-9)
    assert float(said.split('the arm is ')[1].split()[0]) < 0.1 * ANGLE


def test_ctrl_c_brakes_and_ends_at_zero_torque(moving, robot):
    moving.send_signal(signal.SIGINT)
    said, errors = moving.communicate(timeout=TIMEOUT_S)
    assert moving.returncode == 1, errors
    assert 'they ended because interrupted' in said
    assert_safe(robot.torques())


def test_a_robot_that_is_gone_is_said_in_one_sentence(moving, robot):
    robot.kill()
    _, errors = moving.communicate(timeout=TIMEOUT_S)
    assert moving.returncode == 1
    assert errors.startswith('the robot or its connection ended the motion: ')
    assert 'Traceback' not in errors


class Motion:
    """A motion of libfranka whose arm rests; in one state of the motion a position is missing."""

    def __init__(self, arm, fails):
        self.home, self.fails, self.sent = arm.home, fails, [np.zeros(arm.n)]
        self.gravity = NewtonEulerModel(arm).gravity(arm.home)

    def readOnce(self):
        count = len(self.sent)
        time = SimpleNamespace(to_sec=lambda: 1e-3 * count)
        q = self.home[: 6 if count == self.fails else 7]
        effort = self.gravity + self.sent[-1]
        return SimpleNamespace(q=q, dq=np.zeros(7), tau_J=effort, time=time), None

    def writeOnce(self, command):
        self.sent.append(np.array(command.tau_J))


def test_after_an_exception_the_torque_ramps_to_zero(monkeypatch):
    arm, fails = load('fr3'), 1100
    motion = Motion(arm, fails)
    robot = SimpleNamespace(start_torque_control=lambda: motion)
    library = SimpleNamespace(Torques=lambda torque: SimpleNamespace(tau_J=torque))
    with scripts.loaded(scripts.ROOT / 'examples' / 'fci.py') as fci:
        monkeypatch.setattr(fci.signal, 'signal', lambda *_: None)
        controller = fci.Feedforward(arm, 'fci', kp=(600.0,) * 4 + (100.0,) * 3, kd=(10.0,) * 7)
        loop = fci.TorqueLoop(library, robot, controller)
        loop.move(0.05 * np.eye(7)[3], 0.6)
    torques = np.array(motion.sent)
    assert isinstance(loop.failure, JointVectorError)
    assert np.abs(torques[fails - 1]).max() > 2.0 * RATE_NM  # there is something to ramp down
    assert_safe(torques)
    assert len(torques) < fails + 100
