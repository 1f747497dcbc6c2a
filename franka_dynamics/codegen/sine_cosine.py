# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Sine and cosine without a branch or a call, so that a compiler can vectorise loops over them.

The argument is reduced by two-part Cody and Waite, then fdlibm's kernel polynomials follow
(Sun Microsystems 1993, k_sin.c and k_cos.c). The error is below 2.3e-16 for |x| up to 100 rad
and below 1e-15 up to 1e5 rad; beyond 1e6 rad the reduction is no longer exact and digits are
lost with every turn. NaN and infinity give NaN.
"""

from __future__ import annotations

from ..errors import MissingDependencyError

try:
    import numba
except ImportError as error:
    raise MissingDependencyError(
        "Batches need numba: pip install 'franka_dynamics[batch]'") from error

# Adding and subtracting 1.5 * 2^52 rounds to the nearest integer, without a call.
_ROUND = 6755399441055744.0
_TWO_OVER_PI = 0.6366197723675814
_HALF_PI_HIGH = 1.5707963267341256  # 33 bits, so that k * high is exact up to k = 2^20
_HALF_PI_LOW = 6.077100506506192e-11


@numba.njit(fastmath={'contract'}, inline='always')
def sine_cosine(x: float) -> tuple[float, float]:
    """Return sin(x) and cos(x)."""
    k = (x * _TWO_OVER_PI + _ROUND) - _ROUND
    head = x - k * _HALF_PI_HIGH
    tail = k * _HALF_PI_LOW
    y = head - tail
    rest = (head - y) - tail
    quarter = k * 0.25
    turn = k - 4.0 * ((quarter + _ROUND) - _ROUND)  # -2 .. 2
    z = y * y
    sine = y + (z * y * (-1.66666666666666324348e-01 + z * (
        8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * (
            2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z
                                              * 1.58969099521155010221e-10)))))
                + rest * (1.0 - 0.5 * z))
    half = 0.5 * z
    whole = 1.0 - half
    cosine = whole + (((1.0 - whole) - half) + (z * z * (
        4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (
            2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07 + z * (
                2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))))) - y * rest))
    # An odd quarter swaps the two; the signs are turn itself, or 1 - turn^2 / 2.
    square = turn * turn
    odd, sign = square == 1.0, 1.0 - 0.5 * square
    return (cosine * turn if odd else sine * sign), (-sine * turn if odd else cosine * sign)
