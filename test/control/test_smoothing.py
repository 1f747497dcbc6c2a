# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions from positions alone, against scipy's splines and the motion they were taken from."""

from collections import deque
import sys

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from franka_dynamics.arm import load
from franka_dynamics.control.joining import begun_at, join, to_rest
from franka_dynamics.control.planning import follow_request, TrajectoryRequest
from franka_dynamics.control.reference import ReferencePoint, ReferenceSource, Trajectory
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.smoothing import spline_derivatives, upsample
from franka_dynamics.control.streaming import continue_stream, delay, LEAD_S
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import ReferenceRefusedError

from .closed_loop import enabled, require_continuous

ARM = load('fr3')
RATE = np.array([2.4, 2.6, 2.9, 3.1, 3.6, 4.0, 4.4])  # rad/s


def swing(times, amplitude=0.35):
    """Return position, velocity and acceleration of a smooth motion, known in closed form."""
    phase = np.multiply.outer(times, RATE)
    return (
        ARM.home + amplitude * np.sin(phase),
        amplitude * RATE * np.cos(phase),
        -amplitude * RATE**2 * np.sin(phase),
    )


def at(time):
    return ReferencePoint(*(row[0] for row in swing(np.array([time]))))


def sampled(motion, times):
    return [np.array(rows) for rows in zip(*(motion.sample(time) for time in times))]


def test_derivatives_are_those_of_scipys_clamped_spline():
    rng = np.random.default_rng(1)
    for count in (2, 3, 4, 40):
        times = rng.uniform(0.01, 0.3, count).cumsum()
        positions, ends = rng.normal(size=(count, 7)), rng.normal(size=(2, 7))
        spline = CubicSpline(times, positions, bc_type=((1, ends[0]), (1, ends[1])))
        velocities, accelerations = spline_derivatives(times, positions, *ends)
        np.testing.assert_allclose(velocities, spline(times, 1), rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(accelerations, spline(times, 2), rtol=1e-9, atol=1e-9)


def require_inertia_torque(found, q, ddq, share):
    """Compare the inertia torques of found and true accelerations along q, (k, n) each."""
    inertia = NewtonEulerModel(ARM, (0.0, 0.0, 0.0)).mass_matrix(q)
    found, true = (np.einsum('kij,kj->ki', inertia, rows) for rows in (found, ddq))
    assert np.abs(true).max() > 1.0
    assert np.abs(found - true).max() < share * np.abs(true).max()


# `share` is the largest error of the inertia torque relative to the largest inertia torque. For
# the fastest joint, (w h)^2 / 12 is 1.6 % at 10 Hz.
@pytest.mark.parametrize(('rate', 'share'), [(10.0, 0.02), (50.0, 0.001)])
def test_the_torque_is_nearly_the_true_motions(rate, share):
    times = np.arange(0.0, 3.01, 1.0 / rate)
    motion = upsample(times, swing(times)[0], 0.0, at(0.0), ARM)
    inner = np.linspace(0.0, 2.5, 700)  # before the motion brakes
    require_inertia_torque(sampled(motion, inner)[2], *swing(inner)[::2], share)


def require_within_limits(motion):
    _, points = motion.sample_many(50)
    assert (np.abs(points.dq) <= ARM.limit('velocity') + 1e-6).all()
    assert (np.abs(points.ddq) <= ARM.limit('acceleration') * 1.001).all()


def test_points_that_end_in_motion_come_to_rest_within_limits():
    times = np.arange(0.0, 1.3, 0.02)
    assert np.abs(swing(times)[1][-1]).max() > 0.5
    motion = upsample(times, swing(times)[0], 0.0, at(0.0), ARM)
    require_within_limits(motion)
    # The motion passes through all points, and comes to rest after them.
    inner = times[1:-1]
    np.testing.assert_allclose(sampled(motion, inner)[0], swing(inner)[0], rtol=0.0, atol=1e-9)
    assert motion.end > times[-1]
    assert not motion.sample(motion.end).dq.any()


# ruckig's transition meets the motion after at most 0.16 s (measured). Stamps of the system's
# clock are rounded to 0.2 us.
@pytest.mark.parametrize('clock', [0.0, 1.76e9])
@pytest.mark.parametrize('offset', [1e-4, 0.01, 0.03, 0.06])
def test_a_chunk_beside_the_present_is_joined_within_limits(offset, clock):
    # The arm is beside the first points, which it cannot reach in time.
    times = np.arange(0.0, 1.5, 0.02)
    present = at(0.0)._replace(q=at(0.0).q + offset)
    motion = upsample(clock + times, swing(times)[0], clock, present, ARM)
    require_within_limits(motion)
    np.testing.assert_allclose(motion.sample(clock), present, rtol=0.0, atol=1e-12)
    late = np.linspace(0.25, 1.3, 100)
    found = sampled(motion, clock + late)[0]
    np.testing.assert_allclose(found, swing(late)[0], rtol=0.0, atol=1e-4)


def from_rest(times, amplitude):
    """Return a motion that begins at rest and is known in closed form."""
    s, c = (amplitude * f(times)[:, None] for f in (np.sin, np.cos))
    return Trajectory(times, ARM.home + amplitude - c, s, c)


@pytest.mark.parametrize('clock', [0.0, 1.76e9])
@pytest.mark.parametrize('offset', [1e-6, 1e-4, 0.01, 0.06])
def test_a_motion_from_rest_is_joined_by_small_accelerations(offset, clock):
    # The arm is held beside the start of a motion that begins at rest.
    motion = from_rest(np.arange(0.0, 4.0, 0.04), 0.1 * np.ones(7))
    motion.times[:] += clock
    current = ReferencePoint.at_rest(ARM.home + offset)
    joined = join(clock, current, motion, ARM)
    _, dq, ddq = sampled(joined, clock + np.arange(0.0, 0.5, 1e-3))
    means = 0.5 * (ddq[1:] + ddq[:-1])
    np.testing.assert_allclose(np.diff(dq, axis=0), 1e-3 * means, rtol=0.0, atol=2e-4)
    np.testing.assert_allclose(joined.sample(clock + 3.0).q, motion.sample(clock + 3.0).q)


def test_an_arm_at_rest_joins_a_motion_that_has_just_begun():
    # The motion goes on during the transition, so the earliest meeting time is found only
    # approximately.
    begun = from_rest(np.arange(0.0, 3.2, 0.02), 0.3 * np.linspace(-1.0, 1.0, ARM.n))
    for begin in (0.02, 0.06, 0.2):
        joined = join(begin, ReferencePoint.at_rest(ARM.home), begun_at(begin, begun), ARM)
        require_within_limits(joined)
        for time in (1.5, 3.175):  # the last segment too, which ends decelerating
            after = joined.sample(time), begun.sample(time)
            np.testing.assert_allclose(*after, rtol=0.0, atol=1e-9)


def test_the_fourth_chunk_follows_without_a_step():
    # A policy at 20 Hz plans 16 points, and is asked again after 8 of them, in motion.
    motion, now, steps = None, 0.0, []
    for _ in range(4):
        times = now + 0.05 * np.arange(16)
        present = at(0.0) if motion is None else motion.sample(now)
        following = upsample(times, swing(times)[0], now, present, ARM)
        require_within_limits(following)
        steps.append(np.abs(np.array(following.sample(now)) - np.array(present)).max())
        motion, now = following, now + 0.4
    assert max(steps) < 1e-9
    np.testing.assert_allclose(motion.sample(now - 0.2).q, at(now - 0.2).q, rtol=0.0, atol=1e-4)


def test_without_ruckig_a_join_is_refused_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'ruckig', None)
    with pytest.raises(ReferenceRefusedError, match='pip install ruckig'):
        to_rest(Trajectory.at(0.0, at(0.0)), ARM)


# Streams of single positions. --------------------------------------------------------------------


def run(arrivals, points, seconds, period):
    """Feed points as they arrive; return desired states by ms, largest step, and refusals."""
    source, coming = ReferenceSource(), deque(zip(arrivals, points))
    steps, refused, found = [], 0, []
    source.hold(ARM.home)
    for now in 1e-3 * np.arange(round(1e3 * seconds)):
        while coming and coming[0][0] <= now:
            stamp, point = coming.popleft()
            begin = now + LEAD_S
            current = source.at(begin)
            try:
                motion = continue_stream(point, stamp, begin, current, ARM, period, source.motion)
                steps.append(np.abs(np.subtract(motion.sample(motion.times[0]), current)).max())
                source.follow(motion, now)
            except ReferenceRefusedError:
                refused += 1
        found.append(source.sample(now))
    return ReferencePoint(*(np.array(rows) for rows in zip(*found))), max(steps), refused


# The same figures as for points that are known in advance (docs/howto/trajectories.md).
@pytest.mark.parametrize(('rate', 'share'), [(10.0, 0.02), (50.0, 0.001)])
def test_the_torque_of_a_stream_is_nearly_the_true_motions(rate, share):
    period = 1.0 / rate
    arrivals = np.arange(0.0, 3.0, period)
    desired, step, refused = run(arrivals, swing(arrivals)[0], 3.0, period)
    inner = np.arange(1500, 2900)
    q, _, ddq = swing(1e-3 * inner - delay(period))
    require_inertia_torque(desired.ddq[inner], q, ddq, share)
    assert refused == 0 and step < 1e-9
    np.testing.assert_allclose(desired.q[inner], q, rtol=0.0, atol=1e-3)


def test_points_that_arrive_with_jitter_are_taken_as_even():
    period, rng = 0.05, np.random.default_rng(3)
    taken = np.arange(0.0, 4.0, period)
    arrivals = taken + rng.uniform(0.0, 4e-3, len(taken))
    desired, step, _ = run(arrivals, swing(taken)[0], 4.0, period)
    inner = np.arange(2000, 3900)
    # The motion also lags by the mean jitter, which cannot be known.
    ddq = swing(1e-3 * inner - delay(period) - 2e-3)[2]
    assert np.abs(desired.ddq[inner] - ddq).max() < 0.05 * np.abs(ddq).max()
    assert step < 1e-9


@pytest.mark.parametrize('seed', range(3))
def test_any_stream_is_smooth_within_limits_and_ends_at_rest(seed):
    # Points drift, jump, are missing, and come late.
    rng = np.random.default_rng(seed)
    period = (0.1, 0.05, 0.02)[seed % 3]
    count = round(3.0 / period)
    points = ARM.home + np.cumsum(rng.normal(0.0, 0.4 * period, (count, 7)), axis=0)
    points[count // 2 :] += rng.uniform(-0.08, 0.08, 7)
    arrivals = np.arange(count) * period + rng.uniform(0.0, 0.4 * period, count)
    kept = np.flatnonzero(rng.random(count) > 0.1)
    desired, step, refused = run(arrivals[kept], points[kept], 6.0, period)
    assert step < 1e-9  # where the next motion replaces the last
    assert refused < 0.2 * len(kept)
    for values, name in ((desired.dq, 'velocity'), (desired.ddq, 'acceleration')):
        assert (np.abs(values) <= ARM.limit(name) * (1.0 + 1e-5)).all()
    require_continuous(*desired, 2e-6, 1.5e-3)
    assert not desired.dq[-1].any()
    assert np.abs(desired.q[-1] - points[kept][-1]).max() < 0.5


def test_the_controller_feeds_a_streams_inertia_forward():
    # Given an arm at its desired state, and its controller without gains.
    period, start, begin = 0.05, 1.0, 1.1
    settings = Settings(target='fci', ramp_time=0.0, stream_period=period)
    controller = enabled(settings, arm=ARM)

    def motion(stamp):
        phase, turn = 3.0 * max(stamp - begin, 0.0), np.full(7, 0.25 / np.pi)
        ddq = 9.0 * turn * np.sin(phase)
        q = ARM.home + turn * (phase - np.sin(phase))
        return q, 3.0 * turn * (1.0 - np.cos(phase)), ddq

    found, states = [], []
    for k in range(1500):
        stamp = start + 1e-3 * k
        q, dq, ddq = motion(stamp - delay(period))
        cycle = controller.update(stamp, q, dq, stamp)
        if k >= 100 and k % 50 == 0:
            request = TrajectoryRequest(ARM.joint_names, np.zeros(1), motion(stamp)[0][None])
            follow_request(controller, request)
        if k > 500:
            found.append(cycle.command)
            states.append((q, dq, ddq))
    model = NewtonEulerModel(ARM, (0.0, 0.0, 0.0))
    expected = model.inverse_dynamics(*map(np.array, zip(*states)))
    assert np.abs(expected).max() > 0.5
    assert np.abs(found - expected).max() < 0.01 * np.abs(expected).max()


def test_points_at_twice_the_stated_rate_are_refused_in_words():
    arrivals = np.arange(0.0, 1.0, 0.01)
    _, _, refused = run(arrivals, np.tile(ARM.home, (100, 1)), 1.0, 0.02)
    assert refused > 30
