# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The FCI example over the real protocol, against franka-sim, seen from the robot's side.

The robot is `measured`: its tau_J includes the gravity torque that MuJoCo computes, as a real
robot's sensors do.
"""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip('pylibfranka', reason="libfranka's bindings are not installed")

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from ..scripts import ROOT
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
def moving(robot):
    """Start the example, and wait until the robot is given torques."""
    process = subprocess.Popen(
        [
            sys.executable,
            ROOT / 'examples' / 'fci.py',
            robot.address,
            *('--hand', 'none', '--joint', f'{JOINT + 1}'),
            *('--angle', f'{ANGLE}', '--duration', f'{SECONDS}'),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    give_up = time.monotonic() + 60.0
    while robot.cycles < 300:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < give_up
        time.sleep(0.01)
    yield process
    process.kill()
    process.wait()


def assert_safe(torques):
    """Assert that the torque begins and ends at zero, and changes within the rate."""
    np.testing.assert_allclose(torques[0], 0.0, rtol=0.0, atol=RATE_NM)
    np.testing.assert_allclose(torques[-1], 0.0, rtol=0.0, atol=0.0)
    assert np.abs(np.diff(torques, axis=0)).max() <= RATE_NM


def test_a_motion_is_fed_forward_and_ends_where_it_began(moving, robot):
    said, errors = moving.communicate(timeout=60.0)
    assert moving.returncode == 0, said + errors
    torques = robot.torques()
    assert_safe(torques)
    # A quintic from rest to rest over T accelerates by at most 5.77 angle / T^2 (10/sqrt(3)). The
    # feedback adds the torque of the simulated arm's rotors. Feedback on late states adds or takes
    # away more: a fifth of the peak at load 10. Gravity, 20 N m at this joint, must not be added,
    # because the robot compensates it.
    peak = 10.0 / np.sqrt(3.0) * ANGLE / (0.5 * SECONDS) ** 2
    model = NewtonEulerModel(load('fr3', hand='none'))
    largest = np.abs(torques[:, JOINT]).max()
    assert 0.5 * model.mass_matrix(START)[JOINT, JOINT] * peak < largest
    assert largest < 0.25 * abs(model.gravity(START)[JOINT])
    assert float(said.split('the arm is ')[1].split()[0]) < 0.1 * ANGLE


def test_ctrl_c_brakes_and_ends_at_zero_torque(moving, robot):
    moving.send_signal(signal.SIGINT)
    said, errors = moving.communicate(timeout=60.0)
    assert moving.returncode == 1, errors
    assert 'they ended because interrupted' in said
    assert_safe(robot.torques())


def test_a_robot_that_is_gone_is_said_in_one_sentence(moving, robot):
    robot.kill()
    _, errors = moving.communicate(timeout=60.0)
    assert moving.returncode == 1
    assert errors.startswith('the robot or its connection ended the motion: ')
    assert 'Traceback' not in errors
