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


def test_traced_torques_and_poses_are_pinocchios(stacks):
    traced, model, states = stacks
    names = ('inverse_dynamics', 'nonlinear_effects', 'coriolis', 'gravity', 'mass_matrix')
    for name, count in zip(names, (3, 2, 2, 1, 1)):
        found, expected = (getattr(one, name)(*states[:count]) for one in (traced, model))
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)
    flange = model.frames(states.q)[:, -1]
    np.testing.assert_allclose(traced.flange_pose(states.q), flange, rtol=0.0, atol=ATOL)


def test_a_state_that_is_not_finite_spoils_its_own_row(stacks):
    traced, _, (q, _, _) = stacks
    q = q.copy()
    q[3, 0] = np.nan  # g does not depend on the first joint, whose axis is vertical
    found = TracedModel(traced.description, np).gravity(q)
    assert np.isnan(found[3]).all()
    assert np.isfinite(np.delete(found, 3, axis=0)).all()


@pytest.mark.parametrize(
    ('columns', 'arrays', 'named'),
    [
        (False, [np.zeros((4, 6))], r'q has shape \(4, 6\), expected \(\.\.\., 7\)'),
        (False, [[0.0] * 7], 'q is not an array of a floating-point type of numpy'),
        (False, [np.zeros(7, dtype=int)], 'q is not an array of a floating-point type of numpy'),
        (False, [np.zeros((3, 7)), np.zeros((2, 7))], r'dq has shape \(2, 7\) and q has \(3, 7\)'),
        (True, [np.zeros((4, 7))], r'q has shape \(4, 7\), expected \(7, \.\.\.\)'),
    ],
)
def test_what_is_not_a_stack_of_states_is_refused(columns, arrays, named):
    model = TracedModel(load('fer'), np, columns=columns)
    with pytest.raises(JointVectorError, match=named):
        (model.coriolis if len(arrays) == 2 else model.gravity)(*arrays)


def test_a_module_that_is_not_an_array_library_is_refused():
    with pytest.raises(JointVectorError, match='math has no stack'):
        TracedModel(load('fer'), __import__('math'))


def test_columns_give_the_columns_of_the_rows(stacks):
    traced, _, states = stacks
    columns = TracedModel(traced.description, np, GRAVITY, columns=True)
    turned = [np.ascontiguousarray(x.T) for x in states]
    names = ('inverse_dynamics', 'forward_dynamics', 'inverse_dynamics_derivatives')
    for name, count in (*((name, 3) for name in names), ('mass_matrix', 1)):
        found = getattr(columns, name)(*turned[:count])
        expected = getattr(traced, name)(*states[:count])
        np.testing.assert_array_equal(np.moveaxis(found, -1, 0), expected)
