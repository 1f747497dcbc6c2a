# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Assertions with relative tolerances and of refusals, and derivatives by finite differences."""

from contextlib import contextmanager

import numpy as np
import pytest


def assert_near(actual, expected, tolerance, note=''):
    """Fail unless |actual - expected| <= tolerance * max(1, |expected|) for every entry."""
    expected = np.asarray(expected)
    np.testing.assert_allclose(
        (actual - expected) / np.maximum(1.0, np.abs(expected)),
        np.zeros_like(expected),
        rtol=0.0,
        atol=tolerance,
        err_msg=note,
    )


def assert_close(actual, expected, tolerance=1e-12):
    """Fail unless all entries differ by at most tolerance * max(1, largest expected entry)."""
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=tolerance * scale)


def differences(function, size, step):
    """Return the derivative of a function at zero, last axis by its vector, by fourth order."""
    columns = []
    for unit in step * np.eye(size):
        values = [function(k * unit) for k in (-2, -1, 1, 2)]
        columns.append((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step))
    return np.stack(columns, axis=-1)


@contextmanager
def refuses(error, *names):
    """Fail unless an error of this kind is raised, in whose sentence all of `names` stand."""
    with pytest.raises(error) as refusal:
        yield refusal
    said = str(refusal.value)
    assert [name for name in names if str(name) not in said] == [], said
    assert '\n' not in said, said
