# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The FCI example over the real protocol, against franka-sim, seen from the robot's side.

The robot is `measured`: its tau_J includes the gravity torque that MuJoCo computes, as a real
robot's sensors do.
"""

import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('pylibfranka', reason="libfranka's bindings are not installed")

from franka_dynamics.arm import load
from franka_dynamics.control.default_gains import low_gains
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import JointVectorError

from .. import scripts
from ..simulated_robot import FrankaSim, START

RATE_NM = 1.0  # 1000 N m/s in a cycle of 1 ms
# Of the motion of the fourth joint. Slow, because franka-sim's arm moves on between two states of
# a busy machine, and what moves fast then contradicts its velocity.
ANGLE = 0.05
SECONDS = 2.0
JOINT = 3


@pytest.fixture
def robot(tmp_path):
    """Return a simulated robot that ends with the test."""
    robot = FrankaSim(tmp_path, measured=True)
    yield robot
    robot.kill()


@pytest.fixture
def fci():
    with scripts.loaded(scripts.example('fci')) as module:
        before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
        policy = os.sched_getscheduler(0)
        priority = os.sched_getparam(0)
        yield module
        # libfranka gives its caller the highest real-time priority where it may, which later
        # tests in this process, and what they start, must not have.
        os.sched_setscheduler(0, policy, priority)
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before):
            signal.signal(number, handler)


@pytest.fixture
def moved(fci, robot, monkeypatch):
    """
    Return a function that runs the example and calls `then` at its 300th torque.

    It returns the exit status, the planned motions, and of each cycle stamp, q, dq and torque.
    """

    def run(then=lambda: None):
        planned = []
        cycles = []

        class Watched(fci.Feedforward):
            def follow(self, *args, **more):
                planned.append(super().follow(*args, **more))
                return planned[-1]

            def step(self, q, dq, stamp, **more):
                torque = super().step(q, dq, stamp, **more)
                cycles.append((stamp, *q, *dq, *torque))
                if len(cycles) == 300:
                    then()
                return torque

        monkeypatch.setattr(fci, 'Feedforward', Watched)
        options = f'--hand none --joint {JOINT + 1} --angle {ANGLE} --duration {SECONDS}'
        status = fci.main([robot.address, *options.split()])
        return status, planned, np.split(np.array(cycles), [1, 8, 15], axis=1)

    return run


def assert_safe(torques):
    """Assert that the torque begins and ends at zero and changes within the rate."""
    np.testing.assert_allclose(torques[0], 0.0, rtol=0.0, atol=RATE_NM)
    np.testing.assert_allclose(torques[-1], 0.0, rtol=0.0, atol=0.0)
    assert np.abs(np.diff(torques, axis=0)).max() <= RATE_NM


def test_a_motion_is_fed_forward_and_ends_where_it_began(moved, robot, capsys):
    status, (planned, *_), (time, q, dq, torque) = moved()
    said = capsys.readouterr().out
    assert status == 0, said
    assert_safe(robot.torques())
    # Two quintics from rest to rest, of half the duration each: out, and back.
    time = (time[:, 0] - planned.end + SECONDS) / (0.5 * SECONDS)
    s = np.where(time < 1.0, time, 2.0 - time)
    way = ANGLE * np.eye(7)[JOINT]
    rate = np.where(time < 1.0, 1.0, -1.0) / (0.5 * SECONDS)
    desired = planned.positions[-1] + np.outer(10 * s**3 - 15 * s**4 + 6 * s**5, way)
    velocity = np.outer((30 * s**2 - 60 * s**3 + 30 * s**4) * rate, way)
    acceleration = np.outer((60 * s - 180 * s**2 + 120 * s**3) * rate**2, way)
    arm = load('fr3', hand='none')
    model, (kp, kd) = NewtonEulerModel(arm), low_gains(arm, 20.0)
    # The robot adds gravity itself. Each torque is compared with the state that it answers, so
    # late states do not matter; where a torque changes by the largest step, the rate limits it.
    expected = model.inverse_dynamics(q, dq, acceleration) - model.gravity(q)
    expected += kp * (desired - q) + kd * (velocity - dq)
    free = np.abs(np.diff(torque, axis=0, prepend=torque[:1])).max(axis=1) < 0.99 * RATE_NM
    compared = (0.0 < time) & (time < 2.0) & free
    assert compared.sum() > 100
    np.testing.assert_allclose(planned.positions[-1], START, rtol=0.0, atol=1e-3)
    np.testing.assert_allclose(torque[compared], expected[compared], rtol=0.0, atol=1e-9)
    assert float(said.split('the arm is ')[1].split()[0]) < 0.1 * ANGLE


def test_ctrl_c_brakes_and_ends_at_zero_torque(moved, robot, capsys):
    assert moved(lambda: os.kill(os.getpid(), signal.SIGINT))[0] == 1
    assert 'interrupted' in capsys.readouterr().out
    assert_safe(robot.torques())


def test_a_robot_that_is_gone_is_said_in_one_sentence(moved, robot, capsys):
    assert moved(robot.kill)[0] == 1 and capsys.readouterr().err.count('\n') == 1


class Motion:
    """A motion of libfranka whose arm rests; in one state of the motion a position is missing."""

    def __init__(self, arm, fails):
        self.home = np.array(arm.home)
        self.fails = fails
        self.sent = [np.zeros(arm.n)]
        self.gravity = NewtonEulerModel(arm).gravity(arm.home)

    def readOnce(self):
        count = len(self.sent)
        time = SimpleNamespace(to_sec=lambda: 1e-3 * count)
        noise = 1e-7 * (-1) ** count  # as an encoder's, whose position never repeats
        q = self.home[: 6 if count == self.fails else 7] + noise
        effort = self.gravity + self.sent[-1]
        return SimpleNamespace(q=q, dq=np.zeros(7), tau_J=effort, time=time), None

    def writeOnce(self, command):
        self.sent.append(np.array(command.tau_J))


def test_after_an_exception_the_torque_ramps_to_zero(fci):
    arm = load('fr3')
    fails = 1100
    motion = Motion(arm, fails)
    robot = SimpleNamespace(start_torque_control=lambda: motion)
    library = SimpleNamespace(Torques=lambda torque: SimpleNamespace(tau_J=torque))
    controller = fci.Feedforward(arm, 'fci', kp=(600.0,) * 4 + (100.0,) * 3, kd=(10.0,) * 7)
    loop = fci.TorqueLoop(library, robot, controller)
    loop.move(0.05 * np.eye(7)[3], 0.6)
    torques = np.array(motion.sent)
    assert isinstance(loop.failure, JointVectorError)
    assert np.abs(torques[fails - 1]).max() > 2.0 * RATE_NM  # there is something to ramp down
    assert_safe(torques)
    assert len(torques) < fails + 100
