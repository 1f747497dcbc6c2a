# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""External torque follows the settings; a term that fails does not stop the others."""

from builtin_interfaces.msg import Time
import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.supervision import SupervisionLimits
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.external_watch import ExternalWatch
from franka_dynamics.ros.term_publishers import TermPublishers

FER = load('fer')


class Publisher:
    """Records messages, and has a subscriber."""

    def __init__(self, topic):
        self.topic_name, self.published = topic, []

    def get_subscription_count(self):
        return 1

    def publish(self, message):
        self.published.append(message)


class Node:
    """Makes publishers and records logged errors."""

    def __init__(self):
        self.publishers, self.errors = {}, []

    def create_lifecycle_publisher(self, _kind, topic, *_, **__):
        self.publishers[topic] = Publisher(topic)
        return self.publishers[topic]

    def get_logger(self):
        return self

    def error(self, text):
        self.errors.append(text)


@pytest.fixture
def controller():
    return FeedforwardController(FER, Settings(), SupervisionLimits(max_state_age=0.0))


@pytest.fixture
def watch(controller):
    return ExternalWatch(controller)


ZERO = np.zeros(7)


def cycle(controller, k, effort=ZERO):
    """Return the cycle of a state of a resting arm."""
    stamp = 1.0 + 1e-3 * k
    found = controller.update(stamp, FER.home, ZERO, stamp, effort=effort)
    controller.update_monitors(found)
    return found


def test_without_a_measured_effort_nothing_from_outside_is_told(controller, watch):
    gravity = NewtonEulerModel(FER).gravity(FER.home)
    for step in range(50):
        cycle(controller, step, gravity + 0.1 * step)
    assert watch.torque() is not None and watch.wrench(FER.home) is not None
    cycle(controller, 50, None)
    assert watch.torque() is None and watch.wrench(FER.home) is None


@pytest.mark.parametrize(('target', 'subtracted'), [('fci', True), ('mujoco', False)])
def test_a_change_of_target_takes_model_and_friction_along(controller, watch, target, subtracted):
    controller.apply(Settings(target=target, payload=(1.0, 0.0, 0.0, 0.05, *[0.0] * 6)))
    cycle(controller, 0)
    watch.wrench(FER.home)
    assert controller.guard.takes_friction_out is subtracted
    assert watch._estimator._model is controller.terms.true


def fails(*_, **__):
    raise ValueError('attempt to get argmax of an empty sequence' + 'x' * 10**6)


def test_a_term_that_fails_is_given_up_and_the_others_come(controller, watch):
    node = Node()
    terms = TermPublishers(node, controller, 'flange', 'LOCAL_WORLD_ALIGNED', watch)
    watch._estimator.estimate = fails
    terms.refresh()
    for k in range(50):
        terms.publish(cycle(controller, k, np.full(7, 0.1 * (k + 1))).state, None, Time())
    came = {topic: len(one.published) for topic, one in node.publishers.items()}
    assert came['~/gravity'] == came['~/mass_matrix'] == 50
    assert came['~/external_torque'] > 20 and came['~/external_wrench'] == 0
    # Each topic that needs the failing function is logged once, in a sentence of bounded length.
    told = [text for text in node.errors if 'argmax of an empty sequence' in text]
    assert len(told) == len(node.errors) == 2
    assert max(map(len, told)) < 400
