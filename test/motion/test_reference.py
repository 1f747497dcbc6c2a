# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions from points, chunks and streams against the motion that they were taken from."""

from collections import deque
from contextlib import suppress
import copy
from dataclasses import replace
import itertools

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from franka_dynamics.arm import load
from franka_dynamics.control.state_check import POSITION_TOLERANCE_RAD
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import LimitExceededError, ReferenceRefusedError
from franka_dynamics.motion import planning
from franka_dynamics.motion.planning import (
    PLANNING_TIME_CANDIDATES_S,
    TrajectoryRequest,
)
from franka_dynamics.motion.reference import ReferenceFollower

from ..arms import limited
from ..control.closed_loop import require_continuous

ARM = load('fr3')
HOME = ARM.home
RATE = np.array([2.4, 2.6, 2.9, 3.1, 3.6, 4.0, 4.4])  # rad/s
ZERO = np.zeros(7)


def swing(times, amplitude=0.35):
    """Return position, velocity and acceleration of a smooth motion, known in closed form."""
    phase = np.multiply.outer(np.asarray(times), RATE)
    way = amplitude * np.sin(phase)
    return HOME + way, amplitude * RATE * np.cos(phase), -(RATE**2) * way


def held(stamp=0.0, q=HOME, arm=ARM):
    """Return the reference of an arm that is held at rest."""
    reference = ReferenceFollower(arm)
    reference.at(stamp)
    reference.hold(q)
    return reference


def swinging(amplitude=0.35, duration=3.0, stamp=0.0):
    """Return a reference that swings, and the time after which it is swing(time) [s]."""
    reference = held(stamp)
    times = np.arange(0.0, duration + 1e-9, 0.02)
    reference.follow(swing(times, amplitude)[0], times)
    return reference, PLANNING_TIME_CANDIDATES_S[0]


def run(reference, begin, seconds):
    """Pass by each millisecond of some seconds; return q, dq, ddq, (k, 7) each."""
    stamps = begin + 1e-3 * np.arange(round(1e3 * seconds))
    return [np.array(rows) for rows in zip(*(reference.at(stamp) for stamp in stamps))]


def require_within_limits(q, dq, ddq, share=1.0):
    low, high = ARM.velocity_bounds(q)
    assert (q <= ARM.limit('upper') + 1e-6).all() and (q >= ARM.limit('lower') - 1e-6).all()
    assert (dq <= high + 1e-3).all() and (dq >= low - 1e-3).all()
    assert (np.abs(ddq) <= share * ARM.limit('acceleration') * 1.01).all()


def require_smooth(states, share=1.0):
    require_within_limits(*states, share)
    require_continuous(*states, 1e-5, 2e-3)


def torques(q, ddq):
    return np.einsum('kij,kj->ki', NewtonEulerModel(ARM, (0.0, 0.0, 0.0)).mass_matrix(q), ddq)


# Rest and trajectories ---------------------------------------------------------------------------


def test_nothing_is_desired_before_something_is_held_or_followed():
    reference = ReferenceFollower(ARM)
    assert reference.at(0.0) is None and reference.motion is None
    with pytest.raises(ReferenceRefusedError, match='No position known'):
        reference.follow([HOME], [1.0])
    reference.hold(HOME + 0.1)
    np.testing.assert_array_equal(reference.at(1.0), (HOME + 0.1, ZERO, ZERO))
    reference.hold(None)
    assert reference.at(2.0) is None
    reference.follow([HOME + 0.1], [1.0], measured_q=HOME)
    np.testing.assert_array_equal(reference.at(2.0).q, HOME)
    np.testing.assert_allclose(reference.at(9.0).q, HOME + 0.1, rtol=0.0, atol=1e-15)
    with pytest.raises(ReferenceRefusedError, match='wait for states'):
        ReferenceFollower(ARM).follow(HOME, measured_q=HOME)


# `share` is the largest error of the inertia torque relative to the largest inertia torque. For
# the fastest joint, (w h)^2 / 12 is 1.6 % at 10 Hz.
@pytest.mark.parametrize(('rate', 'share'), [(10.0, 0.02), (50.0, 0.001)])
def test_the_torque_is_nearly_that_of_the_sampled_motion(rate, share):
    reference = held()
    times = np.arange(0.0, 3.01, 1.0 / rate)
    reference.follow(swing(times)[0], times)
    states = run(reference, 0.0, 4.0)
    require_smooth(states)
    inner = np.arange(1000, 2500)
    q, _, ddq = swing(1e-3 * inner - PLANNING_TIME_CANDIDATES_S[0])
    found = torques(states[0][inner], states[2][inner])
    true = torques(q, ddq)
    assert np.abs(found - true).max() < share * np.abs(true).max() and np.abs(true).max() > 1.0


def test_positions_are_joined_by_scipys_spline_then_braked():
    reference = held()
    times = np.arange(0.0, 1.3, 0.05)
    points = swing(times, 0.2)[0]
    assert np.abs(swing(times, 0.2)[1][-1]).max() > 0.5
    motion = reference.follow(points, times)
    inner = np.linspace(0.7, 1.2, 50)
    expected = CubicSpline(times, points)(inner)
    found = motion.states_at(inner + motion.times[0])[:, 0]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=2e-5)
    states = run(reference, 0.0, 3.0)
    require_smooth(states)
    assert motion.end > times[-1] + 0.1 and not states[1][-1].any()


def test_a_motion_with_velocities_is_met_at_every_point():
    reference = held()
    times = np.linspace(0.0, np.pi, 60)
    phase = 2.0 * times[:, None]
    q = HOME + 0.3 * (1.0 - np.cos(phase))
    dq = 0.6 * np.sin(phase) * np.ones(7)
    ddq = 1.2 * np.cos(phase) * np.ones(7)
    motion = reference.follow(q, times, dq)
    np.testing.assert_allclose(motion.states_at(motion.times[0] + times)[:, 0], q, atol=1e-12)
    # Missing accelerations are nearly those of the motion.
    inner = motion.states_at(motion.times[0] + times[1:-1])[:, 2]
    np.testing.assert_allclose(inner, ddq[1:-1], rtol=0.0, atol=0.01)


def test_the_arm_moves_to_a_first_point_in_the_future():
    reference = held()
    with pytest.raises(ReferenceRefusedError, match=r'is 0\.2 rad away'):
        reference.follow([HOME + 0.2, HOME], [0.0, 2.0])
    reference.follow([HOME + 0.2, HOME], [1.0, 2.0])
    states = run(reference, 0.0, 3.0)
    require_smooth(states)
    np.testing.assert_allclose(states[0][1020], HOME + 0.2, rtol=0.0, atol=1e-6)


def test_the_way_to_a_first_point_keeps_to_the_limits():
    # 4 rad in 2.5 s would need 3 rad/s.
    far = HOME - np.array([2.0, 0, 0, 0, 0, 0, 0])
    reference = held(q=HOME + np.array([2.0, 0, 0, 0, 0, 0, 0]))
    with pytest.raises(ReferenceRefusedError, match=r'fr3_joint1 to a velocity'):
        reference.follow([far], [2.5])
    reference.follow([far], [4.0])


@pytest.mark.parametrize('clock', [0.0, 1.76e9])
@pytest.mark.parametrize('offset', [1e-6, 1e-4, 0.01, 0.06])
def test_an_arm_beside_a_motion_joins_it_within_limits(offset, clock):
    reference = held(clock, HOME + offset)
    times = np.arange(0.0, 1.5, 0.02)
    reference.follow(swing(times)[0], times)
    states = run(reference, clock, 1.3)
    require_smooth(states)
    late = np.arange(900, 1300)
    true = swing(1e-3 * late - PLANNING_TIME_CANDIDATES_S[0])[0]
    np.testing.assert_allclose(states[0][late], true, rtol=0.0, atol=1e-4)


@pytest.mark.parametrize('beyond', [9e-6, 0.02, POSITION_TOLERANCE_RAD])
@pytest.mark.parametrize('velocities', [False, True])
def test_from_beyond_a_limit_motions_lead_back_inside_alone(beyond, velocities):
    upper = ARM.limit('upper')
    q = np.where(np.arange(7) == 5, upper + beyond, HOME)
    reference = held(q=q)
    times = np.array([0.5, 2.5])
    if velocities:  # as MoveIt's, whose first point is where the arm is
        reference.follow(np.array([q, HOME]), times, np.zeros((2, 7)))
    else:
        reference.follow(HOME[None], times[1:])
    found, dq, _ = run(reference, 0.0, 4.0)
    np.testing.assert_allclose(found[-1], HOME, rtol=0.0, atol=1e-12)
    assert found[:, 5].max() <= q[5] + 1e-9
    assert (np.abs(dq) <= ARM.limit('velocity') + 1e-9).all()
    for further in (
        q + 0.01 * (np.arange(7) == 5),
        np.where(np.arange(7) == 3, upper, q) + 1e-3,
    ):
        with pytest.raises(LimitExceededError):
            held(q=q).follow(np.array([q, further]), times)


@pytest.mark.parametrize('after', [0.1, 0.3])
def test_a_stop_beyond_a_position_limit_is_made_all_the_same(after):
    q = np.where(np.arange(7) == 5, ARM.limit('upper') + 5e-3, HOME)
    reference = held(q=q)
    reference.follow(HOME[None], np.array([8.0]))
    run(reference, 0.0, after)
    assert (reference.at(after).q > ARM.limit('upper')).any()
    reference.brake_to_rest(reference.at(after).q, 'cancelled')
    found, dq, _ = run(reference, after, 3.0)
    np.testing.assert_array_equal(dq[-1], 0.0)
    assert found[:, 5].max() <= q[5] + 1e-9
    assert np.abs(found[-1] - q).max() < 0.05


def test_a_stream_can_be_stopped_at_each_instant():
    rng = np.random.default_rng(3)
    reference = held()
    stopped = 0
    for k in range(60):
        stamp = 0.02 * k
        goal = HOME + 0.08 * np.sin(2.0 * np.pi * 1.2 * stamp) + rng.normal(0.0, 2e-3, 7)
        with suppress(ReferenceRefusedError):
            reference.follow(goal, start=stamp)
        for step in range(20):
            reference.at(stamp + 1e-3 * step)
        copied = copy.deepcopy(reference.motion)
        for begin in np.linspace(stamp, stamp + 0.02, 7) - copied.time_zero:
            rest = planning.braked_motion(ARM, copied, begin).states[-1]
            np.testing.assert_array_equal(rest[1], 0.0)
            stopped += 1
    assert stopped == 420


def test_an_arm_that_is_not_where_it_is_desired_begins_nothing():
    reference = held()
    away = HOME + 0.11 * np.eye(7)[2]
    for q, times in ((HOME, None), ([HOME], [1.0])):
        with pytest.raises(ReferenceRefusedError, match=r'fr3_joint3 is 0\.11 rad'):
            reference.follow(q, times, measured_q=away, has_kp=False)
    # Until then it may arrive.
    reference.follow([HOME], [1.0], start=5.0, measured_q=away, has_kp=False)


def test_a_motion_may_begin_at_the_measured_position():
    reference = held()
    away = HOME + 0.3 * np.eye(7)[6]
    with pytest.raises(ReferenceRefusedError, match='neither is nor is desired'):
        reference.follow([away, HOME], [0.0, 3.0], measured_q=away + 0.11)
    reference.follow([away, away - 0.2], [0.0, 3.0], measured_q=away)
    states = run(reference, 0.0, 4.0)
    require_smooth(states)
    np.testing.assert_allclose(states[0][-1], away - 0.2, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize('at', [1.0, 4.0])  # on the way, and after the end
def test_a_motion_given_up_leaves_the_reference_where_it_is(at):
    reference, _ = swinging(0.1)
    before = run(reference, 0.0, at)
    away = np.linspace(-0.3, 0.3, 7)
    reference.brake_to_rest(before[0][-1] + away, 'given up')
    assert not reference.has_open_motion
    states = run(reference, at, 3.0)
    require_smooth([np.vstack(pair) for pair in zip(before, states)])
    assert not states[1][-1].any()
    # Where it is, and what it needs to brake.
    assert np.abs(states[0][-1] - before[0][-1] - away).max() <= (0.2 if at == 1.0 else 1e-9)


@pytest.mark.parametrize('velocities', [True, False])
def test_points_as_of_servo_are_a_stream_that_does_not_lag(velocities):
    reference = held()
    period = 0.02
    states = []
    wanted = []
    for k in range(150):
        now = k * period
        reference.at(now)
        q, dq, _ = swing(now + period, 0.1 * min(1.0, k / 50))
        reference.follow(q, dq=dq if velocities else None, ahead=period, measured_q=HOME)
        for stamp in np.arange(now, now + period, 1e-3):
            states.append(reference.at(stamp).q)
            wanted.append(swing(stamp, 0.1 * min(1.0, k / 50))[0])
    assert np.abs(np.array(states) - wanted)[1000:].mean() < (1e-3 if velocities else 4e-3)
    assert [one.state.value for one in reference.events] == ['accepted', 'following']
    reference.at(5.0)
    assert reference.events[-1].state.value == 'finished'


def test_windows_of_points_around_now_are_a_stream():
    """As of MoveIt Servo since 2024: the points of 0.1 s before and after now, with a start."""
    reference = held()
    period = 0.01
    reach = 0.1
    sent = []
    late = []
    for k in range(300):
        now = 50.0 + k * period
        reference.at(now)
        sent.append((now + reach, *swing(now - 50.0, 0.1 * min(1.0, k / 100))[:2]))
        window = [one for one in sent if one[0] > now - reach]
        times, q, dq = (np.array(rows) for rows in zip(*window))
        if len(times) < 3:
            continue
        request = TrajectoryRequest(ARM.joint_names, times - times[0], q, dq, start_time=times[0])
        reference.follow(**request.follow_kwargs(ARM), measured_q=HOME)
        if k > 150:
            for stamp in np.arange(now, now + period, 1e-3):
                wanted = swing(stamp - 50.0 - reach, 0.1)[0]
                late.append(np.abs(reference.at(stamp).q - wanted).max())
    assert np.mean(late) < 1e-3
    assert [one.state.value for one in reference.events] == ['accepted', 'following']


@pytest.mark.parametrize('speed', [0.0, 0.3, 2.0])
def test_no_points_bring_a_motion_to_rest_without_a_step(speed):
    reference, _ = swinging(0.5 * speed / RATE.max(), 9.0)
    before = run(reference, 0.0, 1.0)
    motion = reference.follow(np.zeros((0, 7)), [])
    states = run(reference, 1.0, 3.0)
    require_smooth([np.vstack(pair) for pair in zip(before, states)])
    assert motion.end - 1.0 < 2.1 and not states[1][-1].any()


@pytest.mark.parametrize(('count', 'velocities'), [(16, True), (planning.MAX_POINT_COUNT, False)])
def test_a_motion_under_way_is_replaced_without_a_step(count, velocities):
    reference, _ = swinging(0.1)
    before = run(reference, 0.0, 0.8)
    later = np.linspace(0.0, 3.0, count)
    phase = np.pi * later[:, None] / 3.0 * np.ones(7)
    q = before[0][-1] + 0.1 * (1.0 - np.cos(phase))
    dq = 0.1 * np.pi / 3.0 * np.sin(phase)
    reference.follow(q, later, dq if velocities else None)
    require_smooth([np.vstack(pair) for pair in zip(before, run(reference, 0.8, 2.0))])


def busy(during):
    """Return an arm whose limits are read in the first planning only after `during` is called."""
    arm = replace(ARM)
    calls = iter([during])

    def velocity_bounds(q):
        next(calls, lambda: None)()
        return ARM.velocity_bounds(q)

    object.__setattr__(arm, 'velocity_bounds', velocity_bounds)
    return arm


def test_a_motion_planned_too_slowly_is_planned_again():
    states = []
    stamps = itertools.count()

    def pass_by(milliseconds):
        for _ in range(milliseconds):
            states.append(reference.at(1e-3 * next(stamps)))

    reference = ReferenceFollower(busy(lambda: pass_by(50)), swinging(0.1)[0].motion)
    pass_by(500)
    times = np.arange(0.0, 0.975, 0.05)
    planned = reference.follow(swing(0.5 + times, 0.1)[0], times)
    assert len(states) == 550
    assert planned.begin == pytest.approx(0.549 + PLANNING_TIME_CANDIDATES_S[1])
    pass_by(2000)
    require_smooth([np.array(rows) for rows in zip(*states)])


def test_a_motion_planned_while_stopped_is_not_followed():
    reference = held(arm=busy(lambda: reference.clear('stopped')))
    with pytest.raises(ReferenceRefusedError, match='stopped'):
        reference.follow([HOME], [1.0], measured_q=HOME)
    assert reference.at(0.1) is None and not reference.has_open_motion


# Chunks ------------------------------------------------------------------------------------------


class TakenAtOnce(deque):
    """Events that another thread takes before `append` returns."""

    def __init__(self):
        super().__init__()
        self.taken = []

    def append(self, one):
        self.taken.append(one)


def test_events_may_be_taken_by_another_thread_at_once():
    reference = held()
    reference.events = events = TakenAtOnce()
    reference.follow([HOME, HOME + 0.1], [0.0, 1.0])
    run(reference, 0.0, 2.0)
    assert [one.state.value for one in events.taken] == ['accepted', 'following', 'finished']


@pytest.mark.parametrize('noise', [0.0, 0.001, 0.003])
def test_chunks_of_a_policy_replace_each_other(noise):
    # A policy at 30 Hz plans 8 points, and is asked again after 3 of them, in motion.
    reference = held()
    rng = np.random.default_rng(1)
    states = []
    for k in range(40):
        times = np.arange(1, 9) / 30.0
        ramp = np.clip((0.1 * k + times) / 2.0, 0.0, 1.0)[:, None]
        points = HOME + ramp**2 * (swing(0.1 * k + times, 0.15)[0] - HOME)
        reference.follow(points + rng.normal(0.0, noise, points.shape), times)
        states.append(run(reference, 0.1 * k, 0.1))
    states = [np.vstack(rows) for rows in zip(*states)]
    require_smooth(states)
    inner = np.arange(2500, 4000)
    error = states[0][inner] - swing(1e-3 * inner - PLANNING_TIME_CANDIDATES_S[0], 0.15)[0]
    assert np.abs(error).max() < 0.005 + 6.0 * noise


@pytest.mark.parametrize(('unit', 'asked'), [(1.0, 0), (1e3, 1)])
def test_chunks_with_times_in_milliseconds_are_asked_about_once(unit, asked, caplog):
    reference = held()
    times = np.arange(1, 9) / 30.0
    for k in range(20):
        reference.follow(swing(0.1 * k + times, 0.05)[0], unit * times)
        reference.at(0.1 * (k + 1))
    assert caplog.text.count('milliseconds') == asked


def test_a_chunk_whose_points_must_move_far_is_refused():
    points = HOME + 0.15 * np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])[:, None]
    with pytest.raises(ReferenceRefusedError, match=r'fr3_joint1 to an? '):
        held().follow(points, np.arange(6) / 20.0)


# Set-points --------------------------------------------------------------------------------------


def stream(arrivals, points, seconds, step=1e-3):
    """Send set-points as they arrive; return desired states by step, and how many were refused."""
    reference = held()
    coming = list(zip(arrivals, points))
    found = []
    refused = 0
    for now in step * np.arange(round(seconds / step)):
        found.append(reference.at(now))
        while coming and coming[0][0] <= now + 1e-9:
            try:
                reference.follow(coming.pop(0)[1])
            except ReferenceRefusedError:
                refused += 1
    return [np.array(rows) for rows in zip(*found)], refused


# With steps of 1 ms it is compared with the motion's torque below.
@pytest.mark.parametrize(('rate', 'step'), [(10, 5e-3), (30, 2e-3), (30, 5e-3), (50, 5e-3)])
def test_a_stream_is_two_periods_and_a_lead_late_at_any_step(rate, step):
    def policy(times):
        return HOME + 0.05 * (1.0 - np.cos(4.0 * np.maximum(times, 0.0)))[:, None]

    arrivals = np.arange(0.0, 3.0, 1.0 / rate)
    states, refused = stream(arrivals, policy(arrivals), 3.0, step)
    times = step * np.arange(len(states[0]))
    off = states[0] - policy(times - 2.0 / rate - PLANNING_TIME_CANDIDATES_S[0])
    assert refused == 0
    assert np.abs(off[times > 1.5]).max() < 2e-3  # in 0.05 s the policy moves by 10 mrad


# The motion follows two periods, PLANNING_TIME_CANDIDATES_S[0] and a joint state later.
@pytest.mark.parametrize(('rate', 'share'), [(10.0, 0.1), (30.0, 0.02), (100.0, 0.02)])
def test_a_stream_has_nearly_the_torque_of_its_motion(rate, share):
    arrivals = np.arange(0.0, 2.5, 1.0 / rate)
    states, refused = stream(arrivals, swing(arrivals, 0.25)[0], 2.5)
    assert refused == 0
    require_smooth(states, 2.0)  # while the arm catches up
    inner = np.arange(1500, 2400)
    require_within_limits(*(rows[inner] for rows in states))
    q, _, ddq = swing(1e-3 * inner - 2.0 / rate - PLANNING_TIME_CANDIDATES_S[0] - 5e-4, 0.25)
    np.testing.assert_allclose(states[0][inner], q, rtol=0.0, atol=6e-3)
    found = torques(states[0][inner], states[2][inner])
    true = torques(q, ddq)
    assert np.abs(found - true).max() < (share + 2e-3 * rate) * np.abs(true).max()


@pytest.mark.parametrize('rate', [30.0, 100.0])
def test_a_noisy_stream_is_followed_as_closely_as_its_noise(rate):
    arrivals = np.arange(0.0, 3.0, 1.0 / rate)
    noise = 1e-3 * np.random.default_rng(0).normal(size=(len(arrivals), 7))
    states, refused = stream(arrivals, swing(arrivals, 0.1)[0] + noise, 3.0)
    inner = np.arange(1500, 2900)
    lags = np.arange(0.02, 0.12, 0.002)
    errors = [states[0][inner] - swing(1e-3 * inner - late, 0.1)[0] for late in lags]
    assert refused == 0
    assert min(np.sqrt((one**2).mean()) for one in errors) < 2.5e-3  # [rad]


def test_a_fast_stream_that_ceases_leads_to_its_last_point():
    points = np.vstack((np.tile(HOME, (5, 1)), HOME + 0.05))
    states, refused = stream(np.arange(6) * 0.01, points, 3.0)
    assert refused == 0
    np.testing.assert_allclose(states[0][-1], points[-1], rtol=0.0, atol=1e-9)


@pytest.mark.parametrize('seed', range(3))
def test_any_stream_is_smooth_within_limits_and_ends_at_rest(seed):
    # Points drift, jump, are missing, and come late.
    rng = np.random.default_rng(seed)
    period = (0.1, 0.05, 0.02)[seed]
    count = round(2.0 / period)
    points = HOME + np.cumsum(rng.normal(0.0, 0.4 * period, (count, 7)), axis=0)
    points[count // 2 :] += rng.uniform(-0.08, 0.08, 7)
    arrivals = np.arange(count) * period + rng.uniform(0.0, 0.4 * period, count)
    kept = np.flatnonzero(rng.random(count) > 0.1)
    states, refused = stream(arrivals[kept], points[kept], 5.0)
    require_smooth(states, 2.0)
    assert refused == 0 and not states[1][-1].any()
    assert np.abs(states[0][-1] - points[kept][-1]).max() < 0.3


def test_a_stream_goes_on_after_several_lost_points():
    # The arm is braked meanwhile, and far from the next point.
    arrivals = np.arange(0.0, 3.0, 0.05)
    points = swing(arrivals, 0.2)[0]
    kept = (arrivals < 1.0) | (arrivals > 1.28)
    states, refused = stream(arrivals[kept], points[kept], 3.0)
    assert refused == 0
    require_smooth(states, 2.0)
    late = np.arange(2400, 2900)
    true = swing(1e-3 * late - 0.1 - PLANNING_TIME_CANDIDATES_S[0] - 5e-4, 0.2)[0]
    np.testing.assert_allclose(states[0][late], true, rtol=0.0, atol=6e-3)


@pytest.mark.parametrize(('jump', 'follows'), [(0.3, True), (0.35, False)])
def test_a_jump_beyond_the_limits_is_refused_each_time(jump, follows):
    arrivals = np.arange(60) / 30.0
    points = np.where(arrivals[:, None] < 0.3, HOME, HOME + jump * np.sign(-HOME))
    states, refused = stream(arrivals, points, 3.0)
    assert refused == (0 if follows else (arrivals >= 0.3).sum())
    np.testing.assert_allclose(states[0][-1], points[-1] if follows else HOME, atol=1e-6)


def test_targets_that_are_clipped_lead_through_a_jump():
    reference = held()
    last = HOME
    goal = HOME + 0.5 * np.sign(-HOME)
    for stamp in np.arange(60) / 30.0:
        reference.at(stamp)
        last = last + np.clip(goal - last, -0.09, 0.09)
        reference.follow(last)
    reference.at(2.5)
    np.testing.assert_allclose(reference.motion.at(2.5).q, goal, atol=1e-6)


def test_a_stream_begins_within_a_tenth_of_a_radian():
    reference = held()
    with pytest.raises(ReferenceRefusedError, match=r'is 0\.11 rad away'):
        reference.follow(HOME + 0.11)
    reference.follow(HOME + 0.09)
    require_smooth(run(reference, 0.0, 2.0))


def test_a_set_point_with_velocity_is_followed_as_it_is():
    reference = held()
    found = []
    stamps = 0.004 * np.arange(120)
    for stamp, *point in zip(stamps, *swing(stamps, 0.2)):
        reference.at(stamp)
        point[0] = point[0] if stamp else HOME
        reference.follow(point[0], dq=point[1], ddq=point[2])
        found.append(np.abs(np.subtract(reference.at(stamp), point)).max())
        reference.at(stamp + 0.001)
    assert max(found) < 1e-12


def test_a_set_point_with_velocity_that_ceases_is_braked():
    # A step to rest would be a step of velocity of 1 rad/s.
    reference = held()
    reference.follow(HOME, dq=np.eye(7)[0], ddq=-np.eye(7)[0])
    states = run(reference, 0.0, 2.0)
    require_smooth(states)
    assert (states[1][slice(1, round(1e3 * planning.MAX_LATENESS_S)), 0] > 0.94).all()
    assert not states[1][-1].any()


@pytest.mark.parametrize(
    ('times', 'start', 'beyond_s'),
    [
        ([5.0], None, (5.0, 5.0)),
        ([5.0], 3.0, (5.0, 5.0)),
        ([2.0, 5.0], 1.0, (2.0, 5.0)),
    ],
)
def test_a_point_over_a_limit_is_told_by_its_time_from_start(times, start, beyond_s):
    reference = held()
    q = np.repeat(HOME[None], len(times), axis=0)
    q[-1, 3] = ARM.limit('upper')[3] + 0.4
    with pytest.raises(LimitExceededError, match='rad; its limits') as caught:
        reference.follow(q, times, start=start)
    # Points at the start's seconds: the first has none beyond, a spline to the last one has.
    assert beyond_s[0] - 1e-6 <= caught.value.time <= beyond_s[1] + 1e-6


def test_a_set_point_without_room_to_brake_is_refused():
    reference = held()
    with pytest.raises(ReferenceRefusedError, match=r'fr3_joint1 to a velocity of 3'):
        reference.follow(HOME, dq=3.0 * np.eye(7)[0])
    near = np.where(np.eye(7)[3], ARM.limit('upper') - 0.01, HOME)
    reference = held(q=near)
    with pytest.raises(ReferenceRefusedError, match=r'fr3_joint4'):
        reference.follow(near, dq=0.5 * np.eye(7)[3])
    with pytest.raises(ReferenceRefusedError, match=r'fr3_joint4'):
        reference.follow(near + 0.02 * np.eye(7)[3], dq=ZERO)


def test_an_arm_without_stated_limits_is_led_too():
    reference = held(arm=limited(ARM, acceleration=np.inf, velocity=np.inf, jerk=np.inf))
    reference.follow([HOME + 0.2], [0.5])
    np.testing.assert_allclose(reference.at(9.0).q, HOME + 0.2, rtol=0.0, atol=1e-15)


# Events ------------------------------------------------------------------------------------------


def told(reference):
    """Return number, state and mark of each event since the last call."""
    events = [reference.events.popleft() for _ in range(len(reference.events))]
    return [(event.number, event.state.value, event.goal_id) for event in events]


def test_a_followed_motion_tells_each_event_once():
    reference = held()
    reference.follow([HOME, HOME + 0.1], [0.0, 2.0], np.zeros((2, 7)), start=1.0, goal_id='a')
    reference.at(0.9)
    assert told(reference) == [(1, 'accepted', 'a')]
    reference.at(1.0)
    assert reference.events[0].remaining_time == 2.0
    reference.at(2.0)
    assert told(reference) == [(1, 'following', 'a')]
    reference.at(3.0)
    np.testing.assert_allclose(reference.events[0].goal_position, HOME + 0.1, rtol=0.0, atol=1e-15)
    reference.clear('silence')
    assert told(reference) == [(1, 'finished', 'a')] and sum(reference.counts.values()) == 3


def test_a_stop_ends_motions_with_its_reason_and_time_left():
    reference = held()
    for start in (1.0, 4.0):
        reference.follow([HOME, HOME + 0.01], [0.0, 2.0], np.zeros((2, 7)), start=start)
    reference.at(2.0)
    reference.clear('stale')
    found = [(one.number, one.reason, one.remaining_time) for one in list(reference.events)[-2:]]
    assert found == [(1, 'stale', 1.0), (2, 'stale', 4.0)]
    assert told(reference)[-2:] == [(1, 'interrupted', ''), (2, 'interrupted', '')]
    assert reference.at(3.5) is None


def test_a_stream_counts_as_one_reference_and_a_motion_ends_it():
    reference = held()
    for k in range(20):
        reference.at(0.02 * k)
        reference.follow(HOME, goal_id='s')
    reference.follow([HOME], [1.0], goal_id='m')
    reference.at(0.5)
    first = [(1, 'accepted', 's'), (1, 'following', 's')]
    assert told(reference) == [
        *first,
        (2, 'accepted', 'm'),
        (1, 'interrupted', 's'),
        (2, 'following', 'm'),
    ]
    reference.at(9.0)
    assert told(reference) == [(2, 'finished', 'm')]


def test_each_event_has_the_mark_of_its_own_reference():
    reference = held()
    rest = [HOME, HOME]
    reference.follow(rest, [0.0, 2.0], np.zeros((2, 7)), start=1.0, goal_id='a')
    reference.record_refusal('too far', 'b')
    reference.at(1.5)
    reference.follow(rest, [0.0, 1.0], np.zeros((2, 7)), start=2.0, goal_id='c')
    reference.follow(rest, [0.0, 1.0], np.zeros((2, 7)), start=3.5, goal_id='d')
    reference.follow(rest, [0.0, 1.0], np.zeros((2, 7)), start=3.0, goal_id='e')
    reference.at(3.2)  # the states at which motions end and begin were lost
    events = told(reference)
    assert events[:4] == [
        (1, 'accepted', 'a'),
        (2, 'refused', 'b'),
        (1, 'following', 'a'),
        (3, 'accepted', 'c'),
    ]
    assert events[4:7] == [(4, 'accepted', 'd'), (4, 'interrupted', 'd'), (5, 'accepted', 'e')]
    assert events[7:] == [
        (1, 'interrupted', 'a'),
        (3, 'following', 'c'),
        (3, 'finished', 'c'),
        (5, 'following', 'e'),
    ]


def test_holding_leaves_a_motion_that_is_to_come():
    reference = held()
    reference.follow([HOME, HOME + 0.1], [0.0, 2.0], np.zeros((2, 7)), start=1.0)
    reference.hold(HOME + 1.0)
    reference.hold(None)
    np.testing.assert_array_equal(reference.at(0.9).q, HOME)
    np.testing.assert_allclose(reference.at(2.0).q, HOME + 0.05, rtol=0.0, atol=1e-12)
