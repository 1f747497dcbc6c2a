# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is told about the arm may fail; the torque goes on, and the failure is told."""

from builtin_interfaces.msg import Time
import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.contact import ContactLimits
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.supervision import SupervisionLimits
from franka_dynamics.ros.external_watch import ExternalWatch
from franka_dynamics.ros.term_publishers import TermPublishers

FER = load('fer')


class Publisher:
    """Keeps what is published; everybody listens."""

    def __init__(self, topic):
        self.topic_name, self.published = topic, []

    def get_subscription_count(self):
        return 1

    def publish(self, message):
        self.published.append(message)


class Node:
    """Gives out publishers and keeps errors."""

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
    """Return a controller with the states of a resting arm behind it."""
    made = FeedforwardController(FER, Settings(), SupervisionLimits(max_state_age=0.0))
    made.enable()
    return made


def cycle(controller, k):
    stamp = 1.0 + 1e-3 * k
    return controller.cycle(stamp, FER.home, np.zeros(7), stamp, effort=np.zeros(7))


def fails(*_, **__):
    raise ValueError('attempt to get argmax of an empty sequence' + 'x' * 10**6)


def test_a_term_that_fails_is_given_up_and_the_others_come(controller):
    node = Node()
    external = ExternalWatch(controller, ContactLimits(), 'auto')
    terms = TermPublishers(node, controller, 'flange', 'LOCAL_WORLD_ALIGNED', external)
    external._estimator.estimate = fails
    external.listen(True)
    terms.refresh()
    for k in range(10):
        now = cycle(controller, k)
        external.run(now)
        terms.publish(now, Time())
    came = {topic: len(one.published) for topic, one in node.publishers.items()}
    assert came['~/gravity'] == came['~/mass_matrix'] == 10
    assert came['~/external_torque'] == 2 and came['~/external_wrench'] == 0
    # Each topic that rests on it is told of once, in a sentence of bounded length.
    told = [text for text in node.errors if 'argmax of an empty sequence' in text]
    assert len(told) == len(node.errors) == 2
    assert max(map(len, told)) < 400


def test_a_contact_monitor_that_fails_ends_and_says_why(controller):
    watch = ExternalWatch(controller, ContactLimits(), 'auto')
    watch.listen(True)
    assert not watch.run(cycle(controller, 0))
    watch.monitor.update = fails
    assert watch.run(cycle(controller, 1))  # to be told at once
    assert 'argmax of an empty sequence' in watch.failure and len(watch.failure) < 300
    watch.listen(True)
    assert not watch.listening and watch.present_wrench() is None
