# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics: when they are published, and the status of the guard."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.model import GRAVITY
from franka_dynamics.ros import diagnostics
from franka_dynamics.ros.term_publishers import ExternalWatch

from ..control.closed_loop import Loop


@pytest.fixture
def published(monkeypatch):
    """Return a function that returns the times of publication for changes at given times [s]."""

    def run(changes):
        now, published = 100.0, []
        monkeypatch.setattr(diagnostics.time, 'monotonic', lambda: now)
        times = diagnostics.PublicationTimes()
        for k in range(1, 1001):
            now = 100.0 + 0.01 * k
            if any(abs(now - 100.0 - change) < 0.005 for change in changes):
                times.note_change()
            times.publish_if_due(lambda at=now: published.append(at - 100.0))
        return np.array(published)

    return run


def test_without_a_change_it_is_told_once_per_second(published):
    np.testing.assert_allclose(published([]), np.arange(1.0, 10.1), rtol=0, atol=0.1)


def test_a_change_is_told_within_a_tenth_of_a_second(published):
    times = published([2.5, 2.55, 7.3])
    # The two changes that are close together are published once.
    np.testing.assert_allclose(times[2:4] - [2.6, 3.6], 0.0, rtol=0, atol=0.05)
    assert np.abs(times - 7.4).min() < 0.05


def guard_status(controller):
    """Return the level and the message of the diagnostics about a controller's guard."""
    node = SimpleNamespace(
        get_fully_qualified_name=lambda: '/feedforward',
        create_publisher=lambda *_: None,
        get_publishers_info_by_topic=lambda _: [],
    )
    references = SimpleNamespace(refused='')
    told = diagnostics.FeedforwardDiagnostics(node, '/command', references)
    told.use(controller, ExternalWatch(controller), 0.0)
    statuses = {}
    told.publish = lambda *all_of_them: statuses.update((one.name, one) for one in all_of_them)
    told.publish_all()
    guard = statuses['feedforward: Guard']
    return guard.level, guard.message


def compensated(gravity):
    """Return the loop of a robot that compensates a gravity of this direction [m/s^2]."""
    settings = Settings(target='fci', gravity_vector=gravity)
    return Loop(settings, gravity_compensation=True, gravity=gravity)


ALIKE = 'the arm does what the model says'
ADDED = 'the node adds the part of gravity that the robot does not compensate'


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (Loop, ALIKE),
        (
            partial(compensated, GRAVITY),
            f'{ALIKE}; the robot compensates gravity, and the node adds none',
        ),
        (partial(compensated, (4.0, 0.0, -8.9)), f'{ALIKE}; {ADDED}'),
    ],
)
def test_the_guard_is_ok_where_torques_are_sent_and_fit(make, message):
    assert guard_status(make().run(1.5).controller) == (diagnostics.OK, message)


def test_before_a_torque_and_after_a_stop_the_guard_judges_nothing():
    loop = Loop()
    for change in (lambda: None, lambda: loop.run(1.0).controller.stop('deactivated')):
        change()
        assert guard_status(loop.controller) == (diagnostics.WARN, str(loop.controller.status))


def test_an_arm_that_is_held_by_the_guard_is_an_error():
    loop = Loop(Settings(target='fci'), measures=False, brake_release_after=0.0).run(0.6)
    assert loop.controller.faulty
    assert guard_status(loop.controller) == (diagnostics.ERROR, str(loop.controller.status))
