# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""External torque and wrench, terms that fail and the status Command, beside no running node."""

from itertools import product
from unittest.mock import Mock

from builtin_interfaces.msg import Time
import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from franka_dynamics.control.feedforward import Feedforward, StateLimits
from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.motion.reference import ReferenceEvent, ReferenceState
from franka_dynamics.ros import diagnostics
from franka_dynamics.ros.diagnostics import FeedforwardDiagnostics
from franka_dynamics.ros.term_publishers import TERM_TOPICS, TermPublishers

from .conftest import FER, FER_GRAVITY
from ..control.closed_loop import Loop

ZERO = np.zeros(7)
FORCE = np.array([0.0, 6.0, -8.0])  # 10 N at the flange
PUSHED = FER_GRAVITY - NewtonEulerModel(FER).jacobian(FER.home)[:3].T @ FORCE


class Publishers:
    """The publishers of a controller's terms, all of whose topics are subscribed."""

    def __init__(self, controller):
        self.node, self.by_topic = Mock(active=False), {}
        self.node.create_lifecycle_publisher = self._publisher
        self.node.get_fully_qualified_name.return_value = '/feedforward'
        self.node.get_publishers_info_by_topic.return_value = []
        self.controller, self.terms = controller, TermPublishers(self.node)
        self.terms.set_controller(controller)
        receivers = {'listed_receivers': 'none', 'delivery_problem': '', 'topic': '/command'}
        self.node.receivers = Mock(**receivers)
        self.diagnostics = FeedforwardDiagnostics(self.node, '/states', self.terms)
        self.diagnostics.set_controller(controller, 0.0)

    def _publisher(self, _, topic, *__):
        self.by_topic[topic] = Mock()
        self.by_topic[topic].get_subscription_count.return_value = 1
        return self.by_topic[topic]

    def messages(self, name):
        """Return the messages of a topic so far."""
        kind, _ = TERM_TOPICS[name]
        kind = JointState if isinstance(kind, str) else kind
        sent = (call.args[0] for call in self.by_topic[f'~/{name}'].publish.call_args_list)
        return [deserialize_message(one, kind) for one in sent]

    def take(self, k, effort=ZERO):
        """Take state k of a resting arm."""
        self.torque = self.controller.step(FER.home, ZERO, 1.0 + 1e-3 * k, effort=effort)

    def cycle(self, k, effort=ZERO):
        """Take state k of a resting arm, and publish its terms."""
        self.take(k, effort)
        self.terms.publish_terms(self.controller.latest, self.torque, Time(nanosec=k))

    def command(self):
        """Return level, message and state that ~/status and the row Command have."""
        disturbances, status = (self.controller.disturbances, self.diagnostics.status_log.status())
        level, message, values = self.diagnostics._status_row(
            status, disturbances.largest_shares.tolist()
        )
        disturbances.reset_largest_shares()
        return level, message, values['state']


@pytest.fixture
def told():
    limits = StateLimits(max_state_age=0.0)
    return Publishers(Feedforward(FER, limits=limits, applied_when_silent=False))


def test_a_push_is_told_as_torques_and_wrench_until_effort_is_not_measured(told):
    for k in range(1499):
        told.take(k, PUSHED)
    told.cycle(1499, PUSHED)
    command = told.messages('feedforward')[-1]
    assert (tuple(command.name), command.header.frame_id) == (FER.joint_names, 'fer_link0')
    assert command.header.stamp.nanosec == 1499 and list(command.effort) == told.torque.tolist()
    # The arm exerts the opposite of the force that acts on it, in the axes of its base.
    torque = told.messages('external_torque')[-1].effort
    np.testing.assert_allclose(torque, PUSHED - FER_GRAVITY, rtol=0, atol=0.02)
    message = told.messages('external_wrench')[-1]
    assert message.header.frame_id == 'fer_link0'
    force, moment = message.wrench.force, message.wrench.torque
    np.testing.assert_allclose([force.x, force.y, force.z], -FORCE, rtol=0, atol=0.1)
    np.testing.assert_allclose([moment.x, moment.y, moment.z], 0.0, rtol=0, atol=0.05)
    message = told.messages('external_wrench_covariance')[-1]
    assert message.name[:2] == ['fx/fx', 'fx/fy']
    covariance = np.reshape(message.effort, (6, 6))
    np.testing.assert_allclose(covariance, covariance.T, rtol=1e-12, atol=1e-15)
    assert (np.linalg.eigvalsh(covariance) > 0.0).all()
    values = told.diagnostics._wrench_row()[3]
    assert not values['singular'] and values['fz [N]'] > 7.0
    count = len(told.messages('external_torque'))
    told.cycle(1500, None)
    for name in ('external_torque', 'external_wrench', 'external_wrench_covariance'):
        assert len(told.messages(name)) == count
    assert not told.diagnostics._wrench_row()[3]


@pytest.mark.parametrize(('target', 'subtracted'), [('fci', True), ('mujoco', False)])
def test_a_change_of_target_takes_model_and_friction_along(told, target, subtracted):
    controller = told.controller
    controller.change(target=target, payload=(1.0, 0.0, 0.0, 0.05, *[0.0] * 6))
    told.cycle(0)
    assert (controller.disturbances._friction.model is not None) is subtracted
    assert told.terms._estimator.model is controller.asked.terms.true_model


def fails(*_, **__):
    raise ValueError('attempt to get argmax of an empty sequence' + 'x' * 10**6)


def test_a_term_that_fails_is_given_up_and_the_others_come(told):
    told.terms._estimator.estimate = fails
    for k in range(50):
        told.cycle(k, np.full(7, 0.1 * (k + 1)))
    assert len(told.messages('gravity')) == len(told.messages('mass_matrix')) == 50
    assert len(told.messages('external_torque')) > 20 and not told.messages('external_wrench')
    # Each topic that needs the failing function is logged once, in a sentence of bounded length.
    errors = [call.args[0] for call in told.node.get_logger().error.call_args_list]
    assert len(errors) == 2
    assert all('argmax of an empty sequence' in text and len(text) < 400 for text in errors)


def test_points_that_replace_each_other_are_published_and_logged_once_a_second(told, monkeypatch):
    monkeypatch.setattr(diagnostics, '_MIN_LOG_PERIOD_S', 1e9)
    for number, state in product(range(50), ReferenceState):
        event = ReferenceEvent(number, '', 0.0, 0.1, None, state=state)
        told.diagnostics._report_reference(event, '')
    assert told.diagnostics._publisher.publish.call_count == 50 * len(ReferenceState)
    log = told.node.get_logger()
    assert log.info.call_count + log.warning.call_count == len(ReferenceState)


def test_torques_that_fit_are_ok_and_none_is_a_warning_until_the_guard_holds_the_arm():
    loop = Loop()
    told = Publishers(loop.controller)
    assert told.command() == ('STALE', loop.controller.status.why, 'silent')
    loop.run(1.5)
    assert told.command() == ('OK', 'torques are sent', 'running')
    loop.controller.disturbances.largest_shares[3] = 0.9
    level, said, _ = told.command()
    assert level == 'WARN' and 'joint4' in said
    assert told.command()[0] == 'OK'  # one warning
    loop.controller.stop('deactivated')
    assert told.command() == ('WARN', 'deactivated', 'braking')
    held = Loop(Settings(target='fci'), measures=False, brake_release_after=0.0).run(0.6)
    assert held.controller.faulty
    told = Publishers(held.controller)
    assert told.command()[0] == 'ERROR'
