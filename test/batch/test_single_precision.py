# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Batches of float32 against Pinocchio in float64, with the errors that the page states."""

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel

ARM = load('fer')
COUNT = 1003  # blocks of 32 and a part
# Of each state's largest value: some 500 operations that each round by 6e-8, and cancel.
RTOL = {
    'inverse_dynamics': 3e-6,
    'coriolis': 1e-4,  # of small sums of large terms, at rest nearly nothing
    'gravity': 3e-6,
    'mass_matrix': 3e-6,
    'forward_dynamics': 1e-2,  # times the condition of M, up to 2000
}
ARGUMENTS = {'gravity': 1, 'mass_matrix': 1, 'coriolis': 2}


@pytest.fixture(scope='module')
def model():
    return BatchModel(ARM)


def states():
    return [array.astype(np.float32) for array in sample_states(ARM, COUNT, seed=0)]


@pytest.mark.parametrize('name', RTOL)
def test_float32_stays_float32_within_the_stated_error(model, name):
    given = states()[: ARGUMENTS.get(name, 3)]
    found = getattr(model, name)(*given)
    assert found.dtype == np.float32
    one = PinocchioModel(ARM)
    rows = list(zip(*(array.astype(float) for array in given)))
    if name == 'forward_dynamics':
        expected = np.array([pin.aba(one.model, one.data, *row) for row in rows])
    else:
        expected = np.array([getattr(one, name)(*row) for row in rows])
    error = np.abs(found - expected).reshape(COUNT, -1).max(axis=1)
    scale = np.abs(expected).reshape(COUNT, -1).max(axis=1)
    assert (error < RTOL[name] * scale).all(), (error / scale).max()
    # Not the float64 kernel rounded once, whose error is half a unit in the last place.
    assert (error / scale).max() > 6.1e-8
