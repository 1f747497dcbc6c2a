# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Resampling, filtering and differentiation against known signals."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.errors import RecordingError
from franka_dynamics.recordings.preprocessing import (
    prepare,
    SignalOptions,
    without_idle_effort,
)
from franka_dynamics.recordings.recording import Recording

INSIDE = slice(30, -30)
SLOW_HZ = 0.3  # far inside the pass band: order 4 at 3 Hz keeps all but (0.3 / 3)^4 = 1e-4 of it


def sinusoid(duration=20.0, rate=30.0, frequency=SLOW_HZ):
    """Return a one-joint recording of q = sin(w t), dq = w cos(w t), effort = 5 sin(w t)."""
    stamp_ns = np.round(np.arange(round(duration * rate) + 1) / rate * 1e9).astype(np.int64)
    omega = 2.0 * np.pi * frequency
    q = np.sin(omega * stamp_ns[:, None] * 1e-9)
    dq = omega * np.cos(omega * stamp_ns[:, None] * 1e-9)
    return Recording('bag', '/joint_states', ('joint1',), stamp_ns, q, dq, 5.0 * q)


def truth(motion, frequency=SLOW_HZ):
    """Return the undisturbed q, dq and ddq, (3, N, 1)."""
    omega = 2.0 * np.pi * frequency
    s, c = np.sin(omega * motion.time), np.cos(omega * motion.time)
    return np.array([s, omega * c, -(omega**2) * s])[..., None]


@pytest.mark.parametrize('rate', [30.0, 40.0, 100.0, 1000.0])
def test_a_slow_sinusoids_state_and_acceleration_are_its_own(rate):
    motion = prepare(sinusoid(rate=rate))
    # 1e-4 from the filter, as above; 7e-4 from differences over 2/30 s: (w h)^2 / 6. The filter's
    # ends reach further than the default trim.
    errors = np.abs(np.array([motion.q, motion.dq, motion.ddq]) - truth(motion))[:, INSIDE]
    assert (errors.max(axis=1)[:, 0] < (5e-4, 1e-3, 5e-3)).all()
    np.testing.assert_allclose(motion.effort, 5.0 * motion.q, rtol=0.0, atol=1e-12)


def test_uneven_stamps_leave_each_state_at_its_own_time():
    even = sinusoid()
    rng = np.random.default_rng(0)
    stamp_ns = even.stamp_ns + rng.integers(0, 10_000_000, len(even))
    omega = 2.0 * np.pi * SLOW_HZ
    uneven = replace(even, stamp_ns=stamp_ns, q=np.sin(omega * stamp_ns[:, None] * 1e-9))
    motion = prepare(uneven)
    at = (stamp_ns[0] * 1e-9 + motion.time)[INSIDE, None]
    # Linear interpolation over 1/30 s is off by at most (w h)^2 / 8 = 5e-4.
    np.testing.assert_allclose(motion.q[INSIDE], np.sin(omega * at), rtol=0.0, atol=1e-3)


def test_half_the_amplitude_is_left_at_the_cutoff_frequency():
    motion = prepare(sinusoid(frequency=3.0, rate=30.0))
    # Applied forwards and backwards the filter has a gain of (1 / sqrt 2)^2 at the cut-off.
    off = motion.q - 0.5 * truth(motion, 3.0)[0], motion.effort_unfiltered - 10.0 * motion.q
    np.testing.assert_allclose(np.array(off)[:, 60:-60], 0.0, rtol=0.0, atol=2e-3)


def test_noise_above_half_the_new_rate_is_not_folded_back():
    disturbed = sinusoid(rate=1000.0)
    hum = 0.5 * np.sin(2.0 * np.pi * 29.0 * disturbed.time)[:, None]  # would alias to 1 Hz
    clean = prepare(disturbed)
    dirty = prepare(replace(disturbed, q=disturbed.q + hum))
    np.testing.assert_allclose(dirty.q[INSIDE], clean.q[INSIDE], rtol=0.0, atol=1e-6)
    # Without the anti-aliasing filter the hum appears at 1 Hz.
    folded = np.interp(clean.time, disturbed.time, hum[:, 0])
    assert np.abs(folded).max() > 0.4


def test_no_samples_are_made_up_inside_a_gap():
    whole = sinusoid()
    # Less than half a period of the cut-off is no gap, so that only two of the three are gaps.
    lost = np.abs(np.subtract.outer(whole.time, (3.25, 5.5, 8.75))) < (0.25, 0.05, 0.75)
    motion = prepare(whole.part(~lost.any(axis=1)))
    assert not ((motion.time > 7.7) & (motion.time < 9.8)).any()
    np.testing.assert_array_equal(np.unique(motion.piece), [0, 1, 2])
    assert motion.remarks == (
        'bag has 2 gaps, the longest of 1.50 s at 8.00 s; its pieces are filtered separately',
    )
    np.testing.assert_allclose(motion.ddq, truth(motion)[2], rtol=0.0, atol=0.25)


def test_one_lost_message_is_no_gap_however_high_the_cutoff():
    whole = sinusoid()
    kept = np.arange(len(whole)) != 300
    assert prepare(whole.part(kept), SignalOptions(cutoff=12.0)).remarks == ()


@pytest.mark.parametrize(('zeros', 'left_out'), [(2, 0), (3, 3)])  # 0.08 and 0.12 s
def test_zero_efforts_are_idle_from_a_tenth_of_a_second_on(zeros, left_out):
    whole = sinusoid(rate=25.0)
    effort = whole.effort.copy()
    effort[100 : 100 + zeros] = 0.0
    assert len(without_idle_effort(replace(whole, effort=effort))) == len(whole) - left_out


def test_a_short_piece_between_gaps_is_left_out_and_said():
    whole = sinusoid()
    kept = np.flatnonzero((whole.time < 10.0) | ((whole.time > 12.0) & (whole.time < 12.5)))
    motion = prepare(whole.part(kept))
    assert motion.time.max() < 10.0
    assert motion.remarks == (
        'bag has 1 gap, the longest of 2.07 s at 9.97 s; its pieces are filtered separately',
        'the piece of 0.43 s at 12.03 s is too short to be filtered and was left out',
    )


def test_time_counts_from_the_first_message_also_if_its_effort_is_idle():
    whole = sinusoid()
    motion = prepare(replace(whole, effort=whole.effort * (whole.time[:, None] > 3.0)))
    np.testing.assert_allclose(motion.q[INSIDE], truth(motion)[0][INSIDE], rtol=0.0, atol=2e-3)


@pytest.mark.parametrize(
    ('recording', 'options', 'sentence'),
    [
        (
            {'rate': 5.0},
            {},
            r'message every 0\.2 s, too few for a cut-off of 3 Hz; choose one below 2\.5 Hz',
        ),
        ({'duration': 1.0}, {}, r'no stretch without gaps of at least 1\.6 s \(it lasts 1\.00 s'),
        ({}, {'cutoff': 15.0}, r'cut-off is 15\.0 Hz; it must lie between 0 and .* 15 Hz'),
        ({}, {'cutoff': float('nan')}, 'cut-off is nan'),
        ({}, {'cutoff': 0.0}, r'cut-off is 0\.0'),
        ({}, {'rate': -1.0}, r'sampling rate is -1\.0 Hz; it must be positive'),
        ({}, {'trim': -0.1}, r'trim is -0\.1 s; it cannot be negative'),
    ],
)
def test_recordings_and_options_that_fit_no_filter_are_refused(recording, options, sentence):
    with pytest.raises(RecordingError, match=sentence):
        prepare(sinusoid(**recording), SignalOptions(**options))


@pytest.mark.parametrize('rate', [30.0, 1000.0])
def test_columns_are_filtered_like_the_torque(rate):
    recording = replace(sinusoid(rate=rate), effort=np.tanh(sinusoid(rate=rate).dq / 0.01))
    motion = prepare(recording, columns=lambda q, dq: np.stack([np.tanh(dq / 0.01), q], axis=-1))
    # The torque is the recorded first column, so that both are equal after any filter.
    np.testing.assert_array_equal(motion.columns[:, :, 0], motion.effort)
    np.testing.assert_array_equal(motion.columns[:, :, 1], motion.q)
    # The column of the filtered velocity differs: at reversals it changes faster.
    assert np.abs(np.tanh(motion.dq / 0.01) - motion.effort).max() > 0.2
    assert len(motion.part(slice(3, 8)).columns) == 5
