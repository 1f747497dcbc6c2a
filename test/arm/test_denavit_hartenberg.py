# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""DH rows against products of elementary motions."""

import numpy as np
import pytest

from franka_dynamics.arm import Convention, DHRow
from franka_dynamics.errors import DescriptionError

ATOL = 1e-15  # entries are sums of two products of cosines and sines


def turn_x(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])


def turn_z(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def shift(x=0.0, z=0.0):
    out = np.eye(4)
    out[0, 3], out[2, 3] = x, z
    return out


def elementary(convention, row, theta=0.0, d=0.0):
    about_x = turn_x(row.alpha) @ shift(x=row.a)
    about_z = turn_z(row.theta + theta) @ shift(z=row.d + d)
    return about_x @ about_z if convention is Convention.MODIFIED else about_z @ about_x


@pytest.mark.parametrize('convention', Convention)
@pytest.mark.parametrize('seed', range(3))
def test_a_rows_transform_is_the_product_of_four_motions(convention, seed):
    rng = np.random.default_rng(seed)
    row = DHRow(*rng.uniform(-2.0, 2.0, 4))
    theta, d = rng.uniform(-3.0, 3.0, 2)
    np.testing.assert_allclose(
        row.transform(convention, theta, d),
        elementary(convention, row, theta, d),
        rtol=0.0,
        atol=2 * ATOL,
    )


@pytest.mark.parametrize(
    ('alpha', 'expected'),
    [(0.0, (1.0, 0.0)), (np.pi / 2, (0.0, 1.0)), (np.pi, (-1.0, 0.0)), (-np.pi / 2, (0.0, -1.0))],
)
@pytest.mark.parametrize('convention', Convention)
def test_a_quarter_turn_of_twist_has_exact_zeros(convention, alpha, expected):
    matrix = DHRow(alpha=alpha).transform(convention)
    assert (matrix[2, 2], matrix[2, 1]) == expected


@pytest.mark.parametrize('field', ['a', 'alpha', 'd', 'theta'])
def test_a_row_value_that_is_no_number_is_refused_by_its_field(field):
    with pytest.raises(DescriptionError, match=f'^{field} of a Denavit-Hartenberg row is nan'):
        DHRow(**{field: float('nan')})
