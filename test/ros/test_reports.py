# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a node logs and reports about ends of torques, clocks and references."""

import signal
import time

import numpy as np
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.ros.trajectory_messages import trajectory_message

from .conftest import FER

NAMES = list(FER.joint_names)
STATES = 'feedforward: Joint states'


def test_every_end_of_torques_is_logged_once_with_its_reason(probe, arm, start_node, commands):
    node = start_node(target='mujoco', period=0.025)
    arm.until(lambda: len(commands) > 50, 'commands')

    def until_logged(text, count):
        arm.until(lambda: node.text.count(text) == count, f'{text} {count} times')

    for count in (1, 2):
        probe.spin(0.1)
        time.sleep(0.2)  # no state, shorter than any report on silence
        before = len(commands)
        arm.until(lambda before=before: len(commands) > before + 50, 'commands again')
        until_logged('torques ended: no new joint state', count)
        later = time.monotonic() + 1.1  # the same reason is not logged twice in a second
        arm.until(lambda later=later: time.monotonic() > later, 'more states')
    node.send(signal.SIGSTOP)
    arm.send(1000)
    node.send(signal.SIGCONT)
    until_logged('torques ended: ', 3)
    assert 'no torque yet' not in node.text.split('commanding')[-1]


def test_a_slow_a_still_and_a_second_clock_and_stamps_that_are_not_set_are_named(
    probe, arm, start_node
):
    start_node(use_sim_time=True, max_state_age=0.1, period=0.05)
    arm.wait_for_listener()
    clock, ticked = probe.create_publisher(Clock, '/clock', 1), [0]

    def says(text, *, stamps=True, ticks=True):
        now = time.monotonic_ns()
        if ticks and now > ticked[0] + 0.25e9:
            ticked[0] = now
            clock.publish(Clock(clock=Time(nanoseconds=now).to_msg()))
        arm.stamp_ns = now if stamps else 0
        arm.send(1, step_ns=0)
        return probe.says(STATES, text)

    probe.until(lambda: says('the clock comes at 4 Hz from /probe'), 'the rate of the clock')
    probe.until(lambda: says('the clock comes at 0.', ticks=False), 'that it stands still')
    probe.until(lambda: says('header.stamp of the joint states', stamps=False), 'no stamp')
    probe.create_publisher(Clock, '/clock', 1)
    probe.until(lambda: says('/probe, /probe all publish /clock'), 'both clocks')


def test_efforts_of_references_are_said_to_be_ignored_once(probe, arm, start_node, commands):
    node = start_node(target='mujoco')
    arm.until(lambda: len(commands) > 50, 'commands')
    references = probe.create_publisher(JointTrajectory, '/feedforward/reference', 10)
    arm.until(references.get_subscription_count, 'a listener')
    for _ in range(3):
        references.publish(trajectory_message(NAMES, [1.0], [FER.home], effort=[np.ones(7)]))
    arm.until(lambda: 'have efforts' in node.text, 'the sentence')
    arm.send(100)
    assert node.text.count('have efforts') == 1


def test_a_motion_that_never_began_is_a_warning_with_its_distance(
    probe, arm, start_node, commands
):
    start_node(target='mujoco')
    arm.until(lambda: len(commands) > 50, 'commands')
    references = probe.create_publisher(JointTrajectory, '/feedforward/reference', 10)
    motion = trajectory_message(NAMES, [0.5], [FER.home + 0.15])
    arm.until(references.get_subscription_count, 'a listener')
    asked = []

    def ended():
        # Once a second until it is answered.
        if not probe.references and len(asked) < time.monotonic() - began:
            asked.append(references.publish(motion))
        return any('finished' in one.message for one in probe.references)

    began = time.monotonic()
    arm.until(ended, 'its end')
    end = probe.references[-1]
    assert end.level == 'WARN' and '0.15 rad from its end' in end.message
