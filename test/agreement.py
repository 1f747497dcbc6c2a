# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two results agree to eps if |a - b| <= eps max(1, |b|) in every entry."""

import numpy as np


def assert_near(actual, expected, tolerance, note=''):
    """Fail unless all entries agree to the tolerance with those expected."""
    expected = np.asarray(expected)
    np.testing.assert_allclose(
        (actual - expected) / np.maximum(1.0, np.abs(expected)),
        np.zeros_like(expected),
        rtol=0.0,
        atol=tolerance,
        err_msg=note,
    )
