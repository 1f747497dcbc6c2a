# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction as columns of a regressor."""

import numpy as np
import pytest

from franka_dynamics.arm.friction import friction_along
from franka_dynamics.identification.torque_model import FrictionTerms


@pytest.mark.parametrize('reaches', [(), (0.004, 0.3)])
def test_friction_columns_times_values_are_the_models_torque_along_the_motion(reaches):
    rng = np.random.default_rng(1)
    terms = FrictionTerms(3, width=0.05, reaches=reaches)
    q = np.cumsum(rng.normal(0.0, 0.01, (200, 3)), axis=0)
    dq, values = rng.uniform(-2.0, 2.0, (200, 3)), rng.uniform(0.1, 1.0, len(terms.names))
    found = np.einsum('tjk,jk->tj', terms.columns(q, dq), values.reshape(3, -1))
    expected = friction_along(terms.model(values, values), q, dq)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-14)


def test_elements_without_amplitude_are_left_out_of_the_model():
    terms = FrictionTerms(2, 0.01, reaches=(0.002, 0.004, 0.3))
    gone = [name.startswith('fz2mrad') for name in terms.names]
    model = terms.model(np.where(gone, 0.0, 0.5), np.full(14, 0.1))
    np.testing.assert_array_equal(model.reach, [0.004, 0.3])
    assert (model.slip.shape, model.deviations.shape) == ((2, 2), (6, 2))
