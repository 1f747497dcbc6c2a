# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All efforts are in another unit, have the wrong sign, or are no measured torques."""

from collections.abc import Sequence

import numpy as np

from .fault import Diagnosis, Fault
from .gain import Gain

# All efforts more than so many times the torques, or as much smaller, are in another unit: the
# masses of no arm are so far off.
_MOST = 2.0


class NotMeasured(Fault):
    """Efforts that may as well not contain the published masses; values: range of their factor."""

    kind, of_all = 'not_measured', False
    text = (
        'Efforts contain {0:.2f} to {1:.2f} times the torques of the published masses, perhaps '
        'none: they are external torques or commands, lack gravity, or are currents '
        '(--torque-constant). Record measured torques.'
    )


def another_unit(factor: tuple[float, float]) -> Sequence[Diagnosis]:
    """Return the fault if the range of a common factor of all efforts is another unit or sign."""
    low, high = factor
    if high < 0.0 or low > _MOST or (high < 1.0 / _MOST and low > 0.0):
        return [Diagnosis(Gain.kind, (), (float(np.mean(factor)),))]
    return ()


def not_measured(factor: tuple[float, float], doubted: bool) -> Sequence[Diagnosis]:
    """
    Return the fault if the range of a common factor holds 0, or little, and not 1.

    A fault of some joint, `doubted`, makes the range wider, but never little.
    """
    low, high = factor
    little = high < 1.0 / _MOST or (low <= 0.0 and not doubted)
    return [Diagnosis(NotMeasured.kind, (), factor)] if little and 0.0 <= high < 1.0 else ()
