# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions from positions alone, against scipy's splines and the motion they were taken from."""

import sys

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from franka_dynamics.arm import load
from franka_dynamics.control.joining import begun_at, join, to_rest
from franka_dynamics.control.reference import ReferencePoint, Trajectory
from franka_dynamics.control.smoothing import spline_derivatives, upsample
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import ReferenceRefusedError

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
