# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Sine and cosine without a branch or a call, so that a compiler can vectorise loops over them.

The argument is reduced by multiples of pi, in two parts (Cody and Waite), then minimax polynomials
follow, for sin(y)/y and cos(y) in y^2 up to (pi/2)^2, found by Remez' exchange; their own errors
are 2e-19 and 6e-18. No quadrant is to be told from another, and an odd multiple of pi flips both
signs. The error is below 2.3e-16 for |x| up to 100 rad and below 1e-15 up to 1e5 rad; beyond
1e6 rad the reduction is no longer exact and digits are lost with every turn. NaN and infinity
give NaN.
"""

from __future__ import annotations

import numpy as np

from .compiler import numba

# Adding 1.5 * 2^52 rounds to the nearest integer, which then stands in the last bits.
_ROUND = 6755399441055744.0
_ONE_OVER_PI = 0.3183098861837907
_PI_HIGH = 3.1415926534682512  # 33 bits, so that k * high is exact up to k = 2^20
_PI_LOW = 1.2154201013012384e-10


@numba.njit(fastmath={'contract'}, inline='always')
def sine_cosine(x: float) -> tuple[float, float]:
    """Return sin(x) and cos(x)."""
    rounded = x * _ONE_OVER_PI + _ROUND
    k = rounded - _ROUND
    y = (x - k * _PI_HIGH) - k * _PI_LOW
    z = y * y
    sine = y + z * y * (-1.6666666666666666e-01 + z * (
        8.333333333333115e-03 + z * (-1.9841269841185962e-04 + z * (
            2.755731920778701e-06 + z * (-2.5052106606643305e-08 + z * (
                1.6058927836713643e-10 + z * (-7.642712933630227e-13
                                              + z * 2.7184964267357434e-15)))))))
    cosine = (1.0 - 0.5 * z) + z * z * (4.166666666666583e-02 + z * (
        -1.388888888883005e-03 + z * (2.4801587285783923e-05 + z * (
            -2.7557317068512745e-07 + z * (2.087659259260441e-09 + z * (
                -1.1463635440086605e-11 + z * 4.616135077009557e-14))))))
    # The last bit of k, moved to where the sign is.
    odd = np.int64(np.float64(rounded).view(np.int64) << 63)
    return _signed(sine, odd), _signed(cosine, odd)


@numba.njit(inline='always')
def _signed(value: float, sign: np.int64) -> float:
    """Return a value with its sign bit flipped where `sign` has it."""
    flipped: np.int64 = np.int64(np.float64(value).view(np.int64) ^ sign)
    return flipped.view(np.float64)
