# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The contact benchmark in small: minutes there, seconds here."""

import numpy as np
import pytest

from franka_dynamics.arm import load

FER = load('fer')


def test_the_motion_keeps_its_derivatives_and_the_limits(
    benchmark,
):
    times = np.linspace(0.0, 100.0, 100001)
    q, dq, ddq = benchmark.wander(FER, 3)(times)
    # Central differences over a millisecond of sines below 0.3 Hz.
    np.testing.assert_allclose(np.gradient(q, times, axis=0)[1:-1], dq[1:-1], rtol=0, atol=1e-5)
    np.testing.assert_allclose(np.gradient(dq, times, axis=0)[1:-1], ddq[1:-1], rtol=0, atol=1e-4)
    assert ((q > FER.limit('lower')) & (q < FER.limit('upper'))).all()
    assert (np.abs(dq) <= benchmark.SPEED_SHARE * FER.limit('velocity')).all()


@pytest.mark.parametrize('row', ['elastic, nothing carried', 'elastic, 0.2 kg unknown'])
def test_an_untouched_moving_arm_raises_no_alarm(benchmark, row):
    outcome = benchmark.run(FER, 15.0, seed=5, **benchmark.ROWS[row])
    assert outcome.fastest > 0.5
    assert outcome.alarms == 0
    assert np.nanmean(outcome.masses) == pytest.approx(
        benchmark.ROWS[row].get('mass', 0.0), abs=0.05
    )


def test_strong_pushes_on_a_slow_arm_are_flagged_in_time(benchmark):
    outcome = benchmark.run(FER, 16.0, seed=5, **benchmark.ROWS['elastic, pushed with 10 N, slow'])
    figures = benchmark.summary(outcome)
    assert figures['pushes'] >= 5
    assert figures['of these flagged within 50 ms [%]'] == 100.0
    assert figures['false alarms'] == 0
