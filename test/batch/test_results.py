# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Memory of results: used again when nobody has them, and only then."""

import numpy as np
import pytest

pytest.importorskip('numba', reason="numba (extra 'batch') is not installed")

from franka_dynamics.batch import results
from franka_dynamics.batch.results import empty

DOUBLE = np.dtype(float)


@pytest.fixture(autouse=True)
def no_blocks(monkeypatch):
    monkeypatch.setattr(results, '_blocks', [])


@pytest.mark.parametrize(
    'keep',
    [
        lambda array: array,
        lambda array: array[5:, 2],
        lambda array: array.reshape(-1, 1).T,
        lambda array: memoryview(array),
        lambda array: array.view(np.int64)[::2],
        lambda array: {'deep': [array[0]]},
        lambda array: np.asarray(array, order='C')[None],
    ],
)
def test_what_somebody_has_is_not_given_again(keep):
    first = empty((20_000, 7), DOUBLE)
    place = first.ctypes.data
    kept = keep(first)
    del first
    second = empty((20_000, 7), DOUBLE)
    assert second.ctypes.data != place
    del kept
    assert empty((20_000, 7), DOUBLE).ctypes.data == place


def test_arrays_are_what_they_were_asked_to_be():
    for shape in [(3, 7), (20_000, 7), (100_000, 7), (9, 0), (0, 7), (5000, 3, 7, 7)]:
        for dtype in (DOUBLE, np.dtype(np.float32)):
            array = empty(shape, dtype)
            array[...] = 1.0
            assert array.shape == shape and array.dtype == dtype
            assert array.flags.c_contiguous and array.flags.writeable and array.flags.aligned


def test_large_results_begin_at_a_huge_page():
    assert empty((200_000, 7), DOUBLE).ctypes.data % (1 << 21) == 0


def test_no_more_is_kept_than_said():
    for rows in range(10_000, 400_000, 30_000):
        empty((rows, 7), DOUBLE)
        assert sum(block.nbytes for block in results._blocks) <= results.KEPT
    before = len(results._blocks)
    empty((2_000_000, 7), DOUBLE)  # 112 MB: too large to be kept
    assert len(results._blocks) == before
