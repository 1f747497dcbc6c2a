# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Operation counts of the literature: Gautier & Khalil 1990 (seed 002), table 1.

Printed for their symbolic generator: the general robot by formulas in the number of joints, the
Stanford and SCEMI arms by figures, general (no parameter is zero) and simplified (diagonal
tensors, one first moment a link; motor inertias and terminal forces present).
"""

from __future__ import annotations

from .code_count import OperationCount

CLASSICAL, MINIMUM = 'classical parameters', 'minimum parameters'
GENERAL, SIMPLIFIED = 'general', 'simplified'

_ARMS = {
    ('stanford', CLASSICAL, GENERAL): OperationCount(291, 284),
    ('stanford', CLASSICAL, SIMPLIFIED): OperationCount(193, 149),
    ('stanford', MINIMUM, GENERAL): OperationCount(232, 218),
    ('stanford', MINIMUM, SIMPLIFIED): OperationCount(142, 99),
    ('scemi', CLASSICAL, GENERAL): OperationCount(294, 283),
    ('scemi', CLASSICAL, SIMPLIFIED): OperationCount(201, 152),
    ('scemi', MINIMUM, GENERAL): OperationCount(253, 238),
    ('scemi', MINIMUM, SIMPLIFIED): OperationCount(159, 113),
}


def general_robot(n: int, parameters: str) -> OperationCount:
    """
    Return the table's formulas for any robot of n revolute joints.

    They are the printed ones: for n = 6 the table's own entry, 477 multiplications with
    classical parameters, is two less than its formula.
    """
    if parameters == CLASSICAL:
        return OperationCount(101 * n - 127, 90 * n - 118)
    return OperationCount(92 * n - 127, 81 * n - 117)


def printed(arm: str, parameters: str, inertia: str) -> OperationCount | None:
    """Return the table's entry for one of its two arms; None for any other arm."""
    return _ARMS.get((arm, parameters, inertia))
