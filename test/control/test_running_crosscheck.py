# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The running cross-check: silent while the models agree, a fault if they differ."""

from contextlib import nullcontext

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.running_crosscheck import RunningCrosscheck
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.terms import TermModel
from franka_dynamics.validation.crosscheck import TOLERANCE

from .closed_loop import Loop

FER = load('fer')
LOAD = (1.0, 0.0, 0.0, 0.05, 1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3)
TERMS = TermModel(FER, Settings(payload=LOAD, gravity_vector=(3.0, -1.0, -9.28)))


def check_at(check, k, error=0.0):
    dq = np.random.default_rng(k).uniform(-1, 1, 7)
    state = TERMS.at(10.0 + 1e-3 * k, FER.home, dq, None)
    check.offer(state._replace(gravity=state.gravity + error), TERMS)
    return check.run()


def test_models_that_agree_are_checked_once_per_period_and_quiet():
    check = RunningCrosscheck(0.1, TOLERANCE)
    assert [check_at(check, k) for k in range(1000)] == [''] * 1000
    assert check.checks == 10
    assert 0.0 < check.largest <= TOLERANCE


def test_a_torque_off_by_a_hair_is_told_with_its_pose():
    # An error of a hundred tolerances; joint 7's torque is below 1 N m, so it counts absolutely.
    check, error = RunningCrosscheck(1e-3, TOLERANCE), 100 * TOLERANCE * np.eye(7)[6]
    assert 'at q = [0.0, -0.7854' in check_at(check, 1, error)
    assert check.largest == pytest.approx(100 * TOLERANCE, rel=0.5)


def test_a_running_arm_whose_models_differ_stops_until_it_is_configured_again():
    loop = Loop().run(0.3)
    # No two recursions agree to less than rounding.
    loop.controller.crosscheck = RunningCrosscheck(1e-3, 1e-20)
    loop.run(0.01)
    loop.controller.check_models(nullcontext())
    assert 'cross-check' in loop.controller.fault
    loop.controller.enable()
    cleared, said = loop.controller.clear_fault()
    assert not cleared and 'configure it again' in said
