# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tiles turned over in kernels, against numpy's transpose."""

import numpy as np
import pytest

numba = pytest.importorskip('numba', reason="numba (extra 'batch') is not installed")

from franka_dynamics.batch.simd import TILE, tile_columns, transpose_tile  # noqa: E402


@numba.njit
def turned(source, columns, target):
    """Turn TILE rows into TILE-wide columns."""
    n = source.shape[1]
    for k in columns:
        transpose_tile(source, k, n, target, TILE * k, TILE)


@pytest.mark.parametrize('n', range(TILE, 14))
def test_rows_turned_tile_by_tile_are_numpys_transpose(n):
    source = np.arange(float(TILE * n)).reshape(TILE, n)
    target = np.full((n, TILE), np.nan)
    turned(source, np.array(tile_columns(n)), target)
    np.testing.assert_array_equal(target, source.T)


@pytest.mark.parametrize('n', range(TILE, 14))
def test_tiles_cover_every_column_and_no_more_than_needed(n):
    columns = tile_columns(n)
    covered = {k + i for k in columns for i in range(TILE)}
    assert covered == set(range(n))
    assert len(columns) == -(-n // TILE)
