# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Statements emitted for kernels against the same arithmetic by NumPy."""

import numpy as np
import pytest

numba = pytest.importorskip('numba', reason="numba (extra 'batch') is not installed")

from franka_dynamics.batch.straight_line import straight_line  # noqa: E402

# Each operation once, in an order that only precedence and parentheses tell; no product is
# followed by a sum, so that nothing is fused and every bit is determined.
TEXT = """
a = W[0]
b = W[4]
W[8] = -(a - b)*0.1/b
c = (a + b)*(a - 3)
W[12] = c
"""
STATEMENTS = straight_line(TEXT)


@numba.njit
def run(W):
    """Run the statements for each place."""
    for i in range(4):
        STATEMENTS(W, i)


@pytest.mark.parametrize('kind', [np.float32, np.float64])
def test_statements_round_as_numpy_in_their_own_precision(kind):
    W = np.random.default_rng(0).uniform(1.0, 2.0, 17).astype(kind)
    a, b, last = W[:4].copy(), W[4:8].copy(), W[16]
    run(W)
    np.testing.assert_array_equal(W[8:12], -(a - b) * kind(0.1) / b)
    np.testing.assert_array_equal(W[12:16], (a + b) * (a - kind(3)))
    np.testing.assert_array_equal(W[:8], [*a, *b])
    assert W[16] == last
