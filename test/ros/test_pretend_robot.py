# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What users of real drivers report: the arm is held and led, or every door shows the reason."""

import numpy as np
import pytest
from std_msgs.msg import String

from franka_dynamics.ros.messages import DESCRIPTION_QOS
from franka_dynamics.ros.node_client import NodeClient
from franka_dynamics.urdf.writer import urdf_text

pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from .pretend_robot import FR3, PretendRobot

NODE = 'feedforward'
# What a robot that adds its gravity exactly drifts by [rad]; the drives' friction holds it, too.
HELD_RAD = 1e-3
GAINS = {
    'kp': '[100.0,100.0,100.0,100.0,30.0,30.0,20.0]',
    'kd': '[8.0,8.0,8.0,8.0,1.0,1.0,1.0]',
}
FINGERS = ('fr3_finger_joint1', 'fr3_finger_joint2')


@pytest.fixture
def robot(probe):
    return lambda **given: PretendRobot(probe, **given)


@pytest.fixture
def node(start_node):
    return lambda **given: start_node(**{'robot_type': 'fr3', 'target': 'fci', **given})


def running(robot, seconds=0.5):
    """Let torques begin, and require that they hold the arm for a time [s]."""
    robot.until(lambda: robot.torques, 'a torque')
    robot.run(seconds)
    assert robot.drift < HELD_RAD
    return robot


@pytest.mark.parametrize(
    'given',
    [
        {'extra': FINGERS, 'disorder': True, 'effort': 'nan', 'best_effort': True},
        {'extra': [f'left_{name}' for name in FR3.joint_names], 'effort': 'zero'},
        {'effort': 'none', 'period': 5e-3},
    ],
    ids=['fingers in any order, NaN best effort', 'two prefixes, zero effort', 'no effort'],
)
def test_states_as_drivers_publish_them_are_enough(given, robot, node):
    node()
    running(robot(**given))


@pytest.mark.parametrize(
    ('given', 'limits', 'reason'),
    [
        ({'names': [f'fer_joint{k}' for k in range(1, 8)]}, {}, 'lacks fr3_joint1'),
        ({'names': [f'left_{name}' for name in FR3.joint_names]}, {}, 'it has left_fr3_joint1'),
        ({'period': 1 / 30}, {'min_input_rate': 200.0}, 'joint states come at 30 Hz'),
        ({'velocities': False}, {}, '0 of velocity'),
        ({'stamps': False}, {}, 'the time of joint states does not go on (0 s again)'),
        # A hundred seconds after the epoch, while this machine's clock says today.
        ({}, {'max_state_age': 0.1}, 'ms old'),
    ],
    ids=['another arm', 'prefix', '30 Hz', 'no velocity', 'no stamp', 'another clock'],
)
def test_the_reason_for_silence_is_in_log_status_and_answer_of_the_node(
    given, limits, reason, probe, robot, node
):
    process, arm = node(**limits), robot(**given)
    arm.until_says(reason)
    arm.until(lambda: 'no torque yet: ' in process.text and reason in process.text, 'the log')
    assert 'listening' not in process.text
    with NodeClient(NODE, 20.0, arm.step) as client:
        assert reason in client.status_sentence()
    assert not arm.torques


def test_a_reason_replaces_an_earlier_one(probe, robot, node):
    node()
    probe.until_says(NODE, 'no joint state on /joint_states')
    arm = robot(names=[f'left_{name}' for name in FR3.joint_names])
    arm.until_says('it has left_fr3_joint1')
    arm.names = list(FR3.joint_names)
    running(arm)


def test_moveits_points_end_where_they_should(robot, node):
    node(**GAINS)
    arm = running(robot())
    goal = np.array(FR3.home) + 0.1
    rows, still = [FR3.home, (FR3.home + goal) / 2, goal], np.zeros((3, 7))
    arm.send(rows, (0.0, 1.0, 2.0), velocities=still)
    arm.run(3.0)
    np.testing.assert_allclose(arm.data.qpos, goal, rtol=0.0, atol=0.02)


def test_noisy_set_points_at_15_hz_are_followed(probe, robot, node):
    node(**GAINS)
    arm, noise = running(robot()), np.random.default_rng(1)
    for k in range(16):
        offset = 0.1 * np.sin(0.1 * k) * np.eye(7)[3] + noise.normal(0.0, 1e-3, 7)
        arm.send([FR3.home + offset])
        arm.run(1 / 15)
    assert abs(arm.drift - 0.1) < 0.03
    arm.until_says('running')


def test_a_stamp_a_second_ahead_stops_and_torques_begin_again(probe, robot, node):
    node()
    arm = running(robot())
    probe.status(NODE)
    arm.time += 1.0
    arm.step()
    arm.time -= 1.0
    before = len(arm.torques)
    arm.until(lambda: len(arm.torques) > before + 100, 'torques')
    assert arm.drift < HELD_RAD


def test_a_clock_that_pauses_and_is_set_back_stops_and_torques_begin_again(probe, robot, node):
    node(state_timeout=1.0)
    arm = running(robot())
    probe.until_says(NODE, 'no joint state on')
    running(arm)
    arm.time = 50.0
    before = len(arm.torques)
    arm.until(lambda: len(arm.torques) > before + 100, 'torques')
    assert arm.drift < HELD_RAD


def test_states_that_cease_and_come_back_elsewhere_do_not_pull_the_arm(probe, robot, node):
    node(state_timeout=1.0, **GAINS)
    arm = running(robot())
    probe.until_says(NODE, 'no joint state on')
    arm.data.qpos[:] = elsewhere = FR3.home + 0.3
    arm.data.qvel[:] = 0.0
    arm.time += 2.0
    before = len(arm.torques)
    arm.until(lambda: len(arm.torques) > before + 100, 'torques')
    np.testing.assert_allclose(arm.data.qpos, elsewhere, rtol=0.0, atol=HELD_RAD)


def test_an_arm_that_locks_and_is_released_is_held(robot, node):
    node(**GAINS)
    arm = running(robot())
    arm.locked = True
    arm.run(0.5)
    arm.locked = False
    arm.run(0.5)
    assert arm.drift < HELD_RAD


def test_the_description_may_come_from_its_topic(probe, robot, node):
    node(model_source='robot_description')
    description = probe.create_publisher(String, 'robot_description', DESCRIPTION_QOS)
    description.publish(String(data=urdf_text(FR3)))
    running(robot())
