# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The study's detector is the monitor's, and its statistics are what they say."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.contact import ContactLimits, ContactMonitor
from franka_dynamics.control.external_torque import DAMPING
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel

pytest.importorskip('numba', reason='the [batch] extra is not installed')

FER = load('fer')


def test_its_shares_are_those_of_the_monitor(benchmark, tmp_path):
    # Given four seconds of a moving arm's states.
    motion = benchmark.excitation(FER, 3, 0.4, 6.0)
    rng = np.random.default_rng(0)
    q, dq = motion[:, 0], motion[:, 1]
    stamp = 1e-3 * np.arange(len(q))
    effort = PinocchioModel(FER).inverse_dynamics(q, dq, motion[:, 2])
    effort = effort + FER.friction.torque(dq) + rng.normal(0.0, 0.5, q.shape)
    # When both judge them.
    rows = benchmark.external(FER, stamp, q, dq, effort)
    np.savez(
        tmp_path / 'free.npz', rows=rows[:, : 2 + 2 * FER.n], pushes=np.zeros((0, 2)), level=0.4
    )
    minute = benchmark.Minute(tmp_path / 'free.npz')
    filtered = benchmark.second_order(ContactLimits.bandwidth, DAMPING)
    torque = np.abs(benchmark.fast(filtered(minute.torque, minute.seconds), minute.seconds))
    expected = benchmark.shares(minute, torque, benchmark.shipped(FER))
    monitor = ContactMonitor(PinocchioModel(FER), friction=FER.friction)
    found = {}
    for at, *state in zip(stamp, q, dq, effort):
        monitor.update(at, *state)
        if monitor.largest_share:
            found[at] = monitor.largest_share
        monitor.largest_share = 0.0
    # Then, once the monitor has settled and forgotten how, their shares are alike.
    late = [k for k, at in enumerate(minute.stamp) if at > 5.0 and at in found]
    assert len(late) > 200
    np.testing.assert_allclose(
        expected[late], [found[minute.stamp[k]] for k in late], rtol=0.01, atol=0.003
    )


def test_the_excitation_reaches_its_level_within_the_limits(benchmark):
    motion = benchmark.excitation(FER, 1, 1.0, 60.0)
    share = np.abs(motion[:, 1]).max(axis=0) / FER.limit('velocity')
    assert share.max() == pytest.approx(1.0)
    assert (motion[:, 0] > FER.limit('lower')).all()
    assert (motion[:, 0] < FER.limit('upper')).all()
    assert (np.abs(motion[:, 2]) <= FER.limit('acceleration')).all()


def test_the_threshold_for_a_rate_holds_for_exponential_values(benchmark):
    largest = np.random.default_rng(0).exponential(0.1, 20000)
    # One in 3600 seconds exceeds 0.1 ln(3600).
    assert benchmark.for_rate(largest, 1.0) == pytest.approx(0.1 * np.log(3600.0), rel=0.05)


def test_the_interval_of_a_share_is_clopper_and_pearsons(benchmark):
    # Their table: 8 of 10 lies within 44.4 and 97.5 %.
    assert benchmark.share_within(8, 10) == pytest.approx((0.4439, 0.9748), abs=1e-4)


def test_the_predicted_deviation_is_that_of_drawn_models(benchmark):
    # Given one moving state, as often as the differences of velocities need it.
    motion = benchmark.excitation(FER, 2, 0.6, 2.0)[1000:1005]
    q, dq = motion[:, 0], motion[:, 1]
    stamp = 1e-3 * np.arange(5)
    rows = np.column_stack([stamp, np.full(5, 1e-3), np.zeros_like(q), dq])
    found = benchmark.deviation(FER, q, rows)[2]
    # When models are drawn about the arm, other ones than those of the covariance.
    ddq = (dq[4] - dq[0]) / 4e-3
    seeds = range(1000, 1300)
    drawn = [benchmark.draw_plant(FER, seed, benchmark.INERTIA_DEVIATION).arm for seed in seeds]
    torques = [PinocchioModel(arm).inverse_dynamics(q[2], dq[2], ddq) for arm in drawn]
    friction = benchmark.FRICTION_DEVIATION * FER.friction.torque(dq[2])
    expected = np.hypot(np.std(torques, axis=0), friction)
    # Then its deviations are theirs, within three deviations of one estimated from 300 (4 %).
    np.testing.assert_allclose(found, expected, rtol=0.15)
