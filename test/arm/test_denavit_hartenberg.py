# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""DH rows: transforms of quarter turns are exact, and NaN is refused."""

import numpy as np
import pytest

from franka_dynamics.arm import Convention, DHRow
from franka_dynamics.errors import DescriptionError


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
