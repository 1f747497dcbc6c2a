# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions against SciPy and arms' limits; requests by joint names, and what is wrong in them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import BPoly

from franka_dynamics.arm import load
from franka_dynamics.control.control_law import ControlLaw
from franka_dynamics.control.settings import Settings
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import ReferenceRefusedError
from franka_dynamics.motion.planning import TrajectoryRequest
from franka_dynamics.motion.reference import ReferenceFollower
from franka_dynamics.motion.trajectory import Trajectory
from franka_dynamics.ros.motions.trajectory_efforts import motion_with_efforts

from .test_reference import held
from ..control.closed_loop import FER

FR3 = load('fr3')
# Polynomials of degree five with values of order one. The second derivative divides rounding
# errors by the square of a duration of 0.1 to 1 s.
ATOL = 1e-7


@pytest.fixture
def motion():
    """Return a motion through six drawn states that ends without velocity."""
    rng = np.random.default_rng(3)
    states = rng.uniform(-1.0, 1.0, (6, 3, 7))
    states[-1, 1] = 0.0
    return Trajectory(np.cumsum(rng.uniform(0.1, 1.0, 6)), states, 100.0)


def test_segments_are_the_quintics_of_their_ends(motion):
    polynomial = BPoly.from_derivatives(motion.times, motion.states)
    times = np.linspace(motion.times[0] + 1e-3, motion.times[-1] - 1e-3, 201)
    found = motion.states_at(times)
    single = np.array([motion.at(100.0 + time) for time in times])
    for order in range(3):
        expected = polynomial.derivative(order)(times)
        np.testing.assert_allclose(found[:, order], expected, rtol=0.0, atol=ATOL)
        np.testing.assert_allclose(single[:, order], expected, rtol=0.0, atol=ATOL)


def test_outside_its_times_a_motion_rests_at_its_ends(motion):
    for stamp, row in (
        (motion.begin - 1.0, 0),
        (motion.end + 1e-9, -1),
        (motion.end + 1.0, -1),
    ):
        expected = motion.positions[row], np.zeros(7), np.zeros(7)
        np.testing.assert_array_equal(motion.at(stamp), expected)
    late = motion.states_at(motion.times[-1] + np.array([0.1, 9.0]))
    np.testing.assert_allclose(late[:, 0], motion.positions[[-1, -1]], rtol=0.0, atol=1e-12)
    assert not late[:, 1:].any()


@pytest.mark.parametrize(
    ('order', 'value', 'names'),
    [
        (0, 3.0, 'position of 3 '),
        (1, -2.2, 'velocity of -2.2 '),
        (2, 15.1, 'acceleration of 15'),
    ],
)
def test_a_state_beyond_a_limit_is_refused_with_joint_and_value(order, value, names):
    states = np.zeros((2, 3, 7))
    states[:, 0] = FER.home
    moment = np.array([0.0, 1e-3])
    Trajectory(moment, states).require_within_limits(FER)
    states[:, order, 0] = value
    with pytest.raises(ReferenceRefusedError, match=f'fer_joint1 to an? {names}'):
        Trajectory(moment, states).require_within_limits(FER)
    with pytest.raises(ReferenceRefusedError, match='nan'):
        Trajectory(np.zeros(1), np.full((1, 3, 7), np.nan)).require_within_limits(FER)


def test_between_two_states_at_rest_the_highest_speed_is_found():
    # From rest to rest in 1 s the speed is 15/8 rad/s for 1 rad, the limit 2.175 rad/s.
    for away, allowed in ((1.15, True), (1.17, False)):
        states = np.zeros((2, 3, 7))
        states[:, 0] = FER.home
        states[1, 0, 0] += away
        motion = Trajectory(np.array([0.0, 1.0]), states)
        if allowed:
            assert motion.require_within_limits(FER) is motion
        else:
            with pytest.raises(ReferenceRefusedError, match='fer_joint1 to a velocity'):
                motion.require_within_limits(FER)


def test_an_fr3_near_its_stop_has_the_local_velocity_limit():
    # Joint 1 at 2.6 rad/s is within the constant limit of 2.62 rad/s, but 0.1 rad from its stop
    # an FR3 may go no faster than -0.6599 + sqrt(2 * 6 * 0.1) = 0.4356 rad/s.
    states = np.zeros((2, 3, 7))
    states[:, 0] = FR3.home
    states[:, 1, 0] = 2.6
    states[1, 0, 0] += 2.6e-3  # a millisecond later
    moment = np.array([0.0, 1e-3])
    Trajectory(moment, states).require_within_limits(FR3)
    states[:, 0, 0] += FR3.limit('upper')[0] - 0.1 - FR3.home[0]
    with pytest.raises(ReferenceRefusedError, match=r'to 0\.4355'):
        Trajectory(moment, states).require_within_limits(FR3)


@pytest.mark.parametrize('name', ['fer', 'fr3'])
@pytest.mark.parametrize(('duration', 'amplitude'), [(10.0, 0.5), (4.0, 3.0), (60.0, 3.0)])
def test_a_multisine_of_any_size_is_a_motion_the_arm_can_follow(name, duration, amplitude):
    arm = load(name)
    request = multisine(arm, duration, amplitude)
    states = (request.positions, request.velocities, request.accelerations)
    motion = Trajectory(request.times, np.stack(states, axis=1)).require_within_limits(arm)
    np.testing.assert_allclose(motion.positions[[0, -1]], [arm.home, arm.home], rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion.velocities[[0, -1]], 0.0, rtol=0, atol=1e-12)
    away = np.abs(motion.positions - arm.home)
    assert 0.1 < away.max() <= amplitude
    # The amplitude fades at both ends.
    assert away[motion.times < 0.02 * duration].max() < 0.01 * away.max()
    # Velocities and accelerations are the positions' derivatives: quintics meet a finer motion.
    finer = multisine(arm, duration, amplitude)
    middle = 0.5 * (motion.times[1:] + motion.times[:-1])
    slope = np.diff(finer.positions, axis=0) / np.diff(finer.times)[:, None]
    atol = 0.02 * np.abs(slope).max()
    np.testing.assert_allclose(motion.states_at(middle)[:, 1], slope, rtol=0.0, atol=atol)


LAW = ControlLaw(FR3, Settings(target='fci'))
TIMES = np.linspace(0.0, 2.0, 21)
# A motion from rest to rest, known in closed form.
PHASE = 0.5 * np.pi * TIMES
Q = FR3.home + 0.1 * (1.0 - np.cos(2.0 * PHASE))[:, None]
DQ = np.repeat(0.1 * np.pi * np.sin(2.0 * PHASE)[:, None], 7, axis=1)
DDQ = np.repeat(0.1 * np.pi**2 * np.cos(2.0 * PHASE)[:, None], 7, axis=1)
DQ[[0, -1]] = 0.0
GOAL = TrajectoryRequest(FR3.joint_names, TIMES, Q, DQ, DDQ)
# Error codes of control_msgs/FollowJointTrajectory.
INVALID_GOAL = -1
INVALID_JOINTS = -2
OLD_HEADER_TIMESTAMP = -3


def filled(law, request, stamp, q):
    """Return the motion of a request and its torques, as the node publishes them."""
    reference = ReferenceFollower(FR3)
    reference.at(stamp)
    given = request.follow_kwargs(FR3, allow_setpoint=False)
    return motion_with_efforts(law, reference.follow(**given, measured_q=q))


def test_torques_are_inverse_dynamics_at_each_point():
    motion, efforts = filled(LAW, GOAL, 5.0, Q[0])
    given = np.isin(motion.times, TIMES + motion.times[0])
    expected = NewtonEulerModel(FR3, (0.0, 0.0, 0.0)).inverse_dynamics(Q, DQ, DDQ)
    np.testing.assert_allclose(efforts[given], expected, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ('changes', 'code', 'words'),
    [
        ({'joint_names': ('a', *FR3.joint_names[1:])}, INVALID_JOINTS, 'each of the'),
        ({'positions': Q * np.nan}, INVALID_GOAL, 'nan'),
        ({'times': TIMES / 10.0}, INVALID_GOAL, 'limits'),
        ({'start_time': 1.0}, OLD_HEADER_TIMESTAMP, 'ago'),
    ],
)
def test_what_references_refuse_is_refused_with_its_code(changes, code, words):
    request = replace(GOAL, **changes)
    with pytest.raises(ReferenceRefusedError, match=words) as refused:
        filled(LAW, request, 5.0, Q[0])
    assert refused.value.code == code


def test_one_point_at_time_zero_is_reached_at_rest_if_it_is_near():
    law = ControlLaw(FR3, Settings(target='mujoco'))
    for away, speed in ((0.0, 0.0), (0.09, 0.0), (0.0, 0.1)):
        q = Q[:1] + away
        dq = np.full((1, 7), speed)
        point = TrajectoryRequest(FR3.joint_names, np.zeros(1), q, dq)
        motion, efforts = filled(law, point, 5.0, Q[0])
        last = motion.states[-1]
        np.testing.assert_allclose(last[1:], 0.0, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(last[0], q[0], rtol=0.0, atol=1e-12 if not speed else 0.02)
        gravity = NewtonEulerModel(FR3).gravity(last[0])
        np.testing.assert_allclose(efforts[-1], gravity, rtol=0.0, atol=1e-9)
    far = TrajectoryRequest(FR3.joint_names, np.zeros(1), Q[:1] + 0.11)
    with pytest.raises(ReferenceRefusedError, match='fr3_joint'):
        filled(law, far, 5.0, Q[0])


def trapezoid(goal, scale):
    """
    Return a plan as MoveIt's time parametrisation makes it: a point each 0.1 s.

    Straight in joint space, with the velocity limits of the FR3 and the acceleration limits of
    franka_fr3_moveit_config, both scaled.
    """
    away = goal - FR3.home
    speed = scale * np.min(FR3.limit('velocity') / np.abs(away))
    rate = scale * np.min(np.array([3.75, 1.875, 2.5, 3.125, 3.75, 5.0, 5.0]) / np.abs(away))
    speed = min(speed, np.sqrt(rate))
    rise = speed / rate
    end = speed / rate + 1.0 / speed
    t = np.append(np.arange(0.0, end, 0.1), end)
    part = [t < rise, t > end - rise]
    ways = [0.5 * rate * t**2, 1.0 - 0.5 * rate * (end - t) ** 2]
    s = np.select(part, ways, speed * (t - rise / 2))
    ds = np.select(part, [rate * t, rate * (end - t)], speed)
    rows = [np.outer(values, away) for values in (s, ds, np.select(part, [rate, -rate], 0.0))]
    return TrajectoryRequest(FR3.joint_names, t, FR3.home + rows[0], *rows[1:])


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_what_is_held_after_a_braking_motion_holds_the_arm(target):
    # joint_trajectory_controller repeats the last point's effort. These goals end decelerating.
    law = ControlLaw(FR3, Settings(target=target))
    gravity = (0.0, 0.0, 0.0 if target == 'fci' else -9.81)
    for goal in (GOAL, trapezoid(Q[-1] + 0.5, 0.5)):
        motion, efforts = filled(law, goal, 5.0, goal.positions[0])
        assert np.abs(efforts[-2] - efforts[-1]).max() > 0.5
        still = NewtonEulerModel(FR3, gravity).gravity(motion.positions[-1])
        np.testing.assert_allclose(efforts[-1], still, rtol=0.0, atol=1e-9)
        np.testing.assert_array_equal(motion.positions[-1], motion.positions[-2])
        assert not motion.velocities[-1].any() and not motion.accelerations[-1].any()
        # The torque changes at FCI's limit.
        rate = np.abs(efforts[-1] - efforts[-2]).max() / np.diff(motion.times)[-1]
        assert rate == pytest.approx(1000.0, rel=1e-6)
    # A motion that ends without acceleration gets no point after its end.
    motion, _ = filled(law, replace(GOAL, accelerations=DDQ * np.sin(PHASE)[:, None]), 5.0, Q[0])
    assert motion.times[-1] - motion.times[0] == pytest.approx(TIMES[-1], abs=1e-12)


def test_moveits_plans_are_taken_below_full_speed():
    low = FR3.limit('lower')
    high = FR3.limit('upper')
    for goal in low + (high - low) * np.random.default_rng(0).uniform(0.1, 0.9, (50, 7)):
        motion, _ = filled(LAW, trapezoid(goal, 0.9), 5.0, FR3.home)
        np.testing.assert_allclose(motion.positions[-1], goal, rtol=0.0, atol=1e-12)


NOW = 50.0


def request(**changes):
    """Return a gentle two-second motion of joint 1 that ends at rest."""
    positions = np.tile(FER.home, (3, 1))
    positions[1:, 0] += [0.1, 0.2]
    zero = np.zeros((3, 7))
    plain = TrajectoryRequest(FER.joint_names, np.arange(3.0), positions, zero, zero)
    return replace(plain, **changes)


def resting(stamp=NOW):
    return held(stamp, FER.home, FER)


def shuffled(motion):
    """Return a motion with its joints in another order."""
    order = [3, 1, 0, 2, 6, 5, 4]
    arrays = ('positions', 'velocities', 'accelerations')
    given = {name: getattr(motion, name) for name in arrays}
    columns = {name: rows[:, order] for name, rows in given.items() if rows is not None}
    return replace(motion, joint_names=tuple(FER.joint_names[i] for i in order), **columns)


def test_joints_in_another_order_are_taken_by_their_names():
    asked = shuffled(request()).follow_kwargs(FER)
    for name, rows in (('q', request().positions), ('dq', request().velocities)):
        np.testing.assert_array_equal(asked[name], rows)


FINGER = 'fer_finger_joint1'


def with_finger(positions, velocities=0.0):
    """Return the gentle motion with a finger at the positions (3,), named before the arm."""
    motion = request()
    rows = np.ones(3)
    return replace(
        motion,
        joint_names=(FINGER, *motion.joint_names),
        positions=np.column_stack((positions * rows, motion.positions)),
        velocities=np.column_stack((velocities * rows, motion.velocities)),
        accelerations=np.column_stack((0.0 * rows, motion.accelerations)),
    )


def test_a_finger_that_holds_still_changes_nothing():
    given = with_finger(0.04)
    found = given.follow_kwargs(FER)
    expected = request().follow_kwargs(FER)
    assert given.extra_joint_names(FER) == (FINGER,) and request().extra_joint_names(FER) == ()
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize('moving', [([0.0, 0.02, 0.04], 0.0), (0.04, [0.0, 0.1, 0.0])])
def test_a_finger_that_should_move_is_refused_by_its_name(moving):
    with pytest.raises(ReferenceRefusedError, match=FINGER):
        with_finger(*map(np.array, moving)).follow_kwargs(FER)


def moved(row, joint, by):
    positions = request().positions.copy()
    positions[row, joint] += by
    return positions


@pytest.mark.parametrize(
    ('changes', 'names'),
    [
        ({'joint_names': ('other', *FER.joint_names[1:])}, 'names other, fer_joint2'),
        ({'joint_names': FER.joint_names[:1] * 7}, 'names fer_joint1, fer_joint1'),
        ({'positions': np.zeros((2, 7))}, r'positions.*\(3, 7\).*\(2, 7\)'),
        ({'times': np.array([0.0, 1.0, 1.0])}, r'point 3 has 1 s'),
        ({'times': np.array([-0.1, 1.0, 2.0])}, r'point 1 has -0.1 s'),
        ({'times': np.array([0.0, np.nan, 2.0])}, 'times.* nan'),
        ({'start_time': NOW - 10.0}, r'10 s ago'),
        ({'start_time': NOW - 1.0}, r'1 s ago'),
        ({'start_time': NOW + 1e9}, r'1e\+09 s ahead'),
        ({'positions': moved(1, 2, np.nan)}, r'positions.* nan at \[1, 2\]'),
        ({'velocities': np.full((3, 7), np.inf)}, r'velocities.* inf at \[0, 0\]'),
        ({'velocities': None}, 'accelerations needs velocities'),
        ({'positions': moved(2, 3, -2.0)}, 'fer_joint4 to a position of -3'),
        (
            {'positions': moved(2, 3, 3.0)},
            'fer_joint4 to a position .* -3.072 to -0.0698',
        ),
        ({'positions': moved(slice(0, 3), 0, 0.5)}, r'fer_joint1 is 0.5 rad away'),
        ({'positions': moved(slice(0, 3), 0, 40.0)}, r'40 rad away .* degrees'),
        ({'times': np.array([0.0, 0.02, 0.04])}, 'fer_joint1 to a velocity of'),
        ({'times': np.array([0.0, 0.15, 0.3])}, 'fer_joint1 to an? acceleration of'),
    ],
)
def test_a_request_at_fault_is_refused_with_the_fault_named(changes, names):
    reference = resting()
    with pytest.raises(ReferenceRefusedError, match=names):
        reference.follow(**request(**changes).follow_kwargs(FER))
    assert not reference.has_open_motion and not reference.events


@pytest.mark.parametrize('now', [NOW, 1.7e9])
def test_a_step_in_velocity_is_refused_however_short(now):
    times = np.array([0.0, 1.0, 1.0 + 1e-7, 1.5])
    positions = np.tile(FER.home, (4, 1))
    velocities = np.zeros((4, 7))
    velocities[2, 0] = 1.0
    positions[3, 0] = positions[3, 0] + 0.2
    with pytest.raises(ReferenceRefusedError, match='the reference takes fer_joint1 to a'):
        resting(now).follow(positions, times, velocities)


def test_impossible_points_and_times_are_refused():
    reference = resting()
    with pytest.raises(ReferenceRefusedError, match='2001 points'):
        reference.follow(np.tile(FER.home, (2001, 1)), np.arange(2001.0))
    with pytest.raises(ReferenceRefusedError, match='3 points without times'):
        reference.follow(np.tile(FER.home, (3, 1)))
    with pytest.raises(ReferenceRefusedError, match='1 s ahead'):
        reference.follow(FER.home, start=NOW + 1.0)
    asked = TrajectoryRequest(FER.joint_names, np.zeros(1), FER.home[None]).follow_kwargs(FER)
    assert asked.get('times') is None
    np.testing.assert_array_equal(asked['q'], FER.home)


@pytest.mark.parametrize(
    'wrong',
    [
        {'q': None},
        {'q': [[1], [2, 3]]},
        {'start': 'now'},
        {'ahead': np.nan},
        {'ahead': np.inf},
    ],
)
def test_what_is_no_position_and_no_time_is_refused(wrong):
    with pytest.raises(ReferenceRefusedError):
        resting().follow(**{'q': FER.home, **wrong})
