# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""References are followed in the order they came, and long ones are planned beside the loop."""

import threading
import time

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.reference_request import TrajectoryRequest
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.supervision import SupervisionLimits
from franka_dynamics.errors import ReferenceRefusedError
from franka_dynamics.fci.reference_planning import ReferencePlanner

FR3 = load('fr3')
LONG, SHORT = b'l' * 10_000, b's' * 100
TIMEOUT_S = 60.0


@pytest.fixture
def controller():
    """Return one that commands torques at the home pose."""
    controller = FeedforwardController(FR3, Settings(), SupervisionLimits(recovery_samples=2))
    controller.enable()
    for i in range(10):
        controller.cycle(1e-3 * i, FR3.home, np.zeros(7), 1e-3 * i)
    return controller


def request(q):
    return TrajectoryRequest(FR3.joint_names, np.zeros(1), np.array([q]))


@pytest.fixture
def planner(controller):
    """Return a planner whose reader notes its thread; what is read names its target."""

    class Reader:
        def __init__(self):
            self.threads, self.goals = [], []

        def __call__(self, data):
            self.threads.append(threading.current_thread())
            return request(self.goals.pop(0))

    reader = Reader()
    planner = ReferencePlanner(controller, reader)
    yield planner, reader
    planner.close()


def step_until(planner, done):
    give_up = time.monotonic() + TIMEOUT_S
    while not done():
        planner.step()
        assert time.monotonic() < give_up


def desired(controller):
    point = controller.reference.at(0.009)
    return None if point is None else point.q


def test_a_short_reference_is_followed_at_once(controller, planner):
    planning, reader = planner
    reader.goals.append(FR3.home + 0.001)
    planning.take(SHORT)
    assert reader.threads == [threading.current_thread()]
    np.testing.assert_allclose(desired(controller), FR3.home + 0.001, rtol=0.0, atol=1e-12)


def test_a_long_reference_is_planned_on_another_thread(controller, planner):
    planning, reader = planner
    reader.goals.append(FR3.home + 0.001)
    planning.take(LONG)
    assert not controller.reference.active
    step_until(planning, lambda: controller.reference.active)
    assert reader.threads != [threading.current_thread()]
    np.testing.assert_allclose(desired(controller), FR3.home + 0.001, rtol=0.0, atol=1e-12)


def test_a_short_reference_behind_a_long_one_is_not_overtaken(controller, planner):
    planning, reader = planner
    reader.goals += [FR3.home + 0.001, FR3.home + 0.002]
    planning.take(LONG)
    planning.take(SHORT)
    step_until(
        planning,
        lambda: (
            not reader.goals
            and desired(controller) is not None
            and np.allclose(desired(controller), FR3.home + 0.002, rtol=0.0, atol=1e-12)
        ),
    )


def test_a_refusal_is_raised_to_whoever_steps(controller, planner):
    planning, reader = planner
    reader.goals.append(FR3.home + 1.0)
    planning.take(LONG)
    with pytest.raises(ReferenceRefusedError, match='rad'):
        step_until(planning, lambda: False)
    # And the next one is taken.
    reader.goals.append(FR3.home + 0.001)
    planning.take(SHORT)
    assert controller.reference.active


def test_more_than_ten_waiting_are_refused(planner):
    planning, reader = planner
    reader.goals += [FR3.home] * 20
    for _ in range(10):
        planning.take(LONG)
    with pytest.raises(ReferenceRefusedError, match='10 references are being planned'):
        planning.take(LONG)
