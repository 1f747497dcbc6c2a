# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How many independent observations filtered samples are worth."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..recordings.preprocessing import ORDER, SignalOptions
from ..typing import Array

_WINDOW_S = 1.0  # how far the residual's correlation is followed
_FREQUENCIES = 1 << 14


def filter_inflation(options: SignalOptions) -> float:
    """
    Return by how much the filter makes white noise's samples repeat each other.

    White noise behind the zero-phase filter has the spectrum |H|^4. A sum over samples that
    varies slowly has the variance of independent samples times S(0) / mean(S): the ratio of
    sampling rate and noise bandwidth. Variances of estimates must grow by it (the sandwich
    estimator where the regressor lies inside the pass band; a bound where it does not).
    """
    # The bilinear transform that designs the digital filter warps frequency by the tangent.
    edge = np.tan(np.pi * options.cutoff / options.rate)
    half = (np.arange(_FREQUENCIES) + 0.5) / _FREQUENCIES * 0.5 * np.pi
    spectrum = (1.0 + (np.tan(half) / edge) ** (2 * ORDER)) ** -2
    return float(1.0 / spectrum.mean())


def lag_sums(residuals: Iterable[Array], options: SignalOptions, n: int) -> Array:
    """
    Return sums of residual products over lags up to a second, shape (lags + 1, n) [N^2 m^2].

    Sums of several recordings add up.

    Parameters
    ----------
    residuals : iterable of ndarray, shape (N, n)
        Measured minus predicted torque [N m] of stretches without gaps.
    options : SignalOptions
        For the sampling rate.
    n : int
        Number of joints.

    """
    lags = max(1, round(_WINDOW_S * options.rate))
    total = np.zeros((lags + 1, n))
    for residual in residuals:
        for lag in range(min(lags, len(residual) - 1) + 1):
            total[lag] += np.sum(residual[lag:] * residual[: len(residual) - lag], axis=0)
    return total


def residual_inflation(sums: Array) -> Array:
    """
    Return by how much residuals repeat each other, joint by joint, shape (n,).

    1 + 2 sum of the autocorrelation with Bartlett's weights (Newey and West 1987), from
    `lag_sums`. It exceeds the filter's own where the model itself is at fault for longer.
    """
    lags = len(sums) - 1
    weights = 1.0 - np.arange(lags + 1) / (lags + 1.0)
    weights[1:] *= 2.0
    variance = np.where(sums[0] > 0.0, sums[0], 1.0)
    return np.maximum(1.0, weights @ sums / variance)
