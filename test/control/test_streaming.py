# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions made from streamed positions, against the motion that the positions were taken from."""

from collections import deque

import numpy as np
import pytest

from franka_dynamics.control.planning import follow_request, TrajectoryRequest
from franka_dynamics.control.reference import ReferencePoint, ReferenceSource
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.streaming import continue_stream, delay, LEAD_S
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import ReferenceRefusedError

from .closed_loop import enabled
from .test_smoothing import ARM, require_inertia_torque, swing


def run(arrivals, points, seconds, period):
    """Feed points as they arrive; return desired states by ms, largest step, and refusals."""
    source, coming, steps, refused, found = (
        ReferenceSource(),
        deque(zip(arrivals, points)),
        [],
        0,
        [],
    )
    source.hold(ARM.home)
    for now in 1e-3 * np.arange(round(1e3 * seconds)):
        while coming and coming[0][0] <= now:
            stamp, point = coming.popleft()
            current = source.at(now + LEAD_S)
            try:
                motion = continue_stream(
                    point, stamp, now + LEAD_S, current, ARM, period, source.motion
                )
                steps.append(np.abs(np.subtract(motion.sample(motion.times[0]), current)).max())
                source.follow(motion, now)
            except ReferenceRefusedError:
                refused += 1
        found.append(source.sample(now))
    return ReferencePoint(*(np.array(rows) for rows in zip(*found))), max(steps), refused


# The same figures as for points that are known in advance (docs/howto/trajectories.md).
@pytest.mark.parametrize(('rate', 'share'), [(10.0, 0.02), (50.0, 0.001)])
def test_the_torque_is_nearly_the_true_motions(rate, share):
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
    # Positions are the integral of velocities, these of accelerations: no jumps in between.
    q, dq, ddq = desired
    for values, slopes, atol in ((q, dq, 2e-6), (dq, ddq, 1.5e-3)):
        means = 0.5 * (slopes[1:] + slopes[:-1])
        np.testing.assert_allclose(np.diff(values, axis=0), 1e-3 * means, rtol=0.0, atol=atol)
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
