# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""External torque and wrench: their numbers in this process, and the topics of a node."""

from unittest.mock import Mock

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
import numpy as np
import pytest
from sensor_msgs.msg import JointState

from franka_dynamics.control.feedforward import Feedforward, Limits
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.term_publishers import TermPublishers

from .conftest import FER, FER_GRAVITY


@pytest.fixture
def controller():
    return Feedforward(FER, limits=Limits(max_state_age=0.0), applied_when_silent=False)


@pytest.fixture
def watch(controller):
    node = Mock()
    node.create_lifecycle_publisher.return_value.get_subscription_count.return_value = 0
    terms = TermPublishers(node)
    terms.use(controller)
    return terms


ZERO = np.zeros(7)


def cycle(controller, k, effort=ZERO):
    """Return the terms of a state of a resting arm."""
    stamp = 1.0 + 1e-3 * k
    controller.step(FER.home, ZERO, stamp, effort=effort)
    return controller.latest


def test_without_a_measured_effort_nothing_from_outside_is_told(controller, watch):
    for step in range(50):
        cycle(controller, step, FER_GRAVITY + 0.1 * step)
    assert watch.torque() is not None and watch.wrench(FER.home) is not None
    cycle(controller, 50, None)
    assert watch.torque() is None and watch.wrench(FER.home) is None


@pytest.mark.parametrize(('target', 'subtracted'), [('fci', True), ('mujoco', False)])
def test_a_change_of_target_takes_model_and_friction_along(controller, watch, target, subtracted):
    controller.change(target=target, payload=(1.0, 0.0, 0.0, 0.05, *[0.0] * 6))
    cycle(controller, 0)
    watch.wrench(FER.home)
    assert (controller.unexplained._friction.model is not None) is subtracted
    assert watch._estimator._model is controller.law.terms.true


def fails(*_, **__):
    raise ValueError('attempt to get argmax of an empty sequence' + 'x' * 10**6)


def test_a_term_that_fails_is_given_up_and_the_others_come(controller):
    node, publishers = Mock(), {}

    def publisher(_, topic, *__):
        publishers[topic] = Mock(topic_name=topic)
        publishers[topic].get_subscription_count.return_value = 1
        return publishers[topic]

    node.create_lifecycle_publisher = publisher
    terms = TermPublishers(node)
    terms.use(controller)
    terms._estimator.estimate = fails
    terms.refresh()
    for k in range(50):
        terms.publish(cycle(controller, k, np.full(7, 0.1 * (k + 1))), None, Time())
    came = {topic: one.publish.call_count for topic, one in publishers.items()}
    assert came['~/gravity'] == came['~/mass_matrix'] == 50
    assert came['~/external_torque'] > 20 and came['~/external_wrench'] == 0
    # Each topic that needs the failing function is logged once, in a sentence of bounded length.
    errors = [call.args[0] for call in node.get_logger().error.call_args_list]
    assert len(errors) == 2
    assert all('argmax of an empty sequence' in text and len(text) < 400 for text in errors)


FORCE = np.array([0.0, 6.0, -8.0])  # 10 N at the flange


PUSHED = FER_GRAVITY - NewtonEulerModel(FER).jacobian(FER.home)[:3].T @ FORCE


def test_a_push_on_a_resting_arm_is_its_torques_and_its_wrench(controller, watch):
    for k in range(3000):
        cycle(controller, k, PUSHED)
    # The arm exerts the opposite of the force that acts on it, in the axes of its base.
    np.testing.assert_allclose(watch.torque(), PUSHED - FER_GRAVITY, rtol=0, atol=0.02)
    wrench = watch.wrench(FER.home).wrench
    np.testing.assert_allclose(wrench[:3], -FORCE, rtol=0, atol=0.1)
    np.testing.assert_allclose(wrench[3:], 0.0, rtol=0, atol=0.05)
    covariance = watch.covariance(FER.home)
    np.testing.assert_allclose(covariance, covariance.T, rtol=1e-12, atol=1e-15)
    assert (np.linalg.eigvalsh(covariance) > 0.0).all()


def test_the_wrench_and_its_covariance_come_with_frame_and_labels(probe, arm, start_node):
    wrenches = probe.collect(WrenchStamped, '/feedforward/external_wrench', depth=1)
    covariances = probe.collect(JointState, '/feedforward/external_wrench_covariance', depth=1)
    start_node(target='mujoco')
    arm.wait_for_listener()

    def shown():
        arm.send(2, effort=PUSHED.tolist())
        return wrenches and covariances

    probe.until(shown, 'wrench and covariance')
    assert wrenches[-1].header.frame_id == 'fer_link0'
    assert covariances[-1].name[:2] == ['fx/fx', 'fx/fy'] and len(covariances[-1].effort) == 36
    probe.until_says('feedforward: External wrench', 'standard deviation at most')
    assert probe.told('feedforward: External wrench', 'singular') == 'False'
