# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is particular to the product of exponentials: origins and twists at zero."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel

from ..arms import FRANKA_ORIGINS_AT_ZERO

ATOL = 1e-12  # m; ten times the largest seen


@pytest.mark.parametrize('arm', ['fer', 'fr3'])
def test_a_franka_arms_origins_at_zero_are_those_franka_gives(arm):
    model = ExponentialsModel(load(arm))
    np.testing.assert_allclose(
        model.zero_transforms[:, :3, 3], FRANKA_ORIGINS_AT_ZERO, rtol=0.0, atol=ATOL
    )
    np.testing.assert_array_equal(model.frames(np.zeros(7)), model.zero_transforms)


def test_the_fers_twists_at_zero_are_those_of_the_notebook():
    # omega_i and v_i = -omega_i x r_i of cells 7 and 8, in the notebook's names.
    z1, y3, x4, x5, y5, x7 = 0.333, -0.316, 0.0825, -0.0825, 0.384, 0.088
    up = z1 - y3
    twists = [
        (0, 0, 0, 0, 0, 1),
        (-z1, 0, 0, 0, 1, 0),
        (0, 0, 0, 0, 0, 1),
        (up, 0, -x4, 0, -1, 0),
        (0, -(x4 + x5), 0, 0, 0, 1),
        (up + y5, 0, 0, 0, -1, 0),
        (0, x7, 0, 0, 0, -1),
    ]
    np.testing.assert_allclose(
        ExponentialsModel(load('fer')).space_twists, twists, rtol=0.0, atol=ATOL
    )
