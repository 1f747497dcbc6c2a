# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories for a trajectory controller, filled with torques."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.control_law import ControlLaw
from franka_dynamics.control.reference import Reference
from franka_dynamics.control.request import TrajectoryRequest
from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import ReferenceRefusedError

ARM = load('fr3')
LAW = ControlLaw(ARM, Settings(target='fci'))
TIMES = np.linspace(0.0, 2.0, 21)
# A motion from rest to rest, known in closed form.
PHASE = 0.5 * np.pi * TIMES
Q = ARM.home + 0.1 * (1.0 - np.cos(2.0 * PHASE))[:, None]
DQ = np.repeat(0.1 * np.pi * np.sin(2.0 * PHASE)[:, None], 7, axis=1)
DDQ = np.repeat(0.1 * np.pi**2 * np.cos(2.0 * PHASE)[:, None], 7, axis=1)
DQ[[0, -1]] = 0.0
GOAL = TrajectoryRequest(ARM.joint_names, TIMES, Q, DQ, DDQ)
# Error codes of control_msgs/FollowJointTrajectory.
INVALID_GOAL, INVALID_JOINTS, OLD_HEADER_TIMESTAMP = -1, -2, -3


def filled(law, request, stamp, q):
    """Return the motion of a request and its torques, as the node publishes them."""
    reference = Reference(ARM)
    reference.at(stamp)
    given = request.follow_arguments(ARM, allow_setpoint=False)
    return law.with_efforts(reference.follow(**given, measured_q=q))


def test_torques_are_inverse_dynamics_at_each_point():
    motion, efforts = filled(LAW, GOAL, 5.0, Q[0])
    given = np.isin(motion.times, TIMES + motion.times[0])
    expected = NewtonEulerModel(ARM, (0.0, 0.0, 0.0)).inverse_dynamics(Q, DQ, DDQ)
    np.testing.assert_allclose(efforts[given], expected, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ('changes', 'code', 'words'),
    [
        ({'joint_names': ('a', *ARM.joint_names[1:])}, INVALID_JOINTS, 'each of the'),
        ({'positions': Q * np.nan}, INVALID_GOAL, 'nan'),
        ({'times': TIMES / 10.0}, INVALID_GOAL, 'limits'),
        ({'start': 1.0}, OLD_HEADER_TIMESTAMP, 'ago'),
    ],
)
def test_what_references_refuse_is_refused_with_its_code(changes, code, words):
    request = replace(GOAL, **changes)
    with pytest.raises(ReferenceRefusedError, match=words) as refused:
        filled(LAW, request, 5.0, Q[0])
    assert refused.value.code == code


def test_one_point_at_time_zero_is_reached_at_rest_if_it_is_near():
    law = ControlLaw(ARM, Settings(target='mujoco'))
    for away, speed in ((0.0, 0.0), (0.09, 0.0), (0.0, 0.1)):
        q, dq = Q[:1] + away, np.full((1, 7), speed)
        point = TrajectoryRequest(ARM.joint_names, np.zeros(1), q, dq)
        motion, efforts = filled(law, point, 5.0, Q[0])
        last = motion.states[-1]
        np.testing.assert_allclose(last[1:], 0.0, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(last[0], q[0], rtol=0.0, atol=1e-12 if not speed else 0.02)
        gravity = NewtonEulerModel(ARM).gravity(last[0])
        np.testing.assert_allclose(efforts[-1], gravity, rtol=0.0, atol=1e-9)
    far = TrajectoryRequest(ARM.joint_names, np.zeros(1), Q[:1] + 0.11)
    with pytest.raises(ReferenceRefusedError, match='fr3_joint'):
        filled(law, far, 5.0, Q[0])


def trapezoid(goal, scale):
    """
    Return a plan as MoveIt's time parametrisation makes it: a point each 0.1 s.

    Straight in joint space, with the velocity limits of the FR3 and the acceleration limits of
    franka_fr3_moveit_config, both scaled.
    """
    away = goal - ARM.home
    speed = scale * np.min(ARM.limit('velocity') / np.abs(away))
    rate = scale * np.min(np.array([3.75, 1.875, 2.5, 3.125, 3.75, 5.0, 5.0]) / np.abs(away))
    speed = min(speed, np.sqrt(rate))
    rise, end = speed / rate, speed / rate + 1.0 / speed
    t = np.append(np.arange(0.0, end, 0.1), end)
    part = [t < rise, t > end - rise]
    s = np.select(
        part, [0.5 * rate * t**2, 1.0 - 0.5 * rate * (end - t) ** 2], speed * (t - rise / 2)
    )
    ds = np.select(part, [rate * t, rate * (end - t)], speed)
    dds = np.select(part, [rate, -rate], 0.0)
    rows = [np.outer(values, away) for values in (s, ds, dds)]
    return TrajectoryRequest(ARM.joint_names, t, ARM.home + rows[0], *rows[1:])


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_what_is_held_after_a_braking_motion_holds_the_arm(target):
    # joint_trajectory_controller repeats the last point with its effort. These goals end
    # decelerating.
    law = ControlLaw(ARM, Settings(target=target))
    gravity = (0.0, 0.0, 0.0 if target == 'fci' else -9.81)
    for goal in (GOAL, trapezoid(Q[-1] + 0.5, 0.5)):
        motion, efforts = filled(law, goal, 5.0, goal.positions[0])
        assert np.abs(efforts[-2] - efforts[-1]).max() > 0.5
        still = NewtonEulerModel(ARM, gravity).gravity(motion.positions[-1])
        np.testing.assert_allclose(efforts[-1], still, rtol=0.0, atol=1e-9)
        np.testing.assert_array_equal(motion.positions[-1], motion.positions[-2])
        assert not motion.velocities[-1].any() and not motion.accelerations[-1].any()
        # The torque changes at FCI's limit.
        rate = np.abs(efforts[-1] - efforts[-2]).max() / np.diff(motion.times)[-1]
        assert rate == pytest.approx(1000.0, rel=1e-6)
    # A motion that ends without acceleration gets no point after its end.
    gentle = replace(GOAL, accelerations=DDQ * np.sin(PHASE)[:, None])
    motion, _ = filled(law, gentle, 5.0, Q[0])
    assert motion.times[-1] - motion.times[0] == pytest.approx(TIMES[-1], abs=1e-12)


def test_moveits_plans_are_taken_below_full_speed():
    low, high = ARM.limit('lower'), ARM.limit('upper')
    goals = low + (high - low) * np.random.default_rng(0).uniform(0.1, 0.9, (50, 7))
    for goal in goals:
        motion, _ = filled(LAW, trapezoid(goal, 0.9), 5.0, ARM.home)
        np.testing.assert_allclose(motion.positions[-1], goal, rtol=0.0, atol=1e-12)
