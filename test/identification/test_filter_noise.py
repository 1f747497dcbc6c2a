# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What filtered noise is worth, against filtered noise itself."""

import numpy as np
import pytest
from scipy.signal import butter, filtfilt

from franka_dynamics.identification.noise import filter_inflation, lag_sums, residual_inflation
from franka_dynamics.recordings.preprocessing import SignalOptions


@pytest.mark.parametrize('cutoff', [1.0, 3.0, 5.0, 8.0])
def test_inflation_is_that_of_the_filters_impulse_response(cutoff):
    # With weights h, white noise has the variance sum(h^2) after the filter and sum(h)^2 = 1 at
    # frequency zero; the inflation is the ratio, by Parseval.
    options = SignalOptions(cutoff=cutoff)
    impulse = np.zeros(4001)
    impulse[2000] = 1.0
    response = filtfilt(*butter(2, cutoff, fs=options.rate), impulse)
    assert filter_inflation(options) == pytest.approx(
        response.sum() ** 2 / np.sum(response**2), rel=1e-6
    )


def test_correlation_summed_in_filtered_noise_is_the_filters():
    options = SignalOptions(cutoff=3.0)
    noise = np.random.default_rng(0).standard_normal((200_000, 2))
    filtered = filtfilt(*butter(2, 3.0, fs=30.0), noise, axis=0)
    # Bartlett's weights take a few percent off; the sum itself scatters by some percent.
    np.testing.assert_allclose(
        residual_inflation(lag_sums([filtered], options, 2)),
        filter_inflation(options),
        rtol=0.12,
        atol=0.0,
    )


def test_independent_samples_have_an_inflation_of_one():
    noise = np.random.default_rng(0).standard_normal((200_000, 1))
    found = residual_inflation(lag_sums([noise], SignalOptions(), 1))
    np.testing.assert_allclose(found, 1.0, rtol=0.0, atol=0.05)


def test_no_correlation_is_seen_across_the_ends_of_pieces():
    ramp = np.repeat([[1.0], [-1.0]], 2, axis=0)
    pieces = [ramp[:2], ramp[2:]] * 50
    # Within a piece both samples are equal: 1 + 2 (1 - 1/31) / 2.
    found = residual_inflation(lag_sums(pieces, SignalOptions(), 1))
    np.testing.assert_allclose(found, 1.0 + 30.0 / 31.0, rtol=1e-12, atol=0.0)
