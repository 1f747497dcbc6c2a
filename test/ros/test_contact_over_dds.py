# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A push on the simulated arm, as the node's topics and diagnostics show it."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.control.contact import ContactLimits
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.monitors import ContactWatch

from ..messages import stamp

FER = load('fer')
FORCE = np.array([0.0, 6.0, -8.0])  # 10 N at the flange
WITHIN_S = 0.05
CONTACT = 'feedforward: Contact'


def test_given_a_push_when_it_acts_then_topics_show_its_torques_and_diagnostics_flag_it_in_time(
    probe, start_arm, start_node
):
    begun, given_way = 3.0, 4.5
    states = probe.collect(JointState, 'joint_states', depth=1)
    topics = {
        name: probe.collect(JointState, f'/feedforward/{name}', depth=1)
        for name in ('external_torque', 'residual_torque')
    }
    # Held by a stiff PD, so that the arm gives way little and soon stands still again.
    start_node(target='mujoco', kp=[300.0] * 4 + [80.0] * 3, kd=[20.0] * 4 + [4.0] * 3)
    # The monitor runs while it knows of a listener, which is found when DDS finds it.
    probe.until(lambda: CONTACT in probe.diagnostics, 'diagnostics arrive')
    start_arm(**{'push.force': FORCE.tolist(), 'push.start': begun, 'push.duration': 60.0})
    probe.until(
        lambda: 'latest began at [s]' in probe.diagnostics.get(CONTACT, (0, '', {}))[2],
        'the contact',
    )
    _, _, pairs = probe.diagnostics[CONTACT]
    assert pairs['contacts'] == '1'
    assert 0.0 < float(pairs['latest began at [s]']) - begun < WITHIN_S
    probe.until(
        lambda: all(
            messages and stamp(messages[-1]) > given_way for messages in (states, *topics.values())
        ),
        'the arm gave way',
    )
    jacobian = NewtonEulerModel(FER).jacobian(np.array(states[-1].position))
    for name, messages in topics.items():
        # It creeps by 1e-3 rad/s at most, and turns the force's levers by as little.
        np.testing.assert_allclose(
            messages[-1].effort, -jacobian[:3].T @ FORCE, rtol=0, atol=0.02, err_msg=name
        )


def watch(effort_friction='auto'):
    controller = FeedforwardController(FER, Settings(target='fci'))
    return controller, ContactWatch(controller, ContactLimits(), effort_friction)


def cycle_of(controller, stamp, effort):
    return controller.cycle(stamp, FER.home, np.zeros(7), stamp, effort=effort)


def test_given_nobody_listens_again_when_somebody_does_then_it_settles_anew():
    controller, contact = watch()
    gravity = NewtonEulerModel(FER).gravity(FER.home)
    contact.listen(True)
    for step in range(700):
        contact.run(cycle_of(controller, 1e-3 * step, gravity))
    assert contact.monitor.settled
    contact.listen(True)
    assert contact.monitor.settled
    contact.listen(False)
    contact.listen(True)
    assert not contact.monitor.settled


@pytest.mark.parametrize(('target', 'subtracted'), [('fci', True), ('mujoco', False)])
def test_given_a_change_of_target_when_watched_on_then_model_and_friction_follow(
    target, subtracted
):
    controller, contact = watch()
    contact.listen(True)
    contact.monitor.contacts = 3
    controller.apply(Settings(target=target, payload=(1.0, 0.0, 0.0, 0.05, *[0.0] * 6)))
    contact.run(cycle_of(controller, 0.0, np.zeros(7)))
    assert contact.friction is subtracted
    assert contact.monitor.contacts == 3
    assert contact.monitor._model is controller.terms.true


def test_given_no_measured_effort_when_watched_then_that_is_known():
    controller, contact = watch()
    contact.listen(True)
    assert contact.run(cycle_of(controller, 0.0, None)) is False
    assert not contact.effort_seen
