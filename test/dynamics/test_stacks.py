# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every formulation takes vectors (n,) and stacks (..., n), with the same results."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.model import GRAVITY
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import JointVectorError
from franka_dynamics.validation.crosscheck import FORMULATIONS, QUANTITIES

# Stacked sums are in another order than single ones: rounding, of values up to 100.
ATOL = 1e-12
SHAPE = (2, 3)


@pytest.fixture(scope='module')
def states():
    return [values.reshape(*SHAPE, 7) for values in sample_states(load('fer'), 6, 0)]


@pytest.mark.parametrize('quantity', QUANTITIES, ids=lambda quantity: quantity.name)
@pytest.mark.parametrize('name', FORMULATIONS)
def test_a_stack_gives_what_its_states_give(states, name, quantity):
    method = getattr(FORMULATIONS[name](load('fer'), GRAVITY), quantity.name)
    inputs = states[: quantity.inputs]
    stacked = method(*inputs)
    assert stacked.shape[:2] == SHAPE
    for at in np.ndindex(SHAPE):
        # Scale: accelerations of light wrists reach thousands.
        single = method(*(values[at] for values in inputs))
        np.testing.assert_allclose(stacked[at], single, rtol=1e-11, atol=ATOL)


def test_pinocchio_takes_wrenches_keywords_lists_and_one_over_many(states):
    model, wrench, (q, dq, ddq) = PinocchioModel(load('fer')), np.arange(6.0), states
    one = q[1, 2], dq[1, 2], ddq[1, 2]
    for found, expected in (
        (
            model.inverse_dynamics(q, dq, ddq=ddq, wrench=wrench),
            model.inverse_dynamics(*one, wrench),
        ),
        (model.coriolis(q[1, 2], dq), model.coriolis(*one[:2])),
        (model.jacobian(q, 3, reference_frame='LOCAL'), model.jacobian(one[0], 3, 'LOCAL')),
    ):
        np.testing.assert_array_equal(found[1, 2], expected)
    np.testing.assert_array_equal(model.gravity(one[0].tolist()), model.gravity(one[0]))


def test_an_empty_stack_gives_an_empty_result():
    model = PinocchioModel(load('fer'))
    assert model.mass_matrix(np.empty((0, 7))).shape == (0, 7, 7)
    assert model.kinetic_energy(np.empty((0, 7)), np.zeros(7)).shape == (0,)


@pytest.mark.parametrize(
    'quantity', [one for one in QUANTITIES if one.inputs > 1], ids=lambda quantity: quantity.name
)
@pytest.mark.parametrize('name', FORMULATIONS)
def test_stacks_that_do_not_broadcast_are_refused_in_one_sentence(name, quantity):
    method = getattr(FORMULATIONS[name](load('fer'), GRAVITY), quantity.name)
    states = [np.zeros((rows, 7)) for rows in (2, 3, 3)[: quantity.inputs]]
    with pytest.raises(JointVectorError, match=r'do not broadcast: q \(2, 7\), dq \(3, 7\)'):
        method(*states)


@pytest.mark.parametrize('name', FORMULATIONS)
def test_many_wrenches_act_on_one_state_and_must_broadcast(name):
    model = FORMULATIONS[name](load('fer'), GRAVITY)
    q, wrenches = load('fer').home, np.arange(12.0).reshape(2, 6)
    still = np.zeros(7)
    pushed = model.inverse_dynamics(q, still, still, wrenches)
    expected = [model.inverse_dynamics(q, still, still, wrench) for wrench in wrenches]
    np.testing.assert_allclose(pushed, expected, rtol=0.0, atol=ATOL)
    for method in (model.inverse_dynamics, model.forward_dynamics):
        with pytest.raises(JointVectorError, match=r'do not broadcast: .*wrench \(2, 6\)'):
            method(np.zeros((3, 7)), still, still, wrenches)
