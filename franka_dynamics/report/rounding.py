# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers with as many digits as their standard deviations leave them."""

from __future__ import annotations

import math

_DIGITS = 2  # of a deviation
_MOST_PLACES = 12


def rounded(value: float, deviation: float) -> tuple[str, str]:
    """
    Return a number and its standard deviation as texts that end at the same decimal place.

    The deviation keeps two significant digits, and no digit of the number stands behind them. A
    deviation that is zero or not finite rounds nothing: the number keeps four digits.
    """
    if not (math.isfinite(value) and math.isfinite(deviation) and deviation > 0.0):
        return f'{value:.4g}', f'{deviation:.2g}'
    # By way of its text, because rounding may carry into another place: 0.0996 is 0.10.
    exponent = int(f'{deviation:.{_DIGITS - 1}e}'.partition('e')[2])
    places = _DIGITS - 1 - exponent
    if places > _MOST_PLACES:
        return f'{value:.{_MOST_PLACES}g}', f'{deviation:.2g}'
    texts = (f'{round(number, places) + 0.0:.{max(places, 0)}f}' for number in (value, deviation))
    shown, spread = texts
    return shown, spread


def plus_minus(value: float, deviation: float) -> str:
    """Return a number and its standard deviation as one text: 1.234 ± 0.056."""
    return ' ± '.join(rounded(value, deviation))
