# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations traced by an array library against Pinocchio; NumPy stands for any library."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.batch.traced_model import TracedModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import JointVectorError

from .test_batch_model import METHODS

GRAVITY = (1.0, -2.0, -9.4)
ATOL = 1e-11  # 4e-14 N m measured on the FER


@pytest.fixture(params=['fer', 'rpr'], scope='module')
def stacks(request):
    arm = load(request.param)
    return (
        TracedModel(request.param, np, GRAVITY),
        PinocchioModel(arm, GRAVITY),
        sample_states(arm, 30),
    )


@pytest.mark.parametrize('name', METHODS)
def test_traced_methods_are_pinocchios(stacks, name):
    traced, model, states = stacks
    given = states[: METHODS[name][0]]
    found, expected = (np.asarray(getattr(one, name)(*given)) for one in (traced, model))
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL * scale)


def test_a_state_that_is_not_finite_spoils_its_own_row(stacks):
    traced, _, (q, _, _) = stacks
    q = q.copy()
    q[3, 0] = np.nan  # g does not depend on the first joint, whose axis is vertical
    found = TracedModel(traced.description, np).gravity(q)
    assert np.isnan(found[3]).all()
    assert np.isfinite(np.delete(found, 3, axis=0)).all()


@pytest.mark.parametrize('q', [np.zeros((4, 6)), [0.0] * 7, np.zeros(7, dtype=int)])
def test_what_is_not_a_stack_of_states_is_refused(q):
    with pytest.raises(JointVectorError, match=r'^q '):
        TracedModel('fer', np).gravity(q)


def test_a_module_that_is_not_an_array_library_is_refused():
    with pytest.raises(JointVectorError, match='math has no stack'):
        TracedModel(load('fer'), __import__('math'))
