# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The running model against the independent one: quiet while they agree, loud when not."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.settings import Settings
from franka_dynamics.ros.monitors import RunningCrosscheck, TOLERANCE_NM

FER = load('fer')
LOAD = (1.0, 0.0, 0.0, 0.05, 1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3)


@pytest.fixture
def controller():
    made = FeedforwardController(FER, Settings(target='mujoco'))
    made.enable()
    return made


def cycle(controller, k):
    rng = np.random.default_rng(k)
    return controller.cycle(10.0 + 1e-3 * k, FER.home, rng.uniform(-1, 1, 7), 1e-3 * k)


def test_given_models_that_agree_when_run_then_checks_are_decimated_and_quiet(controller):
    check = RunningCrosscheck(controller, 0.1, 0.0)
    assert [check.run(cycle(controller, k)) for k in range(1000)] == [''] * 1000
    assert check.checks == 10
    assert 0.0 < check.largest < 1e-12


def test_given_a_payload_put_on_when_run_then_the_independent_model_carries_it_too(controller):
    check = RunningCrosscheck(controller, 1e-3, 0.0)
    controller.apply(Settings(target='mujoco', payload=LOAD))
    assert check.run(cycle(controller, 1)) == ''
    assert check.checks == 1


def test_given_a_torque_off_by_a_hair_when_run_then_difference_and_pose_are_told(controller):
    check = RunningCrosscheck(controller, 1e-3, 0.0)
    good = cycle(controller, 1)
    wrong = good._replace(gravity=good.gravity + [0, 0, 10 * TOLERANCE_NM, 0, 0, 0, 0])
    sentence = check.run(wrong)
    assert 'differ by 1e-08 N m at q = [0.0, -0.7854' in sentence


def test_given_a_period_of_zero_when_run_then_it_never_checks(controller):
    check = RunningCrosscheck(controller, 0.0, 0.0)
    check.run(cycle(controller, 1))
    assert check.checks == 0
