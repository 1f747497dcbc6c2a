# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Sine and cosine without a branch or a call, so that a compiler can vectorise loops over them.

The argument is reduced by quarters of a turn, in two parts (Cody and Waite), then fdlibm's
kernel polynomials follow (Sun Microsystems 1993, k_sin.c and k_cos.c) without their corrections
for the last half unit. The error is below 1.6e-16 for |x| up to 1e5 rad; beyond 1e6 rad the
reduction is no longer exact and digits are lost with every turn. NaN and infinity give NaN.
"""

from __future__ import annotations

import numpy as np

from .compiler import numba

# Adding 1.5 * 2^52 rounds to the nearest integer, which then stands in the last bits.
_ROUND = 6755399441055744.0
_TWO_OVER_PI = 0.6366197723675814
_HALF_PI_HIGH = 1.5707963267341256  # 33 bits, so that k * high is exact up to k = 2^20
_HALF_PI_LOW = 6.077100506506192e-11
_SIGN = np.int64(-2**63)


@numba.njit(fastmath={'contract'}, inline='always')
def sine_cosine(x: float) -> tuple[float, float]:
    """Return sin(x) and cos(x)."""
    rounded = x * _TWO_OVER_PI + _ROUND
    k = rounded - _ROUND
    y = (x - k * _HALF_PI_HIGH) - k * _HALF_PI_LOW
    z = y * y
    sine = y + z * y * (-1.66666666666666324348e-01 + z * (
        8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * (
            2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z
                                              * 1.58969099521155010221e-10)))))
    cosine = 1.0 + z * (-0.5 + z * (
        4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (
            2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07 + z * (
                2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))))))
    # The last bit of k says whether the two change places; the one before it, moved to where the
    # sign is, whether the sine is negative, and that of k + 1 whether the cosine is.
    quarter = np.float64(rounded).view(np.int64)
    odd = (quarter & 1) != 0
    return (_signed(cosine if odd else sine, np.int64(quarter << 62)),
            _signed(sine if odd else cosine, np.int64(np.int64(quarter + 1) << 62)))


@numba.njit(inline='always')
def _signed(value: float, flips: np.int64) -> float:
    """Return a value with its sign bit flipped where `flips` has it."""
    flipped = np.int64(np.float64(value).view(np.int64) ^ np.int64(flips & _SIGN))
    return flipped.view(np.float64)
