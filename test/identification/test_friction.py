# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction as columns of a regressor."""

import numpy as np
import pytest

from franka_dynamics.errors import IdentificationError
from franka_dynamics.identification.friction import FrictionTerms


def test_given_values_when_multiplied_by_the_columns_then_they_are_the_models_torque():
    rng = np.random.default_rng(0)
    terms = FrictionTerms(3, width=0.05)
    values, dq = rng.uniform(0.1, 1.0, 9), rng.uniform(-2.0, 2.0, (50, 3))
    np.testing.assert_allclose(terms.regressor(dq) @ values, terms.model(values).torque(dq),
                               rtol=0.0, atol=1e-15)


def test_given_a_joint_when_it_moves_then_only_its_own_torque_has_friction():
    columns = FrictionTerms(3).regressor(np.array([[0.0, 1.0, 0.0]]))
    assert columns.shape == (1, 3, 9)
    np.testing.assert_array_equal(columns[0, 1], [0, 0, 0, 1, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(columns[0, 0], [0, 0, 1, 0, 0, 0, 0, 0, 0])


def test_given_names_when_listed_then_they_follow_the_columns():
    assert FrictionTerms(2).names == ('fv_1', 'fc_1', 'fo_1', 'fv_2', 'fc_2', 'fo_2')


@pytest.mark.parametrize('width', [0.0, -0.1, float('nan'), float('inf')])
def test_given_a_width_that_is_none_when_made_then_it_is_refused(width):
    with pytest.raises(IdentificationError, match='width of Coulomb friction is'):
        FrictionTerms(7, width)
