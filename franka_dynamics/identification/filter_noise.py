# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How many independent observations filtered samples are worth."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .signal_processing import ORDER, SignalOptions

Array = NDArray[np.float64]
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
    spectrum = (1.0 + (np.tan(half) / edge)**(2 * ORDER))**-2
    return float(1.0 / spectrum.mean())


def residual_inflation(residuals: Iterable[Array], options: SignalOptions) -> Array:
    """
    Return the same measured on residuals, joint by joint, shape (n,).

    1 + 2 sum of the autocorrelation up to a second with Bartlett's weights (Newey and West
    1987). It exceeds the filter's own where the model itself is at fault for longer.

    Parameters
    ----------
    residuals : iterable of ndarray, shape (N, n)
        Measured minus predicted torque [N m] of stretches without gaps.
    options : SignalOptions
        For the sampling rate.

    """
    lags = max(1, round(_WINDOW_S * options.rate))
    total: Array | float = 0.0
    for residual in residuals:
        products = [np.sum(residual[lag:] * residual[:len(residual) - lag], axis=0)
                    for lag in range(min(lags, len(residual) - 1) + 1)]
        products += [np.zeros(residual.shape[1])] * (lags + 1 - len(products))
        total = total + np.array(products)
    covariance = np.asarray(total)
    weights = 1.0 - np.arange(lags + 1) / (lags + 1.0)
    weights[1:] *= 2.0
    variance = np.where(covariance[0] > 0.0, covariance[0], 1.0)
    return np.maximum(1.0, weights @ covariance / variance)
